"""Odd data, odd parameters, odd questions: every estimator answers, or says what is wrong, in time and without warnings."""

from inspect import signature

import numpy as np
import pytest
from fuzzing import SECONDS, budget, check_answer, defined, documented, twice_if_slow, worlds
from scipy import sparse

import latentia
from latentia._parameters import SHARED
from latentia.passes import Blocks

PARAMETERS = {
    "n_components": [
        1,
        2,
        2,
        3,
        3,
        4,
        7,
        40,
        [1, 2],
        range(2, 4),
        "auto",
        0,
        -1,
        2.5,
        "x",
        None,
        10**12,
        range(10**18),
    ],
    "refine": [0, 0, 1, 3, "auto", "auto", -1, "x", None],
    "n_splits": [0, 1, 3, 4, "x"],
    "random_state": [0, 1, None, 2**32 - 1, 2**33, -1, "x"],
    "n_jobs": [None, 1, 2, -1, 0, "x", 2**40],
    "verbose": [False, 1],
    "vocabulary": [None, ["a", "b"], 5, "ab"],
    "alpha0": [None, 1.0, 1e-9, 1e9, 1e300, 1e-300, 0.0, np.nan],
    "embedding": ["subspace", "projection", "x"],
    "anchors": ["greedy", [0, 1], [[0, 1], {2: 0.5}], [10**9], "x", [None], {}],
    "min_df": [None, 0, 10, 10**9],
    "runoff_df": [0, 2, 50, 10**9],
    "dirichlet": ["likelihood", "moments"],
    "tol": [1e-4, 1e-12, 1.0, 0.0, np.inf],
    "distribution": [None, "bernoulli", "gaussian"],
    "moments": ["auto", "occurrence", "factorial"],
    "head": ["ridge", "bayes"],
    "eta": [0.0, 0.5, 1.0, -1],
    "kind": ["auto", "symbols", "vectors", "x"],
    "n_symbols": [None, 6, 30, 3, 0, 10**12],
    "method": ["moments", "cubic", "auto", "bls", "gtls", "eq2"],
    "cross_fit": [1, 2, 4, 0],
    "tau": [0.3, 0.0, 1e9, 1e-300, np.nan],
    "pseudo_counts": [0.2, 1.0, 1e9, -1],
    "floor": [0.1, 0.0, 1.0, 2.0],
    "max_products": [None, 1, 3],
    "prior": [None, 0.1, 1e-3, 0.9, 1.0],
    "corrections": [2, 0, 1, -1],
    "max_weight": [5.0, 0.1, 30.0, 1e3, 0.0],
    "max_triples": [150_000_000, 1000],
    "order": ["auto", 3, 4, 2, 5, "x"],
    "n_shared": [None, 1, 2, 4, 5, 0],
    "penalty": [None, "l1", "l2", "x"],
    "alpha": [0.1, 0.0, 10.0, -1, np.nan],
    "degree": [1, 2, 3, 0, 4],
    "approximation": ["adaptive", "paper"],
    "gradient": ["bethe", "taylor"],
    "edges": [None, [[0, 1]], [[0, 9]], "x", [[0.5, 1]], []],
}
SCALES = [1e-160, 1e-308, 5e-324, 1e-80, 1e-9, 1e9, 1e80, 1e154, 1e200, 1.7e308, 2.0**53, 2.0**31]


@pytest.mark.parametrize("part", range(4))
def test_odd_cases(part, tmp_path, capfd):
    fitted = 0
    for seed in range(part, budget(200, 5_000), 4):
        try:
            fitted += twice_if_slow(one_case, seed, tmp_path)
        except BaseException as error:
            raise AssertionError(f"case {seed}") from error
    assert fitted
    assert "On entry to" not in capfd.readouterr().err


def one_case(seed, folder):
    """Whether an estimator with some of its parameters changed could be fitted on changed data; it must answer then."""
    rng = np.random.default_rng(seed)
    world = worlds()[int(rng.integers(len(worlds())))]
    own = world.estimator.get_params()
    odd, plain = pick(rng, [(0.0, False), (0.2, False), (0.3, True), (0.5, True)])
    changed = {name: pick(rng, allowed(world, name, rng)) for name in own if rng.random() < odd}
    model, ready = type(world.estimator)(**{**own, **changed}), []
    many = not isinstance(model.get_params().get("n_components", 1), int)  # up to 40 fits
    with documented(seconds=SECONDS * (3 if many else 1)):
        data = dict(world.data) if plain else changed_data(world, rng)
        model.fit(**data)
        ready.append(check_fit(model))
    if not ready:
        return False
    for use in world.uses:
        if hasattr(model, use):
            for table in (
                lambda: next(iter(data.values())),
                lambda: changed_data(world, rng)[next(iter(data))],
                lambda: world.table,
            ):
                with documented():
                    table = table()
                    answer = getattr(model, use)(table)
                    if use in world.undefined:
                        check_answer(defined(answer), use in world.sums and len(defined(answer)))
                    elif rows_of(table) is not None:
                        check_answer(
                            answer, use in world.sums, rows_of(table) if use not in ("score", "decode") else None
                        )
    for question in (drawn, read_off, saved):
        with documented():
            question(model, rng, folder)
    return True


