"""Numbers in cells of text: percent, money, grouped thousands, decimal commas; and cells without a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "#n/a", "#n/a n/a", "#na", "<na>", "nan", "-nan", "null", "#null!", "none", "nil", "?", "-", "--",
     "---", "\u2013", "\u2014", ".", "..", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "missing", "unknown", "nat", "\\n"}
)  # fmt: skip
"""Contents of cells without a value, in lower case."""
EMPTY = MISSING - {"unknown", "missing", "none", "nil", "null"}
"""The same without words: these mark missing cells in columns of text too."""
_TRUTH = {"true": 1.0, "false": 0.0}
_DIGITS = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_MONEY = re.compile(
    r"(?P<minus>-?)\s*(?:[$\u20ac\u00a3\u00a5\u20b9\u20a9\u20bd\u20ba]|(?:US|C|A|R)\$|USD|EUR|GBP|CHF|JPY|kr|zł|z\u0142|Rs\.?)\s*(?P<rest>[-+]?[\d.,].*)"
)
_MONEY_END = re.compile(
    r"(?P<rest>.*\d[.,]?)\s*(?:[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20ba]|USD|EUR|GBP|CHF|JPY|kr|z\u0142)"
)
_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_SEVERAL_COMMAS = re.compile(r"[+-]?\d{1,3}(,\d{3}){2,}|[+-]?\d{1,3}(,\d{3})+\.\d*")
_POINTS = re.compile(r"[+-]?\d{1,3}((\.\d{3})+,\d*|(\.\d{3}){2,})")
_DECIMAL = re.compile(r"[+-]?(\d+,\d*|,\d+)(e[+-]?\d+)?", re.IGNORECASE)
_SPACES = re.compile(r"[+-]?\d{1,3}([ \u00a0\u202f\u2009'\u2019]\d{3})+([.,]\d*)?")
_THOUSAND = 1000.0


@dataclass(frozen=True)
class Numbers:
    """A column as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        NaN where a cell has no value or is not a number.
    missing : ndarray of bool, shape (n_rows,)
    wrong : int or None
        First row whose cell is not a number.
    problem : str
        The problem of that cell and its remedy; ``{other}`` stands for the related row.
    forms : tuple of str
        Notations of the cells that are not plain numbers.
    doubt : str
        Another possible meaning of the cells.
    unseen : ndarray of bool, shape (n_rows,)
        Cells of a binary column with neither of its values; new rows may have such cells.
    related_row : int or None
        The other row that the problem mentions.
    """

    values: np.ndarray
    missing: np.ndarray
    wrong: int | None = None
    problem: str = ""
    forms: tuple[str, ...] = ()
    doubt: str = ""
    unseen: np.ndarray | None = None
    related_row: int | None = None

    def describe_problem(self, unit: str, rows: Sequence[int]) -> str:
        """Return the problem; ``rows`` are the positions of the rows in the file, counted in ``unit``."""
        if self.related_row is None:
            return self.problem
        return self.problem.format(other=f"{unit} {rows[self.related_row]}")


def missing_cells(column: pl.Series, words: frozenset[str] = MISSING) -> np.ndarray:
    """Return a boolean mask of the cells of a text column that have no value."""
    stripped = column.fill_null("").str.strip_chars().str.to_lowercase()
    return np.asarray(stripped.is_in(list(words)).to_numpy(), dtype=bool)


def numbers_of(column: pl.Series, separator: str = ",") -> Numbers:
    """Read a column as numbers.

    Parameters
    ----------
    column : polars.Series
        A column of numbers or of text.
    separator : str
        Separator of the columns. If it is a semicolon, commas are decimal commas.
    """
    import polars as pl

    if column.dtype == pl.Float64:
        values = column.to_numpy() if not column.null_count() else column.fill_null(np.nan).to_numpy()
        return Numbers(values, np.isnan(values))
    cells = column.fill_null("").str.strip_chars()
    missing = missing_cells(cells)
    values, plain = _parse_plain(cells)
    values[missing] = np.nan
    odd = ~plain & ~missing
    if not odd.any():
        return Numbers(values, missing)
    return _parse_formatted(cells, values, missing, odd, separator)


def number_share(column: pl.Series) -> tuple[float, bool]:
    """Return the share of numbers, in any notation, among the filled cells, and whether all of them are whole."""
    import polars as pl

    if column.dtype == pl.Float64:
        filled = column.drop_nulls()
        return float(len(filled) > 0), bool(len(filled)) and bool(((filled % 1) == 0).all())
    cells = column.fill_null("").str.strip_chars()
    present = cells.filter(pl.Series(~missing_cells(cells)))
    if not len(present):
        return 0.0, False
    values, plain = _parse_plain(present)
    odd = [_is_formatted_number(cell) for cell in present.filter(pl.Series(~plain)).head(1000).to_list()]
    share = (plain.sum() + (np.mean(odd) * (~plain).sum() if odd else 0.0)) / len(present)
    return float(share), bool((values[plain] % 1 == 0).all()) and not any(odd)


def _parse_plain(cells: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Parse plain numbers, true and false; return the values and a mask of the cells that are such."""
    import polars as pl

    values = cells.cast(pl.Float64, strict=False)
    truths = cells.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)
    values = values.fill_null(truths) if truths.null_count() < len(truths) else values
    numbers = values.fill_null(np.nan).to_numpy().copy()
    plain = np.isfinite(numbers)
    return numbers, plain


