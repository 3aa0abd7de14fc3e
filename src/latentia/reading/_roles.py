"""Roles of the columns of a table, with reasons: measurement, count, category, id, date and others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ._codes import suspect_codes
from ._dates import dates_of, looks_dated
from ._numbers import EMPTY, Numbers, missing_cells, number_share, numbers_of
from ._tables import RawTable
from ._tags import holds_tags

ROLES = (
    "measurement", "count", "binary", "category", "text", "tags", "id", "clock", "date", "group", "weight", "from", "to",
    "ignored",
)  # fmt: skip
NUMERIC = frozenset({"measurement", "count", "binary"})
"""Roles of the columns that are used as numbers."""
_SAMPLE_SIZE = 5000  # evenly spaced rows that decide the roles
_MAX_CODES, _MIN_ROWS_PER_CODE = (
    20,
    2,
)  # Up to 20 distinct values, with two rows each on average, may be codes of categories.
_MIN_COUNTED_ROWS = 10  # In shorter tables a column that counts the rows is used.
_MIN_TEXT_WORDS, _MIN_TEXT_LENGTH = 4, 40  # mean words and characters per cell of text
_MAX_THIRD_TRUTHS, _MAX_THIRD_VALUES = 0.2, 0.01
"""Share of the cells of a column of two values that may hold others: of yes and no, and of other texts."""
_COUNTER = "counts the rows in file order"
_N_EXAMPLES = 3
_MAX_EXAMPLE_LENGTH = 40
_ID = re.compile(
    r"(.*[_ .-])?(ids?\d*|key|uuid|guid|(?-i:[Nn]o)|nr|index|idx|rowid|rownames?|row|obs|record|sample|case|serial)\.?"
    r"|.*identifier|unnamed: ?\d+|\.\.1|column 1|id[_ .-].*"
    r"|(.*[de-hjknstwy]|[cpu]|.*(school|user|customer|order|member|player|firm))id\d*"
    r"|(?-i:.*[a-z]ID)|isbn|(patient|subject|customer|user|invoice|order)[_ .-]?(no|nr|number|code)?",
    re.IGNORECASE,
)  # Words such as paid, bid, acid, lipid and grid end in "id" and are not ids.
_GROUP = re.compile(
    r"(.*[_ .-])?(state|county|country|region|district|province|city|commune|village|school|class|site|block|plot|group|cluster"
    r"|strat(um|a)|psu|family|household|firm|industry|occupation|person|individual|student|pupil|teacher|subj|animal|zip|fips|sic"
    r"|naics|isco|num)[_ .-]?(no|nr)?\d?|.*code",
    re.IGNORECASE,
)
CLOCK = re.compile(
    r"(.*[_ .-])?(time|timestamp|date|datetime|year|month|day|hour|minute|second|week|t|epoch|zeit|jahr|clock)s?([_ .-].*)?",
    re.IGNORECASE,
)
SEQUENCE = re.compile(
    r"(.*[_ .-])?(user|subject|patient|person|session|sequence|animal|player|customer|visitor)([_ .-].*|id)?|.+[_ .-]id",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"(.*[_ .-])?(year|yr|month|week|weekday|day|date)([_ .-]of[_ .-].*)?", re.IGNORECASE)
_YEAR_RANGE = 1000, 2200
_MIN_EQUAL_SHARE = 0.8  # of the values of a group column occur equally often
_MIN_RISING_SHARE = 0.9  # of the steps between rows, for unique numbers that may be ids
_MAX_GAP_RATIO = 3  # of the 90% quantile of a clock's steps to their median
_YES_WORDS = (
    "yes", "true", "present", "1", "y", "t", "on", "x", "positive", "pos", "+", "\u2713", "\u2714", "ja", "oui", "si",
    "s\u00ed",
)  # fmt: skip
_TRUTH_DIGITS = {"true": "1", "false": "0"}
_NO_WORDS = ("no", "false", "absent", "0", "n", "f", "off", "negative", "neg", "nein", "non")


@dataclass(frozen=True)
class Column:
    """A column of a table, with its role.

    Attributes
    ----------
    name : str
    role : str
        One of `ROLES`.
    reason : str
        Why it has this role, and how its cells were read.
    examples : tuple of str
        Contents of some cells.
    n_missing : int
        Number of cells without a value.
    suspects : tuple of str
        Values that may be codes of missing answers.
    doubt : str
        Another possible meaning and the option that selects it; empty if there is none.
    coding : tuple of str
        For a binary column the value that is 1 and the value that is 0.
    """

    name: str
    role: str
    reason: str
    examples: tuple[str, ...] = ()
    n_missing: int = 0
    suspects: tuple[str, ...] = ()
    doubt: str = ""
    coding: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Return True if the column is used as numbers by default."""
        return self.role in NUMERIC


