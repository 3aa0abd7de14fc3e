"""Questions that a file can answer, and the words of a command from the fields of a form."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..exceptions import LatentiaError
from ..reading import ColumnOptions, Reading, look_at
from .workspace import Workspace

Fields = Mapping[str, Sequence[str]]

QUESTIONS = {
    "topics": "What are these texts about?",
    "labels": "Which tags does a text get, and why?",
    "hmm": "Which hidden states do these sequences pass through?",
    "mixture": "Which groups do the rows form?",
    "ica": "Which independent signals are mixed here?",
    "noisy-or": "Which hidden causes are behind what is present, several at a time?",
    "matrix": "Which words, or nodes, go together, and what comes next?",
    "communities": "Who belongs together in this network?",
    "dictionary": "Which patterns are the rows sums of?",
    "network": "Which hidden units switch columns on?",
    "nmf": "Which pure materials are mixed in each row?",
    "contrast": "What does this table have that another lacks?",
}
_MIXED = "Which groups do the rows form, with numbers and categories together?"
_MISSING = {
    "drop": "leave such rows out",
    "mean": "put the mean of the column there",
    "keep": "take them as not known",
}
_MISSING_CHOICES = {
    "mixture": ("keep", "drop", "mean"), "noisy-or": ("keep", "drop"), "nmf": ("keep", "drop", "mean"), "hmm": ("keep",),
    "network": ("drop",), "ica": ("drop", "mean"), "dictionary": ("drop", "mean"), "contrast": ("drop", "mean"),
}  # fmt: skip
"""Ways to treat cells without a value, the preferred one first."""
ROLES = {
    "measurement": "a number", "count": "a whole number", "binary": "one of two values", "category": "one of several kinds",
    "text": "words to read", "tags": "several labels", "id": "the name of the row", "clock": "the order of the rows",
    "date": "a date", "group": "whose row it is", "weight": "how often the row counts", "from": "where an edge begins",
    "to": "where an edge ends", "ignored": "not used",
}  # fmt: skip
"""What each role says of a cell."""
READING_OPTIONS = "role", "missing_codes", "positive", "id", "empty", "sheet", "encoding"
_HIDDEN = {
    *READING_OPTIONS, "k", "missing", "out", "cache", "no_cache", "checkpoint", "scheduler", "as_json", "progress", "quiet",
    "force", "jobs", "evidence", "names", "help",
}  # fmt: skip
_KEPT = {*READING_OPTIONS, "k", "missing", "names", "out"}
_OF_COLUMNS = {"column", "sequence", "over", "cluster"}  # options that name a column
_MAX_COMPARABLE = 40
_PARTS = {"paragraph": "a paragraph", "chapter": "a chapter", "500": "500 words"}
_SHOWN = _HIDDEN | {"name", "names", "keep_moments", "split"}  # elsewhere on the pages, or not at all
_MAX_VALUE = 2000
_FILE_VALUES = {"stop_words", "target", "linear_map"}  # options whose value may also name a file


_OPTION_IN_DOUBT = re.compile(r"--(role|positive|missing-codes) ((?:'[^']*'|\"[^\"]*\"|[^\s'\",;])+)")


@dataclass(frozen=True)
class Correction:
    """Another way to read a column, as a field of the form and the words of its button."""

    field: str
    value: str
    label: str


@dataclass(frozen=True)
class Option:
    """An option or argument of a command, as it was declared.

    Attributes
    ----------
    name : str
        Name of the parameter.
    flag, negative : str
        Words that set it, such as ``--scale`` and ``--no-scale``; empty for an argument.
    help, default, group : str
    kind : {"flag", "path", "text"}
    multiple, required : bool
    flags : tuple of str
        All words that set it.
    """

    name: str
    flag: str
    negative: str
    help: str
    default: str
    group: str
    kind: str
    multiple: bool
    required: bool
    flags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return its name as words."""
        return (self.flag.lstrip("-") or self.name).replace("-", " ")


@dataclass(frozen=True)
class Command:
    """A command with its options."""

    name: str
    options: tuple[Option, ...]

    @property
    def columns(self) -> list[str]:
        """Return the names of options that name a column."""
        return [option.name for option in self.options if option.name in _OF_COLUMNS]

    @property
    def compares(self) -> bool:
        """Return True if the answer can be compared between the values of a column."""
        return any(option.name in ("group_by", "effects") for option in self.options)

    @property
    def arguments(self) -> list[Option]:
        """Return the files that it reads besides the first."""
        return [option for option in self.options if not option.flag][1:]

    @property
    def further_options(self) -> list[Option]:
        """Return the options that a form folds."""
        return [option for option in self.options if option.flag and option.name not in _SHOWN]

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if option.name == name), None)


