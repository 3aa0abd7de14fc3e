"""Tables of covariates: formulas, missing entries, clusters, and what cannot be used."""

from __future__ import annotations

import builtins
import contextlib

import numpy as np
import pytest

from latentia.effects.design import check_independent, clusters_of, columns_of, design_of
from latentia.exceptions import LatentiaError, MissingExtraError

pytest.importorskip("formulaic")
TABLE = {"party": ["a", "b", "", "b", None, "a"], "year": [1.0, 2.0, 3.0, np.nan, 5.0, 6.0]}


def test_rows_that_lack_an_entry_are_not_known() -> None:
    found = design_of("~ party + year", TABLE, 6)
    assert found.terms == ["Intercept", "party[T.b]", "year"]
    assert found.is_known.tolist() == [True, True, False, False, False, True]
    np.testing.assert_array_equal(found.matrix[found.is_known], [[1, 0, 1], [1, 1, 2], [1, 0, 6]])
    assert design_of("~ year", TABLE, 6).is_known.sum() == 5


def test_frames_with_rows_of_any_name() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE, index=[9, 9, 3, 2, 1, 0])
    np.testing.assert_array_equal(
        design_of("~ party:year", frame, 6).matrix, design_of("~ party:year", TABLE, 6).matrix
    )


def test_controls_are_columns_of_any_kind() -> None:
    found = columns_of({"of a kind": ["a", "b", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]}, 4)
    np.testing.assert_allclose(found.matrix.mean(axis=0), 0)
    assert found.matrix.shape == (4, 2)
    np.testing.assert_allclose(columns_of(np.arange(4.0), 4).matrix[:, 0], [-1.5, -0.5, 0.5, 1.5])


def test_clusters() -> None:
    assert clusters_of(None, None, 3).tolist() == [0, 1, 2]
    assert clusters_of("party", TABLE, 6).tolist() == [0, 1, -1, 1, -1, 0]
    assert clusters_of([5, 5, np.nan], None, 3).tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: design_of("~ age", TABLE, 6), "no column .age.. There are party, year"),
        (lambda: design_of("~ party +", TABLE, 6), "formula='~ party"),
        (lambda: design_of("~ year", TABLE, 5), "6 entries; expected 5"),
        (lambda: design_of("~ year", None, 5), "a data frame or a dict"),
        (lambda: clusters_of("author", TABLE, 6), "There are party, year"),
        (lambda: clusters_of([1, 2], None, 6), "2 entries; expected 6"),
        (lambda: check_independent(np.ones((9, 2)), ["a", "b"], np.arange(9)), "from the other terms"),
        (lambda: check_independent(np.eye(2), ["a", "b"], np.arange(2)), "too few for 2 terms"),
        (lambda: check_independent(np.ones((9, 1)), ["a"], np.zeros(9)), "one cluster"),
    ],
)
def test_what_cannot_be_used(call, words) -> None:
    with pytest.raises(LatentiaError, match=words):
        call()


