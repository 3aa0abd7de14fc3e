"""The role of every column of a table, and why: what is measured, counted, a category, an id, a date."""

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
    "measurement", "count", "binary", "category", "text", "tags", "id", "clock", "date", "group", "weight", "ignored",
)  # fmt: skip
NUMERIC = frozenset({"measurement", "count", "binary"})
"""The roles of columns that are used as numbers."""
_SAMPLED = 5000  # rows from which roles are told, evenly spaced
_FEW, _REPEATED = 20, 2  # distinct values that may be codes of categories, and the least rows for each, on average
_COUNTED = 10  # rows from which a column that counts them is left out
_WORDS, _LONG = 4, 40  # mean words and characters of texts
_COUNTER = "counts the rows in file order"
_EXAMPLES = 3
_MOST_EXAMPLE = 40
_ID = re.compile(
    r"(.*[_ .-])?(ids?\d*|key|uuid|guid|(?-i:[Nn]o)|nr|index|idx|rowid|rownames?|row|obs|record|sample|case|serial)\.?"
    r"|.*identifier|unnamed: ?\d+|\.\.1|column 1|id[_ .-].*"
    r"|(.*[de-hjknstwy]|[cpu]|.*(school|user|customer|order|member|player|firm))id\d*"
    r"|(?-i:.*[a-z]ID)|isbn|(patient|subject|customer|user|invoice|order)[_ .-]?(no|nr|number|code)?",
    re.IGNORECASE,
)  # A word such as paid, bid, acid, lipid or grid does not end in an id.
_GROUP = re.compile(
    r"(.*[_ .-])?(state|county|country|region|district|province|city|commune|village|school|class|site|block|plot|group|cluster"
    r"|strat(um|a)|psu|family|household|firm|industry|occupation|person|individual|student|pupil|teacher|subj|animal|zip|fips|sic"
    r"|naics|isco|num)[_ .-]?(no|nr)?\d?|.*code",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(.*[_ .-])?(time|timestamp|date|datetime|year|month|day|hour|minute|second|week|t|epoch|zeit|jahr|clock)s?([_ .-].*)?",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"(.*[_ .-])?(year|yr|month|week|weekday|day|date)([_ .-]of[_ .-].*)?", re.IGNORECASE)
_YEARS = 1000, 2200
_EQUAL = 0.8  # of the values that stand in equally many rows, of a column that names groups
_MOSTLY = 0.9  # of the steps that rise, where unique numbers may be ids
_REGULAR = 3  # times the median, below which nine of ten gaps of a clock are
_YES = (
    "yes", "true", "present", "1", "y", "t", "on", "x", "positive", "pos", "+", "\u2713", "\u2714", "ja", "oui", "si",
    "s\u00ed",
)  # fmt: skip
_TRUTH = {"true": "1", "false": "0"}
_NO = ("no", "false", "absent", "0", "n", "f", "off", "negative", "neg", "nein", "non")


@dataclass(frozen=True)
class Column:
    """A column of a table, and what is made of it.

    Attributes
    ----------
    name : str
    role : str
        One of `ROLES`.
    reason : str
        Why it has this role, and how its cells are read.
    examples : tuple of str
        Some of its cells.
    n_missing : int
        Cells without a value.
    suspects : tuple of str
        Values that may be codes of missing answers.
    doubt : str
        Another meaning that it may have, and the option that says so; empty where there is none.
    coding : tuple of str
        Of a binary column the value that is 1, and the one that is 0.
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
        """Whether it is used as numbers unless an option says otherwise."""
        return self.role in NUMERIC


@dataclass(frozen=True)
class Asked:
    """What the user says of columns.

    Attributes
    ----------
    roles : dict from str to str
    missing_codes : tuple of str
        Of all columns, or of one: ``age=99``.
    empty : {"missing", "absent"}
    positive : dict from str to str
        Of binary columns the value that is 1.
    id : str or None
        The column that names the rows.
    two : bool
        Whether two numbers are read as 0 and 1, as two texts always are.
    amounts : bool
        Whether numbers are amounts: of two numbers of which one is 0 the other keeps its size.
    codings : dict from str to tuple of str
        Of binary columns the values that are 1 and 0, as in the rows that a model has learned from.
    optional : frozenset of str
        Columns that a model knows and other files may lack.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    missing_codes: tuple[str, ...] = ()
    empty: str = "missing"
    positive: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    two: bool = False
    amounts: bool = False
    codings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def codes_of(self, name: str) -> list[str]:
        """Return the codes of missing answers in a column."""
        named = (code.rpartition("=") for code in self.missing_codes)
        return [code for column, _, code in named if column in ("", name)]

    def is_coded(self, column: Column) -> bool:
        """Return True if a column is read as 0 and 1."""
        named = column.name in self.positive or column.name in self.codings
        return column.role == "binary" and (self.two or named or self.empty == "absent" or is_coded(column))

    def like(self, kept: Mapping[str, Any]) -> Asked:
        """Return what is asked of rows that are read like those of a model, which keeps this of them."""
        codings = {name: (*coding,) for name, *coding in kept.get("codings", ())}
        empty = self.empty if self.empty != "missing" else kept.get("empty", "missing")
        codes = self.missing_codes or tuple(kept.get("missing_codes", ()))
        roles, naming = dict(kept.get("roles", ())), kept.get("id")
        named = {code.rpartition("=")[0] for code in codes if not self.missing_codes}
        return replace(
            self, missing_codes=codes, empty=empty, codings=codings, roles=roles | dict(self.roles),
            id=self.id or naming, optional=frozenset({*roles, naming, *named} - {*self.roles, self.id, None}),
        )  # fmt: skip

    def check(self, names: Sequence[str], source: object) -> None:
        """Raise for a column that the table does not have, or a role that there is not."""
        for parameter, given in (
            ("role", self.roles),
            ("positive", self.positive),
            ("id", [self.id] if self.id else []),
            ("missing_codes", [name for code in self.missing_codes if (name := code.rpartition("=")[0])]),
        ):
            for name in given:
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


def find_columns(table: RawTable, asked: Asked) -> list[Column]:
    """Find the role of every column of a table."""
    asked.check(table.names, table.path)
    columns = [find_column(table, name, asked) for name in table.names]
    counters = [i for i, column in enumerate(columns) if column.reason == _COUNTER and column.role == "id"]
    for i in counters[1:]:
        if columns[i].doubt:  # Rows have one number, and neither the name of another nor its values say more.
            doubt = f"counts the rows in file order; if it measures nothing, {_option(columns[i].name, 'id')}"
            columns[i] = replace(columns[i], role="count", doubt=doubt)
    if table.named_rows and "row" not in asked.roles and asked.id is None:
        columns[0] = replace(columns[0], role="id", reason="names the rows, without a heading", doubt="")
    return columns


def coded(column: Any, codes: Sequence[str]) -> Any:
    """Return a column in which codes of missing answers are empty cells."""
    import polars as pl

    if not codes:
        return column
    if column.dtype == pl.Float64:
        numbers = [float(code) for code in codes if re.fullmatch(r"[+-]?\d+(\.\d*)?", code)]
        found = column.is_in(numbers).fill_null(False)
        return pl.select(pl.when(found).then(None).otherwise(column)).to_series() if found.any() else column
    cells = column.fill_null("")
    found = cells.str.strip_chars().str.replace(r"(\d)[.,]0{1,2}$", "${1}").is_in([*codes])
    return pl.select(pl.when(found).then(pl.lit("")).otherwise(cells)).to_series() if found.any() else column


def binary_values(column: Any, coding: Sequence[str], empty: str, separator: str) -> Numbers:
    """Return the 0 and 1 of a column of two values, NaN where there is none, or another value than these."""
    if _are_numbers(coding):
        numbers = numbers_of(column, separator)
        missing, positive = numbers.missing, numbers.values == float(coding[0])
        known = np.isin(numbers.values, [float(value) for value in coding])
    else:
        cells = column.fill_null("").str.strip_chars().str.to_lowercase()
        known = np.asarray(cells.is_in([value.lower() for value in coding]).to_numpy(), bool)
        positive = np.asarray((cells == coding[0].lower()).to_numpy(), bool)
        missing = missing_cells(cells) & ~known
    values = np.where(known, positive.astype(float), np.nan)
    if empty == "absent":
        values[missing] = 0.0
    return Numbers(values, missing & (empty != "absent"), unseen=~known & ~missing)


def is_coded(column: Column) -> bool:
    """Return True if two values are texts, which are read as 0 and 1."""
    return bool(column.coding) and not _are_numbers(column.coding)


def _are_numbers(texts: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text) for text in texts)


