"""All benchmarks can be imported, and every name that they import from the library or from each other exists."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "benchmarks"
CODE = """
import ast, sys
from importlib import import_module
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
ours = {"latentia", *(path.stem for path in folder.iterdir())}


def imported(name):
    try:
        return import_module(name)
    except ModuleNotFoundError as error:  # of packages that only benchmarks need
        if error.name.partition(".")[0] in ours:
            raise


for path in sorted(folder.rglob("*.py")):
    imported(".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"))
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in ours and not node.level:
            module = imported(node.module)
            for alias in node.names:
                if module is not None and not hasattr(module, alias.name):
                    imported(f"{node.module}.{alias.name}")
"""


def test_benchmarks_can_be_imported():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE, FOLDER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
