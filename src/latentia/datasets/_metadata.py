"""Metadata of documents: columns beside their texts, or in a separate file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..exceptions import LatentiaError
from ..passes.formats import open_unicode, plain_name
from ..reading import has_columns, open_table

_N_NAMED = 3  # documents that a message names
_KEYS: tuple[Callable[[Path], str], ...] = (
    str,
    lambda path: path.name,
    lambda path: path.name[: len(plain_name(path))],  # without .gz
    lambda path: Path(path.name[: len(plain_name(path))]).stem,
)
"""Names by which a table may refer to the file of a document, the exact name first."""


class Metadata:
    """Columns with a row for every document, or with rows that name documents in their first column.

    Parameters
    ----------
    columns : dict of lists of str
    source : str
    """

    def __init__(self, columns: Mapping[str, list[str]], source: str) -> None:
        self.columns, self.source = dict(columns), source
        self.n_rows = len(next(iter(self.columns.values())))

    def align(self, names: Sequence[str] | None, n_documents: int) -> dict[str, list[str]] | None:
        """Return the columns in the order of the documents; None if the rows belong to other documents.

        Parameters
        ----------
        names : sequence of str, or None
            Names of the documents, if they have any.
        n_documents : int
        """
        row_numbers = self._find_rows(names) if names else None
        if row_numbers is not None:
            return {name: [column[i] for i in row_numbers] for name, column in list(self.columns.items())[1:]}
        return dict(self.columns) if self.n_rows == n_documents else None

    def _find_rows(self, names: Sequence[str]) -> list[int] | None:
        """Return the row of every document; None if the first column names none of them."""
        first = next(iter(self.columns.values()))
        rows = {name: i for i, name in reversed(list(enumerate(first)))}
        if len(self.columns) < 2:
            return None
        for key in _KEYS:
            keys = [key(Path(name)) for name in names]
            has_row = [name in rows for name in keys]
            if not any(has_row) or len(set(keys)) < len(keys):
                continue
            if not all(has_row):
                missing = [name for name, present in zip(names, has_row, strict=True) if not present]
                raise LatentiaError(
                    f"{len(missing)} of {len(names)} documents have no row: {_list_names(missing)}. Add a row for "
                    "each, with its name in the first column.",
                    source=self.source,
                )
            twice = [name for name in keys if first.count(name) > 1] if len(rows) < len(first) else []
            if twice:
                raise LatentiaError(f"two rows for {twice[0]!r}. Keep one.", source=self.source)
            return [rows[name] for name in keys]
        return None

    def refuse(self, names: Sequence[str] | None, n_documents: int) -> LatentiaError:
        """Return the error for rows that do not match the documents."""
        rows = f"{self.n_rows} row{'' if self.n_rows == 1 else 's'}"
        named = f", or with their names ({_list_names(names)}) in the first column" if names else ""
        return LatentiaError(
            f"expected a row for each of the {n_documents} documents, in their order{named}; found {rows}.",
            source=self.source,
        )


def read_metadata(path: Path, encoding: str | None = None) -> Metadata:
    """Read all columns of a table as texts; any other file has one column, a value a line."""
    if path.is_dir() or not path.exists():
        problem = "expected a file, found a folder" if path.is_dir() else "no such file"
        raise LatentiaError(f"{problem}.", source=path, parameter="metadata")
    if not has_columns(path):
        with open_unicode(path, None, encoding) as file:
            values = [line.strip() for line in file]
        if not values:
            raise LatentiaError("the file is empty.", source=path)
        return Metadata({plain_name(path).removesuffix(".txt"): values}, str(path))
    table = open_table(path, encoding=encoding, unique=False)
    return Metadata({name: table.texts(name).to_list() for name in table.names}, str(path))


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_N_NAMED]) + (f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else "")