@dataclass(frozen=True)
class Faces:
    """Parts of the command line that the app uses.

    Attributes
    ----------
    names : tuple of str
        Names of all commands.
    command : callable
        ``command(name)`` returns the `Command`.
    render_error : callable
        ``render_error(error)`` returns the text of a `LatentiaError` in terms of options.
    column_options : callable
        ``column_options(fields)`` returns the `ColumnOptions` of the fields of `READING_OPTIONS`.
    documents : callable
        ``documents(model, path)`` returns documents of a file as the model counts them, enough to measure a likelihood.
    """

    names: tuple[str, ...]
    command: Callable[[str], Command]
    render_error: Callable[[LatentiaError], str]
    column_options: Callable[[Fields], ColumnOptions]
    documents: Callable[[Any, Path], Any]


@dataclass(frozen=True)
class Question:
    """A question that a file can answer, and the command that answers it."""

    text: str
    command: str
    values: dict[str, str]


def look(workspace: Workspace, name: str, fields: Fields, faces: Faces) -> Reading:
    """Read a file as ``latentia look`` does; the answer is kept until the file changes."""
    path = workspace.find(name)
    stat = path.stat()
    chosen = tuple((key, tuple(filter(None, fields.get(key, ())))) for key in READING_OPTIONS)
    return _look(path, name, (stat.st_mtime_ns, stat.st_size), chosen, faces.column_options)


@lru_cache(maxsize=8)
def _look(path: Path, name: str, _: Any, chosen: Any, column_options: Callable[[Fields], ColumnOptions]) -> Reading:
    fields = dict(chosen)
    try:
        return look_at(
            path, column_options(fields), name=name, sheet=_last(fields, "sheet"), encoding=_last(fields, "encoding")
        )
    except LatentiaError as error:
        if error.source is not None and str(error.source).startswith(str(path)):
            error.source = name  # The reader knows only this name.
        raise


def split_doubt(doubt: str) -> tuple[str, list[Correction]]:
    """Return what is doubtful about a column, and the options that the text names as corrections."""
    corrections = []
    for option, quoted in _OPTION_IN_DOUBT.findall(doubt):
        value = next(iter(shlex.split(quoted)), "")
        last = value.rpartition("=")[2]
        label = {
            "role": "leave it out" if last == "ignored" else f"read it as {last}",
            "positive": f"count {last!r} as 1",
        }.get(option, f"{last!r} stands for a missing answer")
        corrections.append(Correction(option.replace("-", "_"), value, label))
    text = _OPTION_IN_DOUBT.split(doubt)[0] if corrections else doubt
    return text.rstrip(" ,;:"), corrections


def column_row(column: Any, fields: Fields) -> dict[str, Any]:
    """Return what the table of columns shows of a column, with the codes that were chosen for it."""
    text, corrections = split_doubt(column.doubt)
    chosen = [code for code in fields.get("missing_codes", ()) if code.rpartition("=")[0] == column.name]
    codes = [*chosen, *(f"{column.name}={code}" for code in column.suspects)]
    return {
        "name": column.name, "role": column.role, "reason": column.reason, "examples": ", ".join(column.examples),
        "empty": f"{column.n_missing:,} empty" if column.n_missing else "", "text": text, "corrections": corrections,
        "codes": list(dict.fromkeys(codes)), "doubtful": bool(column.doubt or codes),
    }  # fmt: skip


def keep_last(fields: Fields) -> dict[str, list[str]]:
    """Return the fields with one role and one positive value for each column, those that were chosen last."""
    per_column = {
        key: list({value.rpartition("=")[0]: value for value in fields.get(key, ()) if value}.values())
        for key in ("role", "positive")
    }
    other_fields = {key: list(dict.fromkeys(values)) for key, values in fields.items() if key not in per_column}
    return other_fields | {key: values for key, values in per_column.items() if values}


def _last(fields: Fields, name: str) -> str | None:
    return next((value.strip() for value in reversed(fields.get(name, ())) if value.strip()), None)


def questions(reading: Reading, faces: Faces) -> list[Question]:
    """Return the questions that a file can answer, with the values that ``latentia look`` proposes."""
    return [_parse(shlex.split(command), faces) for command in reading.commands]


