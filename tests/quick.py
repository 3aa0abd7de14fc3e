"""A part of the tests for the change at hand: ``python tests/quick.py [COMMIT]``, or ``make test-quick``.

Of the files that differ from a commit (the last one): tests that changed, and the contract of the estimators in the folders of
the package that changed; where only shared ones or helpers of tests did, that of `SHARED`. Names, imports and docstrings are
always tested.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from contract import CASES

ALWAYS = ["tests/test_imports.py", "tests/test_docstrings.py"]
SHARED = {"SingleTopicModel", "SphericalGaussianMixture", "SpectralHMM"}
"""Counts, vectors and sequences, which are fitted in a moment."""


def changed(commit):
    """Paths in the repository that differ from a commit, or are new."""
    asked = (["diff", "--name-only", "--diff-filter=d", commit], ["ls-files", "--others", "--exclude-standard"])
    said = [subprocess.run(["git", *one], capture_output=True, text=True, check=True).stdout for one in asked]
    return [Path(line) for line in "".join(said).splitlines()]


def chosen(paths):
    """Arguments of pytest for changes in these files."""
    tests = {path.as_posix() for path in paths if path.parts[0] == "tests" and path.match("test_*.py")}
    rooms = {path.parts[2] for path in paths if path.parts[:2] == ("src", "latentia")}
    estimators = {type(case.estimator) for case in CASES}
    names = {one.__name__ for one in estimators if one.__module__.split(".")[1] in rooms}
    if rooms or any(path.match("tests/*.py") and path.as_posix() not in tests for path in paths):
        names = names or SHARED
    contract = "tests/test_api.py"
    if not names or contract in tests:
        return sorted({*ALWAYS, *tests})
    return [*sorted({*ALWAYS, *tests, contract}), "-k", f"not test_api or {' or '.join(sorted(names))}"]


if __name__ == "__main__":
    arguments = chosen(changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))
    print("pytest", *arguments, flush=True)
    sys.exit(pytest.main(arguments))
