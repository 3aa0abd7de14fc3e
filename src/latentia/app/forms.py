"""Questions that a file can answer, and the words of a command from the fields of a form."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_GROUPS = {
    "file": ("encoding", "sheet", "id", "empty"), "columns": ("column", "sequence", "over", "tags"),
    "rows": ("missing_codes", "encoding", "sheet"),
}  # fmt: skip
_MAX_COMPARABLE, _MAX_TICKS = 40, 200
_PARTS = {"paragraph": "a paragraph", "chapter": "a chapter", "500": "500 words"}
_SHOWN = {*_HIDDEN, "name", "names", "keep_moments", "split", "ignore"}  # elsewhere on the pages, or not at all
_OF_MODELS = {"ask": ("NoisyOr",), "denoise": ("IncoherentDictionary", "SparseNetwork")}  # options of apply
_LABELS = {
    "empty": "empty cells", "id": "column with the names of the rows", "positive": "value that counts as 1",
    "column": "column with the texts or steps", "over": "follow the answer over this column", "sequence": "whose rows they are",
    "k": "number", "missing": "cells without a value", "ignore": "columns that are left out", "other": "second file",
}  # fmt: skip
_MAX_VALUE = 2000
_FLAG = re.compile(r"(?<![\w-])(?:--missing (drop|mean|keep)\b|--([a-z][a-z-]+)|-(k)\b)")
_FILE_VALUES = {"stop_words", "target", "linear_map"}  # options whose value may also name a file


_OPTION_IN_DOUBT = re.compile(r"--(role|positive|missing-codes) ((?:'[^']*'|\"[^\"]*\"|[^\s'\",;])+)")


@dataclass(frozen=True)
class Option:
    """An option or argument of a command, as it was declared.

    Attributes
    ----------
    name : str
        Name of the parameter.
    flag, negative : str
        Words that set it, such as ``--scale`` and ``--no-scale``; empty for an argument.
    help, default : str
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
    kind: str
    multiple: bool
    required: bool
    flags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return its name as words."""
        return _LABELS.get(self.name) or (self.flag.lstrip("-") or self.name).replace("-", " ")

    @property
    def words(self) -> str:
        """Return its help in words of the form."""
        return spell_out(self.help)

    @property
    def names_column(self) -> bool:
        return self.name in (*_GROUPS["columns"], "cluster", "id")


@dataclass(frozen=True)
class Command:
    """A command with its options."""

    name: str
    options: tuple[Option, ...]

    @property
    def arguments(self) -> list[Option]:
        """Return the files that it reads besides the first."""
        return [option for option in self.options if not option.flag][1:]

    def group(self, group: str, estimator: str = "") -> list[Option]:
        """Return options of a "file", of "columns", for new "rows" of an estimator, or the others, which a form "folds"."""
        names = [*_GROUPS.get(group, ()), *(name for name, kinds in _OF_MODELS.items() if estimator in kinds)]
        shown = {*_SHOWN, *_GROUPS["columns"]}
        return [o for o in self.options if (o.name in names if names else o.flag and o.name not in shown)]

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
        sheet, encoding = _last(fields, "sheet"), _last(fields, "encoding")
        return look_at(path, column_options(fields), name=name, sheet=sheet, encoding=encoding)
    except LatentiaError as error:
        if error.source is not None and str(error.source).startswith(str(path)):
            error.source = name  # The reader knows only this name.
        raise


def split_doubt(doubt: str) -> tuple[str, list[tuple[str, str, str]]]:
    """Return what is doubtful about a column, and the options that the text names: fields, values and words of buttons."""
    corrections = []
    for option, quoted in _OPTION_IN_DOUBT.findall(doubt):
        value = next(iter(shlex.split(quoted)), "")
        last = value.rpartition("=")[2]
        role = "leave it out" if last == "ignored" else f"read it as {last}"
        labels = {"role": role, "positive": f"count {last!r} as 1"}
        label = labels.get(option, f"{last!r} stands for a missing answer")
        corrections.append((option.replace("-", "_"), value, label))
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


def questions(reading: Reading, faces: Faces) -> dict[str, Question]:
    """Return the questions that a file can answer, with the values that ``latentia look`` proposes, by their keys."""
    proposed: dict[str, Question] = {}
    for command in reading.commands:
        question = _parse(shlex.split(command), faces)
        number = 1 + sum(earlier.command == question.command for earlier in proposed.values())
        proposed[question.command if number == 1 else f"{question.command}-{number}"] = question
    return proposed


def command_of(key: str) -> str:
    """Return the command of a question."""
    return key.rstrip("-0123456789")


def describe(words: Sequence[str]) -> str:
    """Return what a command does, for a list of results."""
    if len(words) < 3:
        return ""
    about = {"apply": "{0} applied to {1}", "update": "{0} with the rows of {1}", "compare": "{0} compared with {1}"}
    question = _MIXED if "mixed" in words else QUESTIONS.get(words[0], "")
    return about.get(words[0], f"{question} Of {{0}}").format(*words[1:3])


def spell_out(text: str) -> str:
    """Return a message of the command line with the labels of fields in place of options."""

    def label(match: re.Match[str]) -> str:
        name = (match[2] or match[3] or "missing").replace("-", "_")
        return f"“{_LABELS.get(name, name.replace('_', ' '))}{': ' + _MISSING[match[1]] if match[1] else ''}”"

    return _FLAG.sub(label, text)


def _parse(words: list[str], faces: Faces) -> Question:
    command = faces.command(words[1])
    values = {option.name: value for option, value, _ in _split(words[3:], command) if option is not None}
    if words[2].startswith("-"):  # noisy-or --baskets FILE
        values |= {"baskets": "yes"}
    text = _MIXED if values.get("distribution") == "mixed" else QUESTIONS.get(command.name, command.name)
    return Question(text, command.name, values)


def _split(words: Sequence[str], command: Command) -> Iterator[tuple[Option | None, str, list[str]]]:
    """Yield the options of a command, None for its arguments, with their values and their words."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        option = next((o for o in command.options if o.flag and flag in (*o.flags, o.negative)), None)
        more = rest[:1] if option is not None and option.kind != "flag" and not equals else []
        rest = rest[len(more) :]
        if option is not None and option.kind == "flag":
            value = "no" if flag == option.negative else "yes"
        yield option, word if option is None else "".join(more) or value, [word, *more]


