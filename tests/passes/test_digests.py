"""What changes an answer changes its digest, in this process and in the next; what cannot be told is refused."""

import dataclasses
import functools
import importlib
import math
import os
import subprocess
import sys
import threading
import types
import typing

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from latentia.exceptions import LatentiaError
from latentia.passes import Blocks
from latentia.passes._digests import digest
from latentia.passes.folding import Statistic

ROWS = np.arange(12.0).reshape(6, 2)
factor = 2.0


def closing(value):
    return lambda block: [block[0] * value]


def with_helper(scale):
    source = f"""
def helper(x):
    return x * {scale}

def outer(block):
    return [helper(block[0])]
"""
    space = {"__name__": "__main__"}
    exec(source, space)
    return space["outer"]


def with_class(scale):
    source = f"""
class Scaled:
    scale = {scale}
    def zero(self):
        return 0.0
    def add(self, state, block):
        return state + self.scale * block[0].sum()
    def merge(self, first, second):
        return first + second
"""
    space = {"__name__": "__main__"}
    exec(source, space)
    return space["Scaled"]()


def with_member(kind, scale):
    """A class of which one member, of this kind, computes with a constant."""
    return type("Scaled", (), {"__module__": "__main__", "member": kind(lambda *arguments: scale)})


def one(block):
    return [block[0] * factor]


PAIRS = {
    "constants": (lambda b: [b[0] * 2.0], lambda b: [b[0] * 5.0]),
    "types of constants": (lambda b: [b[0] * 2], lambda b: [b[0] * 2.0]),
    "signs of zero": (lambda b: [b[0] + 0.0], lambda b: [b[0] + -0.0]),
    "names": (lambda b: [np.sin(b[0])], lambda b: [np.cos(b[0])]),
    "defaults": (lambda b, f=2.0: [b[0] * f], lambda b, f=5.0: [b[0] * f]),
    "keyword defaults": (lambda b, *, f=2.0: [b[0] * f], lambda b, *, f=5.0: [b[0] * f]),
    "functions within": (lambda b: [(lambda x: x * 2.0)(b[0])], lambda b: [(lambda x: x * 5.0)(b[0])]),
    "comprehensions": (lambda b: [p * 2.0 for p in b], lambda b: [p * 5.0 for p in b]),
    "sets of constants": (lambda b: [b[0] * (1 in {1, 2})], lambda b: [b[0] * (1 in {2, 3})]),
    "closures": (closing(2.0), closing(5.0)),
    "closures over arrays": (closing(np.ones(2)), closing(np.array([1.0, 2.0]))),
    "closures over functions": (closing(closing(2.0)), closing(closing(5.0))),
    "partial functions": (functools.partial(closing, 2.0), functools.partial(closing, 5.0)),
    "functions of partial functions": (functools.partial(lambda f, b: b, 2.0), functools.partial(lambda f, b: f, 2.0)),
    "compiled functions": (njit(lambda x: x * 2.0), njit(lambda x: x * 5.0)),
    "helpers of the same module": (with_helper(2.0), with_helper(5.0)),
    "statistics": (with_class(2.0), with_class(5.0)),
    "methods": (with_class(2.0).add, with_class(5.0).add),
    "containers of functions": ({"f": [lambda b: b * 2.0]}, {"f": [lambda b: b * 5.0]}),
    "mappings": (types.MappingProxyType({"f": 2.0}), types.MappingProxyType({"f": 5.0})),
    "sets": ({1, 2}, {2, 3}),
    "sets and frozen ones": ({1, 2}, frozenset({1, 2})),
    "modules": (math, sys),
    "functions of libraries": (math.sin, math.cos),
    "sparse tables": (sparse.csr_array(ROWS), sparse.csr_array(ROWS + 1)),
}


@pytest.mark.parametrize("what", PAIRS)
def test_what_is_not_the_same_has_another_digest(what):
    first, second = PAIRS[what]
    assert digest(first) == digest(first) != digest(second)


