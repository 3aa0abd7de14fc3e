"""Every public method of every fitted estimator, on odd and on plain data in every container: an answer, or a clear error."""

import inspect
import warnings
from collections import defaultdict
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from fuzzing import SECONDS, budget, documented, models, twice_if_slow
from scipy import sparse
from sklearn.base import clone
from test_estimators import ODD, changed_data, check_fit, pick

from latentia.exceptions import LatentiaError, LatentiaWarning
from latentia.families import family_of
from latentia.passes import Blocks
from latentia.report.model import SUMMARIES

PLUMBING = {"get_params", "set_params", "get_metadata_routing", "set_output", "fit_transform", "fit_predict"}
FITS = {"fit", "partial_fit", "fit_transform", "fit_predict"}
TABLES = ("X", "C", "A", "U")
NUMBERS = [0, 1, 2, 3, 5, 10, -1, 10**9, 2.5, np.nan, np.inf, None, "x", True, np.int64(2), [1], []]
STRANGE = [
    *ODD,
    *NUMBERS, 5e-324, 1e308, 2**70, 1j, b"x", "", {"a": 1}, {0: [1]}, [{}], [{0, 1}], [[0, 1], [1]], range(5), np.array(3),
    np.array([1j]), np.array([1, "a"], dtype=object), np.ma.masked_array([1.0, 2.0], [True, False]),
    np.datetime64("2020-01-01"),
    sparse.csr_array((2, 3)), sparse.coo_array((300, 3)), (np.zeros(3), np.ones(3)), [("a", "b")], lambda *_: 1,
    np.full(300, 5e-324), np.full(300, 1e308), np.zeros((300, 0)), np.zeros((300, 3)), [[]] * 300, ["a"] * 300, [None] * 300,
]  # fmt: skip


@cache
def fits():
    """Worlds that tests fit once, and those whose moments are kept."""
    kept = [
        (world, clone(world.estimator).set_params(keep_moments=True))
        for world in models()
        if "keep_moments" in world.estimator.get_params()
    ]
    return [(world, world.estimator) for world in models()] + kept


@cache
def fitted(number):
    """The fit of one of `fits`; without its moments where they cannot be kept."""
    world, estimator = fits()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        try:
            return clone(estimator).fit(**world.data)
        except LatentiaError:
            return clone(estimator).set_params(keep_moments=False).fit(**world.data)


@cache
def methods(kind):
    """Names of the public methods of an estimator, without those of scikit-learn's plumbing."""
    names = [name for name in dir(kind) if not name.startswith("_") and not name.endswith("_request")]
    return [n for n in names if n not in PLUMBING and inspect.isroutine(inspect.getattr_static(kind, n))]


# --- odd calls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(2))
def test_odd_calls(part, tmp_path):
    for seed in range(part, budget(200, 5_000), 2):
        try:
            twice_if_slow(one_call, seed, tmp_path)
        except BaseException as error:
            raise AssertionError(f"call {seed}") from error


def one_call(seed, folder):
    """Call a method with odd arguments; what it returns is read as users read it."""
    rng = np.random.default_rng([seed, 7])
    number = int(rng.integers(len(fits())))
    world, _ = fits()[number]
    model = deepcopy(fitted(number))
    names = [*methods(type(model)), "evidence_.stability", "kept", "attributes"]
    name = pick(rng, names)
    with documented(seconds=3 * SECONDS):
        plain = rng.random() < 0.4 or np.ndim(world.table) > 2
        data = dict(world.data) if plain else changed_data(world, rng)
        if name == "attributes":
            read(model.evidence_)
            return
        if name == "kept":
            name = pick(rng, [each for each in names if each in ("partial_fit", "forget", "fit")])
            if hasattr(model, "partial_fit"):
                model.partial_fit(*(value for key, value in world.data.items() if key != "views"))
        call = model.evidence_.stability if name == "evidence_.stability" else getattr(model, name, None)
        if call is None:
            return
        values, named = arguments(call, name, world, model, data, rng, folder)
        read(call(*values, **named), folder)
        if name in FITS:
            check_fit(model)


