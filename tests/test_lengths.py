"""How long stages of a fit and functions may be. What is longer hides what a reader looks for."""

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "latentia"
MODULES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
STAGES = {"fit", "_moments", "_recover", "_refine", "_checks"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def statements(node):
    """All statements within a node; expressions hold none."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case):
            yield inner
            yield from statements(inner)


@cache
def definitions():
    """Functions and classes of all modules, with where they are and the lines of it."""
    found = []
    for name, path in MODULES.items():
        text = path.read_text("utf-8")
        lines = text.splitlines()
        nodes = [node for node in statements(ast.parse(text)) if isinstance(node, FUNCTIONS | ast.ClassDef)]
        found += [(f"{name}:{node.name}", node, lines) for node in nodes]
    return found


def found(kind):
    return [one for one in definitions() if isinstance(one[1], kind)]


def code(node, lines):
    """Lines of the body that are neither empty nor comments nor docstrings."""
    apart = set()
    for inner in ast.walk(node):
        if isinstance(inner, FUNCTIONS | ast.ClassDef) and ast.get_docstring(inner, clean=False) is not None:
            apart |= set(range(inner.body[0].lineno, inner.body[0].end_lineno + 1))
    kept = set(range(node.body[0].lineno, node.end_lineno + 1)) - apart
    return sum(bool(lines[n - 1].strip()) and not lines[n - 1].strip().startswith("#") for n in kept)


def is_compiled(node):
    return any("jit" in ast.unparse(one) for one in node.decorator_list)


def test_a_fit_and_its_stages_have_twenty_lines():
    stages = [
        (f"{name}.{node.name}", code(node, lines))
        for name, one, lines in found(ast.ClassDef)
        for node in one.body
        if isinstance(node, FUNCTIONS) and node.name in STAGES
    ]
    assert len(stages) > 80
    assert [one for one in stages if one[1] > 20] == []


def test_functions_have_sixty_lines():
    assert len(found(FUNCTIONS)) > 4000
    long_ones = [one for one in found(FUNCTIONS) if one[1].end_lineno - one[1].lineno > 60 and not is_compiled(one[1])]
    assert [name for name, node, lines in long_ones if code(node, lines) > 60] == []


@pytest.mark.parametrize("stage", ["_recover", "_set_fitted_attributes", "_checks"])
def test_every_family_has_its_stages_in_the_file_of_its_estimator(stage):
    """Where the class with ``fit`` is, or the one that all estimators of the family have in common."""
    for name, node, _ in found(ast.ClassDef):
        own = {one.name for one in node.body if isinstance(one, FUNCTIONS)}
        if {"fit", "_refine"} & own and "_moments" in own and name != "stages.py:Staged":
            assert stage in own, name