def _is_formatted_number(cell: str) -> bool:
    bare, _ = _strip_signs(cell)
    return any(form.fullmatch(bare) for form in (_DIGITS, _COMMAS, _POINTS, _SPACES, _DECIMAL))


def _strip_signs(cell: str) -> tuple[str, str]:
    """Strip percent signs and currencies from a cell; return the rest and the kind of sign."""
    cell, form = cell.strip(), ""
    if cell.startswith("(") and cell.endswith(")") and any(map(str.isdigit, cell)):
        cell, form = "-" + cell[1:-1].strip(), "in brackets, as negative"
    cell = cell.replace("\u2212", "-")
    if cell.endswith("%") and len(cell) > 1:
        return cell[:-1].strip(), "percent"
    leading = _MONEY.fullmatch(cell)
    if leading:
        return leading["minus"] + leading["rest"].strip(), "money"
    trailing = _MONEY_END.fullmatch(cell)
    return (trailing["rest"].strip(), "money") if trailing else (cell, form)


@dataclass
class _Forms:
    """Evidence about commas, points and signs from the formatted cells of a column."""

    signs: set[str] = field(default_factory=set)
    grouped: bool = False
    decimal: bool = False
    unclear: str = ""
    points: bool = False

    def add(self, bare: str, sign: str) -> None:
        """Take a cell into account."""
        if sign:
            self.signs.add(sign)
        if _SEVERAL_COMMAS.fullmatch(bare):
            self.grouped = True
        elif _POINTS.fullmatch(bare):
            self.points = True
        elif _COMMAS.fullmatch(bare):
            self.unclear = self.unclear or bare
        elif _DECIMAL.fullmatch(bare):
            self.decimal = True


