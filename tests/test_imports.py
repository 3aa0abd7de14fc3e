"""What importing costs, and who may import whom."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import latentia

SOURCE = Path(latentia.__file__).parent
FRONT = {"cli", "plots", "report"}
"""The rooms that show what families have learned, and import them."""
OPTIONAL = (
    "matplotlib",
    "jinja2",
    "polars",
    "pyarrow",
    "networkx",
    "pandas",
    "dask",
    "flint",
    "formulaic",
    "stopwordsiso",
)
REQUIRED = (
    "numpy, scipy.sparse, sklearn.base, sklearn.utils.validation, sklearn.feature_extraction.text, numba, typer, rich"
)


def module_name(path: Path) -> str:
    *folders, last = ("latentia", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(folders if last == "__init__" else [*folders, last])


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(path)))


@cache
def imports(name: str) -> tuple[tuple[str, str], ...]:
    """What a module imports, also within functions: from which module, and the name, or "" for the module itself."""
    return tuple(_imports(name))


def _imports(name: str) -> Iterator[tuple[str, str]]:
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join(base + ([node.module] if node.module else []))
            yield from ((source, alias.name) for alias in node.names)


@cache
def imported(name: str) -> frozenset[str]:
    """The modules of the package that one of them imports, and the packages that are imported with them."""
    return frozenset(_imported(name))


def _imported(name: str) -> Iterator[str]:
    for source, taken in imports(name):
        one = f"{source}.{taken}" if f"{source}.{taken}" in MODULES else source
        parts = one.split(".")
        for whole in (".".join(parts[:i]) for i in range(2, len(parts) + 1)):
            # A package is being imported already while its own modules are.
            if whole in MODULES and whole != name and (whole == one or not name.startswith(f"{whole}.")):
                yield whole


def room_of(name: str) -> str:
    """The folder of a module, or its name if it lies in none."""
    return name.split(".")[1]


ROOMS = {room_of(name) for name, path in MODULES.items() if path.parent != SOURCE}
_ESTIMATORS = {
    name for name, path in MODULES.items() if "_base import" in path.read_text("utf-8")
}  # parsing takes seconds
FAMILIES = {room_of(name) for name in _ESTIMATORS if "latentia._base" in imported(name)} & ROOMS - FRONT


# --- who imports whom -----------------------------------------------------------------------------------------------

FLOORS = (
    {"exceptions", "_presentation", "families"},
    {"_archive", "_compiled", "_entries", "_fields", "_frames", "_parameters", "_progress", "_scratch", "_threads"},
    {"words"}, {"passes"}, {"reading"}, {"_validation"},
    {"linalg"}, {"tensor"}, {"moments"}, {"simplex"}, {"clusters"}, {"likelihood"}, {"metrics"}, {"evidence"}, {"effects"},
    {"datasets"}, {"summaries"}, {"_records"}, {"_base"}, {"_stages"}, {"_additive"}, {"_covariates"}, FAMILIES,
    {"persistence"}, {"_manifest"}, {"report"}, {"plots"}, {"cli"}, {"__main__"},
)  # fmt: skip
"""The rooms from the ground up: each imports from those below it, also within functions."""
SHARED = {"words", "passes", "linalg", "tensor", "moments", "simplex", "clusters", "likelihood", "evidence", "effects"}
"""The rooms of what several families need. `datasets` and `metrics` are for users, each module for itself."""
FOR_USERS = ("latentia.evidence.bounds", "latentia.passes.plans")
"""Modules of shared rooms that users call, as docs/api.md says."""


def test_every_room_is_known():
    assert sorted(room for floor in FLOORS for room in floor) == sorted(
        {room_of(name) for name in MODULES if "." in name}
    )
    assert {"topics", "nmf"} <= FAMILIES


def test_rooms_import_from_the_rooms_below():
    height = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
    found = {(name, other) for name in MODULES if "." in name for other in imported(name)}
    assert len(found) > 1000
    up = {(a, b) for a, b in found if room_of(a) != room_of(b) and height[room_of(a)] <= height[room_of(b)]}
    assert not up


def test_what_is_private_stays_in_its_package():
    """Names that begin with an underscore stay in their module, and such modules in their package."""
    taken = {(name, source, one) for name in MODULES for source, one in imports(name) if source.startswith("latentia")}
    assert len(taken) > 2000
    assert not {(name, source, one) for name, source, one in taken if not may_take(name, f"{source}.{one}")}


def may_take(name: str, one: str) -> bool:
    *folders, last = one.split(".")
    if last.startswith("_") and not last.startswith("__") and one not in MODULES:
        return False
    hidden = next((i for i, part in enumerate([*folders, last]) if re.match("_[^_]", part)), 1)
    return f"{name}.".startswith(".".join([*folders, last][:hidden]) + ".")


def test_modules_of_shared_rooms_serve_two_families():
    users: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        used = words_of(path) if path.name == "__init__.py" else None
        for source, one in imports(name):
            if used is None or one in used:  # and not only handed on
                users.setdefault(definer(source, one), set()).add(name)
    own = [name for name in MODULES if "." in name and room_of(name) in SHARED and not name.startswith(FOR_USERS)]
    own = [name for name in own if MODULES[name].name != "__init__.py"]
    assert len(own) > 80
    assert not {name: served for name in own if len(served := served_by(name, users)) < 2}
    lines = {name: MODULES[name].read_text("utf-8").count("\n") for name in MODULES if "." in name}
    assert lines["latentia.passes.plans"] < 0.05 * sum(lines[name] for name in own)


def served_by(name: str, users: dict[str, set[str]]) -> set[str]:
    """The families that need a module, directly or through others; readers and generators of data count as one."""
    found, seen, left = set(), {name}, {name}
    while left:
        for user in users.get(left.pop(), set()) - seen:
            seen.add(user)
            if "." in user and room_of(user) in FAMILIES | {"datasets"}:
                found.add(room_of(user))
            else:
                left.add(user)
    return found


@cache
def definer(source: str, name: str) -> str:
    """The module that a name comes from, however many packages hand it on."""
    given = [one for one in imports(source) if one[1] == name] if source in MODULES else []
    if given and name and given[0][0] != source and given[0][0].startswith("latentia"):
        return definer(*given[0])
    return f"{source}.{name}" if f"{source}.{name}" in MODULES else source


def words_of(path: Path) -> set[str]:
    """The names that a module uses."""
    return {node.id for node in nodes(path) if isinstance(node, ast.Name)}


def test_no_module_imports_itself_through_others():
    """Without a circle, modules can be imported, read and tested in an order; imports within functions count."""
    left = {name: set(imported(name)) for name in MODULES}
    while free := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in free}
    assert not left


_EACH_FIRST = """
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader

SourceFileLoader.get_code = cache(SourceFileLoader.get_code)  # compiles every file once
for name in sys.argv[1:]:
    for loaded in [one for one in sys.modules if one.split(".")[0] == "latentia"]:
        del sys.modules[loaded]
    import_module(name)
    print(name)
"""


def test_every_public_module_can_be_imported_first():
    chosen = [name for name in MODULES if name.count(".") == 1 and "._" not in name]
    assert "latentia.words" in chosen
    done = subprocess.run(
        [sys.executable, "-c", _EACH_FIRST, *chosen], capture_output=True, text=True, check=False,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},  # importing is what matters
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == chosen


def test_no_name_is_left_over():
    """What a module defines is used by the package, or tested."""
    tested = {
        word for path in Path(__file__).parent.rglob("*.py") for word in re.findall(r"\w+", path.read_text("utf-8"))
    }
    looked_up = ("apply", "added", "units")  # by `latentia apply` and `latentia update`
    used = tested | {f"{what}_{path.stem}" for path in (SOURCE / "cli").glob("*.py") for what in looked_up}
    for path in MODULES.values():
        for node in nodes(path):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                used.add(node.id if isinstance(node, ast.Name) else node.attr)
    defined = {name: set(names_of(parsed(path))) for name, path in MODULES.items()}
    assert sum(len(names) for names in defined.values()) > 1000
    assert not {f"{module}.{name}" for module, names in defined.items() for name in names - used}


def names_of(module: ast.Module) -> Iterator[str]:
    """The functions, classes and values that a module defines, but for what Python looks for."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("__"):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            yield from (name for name in found if not name.startswith("__"))


# --- what importing costs -------------------------------------------------------------------------------------------


def test_optional_packages_are_not_imported():
    # What the required packages import by themselves, where it happens to be installed, is not ours.
    code = (
        f"import sys, {REQUIRED}; before = set(sys.modules); import latentia, latentia.topics, latentia.cli; "
        f"print([m for m in {OPTIONAL!r} if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_imports_no_heavy_one():
    code = "import sys, latentia; print([m for m in ('numpy', 'scipy', 'sklearn', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