# --- one column ---------------------------------------------------------------------------------------------------


def find_column(table: RawTable, name: str, asked: Asked) -> Column:
    """Find the role of one column."""
    import polars as pl

    column = coded(table.series(name), asked.codes_of(name))
    if name in asked.codings:
        coding = asked.codings[name]
        return Column(name, "binary", f"{coding[0]} is 1 (as in the model)", coding=coding)
    role = "id" if name == asked.id else asked.roles.get(name)
    if column.dtype == pl.Float64:
        found = _of_numbers(name, column, asked, role in ("measurement", "count"))
        found = replace(
            found, examples=_examples(column.drop_nulls().head(50).to_list()), n_missing=column.null_count()
        )
    else:
        found = _of_texts(table, name, column, asked, role)
    if role is None:
        return found
    reason = "as asked" + (f"; {found.reason}" if role == found.role else "")
    coding = found.coding if role == "binary" else ()
    if role == "binary" and not coding:
        raise LatentiaError(
            f"the column has not two values but {', '.join(found.examples)} and others.", source=table.path,
            parameter="role", value=f"{name}=binary",
        )  # fmt: skip
    return replace(found, role=role, reason=reason, doubt="", coding=coding)


def _examples(cells: Sequence[Any]) -> tuple[str, ...]:
    texts = [f"{cell:.15g}" if isinstance(cell, float) else " ".join(str(cell).split()) for cell in cells]
    texts = [text[: _MOST_EXAMPLE - 1] + "\u2026" if len(text) > _MOST_EXAMPLE else text for text in texts if text]
    return tuple(list(dict.fromkeys(texts))[:_EXAMPLES])


