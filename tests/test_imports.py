"""What importing costs, and who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import latentia

SOURCE = Path(latentia.__file__).parent
FAMILIES = {
    "topics", "multilabel", "matrices", "sequences", "mixtures", "ica", "noisyor", "contrastive", "communities",
    "dictionary", "deep", "nmf",
}  # fmt: skip
FOUNDATION = ("passes", "moments", "likelihood", "linalg", "tensor", "simplex", "metrics", "evidence")
OPTIONAL = ("matplotlib", "jinja2", "pyarrow", "networkx", "pandas", "dask", "flint", "stopwordsiso")
REQUIRED = (
    "numpy, scipy.sparse, sklearn.base, sklearn.utils.validation, sklearn.feature_extraction.text, numba, typer, rich"
)


def test_optional_packages_are_not_imported():
    # What the required packages import by themselves, where it happens to be installed, is not ours.
    code = (
        f"import sys, {REQUIRED}; before = set(sys.modules); import latentia, latentia.topics, latentia.cli; "
        f"print([m for m in {OPTIONAL!r} if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def imported(path):
    package = ["latentia", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_family_imports_another_and_the_foundation_imports_none(path):
    home = path.relative_to(SOURCE).parts[0]
    if home not in FAMILIES and home not in FOUNDATION:
        return
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "latentia" and len(parts) > 1 and parts[1] in FAMILIES:
            assert parts[1] == home, f"{path.name} imports {module}"


def test_importing_the_package_imports_no_heavy_one():
    code = "import sys, latentia; print([m for m in ('numpy', 'scipy', 'sklearn', 'numba') if m in sys.modules]); latentia.save"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
