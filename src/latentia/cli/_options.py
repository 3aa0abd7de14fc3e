"""What the shell calls: a command, whose options follow from its signature and from what its docstring says of them.

Both are read from the text of its module, which is imported when the command runs: help and a wrong option wait for nothing.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import LatentiaError, parameters_written

_ENTRY = re.compile(r"^(\w+)(?: : (.*))?\n((?: +.+\n?)+)", re.MULTILINE)
_TOKEN = re.compile(r"\{[^}]*\}|[^,\s][^,]*")
_BOUND = re.compile(r"([<>])= ([\d.]+)")
_WORD = re.compile(r"[A-Z]+")

_OPTIONS = {
    "covariance_type": "--covariance",
    "n_components": "-k",
    "n_features": None,
    "n_jobs": "--jobs",
    "n_labels": None,
    "random_state": "--seed",
    "size": "--patch",
    "zero_based": "--zero-based/--one-based",
    "labels_zero_based": "--labels-zero-based/--labels-one-based",
}
"""What commands call the parameters of estimators and readers, None if they set them themselves; other options have the name
of the parameter."""
_VALUES = {("cache", False): "--no-cache", ("classes", True): "--fit logistic", ("classes", False): "--fit regression"}
"""What stands for parameters with a value where it is not their option with that value."""


def check_jobs(jobs: int) -> int:
    """A number of threads, if it is one."""
    if jobs == 0 or jobs < -1:
        raise LatentiaError(f"--jobs {jobs}: give a number of threads, or -1 for every core.")
    return jobs


def steps_of(refine: str) -> int | str:
    """A number of steps, or "auto"."""
    if refine == "auto":
        return refine
    if not re.fullmatch(r"\d{1,6}", refine):
        raise LatentiaError(f"--refine {refine}: give a number of steps, 0 to keep to the theorem, or auto.")
    return int(refine)


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise unless an option has one of its values."""
    if value not in allowed:
        raise LatentiaError(f"{option} {value!r}: use one of {', '.join(allowed)}.")


_CHECKS: dict[str, Callable[[Any], Any]] = {"refine": steps_of, "jobs": check_jobs}


def as_command(name: str, ready: Callable[[], None] | None = None) -> Callable[..., Any]:
    """The function of a command, with options for what its signature has; one that takes a `Run` first has those of it as well.

    Behind the colon of a parameter its docstring may give names of the option, choices in braces, bounds, and for an argument a
    word in capitals; what has neither a default nor a name of an option is an argument too. ``ready`` is called when the
    modules of the command are there, before it runs.
    """
    module = name.replace("-", "_")
    given, says, own = _read(module, module)
    of_all, _, of_several = _read("_run", "Run")
    learns = given[0].annotation == "Run"
    if learns:
        of_all[0] = of_all[0].replace(default=Path(name))
    asks = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)
    described = of_several | own
    options = [_option(one, *described[one.name]) for one in (*given[learns:], *(of_all if learns else ()), asks)]

    def run(as_json: bool = False, **values: Any) -> Any:
        function = getattr(import_module(f".{module}", __package__), module)
        record = import_module("._run", __package__).Run if learns else None
        if ready is not None:
            ready()
        with _standard_input(values), parameters_written(option_of):
            if record is None:
                return function(**values)
            asked = record(**{one.name: values.pop(one.name) for one in of_all})
            with asked.placed():
                return function(asked, **values)

    run.__name__, run.__doc__, run.__annotations__ = module, says, {one.name: one.annotation for one in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


@contextlib.contextmanager
def _standard_input(values: dict[str, Any]) -> Iterator[None]:
    """Put a copy of standard input in the place of ``-``, which every command can read as a file."""
    piped = [name for name, value in values.items() if isinstance(value, Path) and str(value) == "-"]
    if len(piped) > 1:
        raise LatentiaError("-: standard input can be read once; give a file for the other.")
    with contextlib.ExitStack() as around:
        if piped:
            formats = import_module("..passes.formats", __package__)
            values[piped[0]] = around.enter_context(formats.reusable("-"))
        yield


def _read(module: str, name: str) -> tuple[list[inspect.Parameter], str, dict[str, tuple[str, str]]]:
    """Parameters of a function or fields of a record, what it does, and what is said of each."""
    spec: Any = find_spec(f".{module}", __package__)
    text = spec.loader.get_source(spec.name)
    if text is None:
        raise LatentiaError(
            f"{spec.name} has no text, from which its options are read: install the package with its .py files."
        )
    found: Any = next(one for one in ast.parse(text).body if getattr(one, "name", None) == name)
    if isinstance(found, ast.ClassDef):
        fields = [one for one in found.body if isinstance(one, ast.AnnAssign)]
        entries = [(ast.unparse(one.target), one.annotation, one.value) for one in fields]
    else:
        arguments, defaults = found.args.args + found.args.kwonlyargs, found.args.defaults + found.args.kw_defaults
        values = [None] * (len(arguments) - len(defaults)) + defaults
        entries = [(one.arg, one.annotation, value) for one, value in zip(arguments, values, strict=True)]
    says, _, more = (ast.get_docstring(found) or "").partition("\n\nParameters\n")
    return [_parameter(*one) for one in entries], says, _described(more)


def _parameter(name: str, kind: Any, value: Any) -> inspect.Parameter:
    known = {"Path": Path, "Run": "Run"}
    default = inspect.Parameter.empty if value is None else eval(ast.unparse(value), known)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=eval(ast.unparse(kind), known)
    )


def _described(text: str) -> dict[str, tuple[str, str]]:
    """Of each parameter of a docstring what stands behind its colon, and what is said of it."""
    return {found[1]: (found[2] or "", " ".join(found[3].split())) for found in _ENTRY.finditer(text + "\n")}


def _option(parameter: inspect.Parameter, behind: str, text: str) -> inspect.Parameter:
    """A parameter as typer takes it."""
    name, kind, names, look = parameter.name, parameter.annotation, list[str](), dict[str, Any](help=text)
    look["callback"] = _CHECKS.get(name)
    for token in _TOKEN.findall(behind):
        bound = _BOUND.fullmatch(token)
        if token.startswith("-"):
            names.append(token)
        elif token.startswith("{"):
            look["callback"] = _one_of(f"--{name.replace('_', '-')}", [one.strip() for one in token[1:-1].split(",")])
        elif bound:
            look["min" if bound[1] == ">" else "max"] = int(bound[2]) if bound[2].isdigit() else float(bound[2])
        elif _WORD.fullmatch(token):
            look["metavar"] = token
        else:
            raise ValueError(f"{name} : {token}: no name of an option, choices in braces, bound, or word in capitals")
    if kind is bool and not names:
        names = [f"--{name.replace('_', '-')}"]
    argues = not names and (parameter.default is parameter.empty or "metavar" in look)
    info = typer.Argument(**look) if argues else typer.Option(*names, **look)
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


def _one_of(option: str, choices: list[str]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if value is not None:
            check_choice(option, value, choices)
        return value

    return checked


def in_options(error: LatentiaError) -> str:
    """What an error says, with the command's option instead of the parameter."""
    name = _option_of(error.parameter) if error.parameter else None
    if name is None:
        return error.message
    said = "" if error.value is None or isinstance(error.value, bool) else f" {error.value}"
    return error.compose(f"{name}{said}")


def option_of(parameter: str, value: Any = None) -> str:
    """Return what stands for a parameter of Python on the command line, with a value if there is one."""
    name = _option_of(parameter) or parameter
    return name if value is None else _VALUES.get((parameter, value), f"{name} {value}")


def _option_of(parameter: str) -> str | None:
    return _OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")