@dataclass(frozen=True)
class ColumnOptions:
    """The user's options about columns.

    Attributes
    ----------
    roles : dict from str to str
    missing_codes : tuple of str
        Codes for all columns, or for one: ``age=99``.
    empty : {"missing", "absent"}
    positive : dict from str to str
        For binary columns the value that is 1.
    id : str or None
        Column with the names of the rows.
    code_two_numbers : bool
        Whether a column of two numbers becomes 0 and 1, as a column of two texts always does.
    amounts : bool
        Whether numbers are amounts: a column of 0 and one other number keeps that number.
    codings : dict from str to tuple of str
        For binary columns the values that are 1 and 0 in the training rows of a model.
    optional : frozenset of str
        Columns of a model that other files may lack.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    missing_codes: tuple[str, ...] = ()
    empty: str = "missing"
    positive: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    code_two_numbers: bool = False
    amounts: bool = False
    codings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def codes_of(self, name: str) -> list[str]:
        """Return the codes of missing answers in a column."""
        entries = (code.rpartition("=") for code in self.missing_codes)
        return [code for column, _, code in entries if column in ("", name)]

    def is_coded(self, column: Column) -> bool:
        """Return True if a column is coded as 0 and 1."""
        has_coding = column.name in self.positive or column.name in self.codings
        return column.role == "binary" and (
            self.code_two_numbers or has_coding or self.empty == "absent" or is_coded(column)
        )

    def like(self, model_reading: Mapping[str, Any]) -> ColumnOptions:
        """Return options that read new rows as the training rows of a model were read."""
        codings = {name: (*coding,) for name, *coding in model_reading.get("codings", ())}
        empty = self.empty if self.empty != "missing" else model_reading.get("empty", "missing")
        codes = self.missing_codes or tuple(model_reading.get("missing_codes", ()))
        roles, id_column = dict(model_reading.get("roles", ())), model_reading.get("id")
        code_columns = {code.rpartition("=")[0] for code in codes if not self.missing_codes}
        return replace(
            self, missing_codes=codes, empty=empty, codings=codings, roles=roles | dict(self.roles),
            id=self.id or id_column, optional=frozenset({*roles, id_column, *code_columns} - {*self.roles, self.id, None}),
        )  # fmt: skip

    def check(self, names: Sequence[str], source: object) -> None:
        """Raise for a column that the table lacks, or an unknown role."""
        for parameter, column_list in (
            ("role", self.roles),
            ("positive", self.positive),
            ("id", [self.id] if self.id else []),
            ("missing_codes", [name for code in self.missing_codes if (name := code.rpartition("=")[0])]),
        ):
            for name in column_list:
                if name not in names and name not in self.optional:
                    raise LatentiaError(
                        f"no such column. There are {', '.join(list(names)[:30])}.",
                        source=str(source),
                        parameter=parameter,
                        value=name,
                    )
        for name, role in self.roles.items():
            if role not in ROLES:
                raise LatentiaError(f"use one of {', '.join(ROLES)}.", parameter="role", value=f"{name}={role}")
        if self.empty not in ("missing", "absent"):
            raise LatentiaError("use 'missing' or 'absent'.", parameter="empty", value=self.empty)


def find_columns(table: RawTable, column_options: ColumnOptions) -> list[Column]:
    """Find the role of every column of a table."""
    column_options.check(table.names, table.path)
    columns = [find_column(table, name, column_options) for name in table.names]
    counters = [i for i, column in enumerate(columns) if column.reason == _COUNTER and column.role == "id"]
    for i in counters[1:]:
        if columns[i].doubt:  # The first counter numbers the rows; a second one may be a count.
            doubt = f"counts the rows in file order; if it is not a measurement, {_role_option(columns[i].name, 'id')}"
            columns[i] = replace(columns[i], role="count", doubt=doubt)
    if table.named_rows and "row" not in column_options.roles and column_options.id is None:
        columns[0] = replace(columns[0], role="id", reason="names the rows, without a heading", doubt="")
    return columns


def blank_missing_codes(column: Any, codes: Sequence[str]) -> Any:
    """Replace codes of missing answers in a column by empty cells."""
    import polars as pl

    if not codes:
        return column
    if column.dtype == pl.Float64:
        numbers = [float(code) for code in codes if re.fullmatch(r"[+-]?\d+(\.\d*)?", code)]
        is_code = column.is_in(numbers).fill_null(False)
        return pl.select(pl.when(is_code).then(None).otherwise(column)).to_series() if is_code.any() else column
    cells = column.fill_null("")
    is_code = cells.str.strip_chars().str.replace(r"(\d)[.,]0{1,2}$", "${1}").is_in([*codes])
    return pl.select(pl.when(is_code).then(pl.lit("")).otherwise(cells)).to_series() if is_code.any() else column


def binary_values(column: Any, coding: Sequence[str], empty: str, separator: str) -> Numbers:
    """Code a column of two values as 0 and 1, with NaN for missing and other values."""
    if _are_numbers(coding):
        numbers = numbers_of(column, separator)
        missing, positive = numbers.missing, numbers.values == float(coding[0])
        is_known = np.isin(numbers.values, [float(value) for value in coding])
    else:
        cells = column.fill_null("").str.strip_chars().str.to_lowercase()
        is_known = np.asarray(cells.is_in([value.lower() for value in coding]).to_numpy(), bool)
        positive = np.asarray((cells == coding[0].lower()).to_numpy(), bool)
        missing = missing_cells(cells) & ~is_known
    values = np.where(is_known, positive.astype(float), np.nan)
    if empty == "absent":
        values[missing] = 0.0
    return Numbers(values, missing & (empty != "absent"), unseen=~is_known & ~missing)


def is_coded(column: Column) -> bool:
    """Return True if a binary column holds two texts; these are always coded as 0 and 1."""
    return bool(column.coding) and not _are_numbers(column.coding)


def _are_numbers(texts: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text) for text in texts)


# --- one column ---------------------------------------------------------------------------------------------------


def find_column(table: RawTable, name: str, column_options: ColumnOptions) -> Column:
    """Find the role of one column."""
    import polars as pl

    column = blank_missing_codes(table.series(name), column_options.codes_of(name))
    if name in column_options.codings:
        coding = column_options.codings[name]
        return Column(name, "binary", f"{coding[0]} is 1 (as in the model)", coding=coding)
    role = "id" if name == column_options.id else column_options.roles.get(name)
    if column.dtype == pl.Float64:
        classified = _classify_numbers(name, column, column_options, role in ("measurement", "count"))
        classified = replace(
            classified, examples=_examples(column.drop_nulls().head(50).to_list()), n_missing=column.null_count()
        )
    else:
        classified = _classify_texts(table, name, column, column_options, role)
    if role is None:
        return classified
    reason = "as asked" + (f"; {classified.reason}" if role == classified.role else "")
    coding = classified.coding if role == "binary" else ()
    if role == "binary" and not coding:
        raise LatentiaError(
            f"expected two values in the column; it holds {', '.join(classified.examples)} and others.", source=table.path,
            parameter="role", value=f"{name}=binary",
        )  # fmt: skip
    return replace(classified, role=role, reason=reason, doubt="", coding=coding)


def _examples(cells: Sequence[Any]) -> tuple[str, ...]:
    texts = [f"{cell:.15g}" if isinstance(cell, float) else " ".join(str(cell).split()) for cell in cells]
    texts = [
        text[: _MAX_EXAMPLE_LENGTH - 1] + "\u2026" if len(text) > _MAX_EXAMPLE_LENGTH else text
        for text in texts
        if text
    ]
    return tuple(list(dict.fromkeys(texts))[:_N_EXAMPLES])


def _sample_filled_cells(column: Any) -> Any:
    """Return evenly spaced cells that have a value."""
    filled = column.drop_nulls()
    return (
        filled
        if len(filled) <= _SAMPLE_SIZE
        else filled.gather(np.linspace(0, len(filled) - 1, _SAMPLE_SIZE).astype(int))
    )


def _role_option(name: str, role: str) -> str:
    return f"--role {_word(name)}={role}"


def _word(text: str) -> str:
    return text if re.fullmatch(r"[\w.-]+", text) else _quote(text)


def _quote(text: str) -> str:
    """Return a text as a shell takes it literally; the texts of a file must run nothing when a hint is copied."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _classify_numbers(name: str, column: Any, column_options: ColumnOptions, measured: bool = False) -> Column:
    """Find the role of a column of numbers, with or without nulls."""
    values = column.to_numpy() if not column.null_count() else column.drop_nulls().to_numpy()
    if not len(values):
        return Column(name, "ignored", "no cell has a value")
    sample = (
        values if len(values) <= _SAMPLE_SIZE else values[np.linspace(0, len(values) - 1, _SAMPLE_SIZE).astype(int)]
    )
    smallest, largest = float(values.min()), float(values.max())
    if smallest == largest:
        doubt = f"the same value in every row: {_role_option(name, 'ignored')}"
        return Column(name, "measurement", f"constant: {smallest:.15g} in all rows", doubt=doubt)
    distinct = len(np.unique(sample))
    two = _classify_two_numbers(name, values, column_options) if distinct <= 2 and not measured else None
    if two is not None:
        return two
    all_whole = bool((sample % 1 == 0).all())
    gaps = column.null_count() > 0
    special = None if measured or gaps else _find_id_or_clock(name, values, all_whole)
    if special is not None:
        return special
    suspects = suspect_codes(values)
    codes = [float(code) for code in suspects]
    counted = all_whole and bool(np.isin(values[values < 0], codes).all())
    reason = "whole numbers from 0" if counted else "whole numbers" if all_whole else "numbers"
    doubt = "" if measured else _describe_doubt(name, values, all_whole, distinct, gaps)
    return Column(name, "count" if counted else "measurement", reason, suspects=suspects, doubt=doubt)


