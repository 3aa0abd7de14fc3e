"""How many checks count, and how many numbers decide a grade or a check: `python benchmarks/limits_of_evidence.py [SOURCE]`.

A check counts if its role is not "note". A number decides if it stands in the bound of a check that counts, or if a module that
makes such checks, widens expected errors or grades names it, and uses it for more than notes, in functions that measure
evidence: those whose names say so, and those that these call. Functions that make notes alone do not measure evidence, unless
their module asks whether a check holds. Whole numbers without a point and numbers from a thousand on are sizes of samples, of
steps or of lists, and numbers up to one millionth are rounding. With ``--each`` every number is printed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

COUNTED = ("caution", "veto", "verdict")
FACES = ("cli", "app", "report", "plots")  # show evidence, and grade nothing
SHOWN = (
    "_html.py",
    "evidence.py",
    "rows.py",
    "sentences.py",
    "sizes.py",
    "bounds.py",
)  # of latentia.evidence: the same
MEASURES = re.compile(
    "check|error|bias|misfit|evidence|measure|limit|rival|repeat|distance|spread|structure|compare|gain|advise"
)
MAX_NUMBER, MIN_NUMBER = 1000, 1e-6


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Check":
            yield node


def counts(call: ast.Call) -> bool:
    """Whether the role of a check is not a note: the seventh argument, or one by name."""
    role = call.args[6] if len(call.args) > 6 else next((one.value for one in call.keywords if one.arg == "role"), None)
    return role is not None and not (isinstance(role, ast.Constant) and role.value == "note")


def decides(path: Path) -> bool:
    """Whether a module makes checks that count, widens expected errors, or grades."""
    if path.parent.name in FACES:
        return False
    text = path.read_text("utf-8")
    if path.parent.name == "evidence":
        return path.name not in SHOWN
    return any(f'"{role}"' in text for role in COUNTED) or any(
        word in text for word in ("_checks(", ".widen(", "def bias", "PartErrors(")
    )


def number(node: ast.expr | None) -> float | None:
    """The value of a constant, or of a quotient, product or power of such; whole numbers stay whole."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.BinOp) and number(node.left) is not None and number(node.right) is not None:
        return eval(compile(ast.Expression(node), "", "eval"))
    return None


def constants(tree: ast.Module) -> Iterator[tuple[str, float]]:
    """Numbers that a module names."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            targets = [one for one in ast.walk(target) if isinstance(one, ast.Name)]
            if len(values) > len(targets):  # a tuple of numbers under one name
                targets *= len(values)
            for name, value in zip(targets, map(number, values), strict=False):
                if value is not None:
                    yield name.id, value


def is_size(value: float) -> bool:
    return isinstance(value, int) or not MIN_NUMBER < abs(value) < MAX_NUMBER


def names(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def bounds_of(tree: ast.Module) -> list[ast.AST]:
    """Bounds of checks that count."""
    return [call.args[3] for call in calls(tree) if counts(call) and len(call.args) > 3]


def makes_notes(function: ast.FunctionDef) -> bool:
    """Whether a function returns nothing but checks, and those that it makes are notes."""
    mine = list(calls(function))
    returned = "" if function.returns is None else ast.unparse(function.returns)
    return bool(mine) and not any(map(counts, mine)) and returned in ("Check", "list[Check]")


def names_of_evidence(tree: ast.Module) -> set[str]:
    """Names in functions that measure evidence, in those that these call, and in methods of their records."""
    functions = [(node, None) for node in tree.body if isinstance(node, ast.FunctionDef)]
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        functions += [(node, owner) for node in owner.body if isinstance(node, ast.FunctionDef)]
    if not any(isinstance(one, ast.Attribute) and one.attr == "holds" for one in ast.walk(tree)):
        functions = [(node, owner) for node, owner in functions if not makes_notes(node)]
    reached = {node for node, _ in functions if MEASURES.search(node.name) or any(True for _ in calls(node))}
    records = {owner for node, owner in functions if node in reached and owner is not None and owner.decorator_list}
    reached |= {node for node, owner in functions if owner in records}
    while True:
        used = {name for node in reached for name in names(node)}
        used |= {one.attr for node in reached for one in ast.walk(node) if isinstance(one, ast.Attribute)}
        more = {node for node, _ in functions if node.name in used} - reached
        if not more:
            return used
        reached |= more


def numbers(tree: ast.Module, grades: bool) -> list[tuple[str, float]]:
    """Numbers of a module that decide; all that are used where it ``grades``."""
    bounds = [name for bound in bounds_of(tree) for name in names(bound)]
    for_notes = [name for call in calls(tree) if not counts(call) for name in names(call)]
    uses, measuring = names(tree), names_of_evidence(tree)
    found = [
        (name, value)
        for name, value in constants(tree)
        if name in bounds
        or (
            not is_size(value)
            and for_notes.count(name) < max(uses.count(name) - 1, 1)
            and (grades or name in measuring)
        )
    ]
    literals = [
        ("in a bound", one.value)
        for bound in bounds_of(tree)
        for one in ast.walk(bound)
        if isinstance(one, ast.Constant) and isinstance(one.value, (int, float)) and one.value not in (0, 1)
    ]
    return found + literals


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--each"]
    source = Path(arguments[0] if arguments else Path(__file__).parents[1] / "src" / "latentia")
    all_checks = counted = deciding = 0
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        mine = list(calls(tree))
        all_checks += len(mine)
        counted += sum(map(counts, mine))
        found = numbers(tree, path.parent.name == "evidence") if decides(path) else []
        deciding += len(found)
        if "--each" in sys.argv and found:
            print(path.relative_to(source), len(found), ", ".join(f"{name} {value:g}" for name, value in found))
    print(f"{all_checks} checks, of which {counted} count; {deciding} numbers decide")


if __name__ == "__main__":
    main()
