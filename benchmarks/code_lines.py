"""How much code the library has: lines without blanks, comments and docstrings, a room and a purpose; and its numbers.

    python benchmarks/code_lines.py [--most 20] [ROOM ...]

Counts Python, and the templates, styles and scripts of reports. A number is one that stands on the right of an assignment in a
module, or as a default in a record of limits (a class whose name ends in ``Limits`` or ``Needs``). With rooms, their modules.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "latentia"
PRESENTATION = {"cli", "report", "plots", "app", "summaries.py", "_summary_text.py", "_presentation.py"}
COMMENTS = {".html": re.compile(r"{#.*?#}|<!--.*?-->", re.S), ".css": re.compile(r"/\*.*?\*/", re.S)}
COMMENTS[".js"] = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.S | re.M)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(path: Path) -> int:
    """Count the lines of a file that are code."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return sum(bool(line.strip()) for line in COMMENTS[path.suffix].sub("", text).splitlines())
    prose = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, DOCUMENTED)
        for one in node.body
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
        for number in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return sum(
        number not in prose and bool(line.strip()) and not line.lstrip().startswith("#") for number, line in lines
    )


def numbers(path: Path) -> int:
    """Count the numbers that the assignments of a module, and of its records of limits, hold."""
    module = ast.parse(path.read_text("utf-8")).body
    records = [node for node in module if isinstance(node, ast.ClassDef) and node.name.endswith(("Limits", "Needs"))]
    assigned = [node for body in [module, *(record.body for record in records)] for node in body]
    values = [
        node.value for node in assigned if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
    ]
    return sum(
        type(node.value) in (int, float) for one in values for node in ast.walk(one) if isinstance(node, ast.Constant)
    )


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", help="rooms whose modules are listed")
    parser.add_argument("--most", type=int, default=60, help="rows that are printed")
    options = parser.parse_args()
    lines: Counter[str] = Counter()
    held: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in {".py", *COMMENTS} or "__pycache__" in path.parts:
            continue
        relative = path.relative_to(SOURCE)
        room, count = relative.parts[0], code_lines(path)
        figures = numbers(path) if path.suffix == ".py" else 0
        totals += Counter({"lines": count, "numbers": figures, "presentation": count if room in PRESENTATION else 0})
        if not options.rooms or room in options.rooms:
            row = relative.as_posix() if options.rooms else room
            lines[row] += count
            held[row] += figures
    for row, count in lines.most_common(options.most):
        print(f"{row:45} {count:7,} {held[row]:6,}")
    print(f"{totals['lines']:,} lines, {totals['presentation']:,} of presentation, {totals['numbers']:,} numbers")


if __name__ == "__main__":
    main()
