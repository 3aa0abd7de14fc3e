"""Safe formulas: columns, numbers, operators and listed functions, all of bounded size.

The package formulaic evaluates calls in a formula as Python. A formula may come from a stranger, so everything in it is checked
against a list before anything is evaluated or expanded.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..exceptions import LatentiaError, MissingExtraError

CONTEXT: dict[str, Callable[[Any], Any]] = {"sqrt": np.sqrt, "abs": np.abs}
"""Functions of formulas besides those of formulaic."""

MAX_COLUMNS = 10_000
"""Largest number of columns of a design matrix."""

_MAX_LENGTH, _MAX_TERMS, _MAX_POWER = 50_000, 1000, 10
_MAX_NUMBER, _MAX_EXPONENT, _MAX_DEGREE, _MAX_LISTED = 1e12, 20, 100, 1000
_OPERATORS = frozenset("~+-*/:^()")
_NUMBER = re.compile(r"\d{1,12}(\.\d{0,12})?|\.\d{1,12}")
_PARTS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?P<quoted>[^`]*)`|(?P<word>\w+)""")
_PLAIN = ("log", "log2", "log10", "exp", "sqrt", "abs", "I", "center")
_SPLINE = ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound", "extrapolation", "constraints")
# Functions, and their arguments after the first one, which is an expression of columns.
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_PLAIN, ()),
    "scale": ("center", "scale", "ddof"),
    "poly": ("degree", "raw"),
    **dict.fromkeys(("bs", "cr", "cs", "cc"), _SPLINE),
    "C": ("contrasts", "levels", "spans_intercept"),
}
_CONTRASTS = {"treatment", "SAS", "sum", "helmert", "poly", "diff"}
_CONTRASTS_OF_PATSY = {"Treatment", "Sum", "Helmert", "Poly", "Diff"}
_CUBIC = 4  # number of columns of splines by default
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_ALLOWED = (
    "A formula has names of columns, numbers, the operators + - * / : ^ ~ and parentheses, and the functions "
    f"{', '.join(_FUNCTIONS)}."
)