def ways_to_apply(command: Command | None) -> dict[str, str]:
    """Return the ways to treat cells without a value of new rows, that of the model first."""
    ways = () if command is None else _MISSING_CHOICES.get(command.name, ())
    return {"": "as when it was learned"} | {way: _MISSING[way] for way in ways if way != "mean"}


def missing_choices(command: Command, reading: Reading) -> dict[str, str]:
    """Return the ways to treat cells without a value, the preferred one first; empty if no cell is."""
    gaps = any(column.n_missing for column in reading.columns if column.used)
    if not gaps or command.option("missing") is None:
        return {}
    return {way: _MISSING[way] for way in _MISSING_CHOICES.get(command.name, ())}


def propose_fields(question: Question, command: Command, reading: Reading) -> dict[str, list[str]]:
    """Return the fields of a form that starts a run as it stands."""
    fields = {name: [value] for name, value in question.values.items() if name not in ("effects", "columns")}
    if "columns" in question.values and command.option("ignore") is None:
        fields["columns"] = [question.values["columns"]]
    size = command.option("k")
    number = question.values.get("k", "" if size is None else size.default)
    if number != "auto":
        parts = dict(zip(("from", "to", "step"), number.split(":"), strict=False))
        fields |= {"k": [""]} | {key: [part] for key, part in parts.items()}
    compared, left_out = comparable(reading, command, question.values), columns_left_out(reading, command, question)
    return fields | {
        "by": [name for name, proposed in compared.items() if proposed],
        "ignore": [name for name, proposed in left_out.items() if proposed],
        "missing": list(missing_choices(command, reading))[:1],
    }


def columns_left_out(reading: Reading, command: Command, question: Question) -> dict[str, bool]:
    """Return the columns that a question may leave out, and whether it has to: the causes are those of findings alone."""
    if command.option("ignore") is None or "baskets" in question.values:
        return {}
    roles = ["category"] if question.values.get("distribution") == "mixed" else []
    columns = [column for column in reading.columns if column.used or column.role in roles]
    chosen = question.values.get("columns", "").split(",") if "columns" in question.values else None
    if command.name == "noisy-or":
        chosen = [column.name for column in columns if column.role == "binary"]
    names = {column.name: chosen is not None and column.name not in chosen for column in columns}
    proposed = [name for name, is_proposed in names.items() if is_proposed]
    return {name: names[name] for name in dict.fromkeys([*proposed, *list(names)[:_MAX_TICKS]])}


