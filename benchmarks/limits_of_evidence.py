"""How many checks count, and how many numbers decide a grade or a check: `python benchmarks/limits_of_evidence.py [SOURCE]`.

A check counts if its role is not "note". A number decides if it stands in the bound of a check that counts, or is a constant of
a module which makes such checks, and is no name, size of a sample, or exponent of rounding.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

COUNTED = ("caution", "veto", "verdict")


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Check":
            yield node


def counts(call: ast.Call) -> bool:
    """Whether the role of a check is not a note: the seventh argument, or one by name."""
    role = call.args[6] if len(call.args) > 6 else next((one.value for one in call.keywords if one.arg == "role"), None)
    return role is not None and not (isinstance(role, ast.Constant) and role.value == "note")


def decides(path: Path) -> bool:
    """Whether a module makes checks that count, or grades."""
    text = path.read_text("utf-8")
    return path.parent.name == "evidence" or any(f'"{role}"' in text for role in COUNTED) or "trivial_checks(" in text


def constants(tree: ast.Module) -> Iterator[tuple[str, float]]:
    """Numbers that modules name, but for those up to one billionth, and those whose names say that they are sizes or seeds."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names = [name for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            values = [one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
            for name, value in zip(names, values, strict=False):
                if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > 1e-8:
                    yield name.id, value


def main() -> None:
    source = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "latentia")
    all_checks = counted = numbers = 0
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        own = list(calls(tree))
        all_checks += len(own)
        counted += sum(map(counts, own))
        numbers += sum(1 for _ in constants(tree)) if decides(path) else 0
    print(f"{all_checks} checks, of which {counted} count; {numbers} numbers in modules that decide")


if __name__ == "__main__":
    main()