class CheckedFormula:
    """One-sided formula that contains only listed elements.

    Parameters
    ----------
    formula : str
        Such as ``"~ party + bs(year, df=4)"``.

    Attributes
    ----------
    columns : dict of str
        Sorted names of its columns, by the identifiers that stand for them in ``parsed``. A name between backticks has one of
        its own, since Python would read some names as others, or as its own words.
    categories : set of str
        Identifiers of columns inside ``C(...)``.

    Raises
    ------
    LatentiaError
        If the formula cannot be read, holds anything else, or has more than 1,000 terms.
    """

    def __init__(self, formula: str) -> None:
        try:
            from formulaic import Formula
            from formulaic.parser import DefaultFormulaParser
        except ImportError:
            raise MissingExtraError("formulaic", "formulas", "effects") from None
        self._formula, self._names, self.categories, self._widths = formula, set[str](), set[str](), dict[str, Any]()
        if not isinstance(formula, str) or len(formula) > _MAX_LENGTH:
            raise self._error(f"Expected a text of at most {_MAX_LENGTH} characters.")
        self._prefix = "_quoted"
        while self._prefix in formula:
            self._prefix += "_"
        self._identifiers: dict[str, str] = {}
        plain = _PARTS.sub(self._identify, formula)
        parser = DefaultFormulaParser()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python warns about odd texts in calls, which are refused below
                for token in parser.get_tokens(plain):
                    self._check_token(token.kind.value, token.token)
                self._check_size(parser.get_ast(plain))
                self.parsed = Formula(plain)
        except LatentiaError:
            raise
        except Exception as error:  # formulaic and Python raise many kinds of errors with clear messages
            raise self._error(f"It cannot be read: {self.name_columns(describe_error(error))}") from error
        self.columns = {name: self.name_columns(name) for name in sorted(self._names, key=self.name_columns)}

    def _identify(self, part: re.Match[str]) -> str:
        """Return an identifier for a name between backticks, or that Python normalises; other parts as they are."""
        if part["quoted"] is None and (part["word"] is None or unicodedata.is_normalized("NFKC", part["word"])):
            return part[0]
        name = part["quoted"] or part["word"]
        if not name:
            raise self._error("Expected the name of a column between backticks; found nothing.")
        if name not in self._identifiers:
            self._identifiers[name] = f"{self._prefix}{len(self._identifiers)}_"
        return self._identifiers[name]

    def name_columns(self, text: str) -> str:
        """Return a text with the names of columns for their identifiers, between backticks inside calls."""
        names = list(self._identifiers)
        return re.sub(
            rf"(^|:)?{self._prefix}(\d+)_",
            lambda at: f"`{names[int(at[2])]}`" if at[1] is None else at[1] + names[int(at[2])],
            text,
        )

    def _error(self, problem: str) -> LatentiaError:
        return LatentiaError(problem, parameter="formula", value=str(self._formula)[:200])

    def check_columns(self, names: Collection[str]) -> None:
        """Raise if a table lacks a column of the formula, or a column has the name of a function in it."""
        missing = [name for name in self.columns.values() if name not in names]
        if missing:
            raise self._error(f"There is no column {missing[0]!r}. There are {', '.join(names)}.")
        hidden = sorted({name for factor in self._widths.values() for name in factor["functions"]} & set(self.columns))
        if hidden:
            raise self._error(f"The column {hidden[0]!r} has the name of a function in the formula. Rename the column.")

    def max_columns(self, levels: Mapping[str, int]) -> int:
        """Return the largest number of columns of the design, given the levels of each column (1 for numbers)."""
        return sum(prod(self._width(str(factor.expr), levels) for factor in term.factors) for term in self.parsed)

    def _width(self, factor: str, levels: Mapping[str, int]) -> int:
        call = self._widths.get(factor)
        if call is None:
            return levels.get(factor, 1)
        return max([call["width"], *(levels[name] for name in call["columns"] if name in levels)])

    # --- tokens ---------------------------------------------------------------------------------------------------

    def _check_token(self, kind: str, text: str) -> None:
        if kind == "name":
            self._names.add(text)
        elif kind == "python":
            self._check_call(text)
        elif kind == "value":
            if not _NUMBER.fullmatch(text):
                raise self._error(f"{text[:60]!r} is not a number of a formula. {_ALLOWED}")
        elif not set(text) <= _OPERATORS:
            raise self._error(f"{text[:60]!r} is not an operator of a formula. {_ALLOWED}")

    def _check_size(self, tree: Any) -> None:
        """Raise for two sides, large exponents, or too many terms after expansion of products."""
        nodes, pending = [], [tree]
        while pending:
            nodes.append(pending.pop())
            pending += getattr(nodes[-1], "args", ())
        sizes: dict[int, int] = {}
        for node in reversed(nodes):
            sizes[id(node)] = self._size(node, [sizes[id(child)] for child in getattr(node, "args", ())])
            if sizes[id(node)] > _MAX_TERMS:
                raise self._error(f"It has more than {_MAX_TERMS} terms.")

    def _size(self, node: Any, sizes: Sequence[int]) -> int:
        symbol = getattr(getattr(node, "operator", None), "symbol", "")
        if symbol == "~" and len(sizes) > 1:
            raise self._error("Expected nothing before the ~.")
        if symbol in ("**", "^"):
            power = str(node.args[1])
            if not power.isdecimal() or int(power[:3]) > _MAX_POWER:
                raise self._error(f"Expected a whole number up to {_MAX_POWER} as exponent; found {power[:60]}.")
            return sizes[0] ** int(power)
        if symbol in ("*", ":"):
            return prod(sizes) + (sum(sizes) if symbol == "*" else 0)
        return sum(sizes) if sizes else 1

    # --- calls ----------------------------------------------------------------------------------------------------

    def _check_call(self, text: str) -> None:
        """Check a call that formulaic passes to Python."""
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            raise self._refusal(call)
        functions, columns = set[str](), set[str]()
        self._check_function(call, functions, columns)
        if not columns:
            raise self._error(f"Expected a column in {self.name_columns(text)[:60]!r}.")
        self._names |= columns
        name = ast.unparse(call.func)
        if "C" in functions:
            self.categories |= columns
        self._widths[text] = {
            "functions": functions,
            "columns": columns if name == "C" else (),
            "width": _width_of(call),
        }

    def _refusal(self, node: ast.AST) -> LatentiaError:
        return self._error(f"{self.name_columns(ast.unparse(node))[:60]!r} is not allowed. {_ALLOWED}")

    def _check_function(self, call: ast.Call, functions: set[str], columns: set[str]) -> None:
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name not in _FUNCTIONS or not call.args or len(call.args) > 1 + len(_FUNCTIONS[name]):
            raise self._refusal(call)
        functions.add(name)
        self._check_expression(call.args[0], functions, columns)
        arguments = dict(zip(_FUNCTIONS[name], call.args[1:], strict=False))
        arguments |= {str(keyword.arg): keyword.value for keyword in call.keywords}
        for argument, value in arguments.items():
            if argument not in _FUNCTIONS[name]:
                raise self._refusal(call)
            self._check_argument(argument, value)

    def _check_expression(self, node: ast.expr, functions: set[str], columns: set[str]) -> None:
        """Check columns, numbers and functions of them; the base of a power must contain a column."""
        if isinstance(node, ast.Name):
            columns.add(node.id)
        elif isinstance(node, ast.Call):
            self._check_function(node, functions, columns)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            self._check_expression(node.operand, functions, columns)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            self._check_expression(node.left, functions, columns)
            self._check_expression(node.right, functions, columns)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            inner_columns: set[str] = set()
            self._check_expression(node.left, functions, inner_columns)
            if not inner_columns or not _is_number(node.right, _MAX_EXPONENT):
                raise self._refusal(node)
            columns |= inner_columns
        elif not _is_number(node, _MAX_NUMBER):
            raise self._refusal(node)

    def _check_argument(self, name: str, node: ast.expr) -> None:
        """Check a constant, a list of these, or the contrasts of C."""
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) <= _MAX_LISTED:
            values = list(node.elts)
        elif name == "contrasts" and isinstance(node, ast.Call) and _is_contrast(node.func):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
        else:
            limit, values = _MAX_DEGREE if name in ("df", "degree") else _MAX_NUMBER, []
            contrast = name == "contrasts" and _is_contrast(node)
            if not (_is_number(node, limit) or isinstance(_value(node), (str, bool)) or contrast):
                raise self._refusal(node)
        for value in values:
            self._check_argument("", value)


def check_formula(formula: str) -> None:
    """Raise for an invalid formula, or if formulaic is not installed, before data is read."""
    CheckedFormula(formula)


def describe_error(error: Exception) -> str:
    """Return the kind of an error and its first line, since formulaic continues with colours."""
    return f"{type(error).__name__}, {str(error).strip().partition(chr(10))[0]}"


def _value(node: ast.AST) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _is_number(node: ast.AST, limit: float) -> bool:
    """Return True for a number, with a sign or without, of at most this size."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        node = node.operand
    return type(_value(node)) in (int, float) and abs(_value(node)) <= limit


def _is_contrast(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "contr" and node.attr in _CONTRASTS
    return isinstance(node, ast.Name) and node.id in _CONTRASTS_OF_PATSY


def _width_of(call: ast.Call) -> int:
    """Return an upper bound of the columns that a call makes of a column of numbers."""
    arguments = [node for node in ast.walk(call) if isinstance(node, (ast.Constant, ast.keyword))]
    sizes = [value for node in arguments if type(value := _value(node)) is int and abs(value) <= _MAX_DEGREE]
    return _CUBIC + len(arguments) + sum(map(abs, sizes))
