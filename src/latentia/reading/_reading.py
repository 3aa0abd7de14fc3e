"""What was read: a table with a role for every column, texts, pairs, sequences or baskets; said before anything is fitted."""

from __future__ import annotations

import html
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._frames import new_frame
from ..exceptions import LatentiaError, MissingExtraError
from ._numbers import EMPTY, Numbers, numbers_of
from ._roles import NUMERIC, Asked, Column, binary_values, coded
from ._tables import RawTable

_PRINTED = 8  # lines that commands print
_LISTED = 10


@dataclass(frozen=True)
class Reading:
    r"""What was read of a file or frame.

    Attributes
    ----------
    source : str
        Name of the file.
    shape : str
        "table", "texts", "baskets", "pairs", "matrix", "sequences" or "counts": what the file as a whole can be.
    columns : tuple of Column
        The columns, with the role of each.
    n_rows : int
    notes : tuple of str
        What was skipped or decided about the file, with the option that changes it.
    commands : tuple of str
        Commands that can answer questions of such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentia.reading import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     _ = path.write_text("smokes,age,score\n" + "yes,31,2.5\nno,54,99\nno,47,1.5\nyes,60,99\n" * 9)
    ...     data = read(path)
    >>> [(column.name, column.role, column.suspects) for column in data.columns]
    [('smokes', 'binary', ()), ('age', 'count', ()), ('score', 'measurement', ('99',))]
    """

    source: str
    shape: str
    columns: tuple[Column, ...]
    n_rows: int
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    table: RawTable | None = field(default=None, repr=False, compare=False)
    asked: Asked = field(default_factory=Asked, repr=False, compare=False)
    data: Any = field(default=None, repr=False, compare=False)

    EMPTY: ClassVar = EMPTY

    def __len__(self) -> int:
        return self.n_rows

    # --- columns ------------------------------------------------------------------------------------------------

    @property
    def used(self) -> list[str]:
        """Names of the columns that are used as numbers."""
        return [column.name for column in self.columns if column.used]

    @property
    def path(self) -> Path | None:
        """The file, where it is a table."""
        return None if self.table is None else self.table.path

    @property
    def row_names(self) -> list[str]:
        """Names of the rows, empty where there are none."""
        return [cell.strip() for cell in self.texts(self.naming)] if self.naming else []

    @property
    def naming(self) -> str:
        """The column that names the rows: the one that is asked for, or the first id that does more than count them."""
        ids = (c.name for c in self.columns if c.role == "id" and "counts the rows" not in c.reason)
        named = self.asked.id or ""
        return named if named in self._by_name else next(ids, "")

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        """Return the record of a column."""
        found = self._by_name.get(name)
        if found is None:
            names = list(self._by_name)
            raise LatentiaError(f"no column {name!r}. There are {', '.join(names[:30])}.", source=self.source)
        return found

    def numbers(self, name: str) -> Numbers:
        """Return a column as numbers; one of two values as 0 and 1, if it is read so."""
        found, raw = self.column(name), self._raw(name)
        separator = self.table.separator if self.table is not None else ","
        if self.asked.is_coded(found):
            return binary_values(raw, found.coding, self.asked.empty, separator)
        return numbers_of(raw, separator)

    def texts(self, name: str) -> list[str]:
        """Return the cells of a column as they are written."""
        if self.table is None:
            raise LatentiaError("no table, and it has no columns.", source=self.source)
        return list(coded(self.table.texts(name), self.asked.codes_of(name)).to_list())

    def holds_texts(self, name: str) -> bool:
        """Return True if the cells of a column are written as texts."""
        return bool(self._raw(name).dtype != _float())

    def values(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Return columns as numbers, shape (n_rows, D), NaN where there is no value; by default all that are used.

        A cell that is no number is an error, which says where it stands.
        """
        columns = []
        for name in self.used if names is None else names:
            found = self.numbers(name)
            if found.wrong is not None:
                raise LatentiaError(self.describe_problem(found), **self.cell(found.wrong, name))
            columns.append(found.values)
        return np.column_stack(columns) if columns else np.empty((self.n_rows, 0))

    def cell(self, row: int, name: str) -> dict[str, Any]:
        """Return what an error about a cell carries."""
        return (
            {"place": f"column {name!r}", "row": row, "column": name}
            if self.table is None
            else self.table.cell(row, name)
        )

    def describe_problem(self, numbers: Numbers) -> str:
        """Return what is wrong with the cells of a column, with the lines of the rows that it is about."""
        if self.table is None:
            return numbers.describe_problem("row", range(self.n_rows))
        return numbers.describe_problem(self.table.unit, self.table.rows)

    def to_frame(self) -> Any:
        """Return the columns that are used, as numbers, and those of categories, tags and texts, as a data frame."""
        columns: dict[str, Any] = {}
        for column in self.columns:
            if column.role in NUMERIC:
                columns[column.name] = self.values([column.name])[:, 0]
            elif column.role in ("category", "group", "text", "tags", "date"):
                columns[column.name] = [cell or None for cell in self.texts(column.name)]
        try:
            return new_frame(columns, "A data frame")
        except MissingExtraError:
            import polars as pl

            return pl.DataFrame(columns)

    def numeric_frame(self) -> Any:
        """Return the columns that are used as numbers, as a data frame of polars."""
        import polars as pl

        table = self.values()
        return pl.DataFrame({name: table[:, i] for i, name in enumerate(self.used)})

    def _raw(self, name: str) -> Any:
        if self.table is None:
            raise LatentiaError("no table, and it has no columns.", source=self.source)
        return coded(self.table.series(name), self.asked.codes_of(name))

    # --- what is said -------------------------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Any]:
        """What a model keeps, to read other files in the same way: what the options say, and what is 1 and 0."""
        codings = [[c.name, *c.coding][:3] for c in self.columns if self.asked.is_coded(c) and c.coding != ("1", "0")]
        asked = self.asked
        return {
            "missing_codes": list(asked.missing_codes), "empty": asked.empty, "codings": codings,
            "roles": [[*pair] for pair in asked.roles.items()], "id": asked.id,
        }  # fmt: skip

    @property
    def doubts(self) -> list[str]:
        """What may be meant in another way, with the option that says so."""
        return [f"{column.name!r}: {column.doubt}" for column in self.columns if column.doubt]

    @property
    def suspects(self) -> dict[str, tuple[str, ...]]:
        """Values that may be codes of missing answers, by column."""
        return {column.name: column.suspects for column in self.columns if column.suspects}

    def lines(self, used: Sequence[str] | None = None) -> list[str]:
        """Return what commands print, in at most eight lines, doubts first.

        Parameters
        ----------
        used : sequence of str, optional
            The columns that the command uses, where options choose them.
        """
        names = self.used if used is None else list(used)
        lines = [f"{self.source}: {self.n_rows:,} rows, {len(names)} columns: {_listed(names)}"]
        chosen = set(names)
        lines += [f"note: {note}" for note in self.notes]
        codes = {name: found for name, found in self.suspects.items() if name in chosen}
        if codes:
            where = _listed([f"{', '.join(found)} in {name!r}" for name, found in codes.items()], 4)
            lines.append(
                f"note: may be codes of missing answers, and are used as numbers: {where}. {self._option_of(codes)}"
            )
        doubts = _doubts([c for c in self.columns if c.doubt and (c.name in chosen or c.role in ("id", "clock"))])
        groups = _grouped([c for c in self.columns if c.name not in chosen])
        unused = [f"not used: {'; '.join(groups)}"] if groups else []
        missing = [
            f"{c.n_missing:,} in {c.name!r}"
            for c in self.columns
            if c.n_missing and c.name in chosen and not self._absent(c)
        ]
        unused += [f"cells without a value: {_listed(missing, 5)}"] if missing else []
        room = _PRINTED - len(lines) - len(unused)
        if len(doubts) > room:
            doubts = [*doubts[: room - 1], f"note: {len(doubts) - room + 1} more doubts: latentia look {self.source}"]
        return [*lines, *doubts, *unused][:_PRINTED]

    def _option_of(self, codes: Mapping[str, Sequence[str]]) -> str:
        """Return the option that names codes: of all columns, but of one where others may hold the code as an answer."""
        every = [
            (code if len(code.lstrip("-")) > 1 else f"{name}={code}") for name, found in codes.items() for code in found
        ]
        return f"--missing-codes {shlex.quote(','.join(sorted(dict.fromkeys(every), key=lambda code: '=' in code)))}"

    def _absent(self, column: Column) -> bool:
        return column.role == "binary" and self.asked.empty == "absent"

    def rows(self) -> list[list[str]]:
        """Return the table of columns: name, role, why, examples, missing cells, what to look at; doubts first."""
        ordered = sorted(self.columns, key=lambda column: not (column.doubt or column.suspects))
        return [
            [c.name, c.role, c.reason, ", ".join(c.examples), f"{c.n_missing:,}" if c.n_missing else "", self._look(c)]
            for c in ordered
        ]

    def _look(self, column: Column) -> str:
        codes = self._option_of({column.name: column.suspects}) if column.suspects else ""
        return "; ".join(filter(None, [codes and f"codes of missing answers? {codes}", column.doubt]))

    def record(self) -> dict[str, Any]:
        """Return all that was decided, as plain values, for ``result.json``."""
        return {
            "source": self.source, "shape": self.shape, "n_rows": self.n_rows, "notes": list(self.notes),
            "columns": [
                {"name": c.name, "role": c.role, "reason": c.reason, "examples": list(c.examples), "n_missing": c.n_missing,
                 "suspects": list(c.suspects), "doubt": c.doubt, "coding": list(c.coding)} for c in self.columns
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        head = f"{self.source}: {self.shape}, {self.n_rows:,} rows, {len(self.columns)} columns"
        rows = [["column", "role", "why", "examples", "missing", "look at"], *self.rows()] if self.columns else []
        widths = [min(max((len(row[i]) for row in rows), default=0), 44) for i in range(6)]
        cells = [
            "  ".join(cell[:width].ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        commands = (
            ["", "Commands for such a file:", *(f"  {command}" for command in self.commands)] if self.commands else []
        )
        return "\n".join([head, *(f"note: {note}" for note in self.notes), *cells, *commands])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{name}</th>" for name in ("column", "role", "why", "examples", "missing", "look at"))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows()
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        head = html.escape(f"{self.source}: {self.shape}, {self.n_rows:,} rows")
        return f"<p>{head}</p>{notes}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def with_commands(self, commands: Sequence[str]) -> Reading:
        """Return the reading with commands that fit it."""
        return replace(self, commands=tuple(commands))


def _doubts(columns: Sequence[Column]) -> list[str]:
    """Return a line for each doubt, and one for all columns of few whole numbers."""
    coded = [c for c in columns if "codes of categories" in c.doubt]
    lines = [f"note: column {c.name!r}: {c.doubt}" for c in columns if len(coded) < 2 or c not in coded]
    if len(coded) > 1:
        names = _listed([c.name for c in coded], 6)
        option = coded[0].doubt.rpartition(", ")[2]
        lines.append(
            f"note: a few whole numbers each, used as numbers: {names}. If they are codes of categories, {option} ..."
        )
    return lines


def _listed(names: Sequence[str], most: int = _LISTED) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _grouped(columns: Sequence[Column]) -> list[str]:
    roles = dict.fromkeys(column.role for column in columns)
    each = [(role, [column.name for column in columns if column.role == role]) for role in roles]
    return [f"{_listed(names, 6)} ({'not chosen' if role in NUMERIC else role})" for role, names in each]


def _float() -> Any:
    import polars as pl

    return pl.Float64


def source_name(source: Any) -> str:
    """Return the name of a source in messages."""
    return (
        Path(source).name
        if isinstance(source, (str, Path)) and str(source) != "-"
        else "standard input"
        if str(source) == "-"
        else "frame"
    )
