"""Which tests are slow: `python tests/slow.py JUNIT.xml` writes their list, ``slow.txt``, from a run with ``--junitxml``.

A function is slow if its cases take more than `MOST` seconds together; clauses of the contract are not, whatever they take.
``make test`` leaves slow ones out, and ``make test-slow`` runs them.
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).with_suffix(".txt")
MOST = 1.5
CONTRACT = {"tests.test_api", "tests.test_odd_input"}


def name_of(nodeid):
    """A test without its parameters."""
    return nodeid.partition("[")[0]


def names():
    """Slow tests, as `name_of` has them."""
    return set(LIST.read_text("utf-8").split())


def measured(report):
    """Names of the slow tests of a run."""
    seconds = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        module, test = case.get("classname"), case.get("name").partition("[")[0]
        if module not in CONTRACT:
            seconds[f"{module.replace('.', '/')}.py::{test}"] += float(case.get("time"))
    return sorted(name for name, total in seconds.items() if total > MOST)


if __name__ == "__main__":
    LIST.write_text("\n".join(measured(sys.argv[1])) + "\n", "utf-8")