def arguments(call, name, world, model, data, rng, folder):
    """Arguments of a method, by position and by name: the tables of a world, and odd values for the others."""
    values, named = [], {}
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            values += data.values()
        if parameter.kind is parameter.VAR_KEYWORD and name in ("report", "summary"):
            named = {pick(rng, options_of(world)): pick(rng, STRANGE) for _ in range(int(rng.integers(3)))}
        if parameter.kind is parameter.KEYWORD_ONLY and rng.random() < 0.5:
            named[parameter.name] = argument(parameter.name, name, world, model, data, rng, folder)
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            continue
        if parameter.default is not parameter.empty and rng.random() < 0.3 and parameter.name not in data:
            break
        values.append(argument(parameter.name, name, world, model, data, rng, folder))
    return values, named


def options_of(world):
    """Names of the options of a report."""
    page = SUMMARIES[family_of(world.name).page].args[0]
    names = [p.name for p in inspect.signature(page).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return [*names, "unknown"]


def argument(name, method, world, model, data, rng, folder):
    if name in data and method not in ("inverse_transform", "decode"):
        return data[name]
    if rng.random() < 0.2:
        return pick(rng, STRANGE)
    n = next((len(v) for v in data.values() if isinstance(v, np.ndarray) and v.ndim), 50)
    k = (model.evidence_.components and len(model.evidence_.components)) or 2
    pools = {
        "formula": ["~ x", "~ g", "~ x + g", "~ x:g", "~ 0", "~", "", "y ~ x", "~ z", "~ log(x)", 5, None, "~ 1"],
        "data": [{"x": rng.normal(size=n), "g": rng.integers(0, 3, n).astype(str)}, {}, {"x": [1.0]}, *ODD],
        "components": [None, {"a": "1"}, {"x": "component_0"}, {"s": "x"}, 5, {}],
        "cluster": [None, "g", "z", 5, rng.integers(0, 9, n)],
        "controls": [None, {"x": rng.normal(size=n)}, rng.normal(size=(n, 2)), *ODD],
        "level": [0.9, 0.5, 0.0, 1.0, -1, "x", np.nan, None],
        "groups": [rng.integers(0, 3, n), rng.integers(0, 3, n).astype(str), ["a"] * n, [None] * n, [np.nan] * n, *ODD],
        "times": [rng.integers(2000, 2005, n), np.arange(n) * 0.1, ["2020-01"] * n, np.datetime64("2020-01-01") + np.arange(n)],
        "period": [None, "month", "year", 2.0, 0, -1, "x", np.nan],
        "path": [folder / "a.html", folder / "none" / "a.html", folder, 5, None, ""],
        "words": [["a"], "a", [0], [], None, 5, ["w1", "w2"], [np.nan]],
        "word": [0, 1, "w1", "a", None, 10**9, -1, 1.5, [0]],
        "relevance": [None, 0.0, 0.6, 1.0, 2.0, -1, "x", np.nan],
        "names": [None, ["a"] * n, ["a"], {0: "a"}, {99: "b"}, ["a", "b"], 5, "ab"],
        "namer": [lambda words, texts: "name", lambda words, texts: 5, None, lambda words: 1 / 0],
        "texts": [["a text"] * n, [], None, [5] * n],
        "shares": [np.full((n, k), 1 / k), np.zeros((2, 2)), None],
        "random_state": [0, None, 2**32 - 1, -1, "x", np.random.default_rng(0), np.random.RandomState(0)],
        "lengths": [None, [n], [n // 2, n - n // 2], [1] * n, [0], [-1, n + 1], "x", [n + 0.5]],
        "statistic": ["memberships", "averages", "x", None],
        "labels": [None, [0], [[0]] * n, 5, "x", [10**9]],
        "state": [None, np.full(k, 1 / k), np.zeros(k), np.full(k, np.nan), 0, [1, 2, 3, 4]],
        "x": [*(t[0] for t in [np.asarray(world.table)] if t.ndim), 0, 1, None, [0, 1], "x", np.nan],
        "other": [np.eye(3), model, None, 5],
        "anchors": [None, [0, 1, 2], "greedy", [[0], [1], [2]], {}, [10**9]],
        "replace": [None, {0: 1}, {0: [1, 2]}, {9: 1}, {"a": 1}],
        "refine_on": [None, world.table, 5],
        "scores": [rng.normal(size=5), np.array([np.nan]), 0.5, None, "x"],
        "triples": [None, [[0, 1, 2]] * 30, rng.integers(0, 30, (100, 3)), 5, [[0, 1]]],
        "pairs": [rng.integers(0, 30, (500, 2)), [["a", "b"]] * 30, [[0, 1, 2]] * 30, [], 5, [[0.5, 1]]],
        "input_features": [None],
        "moments": [getattr(model, "moments_", None), None, 5],
        "Q": [np.eye(5) / 5, np.zeros((3, 3)), np.ones((2, 3)), np.full((4, 4), np.nan), None, "x"],
        "W": [rng.dirichlet(np.ones(k), 5), np.zeros((0, k)), np.full((3, k), np.nan), np.full((2, k), 1e308), *ODD],
        "H": [rng.random((5, 60)) < 0.1, np.zeros((0, 3)), 1.0 * (rng.random((5, 15)) < 0.2), *ODD],
        "embeddings": [None, world.data.get("embeddings"), *ODD],
        "sample_weight": [None, None, np.ones(n), np.zeros(n), -np.ones(n), "x", [1]],
        "n_samples": [1, 5, 0, -1, 2.5, "x", None, True, np.int64(3), 1000],
        "length": [1, 20, 0, -1, 2.5, "x", None, 10**4],
        "n_steps": [1, 10, 1000, 0, -1, 2.5, "x", None],
        "i": [0, [0, 1], [[0]], -1, 10**9, "a", 1.5, [], None, np.array([0, 2]), True, np.nan],
    }  # fmt: skip
    pools["j"], pools["X"], pools["y"] = pools["i"], pools["W"], [None, *ODD, rng.normal(size=n), rng.integers(0, 2, n)]
    pools["V"] = [None, *ODD, world.data.get("V")]
    pools["groups"] += [[[0, 1]], [[0], [1]], [[0, 99]]]
    return pick(rng, pools.get(name, NUMBERS))


def read(answer, folder=None):
    """Read an answer as a notebook does."""
    assert isinstance(repr(answer), str)
    str(answer)
    if type(answer).__module__.startswith("latentia"):
        for name in ("to_frame", "rows", "table", "_repr_html_"):
            if callable(getattr(answer, name, None)) and not hasattr(answer, "fit"):
                getattr(answer, name)()
        for table in getattr(answer, "tables", {}).values() if not hasattr(answer, "fit") else ():
            table.to_frame(), table.rows(), list(table.texts())
            if folder is not None:
                table.write(folder / "table.csv")


# --- containers ---------------------------------------------------------------------------------------------------


def single(table):
    return table.astype(np.float32) if table.dtype.kind == "f" else table


def read_only(table):
    table = table.copy()
    table.flags.writeable = False
    return table


def frame_of(package):
    def form(table):
        module = pytest.importorskip(package)
        return module.DataFrame({f"c{i}": column for i, column in enumerate(table.T)})

    return form


CONTAINERS = {
    "list": lambda table: table.tolist(),
    "pandas": frame_of("pandas"),
    "polars": frame_of("polars"),
    "single": single,
    "by columns": np.asfortranarray,
    "read-only": read_only,
    "strided": lambda table: np.repeat(table, 2, axis=0)[::2],
    "backwards": lambda table: table[::-1].copy()[::-1],
    "objects": lambda table: table.astype(object),
    "masked": np.ma.masked_array,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "matrix": sparse.csr_matrix,
    "lil": sparse.lil_array,
    "csr of single": lambda table: sparse.csr_array(single(table)),
    "blocks": lambda table: Blocks.from_array(table, block_rows=37),
    "sparse blocks": lambda table: Blocks.from_array(sparse.csr_array(table), block_rows=37),
}
SPARSE = {"csr", "csc", "coo", "matrix", "lil", "csr of single", "sparse blocks"}
GRAPHS = defaultdict(tuple, MixedMembershipBlockModel=("objects",))
NO_TABLES = {"sample_weight", "lengths", "views", "embeddings", "y", "Y"}


def uses(number):
    """Methods of a fit that take the data of its world and little else."""
    world, model = fits()[number][0], fitted(number)
    usable = []
    for name in [*methods(type(model)), "evidence_.stability"]:
        call = model.evidence_.stability if "." in name else getattr(model, name, None)
        if call is None or name == "counted" or (name in ("report", "decode") and "A" in world.data):
            continue
        parameters = inspect.signature(call).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters) and name != "report":
            usable.append(name)
        first = next(iter(parameters), None)
        if first is not None and first.name == next(iter(world.data)) and name not in ("inverse_transform", "decode"):
            needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            if set(needed) <= {*world.data}:
                usable.append(name)
    return usable


@pytest.mark.parametrize("part", range(2))
def test_containers(part):
    for seed in range(part, budget(150, 5_000), 2):
        try:
            one_container(seed)
        except BaseException as error:
            raise AssertionError(f"container {seed}") from error


def one_container(seed):
    """One method answers the same of a container as of the array; where one of them is refused, so is the other."""
    rng = np.random.default_rng([seed, 11])
    number = int(rng.integers(len(fits())))
    world, _ = fits()[number]
    name, form = pick(rng, uses(number)), pick(rng, [*CONTAINERS])
    data = {
        key: value.toarray() if sparse.issparse(value) else np.asarray(value)
        for key, value in world.data.items()
        if key != "views"
    }
    data = {
        key: value.astype(np.float32).astype(float) if "single" in form and value.dtype.kind == "f" else value
        for key, value in data.items()
    }
    tables = [key for key in data if key not in NO_TABLES and data[key].ndim == 2]
    if form == "list" and "HMM" in world.name:  # Lists are sequences there.
        return
    if not tables:
        return
    plain = result(number, name, data, world)
    other = result(number, name, {**data, **{key: CONTAINERS[form](data[key]) for key in tables}}, world)
    if isinstance(other, LatentiaError) and not isinstance(plain, LatentiaError):
        assert form in (*SPARSE, "blocks", *GRAPHS[world.name]), f"{world.name}.{name}, {form}: refused: {other}"
        return
    assert type(plain) is type(other), f"{world.name}.{name}, {form}: {plain!r:.200} {other!r:.200}"
    agree(plain, other, 1e-6 if "single" in form else 1e-9, f"{world.name}.{name}, {form}")


def result(number, name, data, world):
    model = deepcopy(fitted(number))
    if "views" in world.data and name in ("fit", "partial_fit"):
        data = {**data, "views": world.data["views"]}
    call = model.evidence_.stability if "." in name else getattr(model, name)
    accepted = inspect.signature(call).parameters
    if not any(p.kind is p.VAR_POSITIONAL for p in accepted.values()):
        data = {key: value for key, value in data.items() if key in accepted}
    positional = [value for key, value in data.items() if key != "views"]
    named = {key: value for key, value in data.items() if key == "views"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LatentiaWarning)
        warnings.filterwarnings("ignore", message=".*feature names")
        try:
            return call(*positional, **named)
        except LatentiaError as error:
            return error


def agree(plain, other, rtol, place):
    if hasattr(plain, "fit"):
        plain, other = (
            {k: v for k, v in vars(m).items() if k.endswith("_") and isinstance(v, np.ndarray) and v.dtype.kind == "f"}
            for m in (plain, other)
        )
    if hasattr(plain, "tables"):
        plain, other = ([t.rows() for t in m.tables.values()] for m in (plain, other))
    if isinstance(plain, LatentiaError):
        return
    if isinstance(plain, dict):
        assert len(plain) == len(other), (place, plain.keys() ^ other.keys())
        for key, pair in zip(
            plain, zip(plain.values(), other.values(), strict=True), strict=True
        ):  # Frames have names.
            agree(*pair, rtol, f"{place}: {key}")
    elif isinstance(plain, (tuple, list)):
        assert len(plain) == len(other), place
        for i, pair in enumerate(zip(plain, other, strict=True)):
            agree(*pair, rtol, f"{place}: {i}")
    elif sparse.issparse(plain) or isinstance(plain, (np.ndarray, float, int, np.number)):
        a, b = (m.toarray() if sparse.issparse(m) else np.asarray(m) for m in (plain, other))
        if a.dtype.kind in "fiub":
            size = max(1e-12, np.abs(a[np.isfinite(a)]).max(initial=0)) if a.size else 1
            b = b.astype(a.dtype) if b.dtype == object else b  # joined steps keep the type of what they join
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * size, err_msg=place)
        elif a.dtype.kind == "b":
            np.testing.assert_array_equal(b, a, err_msg=place)