def _describe_doubt(name: str, values: np.ndarray, all_whole: bool, distinct: int, gaps: bool) -> str:
    """Return another possible meaning of numbers, and the option that selects it."""
    dated = looks_dated(name, values)
    if dated:
        return f"may be dates, {dated}: {_role_option(name, 'date')}"
    if all_whole and distinct <= min(_MAX_CODES, max(len(values) // _MIN_ROWS_PER_CODE, 3)):
        return f"{distinct} whole numbers; if they are codes of categories, {_role_option(name, 'category')}"
    unique = distinct == min(len(values), _SAMPLE_SIZE)
    if all_whole and _ID.fullmatch(name):
        group = f"named as an id, and values repeat; if it is not a measurement, {_role_option(name, 'group')}"
        return f"may name the rows: {_role_option(name, 'id')}" if unique else group
    if all_whole and _CALENDAR.fullmatch(name):
        return f"may be a date: {_role_option(name, 'clock')}"
    if all_whole and _GROUP.fullmatch(name):
        return f"named as a group; if it is not a measurement, {_role_option(name, 'group')}"
    if all_whole and not unique and _repeats_as_groups(values[:_SAMPLE_SIZE]):
        return f"values repeat as in a group column; if it is not a measurement, {_role_option(name, 'group')}"
    if CLOCK.fullmatch(name) and bool((np.diff(values) >= 0).all()):
        return f"may be a clock: {_role_option(name, 'clock')}"
    if (
        all_whole
        and unique
        and not gaps
        and len(values) >= _MIN_COUNTED_ROWS
        and (np.diff(values) > 0).mean() >= _MIN_RISING_SHARE
    ):
        return f"values are unique and rise; if they name the rows, {_role_option(name, 'id')}"
    return ""


def _repeats_as_groups(values: np.ndarray) -> bool:
    """Return True if most values repeat equally often, or each fills one block of neighbouring rows."""
    times = np.unique(values, return_counts=True)[1]
    usual = np.bincount(times).argmax()
    blocks = 1 + int((np.diff(values) != 0).sum())
    equal, repeated = (times == usual).mean() >= _MIN_EQUAL_SHARE, (times > 1).mean() >= _MIN_EQUAL_SHARE
    return bool((usual > 1 and equal) or (repeated and blocks == len(times)))


def _find_id_or_clock(name: str, values: np.ndarray, all_whole: bool) -> Column | None:
    """Return an id or a clock if the name and the values agree on it, or the values count the rows; else None."""
    n = len(values)
    counts, clock = all_whole and n >= _MIN_COUNTED_ROWS and _counts_rows(values), CLOCK.fullmatch(name) is not None
    doubt = f"left out; if it is a measurement, {_role_option(name, 'measurement')}"
    if counts and clock:
        return Column(name, "clock", "rises by one from row to row", doubt=doubt)
    if counts and float(values[0]) in (0.0, 1.0):
        return Column(name, "id", _COUNTER, doubt="" if _ID.fullmatch(name) else doubt)
    if n <= 2:
        return None
    if (
        all_whole
        and _ID.fullmatch(name)
        and len(np.unique(values[:_SAMPLE_SIZE])) == min(n, _SAMPLE_SIZE)
        and len(np.unique(values)) == n
    ):
        return Column(name, "id", "named as an id, and values are unique")
    if clock and values[1] > values[0] and _is_clocklike(name, values):
        return Column(name, "clock", "named as a time, and rises from row to row")
    return None


def _is_clocklike(name: str, values: np.ndarray) -> bool:
    """Return True if values rise from row to row like a clock: in regular steps, or as years or dates."""
    steps = np.diff(values)
    if not (steps > 0).all():
        return False
    calendar = values[0] >= _YEAR_RANGE[0] and values[-1] <= _YEAR_RANGE[1]
    regular = np.quantile(steps, 0.9) <= _MAX_GAP_RATIO * np.median(steps)
    return bool(calendar or regular or looks_dated(name, values) is not None)


def _counts_rows(values: np.ndarray) -> bool:
    return len(values) > 2 and bool((np.diff(values[:100]) == 1).all()) and bool((np.diff(values) == 1).all())


def _classify_two_numbers(name: str, column: np.ndarray, column_options: ColumnOptions) -> Column | None:
    """Return a binary column of two numbers; None for any other number of values."""
    values = np.unique(column).tolist()
    if len(values) != 2:
        return None
    texts = [f"{value:.15g}" for value in values]
    if values == [0.0, 1.0] and name not in column_options.positive:
        return Column(name, "binary", "0 and 1", coding=("1", "0"))
    requested = column_options.positive.get(name)
    if column_options.amounts and requested is None and 0.0 in values:
        return None
    if requested is not None:
        positive = _match_positive_value(name, requested, texts)
        why = "as asked"
    else:
        positive, why = ("1", "it is 1") if "1" in texts else (texts[1], "the larger")
    negative = next(text for text in texts if text != positive)
    doubt = (
        ""
        if requested is not None or (positive == "1" and negative in ("0", "-1"))
        else f"{positive} was taken as 1, {negative} as 0: --positive {_word(name)}={_word(negative)}"
    )
    if not column_options.code_two_numbers and requested is None and column_options.empty == "missing":
        return Column(name, "binary", f"two numbers, {texts[0]} and {texts[1]}", coding=(positive, negative))
    return Column(name, "binary", f"{positive} is 1, {negative} is 0 ({why})", doubt=doubt, coding=(positive, negative))


def _match_positive_value(name: str, requested: str, texts: Sequence[str]) -> str:
    """Return the user's positive value as it is written in the column."""
    requested = _TRUTH_DIGITS.get(requested.lower(), requested) if "0" in texts and "1" in texts else requested
    for text in texts:
        if text.lower() == requested.lower() or (
            text.replace(".", "").isdigit() and requested.replace(".", "").isdigit() and float(text) == float(requested)
        ):
            return text
    raise LatentiaError(
        f"expected a value of the column, {' or '.join(texts)}.", parameter="positive", value=f"{name}={requested}"
    )


# --- texts ----------------------------------------------------------------------------------------------------------


def _classify_texts(table: RawTable, name: str, column: Any, column_options: ColumnOptions, role: str | None) -> Column:
    cells = column.fill_null("").str.strip_chars()
    empty = missing_cells(cells)
    present = cells.filter(_to_mask(~empty))
    n_missing = int(empty.sum())
    if not len(present):
        return Column(name, "ignored", "no cell has a value", n_missing=n_missing)
    sample = _sample_filled_cells(present)
    examples = _examples(sample.unique(maintain_order=True).head(50).to_list())
    share, _ = number_share(sample)
    if share >= 0.5 and role not in ("category", "text", "tags", "id", "group"):
        return replace(
            _classify_formatted_numbers(table, name, column, column_options, share),
            examples=examples,
            n_missing=n_missing,
        )
    two = (
        _classify_two_texts(name, cells, column_options)
        if len(present) > 2 and sample.str.to_lowercase().n_unique() <= 2
        else None
    )
    if two is not None and role in (None, "binary"):
        return replace(two, examples=examples, n_missing=n_missing)
    words_missing = missing_cells(cells, EMPTY)
    classified = _classify_words(table, name, cells.filter(_to_mask(~words_missing)), column_options)
    return replace(classified, examples=examples, n_missing=int(words_missing.sum()))


def _to_mask(values: np.ndarray) -> Any:
    import polars as pl

    return pl.Series(values)


def _classify_formatted_numbers(
    table: RawTable, name: str, column: Any, column_options: ColumnOptions, share: float
) -> Column:
    """Find the role of a text column of formatted numbers, dates, or ids with many digits."""
    from ._numbers import as_series

    cells = column.fill_null("").str.strip_chars()
    digits = cells.str.contains(r"^0\d|^[+-]?\d{16,}$")
    if digits.any():
        present = cells.filter(cells != "")
        if present.n_unique() == len(present) or _ID.fullmatch(name):
            return Column(name, "id", "whole numbers with zeros in front or more than 15 digits")
        return Column(name, "category", "numbers with zeros in front or more than 15 digits: codes")
    numbers = numbers_of(column, table.separator)
    if numbers.wrong is not None:
        dated = dates_of(name, cells.filter(_to_mask(~missing_cells(cells))).head(1000).to_list())
        if dated is not None:
            return Column(name, "date", f"dates, {dated[1]}")
        cell, distinct = cells[numbers.wrong], cells.n_unique()
        if distinct <= min(_MAX_CODES, len(cells) // _MIN_ROWS_PER_CODE) and re.search(r"\d", cell):  # 0, 1, 2 and 3+
            doubt = f"most of them are numbers; if it is a measurement, --missing-codes {_quote(cell)}"
            return Column(name, "category", f"{distinct} different texts", doubt=doubt)
        where = f"{table.unit} {table.rows[numbers.wrong]}"
        problem = f"{100 * share:.0f}% of the cells are numbers, and {where} holds {cell!r}"
        doubt = f"not all cells are numbers: --missing-codes {_quote(cell)}, or {_role_option(name, 'category')}"
        return Column(name, "measurement", problem, doubt=doubt)
    column = _classify_numbers(name, as_series(numbers.values), column_options)
    reason = ", ".join([column.reason, *numbers.forms])
    doubt = f"{numbers.doubt}: {_role_option(name, 'ignored')} leaves it out" if numbers.doubt else column.doubt
    return replace(column, reason=reason, doubt=doubt)


def _classify_two_texts(name: str, cells: Any, column_options: ColumnOptions) -> Column | None:
    """Return a binary column of two texts, or of one text and empty cells; None if there are more."""
    written = cells.filter(_to_mask(~missing_cells(cells)))
    present = written.str.to_lowercase()
    counts = present.value_counts()
    values = dict(zip(counts.to_series(0).to_list(), counts.to_series(1).to_list(), strict=True))
    spelled = {value: written[int((present == value).arg_max())] for value in values} if len(values) <= 2 else {}
    empty = len(cells) - len(present)
    if len(values) == 1 and empty:
        value = next(iter(spelled.values()))
        if value.lower() not in _YES_WORDS and column_options.empty != "absent":
            return None
        doubt = (
            ""
            if column_options.empty == "absent"
            else f"{empty:,} cells are empty; if empty means absent, --empty absent"
        )
        return Column(
            name,
            "binary",
            f"{value} is 1" + (", empty is 0" if column_options.empty == "absent" else ", empty is unknown"),
            doubt=doubt,
            coding=(value,),
        )
    if len(values) != 2:
        return None
    requested = column_options.positive.get(name)
    positive, why = (
        (_match_positive_value(name, requested, list(values)), "as asked")
        if requested is not None
        else _choose_positive_text(values)
    )
    negative = spelled[next(value for value in values if value != positive)]
    positive = spelled[positive]
    doubt = (
        ""
        if requested is not None or why == "its name"
        else f"{positive!r} was taken as 1, {negative!r} as 0: --positive {_word(name)}={_word(negative)}"
    )
    return Column(name, "binary", f"{positive} is 1, {negative} is 0 ({why})", doubt=doubt, coding=(positive, negative))


def positive_value(values: Sequence[str]) -> str:
    """Return the one of two values that becomes 1: yes rather than no, the larger number, or the last by name."""
    lower = {value.lower(): value for value in values}
    return lower[_choose_positive_text(dict.fromkeys(lower, 1))[0]] if len(lower) == len(values) else values[-1]


def _choose_positive_text(values: Mapping[str, int]) -> tuple[str, str]:
    """Choose which of two values is 1; return it with the reason."""
    yes_values = [value for value in values if value in _YES_WORDS]
    no_values = [value for value in values if value in _NO_WORDS]
    letters = all(len(value) == 1 for value in values)  # Single letters may mean anything: f beside m is not false.
    if len(yes_values) == 1 and (len(no_values) == 1 or not letters):
        return yes_values[0], "its name"
    if len(no_values) == 1 and not letters:
        return next(value for value in values if value != no_values[0]), "its name"
    numbers = [value for value in values if re.fullmatch(r"[+-]?\d+(\.\d+)?", value)]
    if len(numbers) == 2:
        return max(values, key=float), "the larger"
    smallest_count = min(values.values())
    rarest = sorted(value for value, n in values.items() if n == smallest_count)
    return rarest[-1], "the rarer" if len(rarest) == 1 else "the last by name"


def _describe_third_value(name: str, cells: Any) -> str:
    """Return the doubt about a column of two values but for a few cells; empty for other columns."""
    counts = cells.value_counts(sort=True)
    values, times = (counts.to_series(i).to_list() for i in (0, 1))
    rest = sum(times[2:])
    lower = {value.lower() for value in values[:2]}
    are_truths = bool(lower.intersection(_YES_WORDS)) and bool(lower.intersection(_NO_WORDS))
    if not 2 < len(values) <= _MAX_CODES or rest > (_MAX_THIRD_TRUTHS if are_truths else _MAX_THIRD_VALUES) * len(
        cells
    ):
        return ""
    third_values = ", ".join(map(repr, values[2 : 2 + _N_EXAMPLES]))
    codes = _quote(",".join(f"{name}={value}" for value in values[2:]))
    return (
        f"{values[0]!r} and {values[1]!r}, but {rest:,} cells hold {third_values}; if these are missing answers, "
        f"--missing-codes {codes}"
    )


def _classify_words(table: RawTable, name: str, present: Any, column_options: ColumnOptions) -> Column:
    """Find the role of a text column without numbers: dates, lists of tags, categories, ids, texts."""
    sample = _sample_filled_cells(present)
    cells = sample.to_list()
    if not cells:
        return Column(name, "ignored", "no cell has a value")
    dated = dates_of(name, cells)
    if dated is not None:
        return Column(name, "date", f"dates, {dated[1]}")
    tags = holds_tags(name, cells)
    if tags:
        return Column(name, "tags", tags)
    distinct, n = sample.n_unique(), len(cells)
    words = float(sample.str.count_matches(r"\S+").mean())
    length = float(sample.str.len_chars().mean())
    if distinct == 1:
        return Column(name, "category", f"constant: {cells[0][:_MAX_EXAMPLE_LENGTH]} in all rows")
    long = (words >= _MIN_TEXT_WORDS and length >= _MIN_TEXT_LENGTH / 2) or length >= 2 * _MIN_TEXT_LENGTH
    if long and (distinct > 0.5 * n or distinct > _MAX_CODES):
        return Column(name, "text", f"texts of {words:.0f} words")
    if distinct == n and n > 2 and not (n < _MIN_COUNTED_ROWS and not (name == table.names[0] or _ID.fullmatch(name))):
        return Column(name, "id", "each text is unique")
    if distinct <= max(_MAX_CODES, n / 3) or n < _MIN_COUNTED_ROWS:
        return Column(name, "category", f"{distinct:,} different texts", doubt=_describe_third_value(name, sample))
    if re.search(r"text|title|comment|review|body|abstract|content|description|message", name, re.IGNORECASE):
        return Column(name, "text", f"texts of {words:.0f} words")
    return Column(
        name,
        "category",
        f"{distinct:,} different texts in {n:,} rows",
        doubt=f"many categories; if they are texts, {_role_option(name, 'text')}",
    )
