"""Hostile names and formulas: an answer or a clear error, no code that is run, nothing that a terminal or spreadsheet obeys."""

import builtins
import csv

import numpy as np
import pytest
from fuzzing import budget, documented, twice_if_slow

import latentia
from latentia import LatentiaError
from latentia._control_characters import escape_controls
from latentia.effects.design import columns_of, design_of
from latentia.mixtures import SphericalGaussianMixture
from latentia.summaries import write_csv
from latentia.topics import AnchorTopics

PIECES = [
    "`", "``", "{", "}", "{run()}", "run()", "__import__('os')", "(", ")", "[", "]", "'", '"', "\\", "\n", "\r", "\t",
    "\0", "\x1b[31m", "\x1b]0;x\x07", "\x9b", "\x85", "\u2028", "\u202e", "\ud800", "\udcff", "=cmd|' /C calc'!A0",
    "=", "+", "-", "@", "#", "%", "$x$", "<b>", "[/red]", "[bold]", "{0}", "%s", "~", "x", "year", "a b", "é", "ﬁ",
    "0", "1", "1.5", "lambda", "None", "np", "log", ".", ",", ";", "|", " ",
]  # fmt: skip
OPERATORS = ["+", "-", "*", ":", "/", "**", "^", "~", "%in%", "|", "", "==", ",", "."]
FACTORS = [
    "x", "year", "party", "`a b`", "0", "1", "2", "9", "99999999999", "1e9", "'x'", "run", "run()", "{run()}",
    "(x + year)", "log(year)", "C(party)", "C(party, contr.sum)", "C(party, contr.treatment('a'))", "poly(year, 2)",
    "bs(year, df=5)", "I(year**2)", "I(x * year)", "scale(x)", "center(x)", "sqrt(abs(x))", "exp(x)", "np.log(x)",
    "I(run())", "C(party, run())", "Q('x')", "x.__class__", "x[0]", "hashed(x, 9)", "`{run()}`", "lag(x)",
    "I(9**9**9)", "poly(year, 99999)", "bs(year, df=run())", "\x1b", "\ud800", "(", ")",
]  # fmt: skip
TERMS = [
    "{0}", "{0} * {1}", "{2}:{0}", "log({0})", "C({0})", "I({0} + {1})", "center({0}) + {1}", "poly({0}, 2)", "C({2})",
    "bs({0}, df=5)", "({0} + {1})^2", "C({2}, contr.treatment('b'))", "{0} - 1", "{2}/{1}", "sqrt(abs({0} * {1}))",
]  # fmt: skip
N = 40
VALUES = np.vstack([np.random.default_rng(0).normal(centre, 1, (N // 2, 4)) for centre in (-4, 4)])


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def name_of(rng):
    return "".join(pick(rng, PIECES) for _ in range(rng.integers(1, 5)))


def formula_of(rng):
    text = "~ " if rng.random() < 0.9 else ""
    for _ in range(rng.integers(1, 6)):
        factor = pick(rng, FACTORS)
        text += f"{pick(rng, ['', '', '', '(', '-'])}{factor} {pick(rng, OPERATORS)} "
    return text if rng.random() < 0.3 else text.rstrip("+-*:/^~|,.=% ")


@pytest.fixture(autouse=True)
def alarm(monkeypatch):
    """`run` is found wherever text is evaluated."""

    def run(*_):
        raise SystemExit("code was run")

    monkeypatch.setattr(builtins, "run", run, raising=False)


def formula_case(seed):
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys(["x", "year", name_of(rng), "a b"]))
    table = {name: VALUES[:, i % 4] + 9 for i, name in enumerate(names)} | {"party": list("abcd") * (N // 4)}
    formula = formula_of(rng) if rng.random() < 0.7 else f"~ `{pick(rng, names)}` + x"
    matrix = None
    with documented(RuntimeWarning):
        found = design_of(formula, table, N)
        matrix = found.matrix
    assert matrix is None or matrix.shape == (N, len(found.terms))
    plain = columns_of(table, N)
    assert plain.terms == [*names, *(f"party[T.{level}]" for level in "bcd")]
    np.testing.assert_allclose(plain.matrix[:, 0], table["x"] - table["x"].mean())
    return matrix is not None


def test_formulas():
    read = sum(twice_if_slow(formula_case, seed) for seed in range(budget(150, 1000)))
    assert read > 10


def renamed_case(seed):
    """Whether a formula has the numbers that it has with plain names; no name with a backtick stands between two."""
    rng = np.random.default_rng([2, seed])
    names = list(dict.fromkeys(name_of(rng) for _ in range(9)))[:3]
    formula = "~ " + " + ".join(pick(rng, TERMS) for _ in range(rng.integers(1, 4)))
    columns = [VALUES[:, 0] + 9, VALUES[:, 1] + 9, list("abcd") * (N // 4)]
    plain = design_of(
        formula.format("alpha", "beta", "gamma"), dict(zip(("alpha", "beta", "gamma"), columns, strict=True)), N
    )
    used = [name for i, name in enumerate(names) if f"{{{i}}}" in formula]
    with documented():
        found = design_of(formula.format(*(f"`{name}`" for name in names)), dict(zip(names, columns, strict=True)), N)
        np.testing.assert_array_equal(found.matrix, plain.matrix)
        return True
    assert [name for name in used if "`" in name]
    return False


def test_names_change_no_formula():
    assert sum(twice_if_slow(renamed_case, seed) for seed in range(budget(100, 1000)))


def names_case(seed, folder):
    rng = np.random.default_rng([1, seed])
    names = [f"{name_of(rng)}{i}" if rng.random() < 0.5 else f"{name_of(rng)}" for i in range(4)]
    if len(set(names)) < 4:
        return
    cells = [[name_of(rng) for _ in range(4)], [-1.5, "-2e3", np.float64(-3), "+4"]]
    write_csv(folder / "x.csv", names, cells)
    with open(folder / "x.csv", newline="", encoding="utf-8") as file:
        header, texts, numbers = csv.reader(file)
    assert not [
        cell for cell in header + texts if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not is_number(cell)
    ]
    assert list(map(float, numbers)) == [-1.5, -2000, -3, 4]
    with pytest.raises(LatentiaError) as error:
        raise LatentiaError(f"{names[0]}: no.", parameter="x", value=names[1])
    assert escape_controls(str(error.value)) == str(error.value)
    if seed % 25 == 0:
        for fit in (fit_columns, fit_words):
            with documented(SyntaxError, seconds=60):
                fit(names, folder)


def is_number(cell):
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def fit_columns(names, folder):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(VALUES, columns=pd.Index(names, dtype=object))
    check_model(SphericalGaussianMixture(2, n_splits=0).fit(frame), frame, folder)


def fit_words(names, folder):
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.repeat([[9, 1, 5, 1], [1, 9, 1, 5]], N, axis=0))
    check_model(AnchorTopics(2, vocabulary=names, min_df=1, n_splits=0, refine=0).fit(counts), counts, folder)


def check_model(model, data, folder):
    assert escape_controls(str(model.evidence_)) == str(model.evidence_)
    for table in model.summary(data).tables.values():
        table.write(folder / "table.csv")
        with open(folder / "table.csv", newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not is_number(cell)]
    for text in (model.evidence_.to_markdown(), model.report(folder / "x.html", data).read_text("utf-8")):
        assert escape_controls(text) == text
    assert latentia.load(latentia.save(model, folder / "x")).column_names == model.column_names


def test_names(tmp_path):
    for seed in range(budget(100, 1000)):
        try:
            twice_if_slow(names_case, seed, tmp_path)
        except BaseException as error:
            raise AssertionError(f"case {seed}") from error
