"""A part of the tests for the change at hand: ``python tests/quick.py [COMMIT]``, or ``make test-quick``.

Of the files that differ from a commit (the last one): tests that changed; of a module ``src/latentia/A/b.py`` its examples, the
tests in ``tests/A`` or ``tests/test_A.py``, those that import it, and the contract of the estimators that need it. Imports and
docstrings are always tested.
"""

import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from modules import MODULES, SOURCE, definer, imports, imports_of, name_of, room_of

from latentia import families

ROOT = Path(__file__).parents[1]
ALWAYS = {"tests/test_imports.py", "tests/test_docstrings.py"}
CONTRACT = {"tests/test_api.py", "tests/test_odd_input.py"}
SHARED = {"SingleTopicModel", "SphericalGaussianMixture", "SpectralHMM"}
"""Counts, vectors and sequences, which are fitted in a moment: they stand for all where more than `MOST` need a module."""
MOST = 7


def changed(commit):
    """Paths in the repository that differ from a commit, or are new."""
    questions = (["diff", "--name-only", "--diff-filter=d", commit], ["ls-files", "--others", "--exclude-standard"])
    answers = [subprocess.run(["git", *one], capture_output=True, text=True, check=True).stdout for one in questions]
    return [Path(line) for line in "".join(answers).splitlines()]


def grouped(pairs):
    """The second members of pairs, by the first."""
    groups = defaultdict(set)
    for first, second in pairs:
        groups[first].add(second)
    return groups


@cache
def users():
    """Of each module, those that import it or a name that it defines; packages only hand names on."""
    names = [name for name, path in MODULES.items() if path.name != "__init__.py"]
    return grouped((definer(*taken), name) for name in names for taken in imports(name))


@cache
def users_in_tests():
    """Of each module, the files of tests that import it or a name that it defines."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return grouped((definer(*taken), relative(file)) for file in files for taken in imports_of(file.read_text("utf-8")))


def relative(path):
    """A path in the repository as pytest takes it."""
    return path.relative_to(ROOT).as_posix()


def needing(module):
    """Names of the estimators that import a module, directly or through others; those of `SHARED` for more than `MOST`."""
    reached, waiting = {module}, [module]
    while waiting:
        more = users()[waiting.pop()] - reached
        reached |= more
        waiting += more
    names = {name for name in families.estimators() if place_of(name) in reached}
    return names if len(names) <= MOST else SHARED


def place_of(estimator):
    """The module of an estimator."""
    return definer(f"latentia.{families.family_of(estimator).package}", estimator)


def tests_of(module):
    """Tests of a module: its room's, or of rooms that use it where it has none; and files that import it where they are few."""
    rooms, files = {room_of(user) for user in users()[module]}, users_in_tests()[module]
    own = tests_of_room(room_of(module)) or {path for room in rooms if len(rooms) <= 3 for path in tests_of_room(room)}
    return own | (files if len(files) <= MOST else set())


def tests_of_room(room):
    """The folder of tests of a room, and files at the root that are named after it."""
    room = room.strip("_")
    return {relative(path) for path in (ROOT / "tests").glob(f"test_{room}*.py")} | (
        {f"tests/{room}"} if (ROOT / "tests" / room).exists() else set()
    )


def chosen(paths):
    """Arguments of pytest for changes in these files."""
    in_tests = {path.as_posix() for path in paths if path.parts[0] == "tests" and path.suffix == ".py"}
    tests = {path for path in in_tests if Path(path).match("test_*.py")}
    helpers = {Path(path).parent.as_posix() for path in in_tests - tests}  # their folders
    changed_contract, names = CONTRACT & tests, SHARED if "tests" in helpers else set()
    tests |= helpers - {"tests"}
    for path in (ROOT / path for path in paths if path.parts[:2] == ("src", "latentia")):
        if path.suffix != ".py":  # a template, or a table of data
            tests |= tests_of_room(path.relative_to(SOURCE).parts[0])
        elif path.parent != SOURCE or path.name != "__init__.py":
            module = name_of(path)
            names = names | needing(module)
            sources = {path, *(MODULES[place_of(name)] for name in needing(module))}
            tests |= tests_of(module) | {relative(one) for one in sources if ">>> " in one.read_text("utf-8")}
    part = CONTRACT - changed_contract if names else set()
    selection = f"not ({' or '.join(Path(one).stem for one in sorted(part))}) or {' or '.join(sorted(names))}"
    paths = sorted((tests - CONTRACT) | ALWAYS | changed_contract | part, key=lambda path: (path[:3] == "src", path))
    return [
        *paths,
        *(["-k", selection] if part else []),
    ]  # modules are imported by tests, before pytest looks at their examples


if __name__ == "__main__":
    arguments = chosen(changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))
    print("pytest", *arguments, flush=True)
    sys.exit(pytest.main(arguments))