def allowed(world, name, rng):
    """Values for a parameter: mostly such as it may have."""
    values, table = (
        PARAMETERS.get(name, [world.estimator.get_params()[name]]),
        {**SHARED, **world.estimator._constraints},
    )
    good = [value for value in values if table[name].allows(value)]
    return good if good and rng.random() < 0.9 else values


def check_fit(model):
    """Raise unless the arrays of a fit are finite, and those of probabilities sum to one."""
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all(), f"{name} is not finite"
        if name in ("emissionprob_", "transmat_", "startprob_"):
            assert np.allclose(value.sum(axis=-1), 1), name
    str(model.evidence_)
    assert model.evidence_.grade
    return True


def rows_of(table):
    if isinstance(table, Blocks):
        return table.n_rows
    return table.shape[0] if hasattr(table, "shape") and len(table.shape) == 2 else None


# --- questions ----------------------------------------------------------------------------------------------------


def drawn(model, rng, folder):
    if hasattr(model, "sample"):
        size = pick(rng, [1, 5, 0, -1, 2.5, "x", None, True, np.int64(3)])
        check_answer(model.sample(size))


def read_off(model, rng, folder):
    words = pick(rng, [0, [0, 1], [[0]], -1, 10**9, "a", 1.5, [], None, np.array([0, 2])])
    others = pick(rng, [0, [0, 1], [0, 1, 2], 5, 1.5])
    for name, arguments in {
        "most_similar": (words,),
        "entries": (words, others),
        "rows": (words,),
        "conditional": (words,),
        "entropy_rate": (others,),
        "inverse_transform": (words,),
        "graph": (others,),
        "labels_": None,
    }.items():
        with documented():
            found = getattr(model, name, None)
            if arguments is not None and found is not None:
                found(*arguments[: len(signature(found).parameters)])


def saved(model, rng, folder):
    if rng.random() < 0.3:
        latentia.load(latentia.save(model, folder / "model"))


