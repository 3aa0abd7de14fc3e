"""What importing costs, and who may import whom."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

from modules import MODULES, SOURCE, imports, room_of

FRONT = {"app", "cli", "plots", "report"}
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


ROOMS = {room_of(name) for name, path in MODULES.items() if path.parent != SOURCE}
FAMILIES = {room_of(name) for name in MODULES if "latentia.fitting.base" in imported(name)} & ROOMS - FRONT - {
    "fitting"
}


# --- who imports whom -----------------------------------------------------------------------------------------------

FLOORS = (
    {"_control_characters"}, {"exceptions", "_presentation", "families"}, {"system"},
    {"_archive", "_entries", "_fields", "_frames", "_parameters"},
    {"words"}, {"passes"}, {"reading"}, {"_validation"},
    {"linalg"}, {"tensor"}, {"moments"}, {"simplex"}, {"clusters"}, {"likelihood"}, {"papers"}, {"metrics"}, {"evidence"},
    {"effects"}, {"datasets"}, {"_summary_text"}, {"summaries"}, {"comparing"}, {"fitting"},
    FAMILIES, {"persistence"}, {"_manifest"}, {"report"}, {"plots"}, {"app"}, {"cli"}, {"__main__"},
)  # fmt: skip
"""The rooms from the ground up: each imports from those below it, also within functions."""


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