def _parse_formatted(
    cells: pl.Series, values: np.ndarray, missing: np.ndarray, odd: np.ndarray, separator: str
) -> Numbers:
    """Read cells that are not plain numbers, all of a column in the same notation."""
    places = np.flatnonzero(odd)
    texts = cells.gather(places).to_list()
    bare = [_strip_signs(text) for text in texts]
    forms, plain = _Forms(), ~odd & ~missing
    for cell, sign in bare:
        forms.add(cell, sign)
    points = np.flatnonzero(plain & np.asarray(cells.str.contains(".", literal=True).to_numpy(), bool))
    commas = next((int(i) for i, (cell, _) in zip(places, bare, strict=True) if _DECIMAL.fullmatch(cell)), None)
    if forms.grouped and forms.decimal:
        return _refuse(values, missing, places, texts, "Commas group thousands in some cells and are decimal in others")
    if (forms.decimal or forms.points) and len(points) and not forms.grouped:
        at, first = int(points[0]), int(places[0]) if commas is None else commas
        problem = "a number with a point, and one in {other} with a comma. Write all with the same."
        return Numbers(values, missing, at, problem, related_row=first)
    decimal, doubt = forms.decimal or forms.points, ""
    if forms.unclear and not forms.grouped and not decimal:
        decimal, doubt, refused = _interpret_commas(forms, values[plain], separator)
        if refused:
            return _refuse(values, missing, places, texts, refused)
    parse = _make_parser(decimal)
    for i, text, (cell, _) in zip(places, texts, bare, strict=True):
        value = parse(cell)
        if value is None or not np.isfinite(value):
            return Numbers(values, missing, int(i), _describe_wrong_cell(text))
        values[i] = value
    if "percent" in forms.signs and plain.any() and (values[plain] != 0).any():
        at = int(np.flatnonzero(plain & (values != 0))[0])
        return Numbers(
            values,
            missing,
            at,
            f"{cells[at]!r} has no percent sign, and {texts[0]!r} has one. Write all with the same.",
        )
    return Numbers(values, missing, None, "", _describe_forms(forms, decimal, bare), doubt)


def _interpret_commas(forms: _Forms, plain: np.ndarray, separator: str) -> tuple[bool, str, str]:
    """Interpret commas before three digits: return whether they are decimal, a doubt, and a reason to refuse."""
    cell = forms.unclear
    if separator == ";" and "money" not in forms.signs:
        return (
            True,
            f"all commas stand before three digits, and were read as decimal points: {cell} is {cell.replace(',', '.')}",
            "",
        )
    small = len(plain) > 0 and float(np.abs(plain).max()) < _THOUSAND
    if "money" in forms.signs or (separator in (",", "memory") and (small or not len(plain))):
        digits = cell.replace(",", "")
        doubt = f"commas before three digits were read as grouping thousands: {cell} is {digits}"
        return False, "" if "money" in forms.signs else doubt, ""
    return False, "", "Write decimals with a point, and thousands without a comma"


def _refuse(values: np.ndarray, missing: np.ndarray, places: np.ndarray, texts: Sequence[str], why: str) -> Numbers:
    at = next((i for i, text in enumerate(texts) if "," in text), 0)
    return Numbers(values, missing, int(places[at]), f"{texts[at]!r} is not a number. {why}. Correct it.")


def _describe_wrong_cell(text: str) -> str:
    hint = (
        " Write decimals with a point, and thousands without a comma."
        if "," in text and _DIGITS.fullmatch(text.replace(",", "."))
        else ""
    )
    return f"{text!r} is not a number.{hint} Correct it."


@cache
def _make_parser(decimal: bool) -> Callable[[str], float | None]:
    """Return the parser of a stripped cell, for decimal commas or points."""

    def read(cell: str) -> float | None:
        if _SPACES.fullmatch(cell):
            cell = re.sub(r"[ \u00a0\u202f\u2009'\u2019]", "", cell).replace(",", ".")
        elif decimal and (_DECIMAL.fullmatch(cell) or _POINTS.fullmatch(cell)):
            cell = cell.replace(".", "").replace(",", ".")
        elif not decimal and _COMMAS.fullmatch(cell):
            cell = cell.replace(",", "")
        return float(cell) if _DIGITS.fullmatch(cell) else None

    return read


def _describe_forms(forms: _Forms, decimal: bool, bare: list[tuple[str, str]]) -> tuple[str, ...]:
    phrases = [
        {"percent": "percent: 45% is 45", "money": "without the currency"}.get(sign, sign)
        for sign in sorted(forms.signs)
    ]
    if decimal:
        phrases.append("with decimal commas")
    elif forms.grouped or forms.unclear:
        phrases.append("with commas that group thousands")
    if any(_SPACES.fullmatch(cell) for cell, _ in bare):
        phrases.append("with blanks that group thousands")
    return tuple(phrases)


def as_series(values: Any) -> pl.Series:
    """Return values as a series of Float64, NaN as null."""
    import polars as pl

    return pl.Series(np.asarray(values, float)).fill_nan(None)
