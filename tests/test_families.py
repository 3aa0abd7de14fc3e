"""The one list of families holds all that there is, and all that is kept by hand elsewhere has what it says."""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import contract
import fuzzing
import pytest

import latentia
from latentia.cli import commands, demo
from latentia.families import FAMILIES, estimators, family_of
from latentia.fitting.base import Estimator

ROOT = Path(__file__).parents[1]


def public_estimators():
    """Every estimator that a package exports."""
    found = set()
    for folder in Path(latentia.__file__).parent.iterdir():
        if (folder / "__init__.py").exists() and not folder.name.startswith("_"):
            package = import_module(f"latentia.{folder.name}")
            things = [getattr(package, name) for name in getattr(package, "__all__", ())]
            found |= {one.__name__ for one in things if inspect.isclass(one) and issubclass(one, Estimator)}
    return found


def test_every_public_estimator_is_in_the_list_once():
    assert sorted(estimators()) == sorted(public_estimators())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.package)
def test_a_family_has_its_command_page_and_chapter_of_the_demo(family):
    assert [one.__name__ for one in family.classes()] == list(family.estimators)
    assert family.command in commands.COMMANDS
    module = import_module(f"latentia.cli.{family.module}")
    assert callable(getattr(module, family.module))
    assert callable(getattr(module, f"apply_{family.module}"))
    assert import_module(f"latentia.report.{family.page}")
    assert any(chapter.command.startswith(f"latentia {family.command} ") for chapter in demo.CHAPTERS)


def test_contract_fuzzers_worlds_and_docs_have_every_estimator():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        worlds_of = import_module("_worlds").worlds_of
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    cases, fuzzed = {case.name for case in contract.CASES}, {world.name for world in fuzzing.models()}
    documented = (ROOT / "docs" / "api.md").read_text("utf-8")
    for name in estimators():
        assert name in cases
        assert name in fuzzed
        assert worlds_of(name)
        assert re.search(rf"\b{name}\b", documented)


def test_the_family_of_a_class():
    assert family_of("TensorICA").command == "ica"
    assert family_of("PCA") is None