def _parse(words: list[str], faces: Faces) -> Question:
    command = faces.command(words[1])
    values: dict[str, str] = {}
    rest = words[3:]
    while rest:
        option = next((o for o in command.options if rest[0] in _flags(o)), None)
        if option is None:
            rest = rest[1:]
        elif option.kind == "flag":
            values[option.name], rest = "yes" if rest[0] == option.flag else "no", rest[1:]
        else:
            values[option.name], rest = rest[1], rest[2:]
    if words[2].startswith("-"):  # noisy-or --baskets FILE
        values |= {"baskets": "yes"}
    text = _MIXED if values.get("distribution") == "mixed" else QUESTIONS.get(command.name, command.name)
    return Question(text, command.name, values)


def _flags(option: Option) -> tuple[str, ...]:
    return tuple(filter(None, (option.flag, option.negative)))


def missing_choices(command: Command, reading: Reading) -> dict[str, str]:
    """Return the ways to treat cells without a value, the preferred one first; empty if no cell is."""
    gaps = any(column.n_missing for column in reading.columns if column.used)
    if not gaps or command.option("missing") is None:
        return {}
    return {way: _MISSING[way] for way in _MISSING_CHOICES.get(command.name, ())}


def size_range(value: str) -> tuple[str, str, str]:
    """Return the parts of a number or range of components: from, to, in steps of."""
    first, _, rest = value.partition(":")
    last, _, step = rest.partition(":")
    return first, last, step


def make_words(command: Command, source: str, fields: Fields, out: str, workspace: Workspace) -> list[str]:
    """Return the words of a command after ``latentia``, from the fields of a form."""
    words = [command.name, file_word(workspace, source)]
    for option in command.arguments:
        value = _last(fields, option.name)
        if value is None and option.required:
            raise LatentiaError(f"expected a second file ({option.help.rstrip('.')}). Choose it above.")
        words += [] if value is None else [file_word(workspace, value)]
    numbers = ("from", "to", "step") if _last(fields, "to") else ("from",)
    size = [value for key in numbers if (value := _last(fields, key))]
    number = command.option("k")
    if number is not None and (size := size or [value for value in [_last(fields, "k")] if value]):
        words += [number.flag, ":".join(size)]
    fields = {**fields, **_comparison_options(command, fields)}
    for option in command.options:
        if option.flag and (option.name not in _HIDDEN or option.name in (*READING_OPTIONS, "missing", "names")):
            words += _option_words(option, fields.get(option.name, ()), workspace)
    return [*words, "--out", out]


def _comparison_options(command: Command, fields: Fields) -> dict[str, list[str]]:
    """Return the option that compares the answer between the values of the chosen columns."""
    names = list(filter(None, fields.get("by", ())))
    if not names:
        return {}
    if command.option("group_by") is not None:
        return {"group_by": [*fields.get("group_by", ()), *names]}
    if _last(fields, "effects"):
        raise LatentiaError("choose columns to compare by, or write a formula under effects; not both.")
    if any("`" in name for name in names):
        raise LatentiaError("a column with ` in its name cannot be compared by. Rename it in the file.")
    return {"effects": ["~ " + " + ".join(name if name.isidentifier() else f"`{name}`" for name in names)]}


def documents(command: Command, reading: Reading) -> dict[str, str]:
    """Return what a document may be, by the values of ``--split``; empty if the command reads no texts."""
    if command.option("split") is None or reading.shape not in ("texts", "table"):
        return {}
    whole = "a row of the table" if reading.columns else "a file" if "per file" in " ".join(reading.notes) else "a line"
    return {"": whole, **_PARTS}


def comparable(reading: Reading, command: Command, values: Mapping[str, str]) -> dict[str, bool]:
    """Return the columns that an answer can be compared by, and whether ``latentia look`` proposes each."""
    if not command.compares:
        return {}
    roles = {"category", "group", *(["binary"] if command.option("group_by") else [])}
    used = {values.get("column", ""), values.get("sequence", "")}
    names = [column.name for column in reading.columns if column.role in roles and column.name not in used]
    return {name: values.get("effects") == f"~ {name}" for name in names[:_MAX_COMPARABLE]}


def _option_words(option: Option, values: Sequence[str], workspace: Workspace) -> list[str]:
    texts = [_check_text(value.strip(), option) for value in values if value.strip()]
    if option.name == "missing_codes":
        texts = [",".join(texts)] if texts else []
    if option.kind == "flag":
        words = {"yes": option.flag, "no": option.negative}
        return [word for value in texts[-1:] if (word := words.get(value, ""))]
    texts = texts if option.multiple else [value for value in texts[-1:] if value != option.default]
    if option.kind == "path":
        texts = [file_word(workspace, value) for value in texts]
    joined = option.flag.startswith("--")  # A value such as -99 would look like an option.
    pairs = [
        [f"{option.flag}={value}"] if joined and value.startswith("-") else [option.flag, value] for value in texts
    ]
    return [word for pair in pairs for word in pair]