def _sampled(column: Any) -> Any:
    """Return some cells with a value, evenly spaced."""
    filled = column.drop_nulls()
    return filled if len(filled) <= _SAMPLED else filled.gather(np.linspace(0, len(filled) - 1, _SAMPLED).astype(int))


def _option(name: str, role: str) -> str:
    quoted = name if re.fullmatch(r"[\w.-]+", name) else '"' + name.replace('"', '\\"') + '"'
    return f"--role {quoted}={role}"


def _of_numbers(name: str, column: Any, asked: Asked, measured: bool = False) -> Column:
    """Find the role of a column of numbers, which may have nulls."""
    values = column.to_numpy() if not column.null_count() else column.drop_nulls().to_numpy()
    if not len(values):
        return Column(name, "ignored", "no cell has a value")
    sample = values if len(values) <= _SAMPLED else values[np.linspace(0, len(values) - 1, _SAMPLED).astype(int)]
    least, most = float(values.min()), float(values.max())
    if least == most:
        doubt = f"the same value in every row: {_option(name, 'ignored')}"
        return Column(name, "measurement", f"constant: {least:.15g} in all rows", doubt=doubt)
    distinct = len(np.unique(sample))
    two = _two_numbers(name, values, asked) if distinct <= 2 and not measured else None
    if two is not None:
        return two
    whole = bool((sample % 1 == 0).all())
    gaps = column.null_count() > 0
    apart = None if measured or gaps else _apart(name, values, whole)
    if apart is not None:
        return apart
    suspects = suspect_codes(values)
    codes = [float(code) for code in suspects]
    counted = whole and bool(np.isin(values[values < 0], codes).all())
    reason = "whole numbers from 0" if counted else "whole numbers" if whole else "numbers"
    doubt = "" if measured else _doubt(name, values, whole, distinct, gaps)
    return Column(name, "count" if counted else "measurement", reason, suspects=suspects, doubt=doubt)