def make_words(command: Command, source: str, fields: Fields, out: str, workspace: Workspace) -> list[str]:
    """Return the words of a command after ``latentia``, from the fields of a form."""
    words = [command.name, file_word(workspace, source)]
    for option in command.arguments:
        value = _last(fields, option.name)
        if value is None and option.required:
            raise LatentiaError(f"expected a second file ({option.help.rstrip('.')}). Choose it above.")
        words += [] if value is None else [file_word(workspace, value)]
    number, size = command.option("k"), size_of(fields) or _last(fields, "k")
    if number is not None and size:
        words += [number.flag, size]
    fields = {**fields, **_comparison_options(command, fields), **_find_unused_columns(fields)}
    for option in command.options:
        if option.flag and (option.name not in _HIDDEN or option.name in (*READING_OPTIONS, "missing", "names")):
            words += _option_words(option, fields.get(option.name, ()), workspace)
    return [*words, "--out", out]


def size_of(fields: Fields) -> str:
    """Return a number of components or a range of them, empty if there is none; raise before the command would."""
    texts = {key: text for key in ("from", "to", "step") if (text := _last(fields, key))}
    for key, text in texts.items():
        if not text.isdecimal() or int(text) < 1:
            raise LatentiaError(f"expected a whole number from 1, and found {text[:20]}.", parameter=key)
    if "to" not in texts:
        return texts.get("from", "")
    if "from" not in texts or int(texts["from"]) > int(texts["to"]):
        raise LatentiaError("expected a first number that is not above the last. Change one of them.", parameter="from")
    return ":".join(texts.values())


def _find_unused_columns(fields: Fields) -> dict[str, list[str]]:
    """Return the options that leave columns out: names with a comma are no part of a list."""
    names = [name for name in fields.get("ignore", ()) if name]
    roles = [f"{name}=ignored" for name in names if "," in name]
    return {"ignore": [",".join(name for name in names if "," not in name)], "role": [*fields.get("role", ()), *roles]}


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
    if not (command.option("group_by") or command.option("effects")):
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
    pairs = [[f"{option.flag}={text}"] if joined and text[0] == "-" else [option.flag, text] for text in texts]
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
    if words[0] not in ("apply", "compare", "look"):
        lines.append(f"model = latentia.load({words[-1] + '/model.npz'!r})")  # The name of the result comes last.
    return "\n".join(lines)


def words_again(words: Sequence[str], command: Command, changes: Mapping[str, Sequence[str]], out: str) -> list[str]:
    """Return the words of a command with other values of some options, for a result of another name."""
    pairs = [(option, part) for option, _, part in _split(words, command)]
    unchanged = [
        word for option, part in pairs if option is None or option.name not in (*changes, "out") for word in part
    ]
    for name, values in changes.items():
        option = command.option(name)
        if option is None:
            raise LatentiaError(f"{words[0]} has no option {name!r}.")
        unchanged += [word for value in values for word in (option.flag, _check_text(value, option))]
    return [*unchanged, "--out", out]


def check_words(words: Sequence[str], command: Command, out: str, workspace: Workspace) -> None:
    """Raise if a command reads or writes outside of the folder; the folder, and what it stores, may be someone else's."""
    for option, value, (word, *_) in _split(words[1:], command):
        if option is None:
            workspace.find(word.removeprefix("./"))
            if word.startswith("-"):
                raise LatentiaError(f"{command.name} has no option {word}.")
            continue
        if option.name in _HIDDEN - _KEPT or (option.name == "out" and value != out):
            raise LatentiaError(f"the app does not run commands with this {option.flag}. Start from the file.")
        for part in (value, *value.split(",")) if option.name in _FILE_VALUES else ():
            if os.path.isfile(workspace.root / part.strip()):
                workspace.find(part.strip())
        if option.kind == "path" and option.name != "out":
            workspace.find(value.removeprefix("./"))


def look_words(name: str, fields: Fields, command: Command, workspace: Workspace) -> list[str]:
    """Return the words of ``latentia look`` for a file."""
    options = [option for option in command.options if option.name in READING_OPTIONS]
    words = [word for option in options for word in _option_words(option, fields.get(option.name, ()), workspace)]
    return ["look", file_word(workspace, name), *words]