@pytest.mark.parametrize("kind", [staticmethod, classmethod, property, functools.cached_property])
def test_members_of_classes_count(kind):
    first, second = with_member(kind, 2.0), with_member(kind, 5.0)
    assert digest(first) == digest(with_member(kind, 2.0)) != digest(second)
    others = [with_member(other, 2.0) for other in (staticmethod, classmethod, property) if other is not kind]
    assert digest(first) not in {digest(other) for other in others if kind is not functools.cached_property}


@pytest.mark.parametrize("what", [name for name, (first, _) in PAIRS.items() if callable(first)])
def test_maps_of_blocks_are_known_by_their_functions(what):
    blocks = Blocks.from_array(ROWS)
    first, second = (blocks.map(function, [(6, 2)]).fingerprint() for function in PAIRS[what])
    assert first != second != blocks.fingerprint()


def test_globals_count(monkeypatch):
    before = digest(one)
    monkeypatch.setattr(sys.modules[__name__], "factor", 5.0)
    assert digest(one) != before


WITH_MODULES = {
    "a global": "import helpers.inner\ndef f(b): return [b[0] * helpers.inner.factor]",
    "a function of it": "import helpers\ndef f(b): return helpers.inner.times(b)",
    "an import within": "def f(b):\n    from helpers.inner import factor\n    return [b[0] * factor]",
    "an import of a function within": "def f(b):\n    def g():\n        import helpers.inner as i\n        return i.factor\n"
    "    return [b[0] * g()]",
    "what it closes over": "def made():\n    import helpers as h\n    return lambda b: [b[0] * h.inner.factor]\nf = made()",
}


@pytest.mark.parametrize("what", WITH_MODULES)
def test_what_is_named_of_modules_of_the_user_counts(what, tmp_path, monkeypatch):
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").touch()
    (tmp_path / "helpers" / "inner.py").write_text("factor = 2.0\ndef times(b): return [b[0] * factor]\n")
    monkeypatch.syspath_prepend(tmp_path)
    inner = importlib.import_module("helpers.inner")
    space = {"__name__": "__main__"}
    exec(WITH_MODULES[what], space)
    before = digest(space["f"])
    assert digest(space["f"]) == before
    monkeypatch.setattr(inner, "factor", 5.0)
    assert digest(space["f"]) != before
    for name in ("helpers", "helpers.inner"):
        sys.modules.pop(name)


def test_attributes_of_functions_count():
    def f(block):
        return [block[0] * f.factor]

    f.factor = 2.0
    before = digest(f)
    f.factor = 5.0
    assert digest(f) != before


def test_looking_at_a_class_does_not_change_it():
    statistic = with_class(2.0)
    before = digest(statistic)
    assert isinstance(statistic, Statistic)
    assert typing.get_type_hints(type(statistic)) == type(statistic).__annotations__ == {}
    assert digest(statistic) == before


def test_data_classes_are_told():
    made = [
        dataclasses.make_dataclass("Point", [("x", float, default)], namespace={"__module__": "__main__"})
        for default in (2.0, 5.0)
    ]
    assert digest(made[0]()) == digest(made[0](2.0)) != digest(made[1]())
    assert digest(made[0](2.0)) != digest(made[1](2.0))


def test_functions_that_call_themselves_and_each_other_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert digest(even) != digest(odd)


@pytest.mark.parametrize("held", [threading.Lock(), (i for i in range(2)), open(os.devnull)], ids=type)  # noqa: SIM115
def test_what_cannot_be_told_is_refused(held):
    holder = types.SimpleNamespace(held=held, rest=1.0)
    for value in (closing(held), {"given": held}, {"given": [holder]}, functools.partial(closing, held)):
        with pytest.raises(LatentiaError, match="a checkpoint cannot compare.*Take it out"):
            digest(value)


CODE = """
import numpy as np
from latentia.passes._digests import digest
names = {"a", "b", "c"}
class Sum:
    kinds = frozenset({"x", "y", "z"})
    def add(self, state, block, within={"p", "q", "r"}):
        return state + len(names) * (block.kind in {"u", "v", "w"})
print(digest([Sum(), lambda b: Sum().add(0, b), {"a": 1.0, "b": np.arange(3)}, names]))
"""


def test_digests_are_those_of_the_next_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "01"
    }
    assert len(found) == 1
    assert found.pop().strip()
