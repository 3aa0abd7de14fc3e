"""The modules of the package, and what each of them imports."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from textwrap import dedent

import latentia

SOURCE = Path(latentia.__file__).parent
STATEMENT = re.compile(r"^[ \t]*(?:from[ \t]+[.\w]+[ \t]+)?import[ \t]+(?:\([^)]*\)|[^(\n]+)", re.MULTILINE)
"""A statement that imports; parsing whole modules would take seconds."""


def name_of(path: Path) -> str:
    """Name of the module in a file of the package."""
    *folders, last = ("latentia", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(folders if last == "__init__" else [*folders, last])


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def room_of(name: str) -> str:
    """The folder of a module, or its name if it lies in none."""
    return name.split(".")[1]


def imports_of(text: str, package: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """What a text of Python in a package imports, also within functions: a module and a name, or "" for the module itself."""
    for statement in STATEMENT.findall(text):
        with suppress(SyntaxError):  # of prose
            yield from _imports_of(ast.parse(dedent(statement)).body[0], package)


def _imports_of(node: ast.stmt, package: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else ()
        source = ".".join([*base, *([node.module] if node.module else [])])
        yield from ((source, alias.name) for alias in node.names)


@cache
def imports(name: str) -> tuple[tuple[str, str], ...]:
    """What a module imports, as `imports_of` says it."""
    path, parts = MODULES[name], tuple(name.split("."))
    return tuple(imports_of(path.read_text("utf-8"), parts if path.name == "__init__.py" else parts[:-1]))


@cache
def definer(source: str, name: str) -> str:
    """The module that a name comes from, however many packages hand it on."""
    given = [one for one in imports(source) if one[1] == name] if source in MODULES else []
    if given and name and given[0][0] != source and given[0][0].startswith("latentia"):
        return definer(*given[0])
    return f"{source}.{name}" if f"{source}.{name}" in MODULES else source
