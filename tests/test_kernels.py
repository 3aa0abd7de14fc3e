"""Compiled functions: every one is compiled once for a fit, as a first fit waits for each version of it."""

import ast
import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

import latentia

SOURCE = Path(latentia.__file__).parent
ROOT = Path(__file__).parent.parent
CODE = """
import gc, json, warnings
from numba.core.dispatcher import Dispatcher
from tests.contract import CASES
from tests.test_kernels import several

warnings.simplefilter("ignore")
found = {}
for case in CASES:
    for each in gc.get_objects():
        if isinstance(each, Dispatcher):
            each._reset_overloads()
    case.fit()
    found[type(case.estimator).__name__] = several()
print(json.dumps(found))
"""
SEVERAL = {
    "latentia.linalg.sparse._product": "a subspace is found in single precision, and finished in double",
    "latentia.moments.sparse_products._collect": "bases are summed in single precision, and moments in double",
}
"""Kernels of which one fit needs more than one version, and why."""


def several():
    """Kernels with more than one version, and their types of arguments."""
    from numba.core.dispatcher import Dispatcher

    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher) and len(each.signatures) > 1]
    return {f"{each.__module__}.{each.__name__}": list(map(str, each.signatures)) for each in kernels}


@pytest.fixture(scope="module")
def versions():
    run = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_a_default_fit_needs_one_version_of_each_kernel(versions):
    own = {
        (case, kernel): types
        for case, kernels in versions.items()
        for kernel, types in kernels.items()
        if kernel.startswith("latentia.") and kernel not in SEVERAL
    }
    assert not own


def kernels_of(path):
    """Compiled functions of a module by their names."""
    text = path.read_text("utf-8")
    if "njit" not in text:
        return {}
    functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    return {each.name: each for each in functions if any("njit" in ast.unparse(way) for way in each.decorator_list)}


MODULES = {path: kernels for path in sorted(SOURCE.rglob("*.py")) if (kernels := kernels_of(path))}


def is_literal(value):
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    return isinstance(value, ast.Constant) and isinstance(value.value, int)  # of truth values too


def literals_given(kernel, names):
    """Arguments of other kernels that are whole numbers or truth values as they stand, or variables that begin as one."""
    begun = set()
    for each in ast.walk(kernel):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                several = isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple)
                pairs = zip(target.elts, each.value.elts, strict=True) if several else [(target, each.value)]
                begun |= {one.id for one, value in pairs if isinstance(one, ast.Name) and is_literal(value)}
    for call in ast.walk(kernel):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names:
            for value in call.args:
                if is_literal(value) or (isinstance(value, ast.Name) and value.id in begun):
                    yield call.func.id, ast.unparse(value)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_kernels_give_each_other_no_literals(path):
    """They are types of their own, for which what is called is compiled once more: ``np.int64(0)`` is none."""
    everywhere = {name for kernels in MODULES.values() for name in kernels}
    imported = {
        alias.asname or alias.name
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    names = set(MODULES[path]) | (imported & everywhere)
    assert not [(name, *given) for name, kernel in MODULES[path].items() for given in literals_given(kernel, names)]


STABLE = {"_bound", "_compute_slope_at_zero", "_compute_slopes", "_conditional", "_dot", "_psi", "_steps"}
"""Such kernels that give the same bits by themselves and in what calls them, as has been tried: their sums store nothing."""


def reorders(kernel):
    """Whether sums of a kernel may be reordered, so that its bits are those of one compilation."""
    return any("reassoc" in text or "_REORDERED" in text for text in map(ast.unparse, kernel.decorator_list))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_kernels_whose_sums_are_reordered_are_compiled_in_one_place(path):
    """What is compiled by itself and in what calls it rounds in two ways: a first run would give other bits than later ones."""
    apart = {name for name, kernel in MODULES[path].items() if reorders(kernel)} - STABLE
    calls = {
        (name, call.func.id)
        for name, kernel in MODULES[path].items()
        for call in ast.walk(kernel)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in apart - {name}
    }
    assert not calls


SLOW_TO_COMPILE = {"argsort", "concatenate", "mean", "searchsorted", "sort", "take", "unique", "vstack"}
"""Each brings dozens of functions of NumPy, and texts of their errors, into the kernel that calls it."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_kernels_call_nothing_that_takes_long_to_compile(path):
    calls = {
        (name, call.func.attr)
        for name, kernel in MODULES[path].items()
        for call in ast.walk(kernel)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    }
    assert not [(name, function) for name, function in sorted(calls) if function in SLOW_TO_COMPILE]