def _doubt(name: str, values: np.ndarray, whole: bool, distinct: int, gaps: bool) -> str:
    """Return another meaning that numbers may have, and the option that says so."""
    dated = looks_dated(name, values)
    if dated:
        return f"may be dates, {dated}: {_option(name, 'date')}"
    if whole and distinct <= min(_FEW, max(len(values) // _REPEATED, 3)):
        return f"{distinct} whole numbers; if they are codes of categories, {_option(name, 'category')}"
    unique = distinct == min(len(values), _SAMPLED)
    if whole and _ID.fullmatch(name):
        group = f"named as an id, and values come back; if it measures nothing, {_option(name, 'group')}"
        return f"may name the rows: {_option(name, 'id')}" if unique else group
    if whole and _CALENDAR.fullmatch(name):
        return f"may be a date: {_option(name, 'clock')}"
    if whole and _GROUP.fullmatch(name):
        return f"named as a group; if it measures nothing, {_option(name, 'group')}"
    if whole and not unique and _repeats_as_groups(values[:_SAMPLED]):
        return f"values come back as names of groups do; if it measures nothing, {_option(name, 'group')}"
    if _CLOCK.fullmatch(name) and bool((np.diff(values) >= 0).all()):
        return f"may be a clock: {_option(name, 'clock')}"
    if whole and unique and not gaps and len(values) >= _COUNTED and (np.diff(values) > 0).mean() >= _MOSTLY:
        return f"each value stands once, and they rise; if they name the rows, {_option(name, 'id')}"
    return ""


def _repeats_as_groups(values: np.ndarray) -> bool:
    """Return True if values stand in equally many rows each, or each of them in rows side by side."""
    times = np.unique(values, return_counts=True)[1]
    usual = np.bincount(times).argmax()
    blocks = 1 + int((np.diff(values) != 0).sum())
    equal, several = (times == usual).mean() >= _EQUAL, (times > 1).mean() >= _EQUAL
    return bool((usual > 1 and equal) or (several and blocks == len(times)))


def _apart(name: str, values: np.ndarray, whole: bool) -> Column | None:
    """Return an id or a clock, where both the name and the values say so, or the values count the rows."""
    n = len(values)
    counts, clock = whole and n >= _COUNTED and _counts_rows(values), _CLOCK.fullmatch(name) is not None
    doubt = f"left out; if it measures, {_option(name, 'measurement')}"
    if counts and clock:
        return Column(name, "clock", "rises by one from row to row", doubt=doubt)
    if counts and float(values[0]) in (0.0, 1.0):
        return Column(name, "id", _COUNTER, doubt="" if _ID.fullmatch(name) else doubt)
    if n <= 2:
        return None
    if (
        whole
        and _ID.fullmatch(name)
        and len(np.unique(values[:_SAMPLED])) == min(n, _SAMPLED)
        and len(np.unique(values)) == n
    ):
        return Column(name, "id", "named as an id, and each value stands once")
    if clock and values[1] > values[0] and _ticks(name, values):
        return Column(name, "clock", "named as a time, and rises from row to row")
    return None


def _ticks(name: str, values: np.ndarray) -> bool:
    """Return True if values rise from row to row as a clock does: at regular steps, or through years or dates."""
    steps = np.diff(values)
    if not (steps > 0).all():
        return False
    calendar = values[0] >= _YEARS[0] and values[-1] <= _YEARS[1]
    regular = np.quantile(steps, 0.9) <= _REGULAR * np.median(steps)
    return bool(calendar or regular or looks_dated(name, values) is not None)


def _counts_rows(values: np.ndarray) -> bool:
    return len(values) > 2 and bool((np.diff(values[:100]) == 1).all()) and bool((np.diff(values) == 1).all())


def _two_numbers(name: str, column: np.ndarray, asked: Asked) -> Column | None:
    """Return a binary column of two numbers; None if there are more."""
    values = np.unique(column).tolist()
    if len(values) != 2:
        return None
    texts = [f"{value:.15g}" for value in values]
    if values == [0.0, 1.0] and name not in asked.positive:
        return Column(name, "binary", "0 and 1", coding=("1", "0"))
    given = asked.positive.get(name)
    if asked.amounts and given is None and 0.0 in values:
        return None
    if given is not None:
        positive = _given(name, given, texts)
        why = "as asked"
    else:
        positive, why = ("1", "it is 1") if "1" in texts else (texts[1], "the larger")
    negative = next(text for text in texts if text != positive)
    doubt = (
        ""
        if given is not None or (positive == "1" and negative in ("0", "-1"))
        else f"{positive} was taken as 1, {negative} as 0: --positive {name}={negative}"
    )
    if not asked.two and given is None and asked.empty == "missing":
        return Column(name, "binary", f"two numbers, {texts[0]} and {texts[1]}", coding=(positive, negative))
    return Column(name, "binary", f"{positive} is 1, {negative} is 0 ({why})", doubt=doubt, coding=(positive, negative))


def _given(name: str, given: str, texts: Sequence[str]) -> str:
    """Return the value that the user calls positive, as it is written in the column."""
    given = _TRUTH.get(given.lower(), given) if "0" in texts and "1" in texts else given
    for text in texts:
        if text.lower() == given.lower() or (
            text.replace(".", "").isdigit() and given.replace(".", "").isdigit() and float(text) == float(given)
        ):
            return text
    raise LatentiaError(f"the column holds {' and '.join(texts)}.", parameter="positive", value=f"{name}={given}")


# --- texts ----------------------------------------------------------------------------------------------------------


def _of_texts(table: RawTable, name: str, column: Any, asked: Asked, role: str | None) -> Column:
    cells = column.fill_null("").str.strip_chars()
    empty = missing_cells(cells)
    present = cells.filter(_mask(~empty))
    n_missing = int(empty.sum())
    if not len(present):
        return Column(name, "ignored", "no cell has a value", n_missing=n_missing)
    sample = _sampled(present)
    examples = _examples(sample.unique(maintain_order=True).head(50).to_list())
    share, _ = number_share(sample)
    if share >= 0.5 and role not in ("category", "text", "tags", "id", "group"):
        return replace(_formed(table, name, column, asked, share), examples=examples, n_missing=n_missing)
    two = _two_texts(name, cells, asked) if len(present) > 2 and sample.str.to_lowercase().n_unique() <= 2 else None
    if two is not None and role in (None, "binary"):
        return replace(two, examples=examples, n_missing=n_missing)
    words_missing = missing_cells(cells, EMPTY)
    found = _of_words(table, name, cells.filter(_mask(~words_missing)), asked)
    return replace(found, examples=examples, n_missing=int(words_missing.sum()))


def _mask(values: np.ndarray) -> Any:
    import polars as pl

    return pl.Series(values)


def _formed(table: RawTable, name: str, column: Any, asked: Asked, share: float) -> Column:
    """Find the role of a column whose texts are numbers, dates, or ids with many digits."""
    from ._numbers import as_series

    cells = column.fill_null("").str.strip_chars()
    digits = cells.str.contains(r"^0\d|^[+-]?\d{16,}$")
    if digits.any():
        present = cells.filter(cells != "")
        if present.n_unique() == len(present) or _ID.fullmatch(name):
            return Column(name, "id", "whole numbers with zeros in front or more than 15 digits")
        return Column(name, "category", "numbers with zeros in front or more than 15 digits: codes")
    found = numbers_of(column, table.separator)
    if found.wrong is not None:
        dated = dates_of(name, cells.filter(_mask(~missing_cells(cells))).head(1000).to_list())
        if dated is not None:
            return Column(name, "date", f"dates, {dated[1]}")
        cell, distinct = cells[found.wrong], cells.n_unique()
        if distinct <= min(_FEW, len(cells) // _REPEATED) and re.search(r"\d", cell):  # 0, 1, 2 and 3+
            doubt = f"most of them are numbers; if it measures, --missing-codes '{cell}'"
            return Column(name, "category", f"{distinct} different texts", doubt=doubt)
        where = f"{table.unit} {table.rows[found.wrong]}"
        problem = f"{100 * share:.0f}% of the cells are numbers, and {where} holds {cell!r}"
        doubt = f"no numbers everywhere: --missing-codes '{cell}', or {_option(name, 'category')}"
        return Column(name, "measurement", problem, doubt=doubt)
    column = _of_numbers(name, as_series(found.values), asked)
    reason = ", ".join([column.reason, *found.forms])
    doubt = f"{found.doubt}: {_option(name, 'ignored')} leaves it out" if found.doubt else column.doubt
    return replace(column, reason=reason, doubt=doubt)


def _two_texts(name: str, cells: Any, asked: Asked) -> Column | None:
    """Return a binary column of two texts, or of one and empty cells; None if there are more."""
    written = cells.filter(_mask(~missing_cells(cells)))
    present = written.str.to_lowercase()
    counts = present.value_counts()
    values = dict(zip(counts.to_series(0).to_list(), counts.to_series(1).to_list(), strict=True))
    spelled = {value: written[int((present == value).arg_max())] for value in values} if len(values) <= 2 else {}
    empty = len(cells) - len(present)
    if len(values) == 1 and empty:
        value = next(iter(spelled.values()))
        if value.lower() not in _YES and asked.empty != "absent":
            return None
        doubt = "" if asked.empty == "absent" else f"{empty:,} cells are empty; if these mean absent, --empty absent"
        return Column(
            name,
            "binary",
            f"{value} is 1" + (", empty is 0" if asked.empty == "absent" else ", empty is not known"),
            doubt=doubt,
            coding=(value,),
        )
    if len(values) != 2:
        return None
    given = asked.positive.get(name)
    positive, why = (_given(name, given, list(values)), "as asked") if given is not None else _positive(values)
    negative = spelled[next(value for value in values if value != positive)]
    positive = spelled[positive]
    doubt = (
        ""
        if given is not None or why == "its name"
        else f"{positive!r} was taken as 1, {negative!r} as 0: --positive {name}={negative}"
    )
    return Column(name, "binary", f"{positive} is 1, {negative} is 0 ({why})", doubt=doubt, coding=(positive, negative))


def _positive(values: Mapping[str, int]) -> tuple[str, str]:
    """Return which of two values is 1, and why."""
    named = [value for value in values if value in _YES]
    refused = [value for value in values if value in _NO]
    letters = all(len(value) == 1 for value in values)  # m and f are no true and false.
    if len(named) == 1 and (len(refused) == 1 or not letters):
        return named[0], "its name"
    if len(refused) == 1 and not letters:
        return next(value for value in values if value != refused[0]), "its name"
    numbers = [value for value in values if re.fullmatch(r"[+-]?\d+(\.\d+)?", value)]
    if len(numbers) == 2:
        return max(values, key=float), "the larger"
    least = min(values.values())
    rare = sorted(value for value, n in values.items() if n == least)
    return rare[-1], "the rarer" if len(rare) == 1 else "the last by name"


def _of_words(table: RawTable, name: str, present: Any, asked: Asked) -> Column:
    """Find the role of a column of texts that are no numbers: dates, lists of tags, categories, ids, texts."""
    sample = _sampled(present)
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
        return Column(name, "category", f"constant: {cells[0][:_MOST_EXAMPLE]} in all rows")
    long = (words >= _WORDS and length >= _LONG / 2) or length >= 2 * _LONG
    if long and (distinct > 0.5 * n or distinct > _FEW):
        return Column(name, "text", f"texts of {words:.0f} words")
    if distinct == n and n > 2 and not (n < _COUNTED and not (name == table.names[0] or _ID.fullmatch(name))):
        return Column(name, "id", "each text stands once")
    if distinct <= max(_FEW, n / 3) or n < _COUNTED:
        return Column(name, "category", f"{distinct:,} different texts")
    if re.search(r"text|title|comment|review|body|abstract|content|description|message", name, re.IGNORECASE):
        return Column(name, "text", f"texts of {words:.0f} words")
    return Column(
        name,
        "category",
        f"{distinct:,} different texts in {n:,} rows",
        doubt=f"many categories; if they are texts, {_option(name, 'text')}",
    )
