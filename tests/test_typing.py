"""Type hints as a user meets them: mypy passes a script that uses the library as its documentation does."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from contract import CASES

from latentia._parameters import SHARED, Anything

ROOT = Path(__file__).parents[1]

SCRIPT = """
import numpy as np

from latentia.communities import MixedMembershipBlockModel
from latentia.dictionary import IncoherentDictionary
from latentia.evidence import Evidence
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

topics = AnchorTopics("auto", verbose=1)
several = AnchorTopics(n_components=range(2, 7), verbose=True)
models = [
    SpectralLDA([2, 3]), SingleTopicModel("auto"), SphericalGaussianMixture(range(2, 5)), MultiViewMixture([2, 3]),
    MomentMultiLabelClassifier(range(2, 9)), SeparableNMF("auto"), ApproximateNMF(3), SpectralHMM([2, 4]),
    IncoherentDictionary("auto"), MixedMembershipBlockModel("auto"), TensorICA(), NoisyOr(3, verbose=0),
]
fitted = topics.fit(np.ones((4, 3)))
evidence: Evidence = fitted.evidence_
grade: str = evidence.grade
reveal_type(fitted.evidence_)
reveal_type(fitted)
"""

WRONG = """
from latentia.topics import AnchorTopics

AnchorTopics(n_components=2.5)
AnchorTopics("five")
AnchorTopics(3).fit([[1]]).evidence_.no_such_thing
"""

GIVEN = [
    "None", "True", "False", "0", "3", "0.5", "'auto'", "range(2, 4)", "[2, 3]", "np.random.RandomState(0)",
    "np.random.default_rng(0)", "['a', 'b']", "{'a': 0}",
]  # fmt: skip


def values():
    """A script with all values of parameters that ``fit`` takes."""
    lines = ["import numpy as np"]
    for kind in dict.fromkeys(type(case.estimator) for case in CASES):
        lines.append(f"from {kind.__module__} import {kind.__name__}")
        for name in inspect.signature(kind).parameters:
            constraint = kind._constraints.get(name) or SHARED[name]
            if isinstance(constraint, Anything):  # fit looks at it itself
                continue
            given = [*GIVEN, *map(repr, getattr(constraint, "options", ()))]
            allowed = [value for value in given if constraint.allows(eval(value, {"np": np}))]
            lines += [f"{kind.__name__}({name}={value})" for value in allowed]
    assert len(lines) > 600
    return "\n".join(lines)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of each script, in one run with the settings of the project, whose cache `make types` fills."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("typing")
    scripts = {"right": SCRIPT, "wrong": WRONG, "values": values()}
    for name, text in scripts.items():
        strict = "# mypy: disallow-untyped-calls, disallow-any-generics, warn-return-any\n"
        (folder / f"{name}.py").write_text(strict + text)
    files = [str(folder / f"{name}.py") for name in scripts]
    run = subprocess.run([sys.executable, "-m", "mypy", *files], capture_output=True, text=True, cwd=ROOT)
    assert "checked 3 source files" in run.stdout, run.stdout + run.stderr
    return {name: [line for line in run.stdout.splitlines() if f"{name}.py:" in line] for name in scripts}


def test_code_of_users_passes(said):
    assert not [line for line in said["right"] if "error:" in line]
    revealed = "\n".join(said["right"])
    assert 'Revealed type is "latentia.evidence.evidence.Evidence"' in revealed
    assert 'Revealed type is "latentia.topics.anchor_topics.AnchorTopics"' in revealed


def test_wrong_types_are_found(said):
    assert sum("error:" in line for line in said["wrong"]) == 3, said["wrong"]


def test_values_that_fit_takes_have_a_type(said):
    assert not said["values"]


def has_types(function):
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    typed = [one.annotation is not None for one in named if one is not None and one.arg not in ("self", "cls")]
    return all(typed) and (function.returns is not None or (function.name == "__init__" and typed != []))


def untyped(node):
    """Functions without types, but for compiled ones and those within them."""
    for inner in ast.iter_child_nodes(node):
        is_function = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and any("jit" in ast.unparse(one) for one in inner.decorator_list):
            continue
        if is_function and not has_types(inner):
            yield inner.name
        yield from untyped(inner)


def test_only_compiled_functions_have_no_types():
    """mypy checks all others."""
    modules = sorted((ROOT / "src").rglob("*.py"))
    found = {path.name: list(untyped(ast.parse(path.read_text("utf-8")))) for path in modules}
    assert len(modules) > 400
    assert {name: names for name, names in found.items() if names} == {}
