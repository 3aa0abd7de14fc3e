"""Commands for the shell, with options from the signature and docstring of a function.

Both are read from the source text of the module, which is imported only when the command runs: help and errors about options
appear at once.
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
from ..system.progress import progress_as_json

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
"""Options for the parameters of estimators and readers, None if the command sets the parameter itself; other options have the
name of the parameter."""
_VALUES = {("cache", False): "--no-cache", ("classes", True): "--fit logistic", ("classes", False): "--fit regression"}
"""Options for parameters with a given value, where these differ from the parameter's option with that value."""


def check_jobs(jobs: int) -> int:
    """Return a valid number of threads; raise for others."""
    if jobs == 0 or jobs < -1:
        raise LatentiaError(f"--jobs {jobs}: give a number of threads, or -1 for every core.")
    return jobs


def steps_of(refine: str) -> int | str:
    """Parse a number of steps, or "auto"."""
    if refine == "auto":
        return refine
    if not re.fullmatch(r"\d{1,6}", refine):
        raise LatentiaError(f"--refine {refine}: give a number of steps, 0 for the theorem's result, or auto.")
    return int(refine)


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise for a value that the option does not allow."""
    if value not in allowed:
        raise LatentiaError(f"{option} {value!r}: use one of {', '.join(allowed)}.")


_CHECKS: dict[str, Callable[[Any], Any]] = {"refine": steps_of, "jobs": check_jobs}


def as_command(name: str, ready: Callable[[], None] | None = None) -> Callable[..., Any]:
    """Make the function of a command, with an option per parameter; a first parameter of type `Run` adds the common options.

    After the colon of a parameter the docstring may give names of the option, choices in braces, bounds, and a word in capitals
    for an argument. A parameter without default and without option name is an argument too. ``ready`` is called when the
    modules of the command are loaded, before it runs.
    """
    module = name.replace("-", "_")
    parameters, summary, own_descriptions = _read_signature(module, module)
    run_parameters, _, run_descriptions = _read_signature("_run", "Run")
    learns = parameters[0].annotation == "Run"
    if learns:
        run_parameters[0] = run_parameters[0].replace(default=Path(name))
    common_parameters = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type(default))
        for option, default in (("as_json", False), ("progress", "bar"))
    ]
    described = run_descriptions | own_descriptions
    options = [
        _make_option(parameter, *described[parameter.name])
        for parameter in (*parameters[learns:], *(run_parameters if learns else ()), *common_parameters)
    ]

    def run(as_json: bool = False, progress: str = "bar", **values: Any) -> Any:
        function = getattr(import_module(f".{module}", __package__), module)
        record = import_module("._run", __package__).Run if learns else None
        if ready is not None:
            ready()
        printed_progress = progress_as_json() if progress == "json" else contextlib.nullcontext()
        with _standard_input(values), parameters_written(option_of), printed_progress:
            if record is None:
                return function(**values)
            run_settings = record(**{parameter.name: values.pop(parameter.name) for parameter in run_parameters})
            with run_settings.apply_settings():
                return function(run_settings, **values)

    run.__name__, run.__doc__, run.__annotations__ = (
        module,
        summary,
        {parameter.name: parameter.annotation for parameter in options},
    )
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


@contextlib.contextmanager
def _standard_input(values: dict[str, Any]) -> Iterator[None]:
    """Replace ``-`` by a copy of standard input, which every command can read as a file."""
    piped = [name for name, value in values.items() if isinstance(value, Path) and str(value) == "-"]
    if len(piped) > 1:
        raise LatentiaError("-: standard input can be read only once; give a file for the second source.")
    with contextlib.ExitStack() as around:
        if piped:
            formats = import_module("..passes.formats", __package__)
            values[piped[0]] = around.enter_context(formats.reusable("-"))
        yield


def _read_signature(module: str, name: str) -> tuple[list[inspect.Parameter], str, dict[str, tuple[str, str]]]:
    """Read the parameters of a function or the fields of a record, the summary line, and the descriptions."""
    spec: Any = find_spec(f".{module}", __package__)
    text = spec.loader.get_source(spec.name)
    if text is None:
        raise LatentiaError(
            f"{spec.name} has no source text to read its options from. Install the package with its .py files."
        )
    definition: Any = next(node for node in ast.parse(text).body if getattr(node, "name", None) == name)
    if isinstance(definition, ast.ClassDef):
        fields = [node for node in definition.body if isinstance(node, ast.AnnAssign)]
        entries = [(ast.unparse(node.target), node.annotation, node.value) for node in fields]
    else:
        arguments, defaults = (
            definition.args.args + definition.args.kwonlyargs,
            definition.args.defaults + definition.args.kw_defaults,
        )
        values = [None] * (len(arguments) - len(defaults)) + defaults
        entries = [(node.arg, node.annotation, value) for node, value in zip(arguments, values, strict=True)]
    summary, _, parameter_text = (ast.get_docstring(definition) or "").partition("\n\nParameters\n")
    return [_make_parameter(*node) for node in entries], summary, _parse_descriptions(parameter_text)


def _make_parameter(name: str, kind: Any, value: Any) -> inspect.Parameter:
    namespace = {"Path": Path, "Run": "Run"}
    default = inspect.Parameter.empty if value is None else eval(ast.unparse(value), namespace)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=eval(ast.unparse(kind), namespace)
    )


def _parse_descriptions(text: str) -> dict[str, tuple[str, str]]:
    """Map each parameter of a docstring to the text after its colon and its description."""
    return {entry[1]: (entry[2] or "", " ".join(entry[3].split())) for entry in _ENTRY.finditer(text + "\n")}


def _make_option(parameter: inspect.Parameter, specification: str, text: str) -> inspect.Parameter:
    """Convert a parameter to typer's form."""
    name, kind, names, settings = parameter.name, parameter.annotation, list[str](), dict[str, Any](help=text)
    settings["callback"] = _CHECKS.get(name)
    for token in _TOKEN.findall(specification):
        bound = _BOUND.fullmatch(token)
        if token.startswith("-"):
            names.append(token)
        elif token.startswith("{"):
            settings["callback"] = _make_choice_check(
                f"--{name.replace('_', '-')}", [choice.strip() for choice in token[1:-1].split(",")]
            )
        elif bound:
            settings["min" if bound[1] == ">" else "max"] = int(bound[2]) if bound[2].isdigit() else float(bound[2])
        elif _WORD.fullmatch(token):
            settings["metavar"] = token
        else:
            raise ValueError(f"{name} : {token}: no name of an option, choices in braces, bound, or word in capitals")
    if kind is bool and not names:
        names = [f"--{name.replace('_', '-')}"]
    argues = not names and (parameter.default is parameter.empty or "metavar" in settings)
    info = typer.Argument(**settings) if argues else typer.Option(*names, **settings)
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


def _make_choice_check(option: str, choices: list[str]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value is not None:
            check_choice(option, value, choices)
        return value

    return check


def render_error(error: LatentiaError) -> str:
    """Return the message of an error with the command's option instead of the Python parameter."""
    name = _find_option(error.parameter) if error.parameter else None
    if name is None:
        return error.message
    value_text = "" if error.value is None or isinstance(error.value, bool) else f" {error.value}"
    return error.compose(f"{name}{value_text}")


def option_of(parameter: str, value: Any = None) -> str:
    """Return the option for a Python parameter, with its value if there is one."""
    name = _find_option(parameter) or parameter
    return name if value is None else _VALUES.get((parameter, value), f"{name} {value}")


def _find_option(parameter: str) -> str | None:
    return _OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")
