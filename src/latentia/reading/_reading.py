"""Results of reading: a table with a role for every column, texts, pairs, sequences or baskets."""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._frames import new_frame
from ..exceptions import LatentiaError, MissingExtraError
from ._ends import Ends
from ._numbers import EMPTY, Numbers, numbers_of
from ._roles import NUMERIC, Column, ColumnOptions, binary_values, blank_missing_codes
from ._tables import RawTable

_MAX_LINES = 8  # lines that commands print about a file
_MAX_NAMES = 10


@dataclass(frozen=True)
class Reading:
    r"""Contents of a file or data frame, with the role of every column.

    Attributes
    ----------
    source : str
        Name of the file.
    shape : str
        Kind of the whole file: "table", "texts", "baskets", "pairs", "matrix", "sequences" or "counts".
    columns : tuple of Column
        The columns, with the role of each.
    n_rows : int
    notes : tuple of str
        What was skipped or decided, with the option that changes it.
    commands : tuple of str
        Commands that fit such a file.
    sequence : str
        Column that names the sequence of each row; empty if rows are no steps of sequences.
    clocks : tuple of str
        Columns that order the rows.
    ends : Ends or None
        Columns of a list of edges.

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
    sequence: str = ""
    clocks: tuple[str, ...] = ()
    ends: Ends | None = None
    order_note: str = field(default="", repr=False)
    table: RawTable | None = field(default=None, repr=False, compare=False)
    column_options: ColumnOptions = field(default_factory=ColumnOptions, repr=False, compare=False)
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
        """Path of the file; None unless it is a table."""
        return None if self.table is None else self.table.path

    @property
    def row_names(self) -> list[str]:
        """Names of the rows, empty where there are none."""
        return [cell.strip() for cell in self.texts(self.naming)] if self.naming else []

    @property
    def naming(self) -> str:
        """Name of the column that names the rows: the requested one, or the first id that does not merely count them."""
        ids = (c.name for c in self.columns if c.role == "id" and "counts the rows" not in c.reason)
        named = self.column_options.id or ""
        return named if named in self.columns_by_name else next(ids, "")

    @property
    def group_by_role(self) -> str:
        """Name of the only column that the user's options call a group; else empty."""
        groups = [name for name, role in self.column_options.roles.items() if role == "group"]
        return groups[0] if len(groups) == 1 and groups[0] in self.columns_by_name else ""

    @cached_property
    def columns_by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        """Return the record of a column."""
        column = self.columns_by_name.get(name)
        if column is None:
            names = list(self.columns_by_name)
            raise LatentiaError(f"no column {name!r}. There are {', '.join(names[:30])}.", source=self.source)
        return column

    def numbers(self, name: str) -> Numbers:
        """Return a column as numbers; a coded binary column as 0 and 1."""
        column, raw = self.column(name), self._raw(name)
        separator = self.table.separator if self.table is not None else ","
        if self.column_options.is_coded(column):
            return binary_values(raw, column.coding, self.column_options.empty, separator)
        return numbers_of(raw, separator)

    def texts(self, name: str) -> list[str]:
        """Return the cells of a column as they are written."""
        if self.table is None:
            raise LatentiaError("expected a table; this source has no columns.", source=self.source)
        return list(blank_missing_codes(self.table.texts(name), self.column_options.codes_of(name)).to_list())

    def holds_texts(self, name: str) -> bool:
        """Return True if the cells of a column are written as texts."""
        return bool(self._raw(name).dtype != _float_type())

    def values(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Return columns as numbers, shape (n_rows, D), with NaN for missing values; by default all columns in use.

        A cell that is not a number raises an error that names the cell.
        """
        columns = []
        for name in self.used if names is None else names:
            numbers = self.numbers(name)
            if numbers.wrong is not None:
                raise LatentiaError(self.describe_problem(numbers), **self.cell(numbers.wrong, name))
            columns.append(numbers.values)
        return np.column_stack(columns) if columns else np.empty((self.n_rows, 0))

    def cell(self, row: int, name: str) -> dict[str, Any]:
        """Return the data of an error about a cell."""
        return (
            {"place": f"column {name!r}", "row": row, "column": name}
            if self.table is None
            else self.table.cell(row, name)
        )

    def describe_problem(self, numbers: Numbers) -> str:
        """Describe the problem of a column with the lines of the rows concerned."""
        if self.table is None:
            return numbers.describe_problem("row", range(self.n_rows))
        return numbers.describe_problem(self.table.unit, self.table.rows)

    def to_frame(self) -> Any:
        """Return the columns of numbers, categories, tags and texts as a data frame."""
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
        """Return the columns of numbers as a polars data frame."""
        import polars as pl

        table = self.values()
        return pl.DataFrame({name: table[:, i] for i, name in enumerate(self.used)})

    def _raw(self, name: str) -> Any:
        if self.table is None:
            raise LatentiaError("expected a table; this source has no columns.", source=self.source)
        return blank_missing_codes(self.table.series(name), self.column_options.codes_of(name))

    # --- descriptions -------------------------------------------------------------------------------------------

    @property
    def model_settings(self) -> dict[str, Any]:
        """Settings that a model stores to read other files in the same way: the options and the codings of binary columns."""
        codings = [
            [c.name, *c.coding][:3] for c in self.columns if self.column_options.is_coded(c) and c.coding != ("1", "0")
        ]
        column_options = self.column_options
        return {
            "missing_codes": list(column_options.missing_codes), "empty": column_options.empty, "codings": codings,
            "roles": [[*pair] for pair in column_options.roles.items()], "id": column_options.id,
        }  # fmt: skip

    @property
    def doubts(self) -> list[str]:
        """Columns with another possible meaning, and the option that selects it."""
        return [f"{column.name!r}: {column.doubt}" for column in self.columns if column.doubt]

    @property
    def suspects(self) -> dict[str, tuple[str, ...]]:
        """Values that may be codes of missing answers, by column."""
        return {column.name: column.suspects for column in self.columns if column.suspects}

    def lines(self, names: Sequence[str] | None = None, labels: Iterable[str] = ()) -> list[str]:
        """Return the lines that commands print, at most eight, doubts first.

        Parameters
        ----------
        names : sequence of str, optional
            The columns that the command uses; by default all columns of numbers.
        labels : iterable of str, optional
            Columns that it uses otherwise, such as that of batches.
        """
        names = self.used if names is None else list(names)
        lines = [f"{self.source}: {self.n_rows:,} rows, {len(names)} columns: {_list_names(names)}"]
        chosen = set(names)
        lines += [f"note: {note}" for note in self.notes]
        codes = {name: code_values for name, code_values in self.suspects.items() if name in chosen}
        if codes:
            where = _list_names([f"{', '.join(code_values)} in {name!r}" for name, code_values in codes.items()], 4)
            lines.append(
                f"note: used as numbers, though they may be codes of missing answers: {where}. {self._option_of(codes)}"
            )
        doubts = _doubt_lines([c for c in self.columns if c.doubt and (c.name in chosen or c.role in ("id", "clock"))])
        groups = _group_by_role([c for c in self.columns if c.name not in chosen.union(labels)])
        unused = [f"not used: {'; '.join(groups)}"] if groups else []
        missing = [
            f"{c.n_missing:,} in {c.name!r}"
            for c in self.columns
            if c.n_missing and c.name in chosen and not self.is_empty_absent(c)
        ]
        unused += [f"cells without a value: {_list_names(missing, 5)}"] if missing else []
        room = _MAX_LINES - len(lines) - len(unused)
        if len(doubts) > room:
            doubts = [*doubts[: room - 1], f"note: {len(doubts) - room + 1} more doubts: latentia look {self.source}"]
        return [*lines, *doubts, *unused][:_MAX_LINES]

    def _option_of(self, codes: Mapping[str, Sequence[str]]) -> str:
        """Return the option for the codes, with the column where other columns may hold a code as an answer."""
        entries = [
            (code if len(code.lstrip("-")) > 1 else f"{name}={code}")
            for name, code_values in codes.items()
            for code in code_values
        ]
        return f"--missing-codes {shlex.quote(','.join(sorted(dict.fromkeys(entries), key=lambda code: '=' in code)))}"

    def is_empty_absent(self, column: Column) -> bool:
        return column.role == "binary" and self.column_options.empty == "absent"

    def rows(self) -> list[list[str]]:
        """Return the table of columns: name, role, why, examples, missing cells, what to check; doubts first."""
        ordered = sorted(self.columns, key=lambda column: not (column.doubt or column.suspects))
        return [
            [c.name, c.role, c.reason, ", ".join(c.examples), f"{c.n_missing:,}" if c.n_missing else "", self._look(c)]
            for c in ordered
        ]

    def _look(self, column: Column) -> str:
        codes = self._option_of({column.name: column.suspects}) if column.suspects else ""
        return "; ".join(filter(None, [codes and f"codes of missing answers? {codes}", column.doubt]))

    def record(self) -> dict[str, Any]:
        """Return all decisions as plain values, for ``result.json``."""
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

    def replace_order_note(self, note: str) -> Reading:
        """Return a copy with this note about the order of the rows."""
        other_notes = tuple(other_note for other_note in self.notes if other_note != self.order_note)
        return replace(self, notes=(*other_notes, note) if note else other_notes, order_note=note)

    def replace_commands(self, commands: Sequence[str]) -> Reading:
        """Return a copy with these commands."""
        return replace(self, commands=tuple(commands))


def _doubt_lines(columns: Sequence[Column]) -> list[str]:
    """Return a line per doubt; columns of few whole numbers share one."""
    coded_columns = [c for c in columns if "codes of categories" in c.doubt]
    lines = [f"note: column {c.name!r}: {c.doubt}" for c in columns if len(coded_columns) < 2 or c not in coded_columns]
    if len(coded_columns) > 1:
        names = _list_names([c.name for c in coded_columns], 6)
        option = coded_columns[0].doubt.rpartition(", ")[2]
        lines.append(
            f"note: used as numbers, though each holds only a few whole numbers: {names}. For codes of categories, {option} ..."
        )
    return lines


def _list_names(names: Sequence[str], max_names: int = _MAX_NAMES) -> str:
    return ", ".join(names[:max_names]) + (f" and {len(names) - max_names} more" if len(names) > max_names else "")


def _group_by_role(columns: Sequence[Column]) -> list[str]:
    roles = dict.fromkeys(column.role for column in columns)
    names_by_role = [(role, [column.name for column in columns if column.role == role]) for role in roles]
    return [f"{_list_names(names, 6)} ({'not chosen' if role in NUMERIC else role})" for role, names in names_by_role]


def _float_type() -> Any:
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