# --- data ---------------------------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def changed_data(world, rng):
    """The data of a world after up to three changes, in one of many forms."""
    data = dict(world.data)
    name = next(iter(data))
    table = data[name].toarray() if sparse.issparse(data[name]) else np.array(data[name])
    rows = slice(0, int(pick(rng, [0, 1, 2, 3, 10, 60, *[10**6] * 20])))
    table = (table[rows, rows] if name == "C" else table[rows]).astype(float)
    for _ in range(int(pick(rng, [0, 0, 1, 1, 2, 3]))):
        table = pick(rng, CHANGES)(table, rng)
    data[name] = pick(rng, FORMS)(table, rng)
    if "Y" in data:
        data["Y"] = data["Y"][: len(table)] if rng.random() < 0.9 else pick(rng, ODD)
    for other in [key for key in ("V", "y") if key in data]:
        data[other] = data[other][: len(table)] if rng.random() < 0.9 else pick(rng, ODD)
    if world.estimator.__class__.__name__.endswith("HMM"):
        n = len(table)
        if rng.random() < 0.3:
            data["lengths"] = pick(
                rng,
                [
                    [n],
                    [n // 2, n - n // 2],
                    [1] * n,
                    [3] * (n // 3),
                    [[1, 2], [3]],
                    ["a"],
                    [2**62] * 4 + [n],
                    [-1, n + 1],
                    [0, n],
                    [n + 0.5],
                    [float(n)],
                    n,
                    None,
                    [n, None],
                    [True] * n,
                    [[n]],
                    np.array([n // 2, n - n // 2], dtype=np.int16),
                    "abc",
                ],
            )
        if isinstance(data[name], Blocks) and rng.random() < 0.7:
            data[name] = Blocks.from_array(table, lengths=data.pop("lengths", [n]))
    return data


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def spoiled(*values):
    def change(table, rng):
        if table.size:
            table = table.copy()
            table.flat[int(rng.integers(table.size))] = pick(rng, values)
        return table

    return change


def scaled(table, rng):
    return table * pick(rng, SCALES)


def column_scaled(table, rng):
    if table.ndim < 2 or not table.size:
        return table
    table = table.copy()
    table[:, int(rng.integers(table.shape[1]))] *= pick(rng, SCALES)
    return table


def constant_column(table, rng):
    if table.ndim == 2 and table.size:
        table = table.copy()
        table[:, : int(rng.integers(1, table.shape[1] + 1))] = pick(rng, [0.0, 1.0, 3.0, 1e9])
    return table


def dependent_column(table, rng):
    """One more column: a copy, or a combination of others, perhaps rounded as all are."""
    if table.ndim < 2 or not table.size:
        return table
    weights = np.eye(table.shape[1])[0] if rng.random() < 0.5 else rng.normal(size=table.shape[1])
    with np.errstate(all="ignore"):
        wide = np.column_stack([table, table @ weights])
        return np.round(wide, int(rng.integers(2, 7))) if rng.random() < 0.5 else wide


def few_patterns(table, rng):
    return table[rng.integers(min(len(table), int(rng.integers(1, 5))), size=len(table))] if len(table) else table


CHANGES = [
    dependent_column,
    few_patterns,
    spoiled(np.nan),
    spoiled(np.inf, -np.inf),
    spoiled(-1.0),
    spoiled(0.5),
    spoiled(1e154, -1e154, 1e308),
    spoiled(2.0**31, 1e9),
    scaled,
    scaled,
    column_scaled,
    constant_column,
    lambda t, rng: t * 0,
    lambda t, rng: t[:1].repeat(len(t), axis=0),
    lambda t, rng: t + 1,
    lambda t, rng: -t,
    lambda t, rng: np.repeat(t, 2, axis=0),
    lambda t, rng: rng.permutation(t),
    lambda t, rng: t + 1e8,
    lambda t, rng: t[..., :2],
    lambda t, rng: np.concatenate([t, t[..., ::-1]], axis=-1) if t.ndim == 2 else t,
    lambda t, rng: rng.random(t.shape),
    lambda t, rng: (rng.random(t.shape) < 0.3) * 1.0,
    lambda t, rng: np.eye(len(t)),
    lambda t, rng: t.T,
    lambda t, rng: np.add.outer(t, t)[:20] if t.ndim == 1 else t[0] if len(t) else t,
]


def with_duplicates(table, rng):
    """CSR whose rows list entries twice and out of order, and zeros among them."""
    csr = sparse.csr_array(np.atleast_2d(table))
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(csr.indptr, csr.indptr[1:], strict=False)] or [[]])
    indices, data = (part[order.astype(int)].repeat(2) for part in (csr.indices, csr.data / 2))
    data[:1] = 0
    return sparse.csr_array((data, indices, csr.indptr * 2), shape=csr.shape)


def objects(table, rng):
    table = table.astype(object)
    if table.size:
        table.flat[0] = pick(rng, ["a", None, {"a": 1}, object(), 10**400, 1j, b"x", [1]])
    return table


def frame(table, rng):
    pd = pytest.importorskip("pandas")
    found = pd.DataFrame(np.atleast_2d(table))
    found.columns = [f"c{i}" for i in found.columns]
    return found.convert_dtypes() if rng.random() < 0.5 else found


def blocks(table, rng):
    return Blocks.from_array(
        pick(rng, [np.asarray, sparse.csr_array])(np.atleast_2d(table)), block_rows=pick(rng, [1, 7, 100, 10**6])
    )


def as_type(*names):
    def form(table, rng):
        return np.nan_to_num(table, nan=0, posinf=0, neginf=0).astype(pick(rng, names))

    return form


ODD = [
    None,
    5,
    "abc",
    b"abc",
    [],
    [[]],
    [[1, 2], [3]],
    {},
    object(),
    np.float64(3),
    np.zeros((2, 3, 4)),
    [None],
    [["a", "b"]],
    np.array(["a", "b"]),
]
FORMS = [
    *[lambda t, rng: t] * 10,
    *[blocks] * 6,
    *[lambda t, rng: sparse.csr_array(np.atleast_2d(t))] * 5,
    with_duplicates,
    with_duplicates,
    lambda t, rng: sparse.csc_matrix(np.atleast_2d(t)),
    lambda t, rng: sparse.coo_array(np.atleast_2d(t)),
    lambda t, rng: np.asfortranarray(t),
    lambda t, rng: t[::-1],
    lambda t, rng: t.tolist(),
    lambda t, rng: np.ma.masked_less(t, 0.5),
    frame,
    objects,
    as_type("i8", "i4", "u1", "?", "f4"),
    as_type("i8"),
    as_type("U3", "S3", "O"),
    as_type("c16"),
    as_type("f2", "g"),
    lambda t, rng: as_type("i8")(t, rng).astype("M8[s]"),
    lambda t, rng: as_type("i8")(t, rng).astype("m8[D]"),
    lambda t, rng: Blocks.from_array(np.atleast_2d(as_type("U3", "O", "c16", "?", "f4")(t, rng))),
    lambda t, rng: Blocks.from_array(np.atleast_2d(as_type("i8")(t, rng).astype("M8[s]"))),
    lambda t, rng: pick(rng, ODD),
]