HOSTILE = [
    "x`+{run()}+`x", "{run()}", "`", "``", "a`b", "x\\", "'", '"', "(", "x)", "[0]", "x\ny", "\x1b[31m", "\ud800",
    "=cmd", "~", " ", "", "1", "lambda", "None", "np", "log", "__import__", "x.__class__", "é", "eval", "\0", "%in%",
    "#", "x;y", "$x$", "<b>", "[/red]",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_column_is_code(name, monkeypatch) -> None:
    monkeypatch.setattr(builtins, "run", lambda: pytest.fail("code of a name was run"), raising=False)
    found = columns_of({name: [1.0, 2.0, 4.0, 5.0], "x": ["a", "b", "b", None]}, 4)
    assert found.terms == [name, "x[T.b]"]
    np.testing.assert_allclose(found.matrix[:3], np.array([[1, 0], [2, 1], [4, 1]]) - [[7 / 3, 2 / 3]])
    assert found.is_known.tolist() == [True, True, True, False]
    table = {name: [1.0, 2.0, 4.0], "year": [1, 2, 3]}
    assert design_of("~ year", table, 3).terms == ["Intercept", "year"]
    with contextlib.suppress(LatentiaError):
        assert design_of(f"~ `{name}`", table, 3).matrix.shape == (3, 2)


CALLS = [
    "run()", "I(run())", "{run()}", "{run()}:year", "log(run())", "C(year, run())", "C(year, contr.treatment(run()))",
    "bs(year, df=run())", "poly(year, raw=run())", "C(year, levels=[run()])", "bs(year, knots=(x for x in [run()]))",
    "I(year if run() else year)", "I(year)[run()]", "I(year).__class__(run())", "I([run()][0])",
    "I((lambda: run())())", "I(f'{run()}')", "log(`run()`)", "run`()`", "C(year, **run())", "C(*run())",
    "I(year:=run())", "np.log(year)", "year.__class__", "I(year.__class__)", "I(year)\n.real", "Q('year')",
    "hashed(year, 3)", "lag(year)", "C(year, contr.custom(run()))", "C(year, contr.__class__)",
    "C(year, contr['sum'])", "log(x)(run())", "I(b'')", "I(...)", "I(1j)", "I('a' * 10**9)", "I(9**9**9)",
    "I(year**9**9)", "I(year**(9**9**9))", "I(year**1000)", "log(9**99)", "'year'", "year['a']", "`year",
    "C(year, '`run()`')", "I(not year)", "I(year > 2)", "I(year and run())", "I(~year)", "I(year @ year)",
    "I(year // 2)", "I(year % 2)", "I(1 << 10**9)", "exit()", "eval('run()')", "I(__import__('os').system('true'))",
    "\uff45val('run()')", "year | party", "year ~ party", "year %in% party", ".", "year ** 99",
    "(year + party) ** 9**9", "(year + party)^40", "year**1.5", "poly(year, 10**9)", "poly(year, 1000000)",
    "bs(year, df=1000000)", "cr(year, df=-10**9)", "1e999999", "9" * 99, "year + " * 2000 + "1",
    "*".join(["(year + party)"] * 60), "(" * 5000, "(" * 40 + "year" + ")" * 41, "log(" * 3000 + "year" + ")" * 3000,
    "a" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_no_formula_runs_code_or_does_not_end(call, monkeypatch) -> None:
    monkeypatch.setattr(builtins, "run", lambda: pytest.fail("code of a formula was run"), raising=False)
    with pytest.raises(LatentiaError, match="formula="):
        design_of(f"~ {call}", TABLE, 6)


@pytest.mark.parametrize(
    ("formula", "n_terms"),
    [
        ("~ 0 + party", 2), ("party + year", 3), ("~ year + I(year**2)", 3), ("~ log(year + 1) * party", 4),
        ("~ bs(year, df=4)", 5), ("~ cr(year, df=4)", 5), ("~ poly(year, 2)", 3),
        ("~ poly(year, degree=2, raw=True)", 3), ("~ scale(year) + center(year)", 3),
        ("~ C(party, contr.treatment('b'))", 2), ('~ C(party, contr.treatment(base="b"))', 2),
        ("~ C(party, contr.sum)", 2), ("~ C(party, Treatment('b'))", 2), ("~ C(year)", 6), ("~ (party + year)**2", 4),
        ("~ party / year", 4), ("~ sqrt(`the year`)", 2), ("~ `the year` : party", 3),
        ("~ bs(year, knots=[2, 3.5], lower_bound=-2000, upper_bound=2000)", 6), ("~ abs(-year)", 2), ("~ 2:year", 2),
    ],
)  # fmt: skip
def test_formulas_of_known_functions(formula, n_terms) -> None:
    found = design_of(
        formula, {**TABLE, "year": [1, 2, 3, 4, 5, 6], "the year": [1, 2, 3, 4, 5, 6], "party": list("ababab")}, 6
    )
    assert found.matrix.shape == (6, n_terms)
    assert found.is_known.all()


@pytest.mark.parametrize("name", ["PM2.5 (\u00b5g/m\u00b3)", "yield", "1.5", ".", "x\\", "log", "'a", "\udcff"])
def test_any_name_without_backticks_is_read_between_them(name) -> None:
    table = {name: [1.0, 2.0, 4.0, 5.0], "x": [1.0, 3.0, 2.0, 5.0]}
    found = design_of(f"~ `{name}` + log(`{name}`):x", table, 4)
    assert found.terms == ["Intercept", name, f"log(`{name}`):x"]
    np.testing.assert_array_equal(found.matrix[:, 1:], np.c_[table[name], np.log(table[name]) * table["x"]])


def test_a_name_that_python_would_read_as_another_is_read_as_it_is() -> None:
    table = {"\u03bcg": [1.0, 2.0, 4.0], "\u00b5g": [3.0, 5.0, 6.0]}  # Python takes the second mu for the first
    np.testing.assert_allclose(design_of("~ log(\u00b5g)", table, 3).matrix[:, 1], np.log(table["\u00b5g"]))


def test_whole_numbers_do_not_overflow() -> None:
    found = design_of("~ I(year**7)", {"year": [2021, 2022]}, 2)
    np.testing.assert_allclose(found.matrix[:, 1], [2021.0**7, 2022.0**7])


def test_designs_that_are_too_large_are_refused_before_they_are_made() -> None:
    n = 3000
    table = {name: [f"{i % 1000}" for i in range(n)] for name in "abc"}
    with pytest.raises(LatentiaError, match="which is too many"):
        design_of("~ a:b:c", table, n)
    with pytest.raises(LatentiaError, match="too many for 3000 rows"):
        columns_of({name: list(map(str, range(n))) for name in "ab"}, n)


@pytest.mark.parametrize(
    "controls", ["abc", 5, [["a"]], {"day": np.array(["2020-01-01"], "M8[D]")}, {"x": [1j]}, {"x": [[1.0, 2.0]]}]
)
def test_controls_that_are_no_numbers_or_texts(controls) -> None:
    with pytest.raises(LatentiaError, match=r"[Ee]xpected"):
        columns_of(controls, 1)


def test_objects_that_are_all_numbers_are_numbers() -> None:
    found = design_of("~ x", {"x": np.array([1, None, 3.5], object)}, 3)
    assert found.terms == ["Intercept", "x"]
    assert found.is_known.tolist() == [True, False, True]


def test_the_extra_is_named(monkeypatch) -> None:
    def without(name, *args, **kwargs):
        if name == "formulaic":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    plain = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"formulaic.*\[formulas\]"):
        design_of("~ year", TABLE, 6)