def _check_text(value: str, option: Option) -> str:
    if len(value) > _MAX_VALUE or not value.isprintable():
        raise LatentiaError("expected a short text without control characters.", parameter=option.name)
    return value


def file_word(workspace: Workspace, name: str) -> str:
    """Return an existing file of the workspace as a word that is no option."""
    workspace.find(name)
    return f"./{name}" if name.startswith("-") else name


# --- the same in a shell and in Python ----------------------------------------------------------------------------


def shell_line(words: Sequence[str]) -> str:
    """Return the command as it is typed."""
    return shlex.join(["latentia", *words])


def python_lines(words: Sequence[str]) -> str:
    """Return three lines of Python that do the same as a command, with the same bits."""
    lines = ["import latentia.cli.commands", f"latentia.cli.commands.app({list(words)!r}, standalone_mode=False)"]
    if words[0] not in ("apply", "compare"):
        lines.append(f"model = latentia.load({words[-1] + '/model.npz'!r})")  # The name of the result comes last.
    return "\n".join(lines)


def words_again(words: Sequence[str], command: Command, changes: Mapping[str, Sequence[str]], out: str) -> list[str]:
    """Return the words of a command with other values of some options, for a result of another name."""
    flags = {flag for name in (*changes, "out") if (option := command.option(name)) for flag in option.flags}
    words_unchanged, rest = [], list(words)
    while rest:
        if rest[0] in flags:
            rest = rest[2:]
        else:
            words_unchanged += [] if rest[0].partition("=")[0] in flags else rest[:1]
            rest = rest[1:]
    for name, values in changes.items():
        option = command.option(name)
        if option is None:
            raise LatentiaError(f"{words[0]} has no option {name!r}.")
        words_unchanged += [word for value in values for word in (option.flag, _check_text(value, option))]
    return [*words_unchanged, "--out", out]


def check_words(words: Sequence[str], command: Command, out: str, workspace: Workspace) -> None:
    """Raise if a command reads or writes outside of the folder; the folder, and what it stores, may be someone else's."""
    rest = list(words[1:])
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        option = next((o for o in command.options if o.flag and flag in (*o.flags, o.negative)), None)
        if option is None:
            workspace.find(f"{flag}{equals}{value}".removeprefix("./"))
            if flag.startswith("-"):
                raise LatentiaError(f"{command.name} has no option {flag}.")
            continue
        value = value if equals or option.kind == "flag" or not rest else rest.pop(0)
        if option.name in _HIDDEN - _KEPT or (option.name == "out" and value != out):
            raise LatentiaError(f"the app does not run commands with this {flag}. Start from the file.")
        for part in (value, *value.split(",")) if option.name in _FILE_VALUES else ():
            if os.path.isfile(workspace.root / part.strip()):
                workspace.find(part.strip())
        if option.kind == "path" and option.name != "out":
            workspace.find(value.removeprefix("./"))


def look_words(name: str, fields: Fields, command: Command, workspace: Workspace) -> list[str]:
    """Return the words of ``latentia look`` for a file."""
    options = [option for option in command.options if option.name in READING_OPTIONS]
    return [
        "look",
        file_word(workspace, name),
        *(w for option in options for w in _option_words(option, fields.get(option.name, ()), workspace)),
    ]


def look_python(name: str, reading: Reading | None, fields: Fields) -> str:
    """Return three lines of Python that read a file in the same way."""
    pairs = [value.rpartition("=") for value in fields.get("role", ()) if value]
    positive = [value.rpartition("=") for value in fields.get("positive", ()) if value]
    codes = [code for value in fields.get("missing_codes", ()) for code in value.split(",") if code]
    arguments = {
        "roles": {key: role for key, _, role in pairs}, "missing_codes": codes,
        "positive": {key: value for key, _, value in positive}, "id": _last(fields, "id"),
        "empty": None if _last(fields, "empty") == "missing" else _last(fields, "empty"),
        "sheet": _last(fields, "sheet"), "encoding": _last(fields, "encoding"),
    }  # fmt: skip
    keywords = "".join(f", {key}={value!r}" for key, value in arguments.items() if value)
    if reading is not None and reading.table is None:
        return (
            "from pathlib import Path\nfrom latentia.reading import ColumnOptions, look_at\n"
            f"print(look_at(Path({name!r}), ColumnOptions(){keywords}))"
        )
    return f"from latentia.reading import read\ndata = read({name!r}{keywords})\nprint(data)"
