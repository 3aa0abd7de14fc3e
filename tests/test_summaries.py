"""What models say, as data: tables, figures and sentences, for every estimator."""

import csv
import inspect
import re

import numpy as np
import pytest
from contract import CASES

import latentia
from latentia.evidence import Check, Evidence, at_most
from latentia.evidence.checks import describe
from latentia.exceptions import LatentiaError
from latentia.report.page import write_summary
from latentia.summaries import Column, Figure, Section, Summary, Table, block, grade_columns

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
CELLS = (str, int, float, bool, type(None), list, tuple)


def evidence(errors=(0.1, 0.3, 0.6)):
    found = None if errors is None else np.array(errors)
    mean = None if errors is None else float(found.mean())
    good = (Check(role, "", 1.0, at_most(2), "", "", role) for role in ("veto", "caution"))
    return Evidence([Check("expected error", "", mean, at_most(0.25), "", "", "verdict"), *good], found)


def components(**options):
    shares = np.array([0.5, 0.3, 0.2])
    told = [[("a", 1.5), ("b", -2.0)], [("c", 0.25)], []]
    return Table(
        "components",
        (
            Column("group", range(3), kind="key", meaning="A group."),
            Column("share", shares, ".6f", kind="share", term="How many"),
            Column("told by", told, short="+.1f", kind="words", where="ps"),
            *grade_columns(evidence(), 3, unit="l1"),
            *block(["x", "y"], np.arange(6.0).reshape(3, 2)),
        ),
        title="All groups",
        file="groups.csv",
        caption="3 groups",
        **options,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_printed_summary_is_the_verdict_and_a_table_on_one_screen(case):
    model = case.shared()
    text, page = str(model.summary()), model.summary()._repr_html_()
    assert len(text.splitlines()) <= 40
    assert len(text) <= 6000
    assert model.evidence_.grade.upper() in text
    for name in ("found again", "error", "structure", "fit", *list(model.tables)[:-1]):
        assert name in text
    assert "<table" in page


def test_a_printed_summary_of_a_hundred_components_says_where_the_others_are():
    rows = Table("components", (Column("group", range(100)), Column("says", ["word " * 90] * 100, kind="words")))
    text = str(Summary("Groups", "100 groups.", evidence=evidence(), parts=(rows,)))
    assert len(text.splitlines()) <= 40
    assert len(text) <= 6000
    assert re.search(r"\d+ more rows in \.tables\['components'\]", text)


NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


# --- every estimator ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_number_of_the_methods_text_is_the_fits_own(case):
    model = case.shared()
    text, evidence = model.methods_text(), model.evidence_
    checks = evidence.checks + ([] if evidence.topics is None else evidence.topics.checks)
    first, *_ = doc = inspect.getdoc(type(model)).split("\n\n")
    sources = [part for part in doc if part.startswith("References\n")]
    assert len(sources) == 1
    told = [first, *sources, latentia.__version__, evidence.verdict, repr(model.get_params(deep=False))]
    told += [" ".join(describe(check)) for check in checks]
    told += [" ".join((one.measured, one.needed, one.sentence)) for one in evidence.of_components.statements]
    told += [str(row["n_components"]) for row in model.compared]
    told += [str(vars(model).get(name)) for name in ("n_features_in_", "n_iter_", "_seed", "n_components_")]
    told += [
        f"shape {np.shape(value)}"
        for value in model.get_params(deep=False).values()
        if hasattr(value, "__array__") or isinstance(value, list)
    ]
    known = set(NUMBER.findall(" ".join(told)))
    assert set(NUMBER.findall(text)) <= known
    assert evidence.verdict in text
    assert type(model).__name__ in text
    assert "Method: " in text
    names = ["Found again: ", "Error: ", "Structure: ", "Fit: "]
    assert sorted(names, key=text.index) == names
    assert all(check.name in text for _, check in evidence.reasons)
    marked = evidence.to_markdown()
    assert evidence.verdict in marked
    assert all(f"| {one.name} |" in marked for _, one in [*evidence.marks, *evidence.reasons])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_table_is_there_as_rows_and_as_a_frame(case, tmp_path):
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    model = case.shared()
    summary = model.summary(**case.data())
    assert {"components", "evidence"} <= set(summary.tables)
    assert {"components", "evidence"} <= set(model.tables)
    for name, table in summary.tables.items():
        rows, frame = table.rows(), table.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert len(rows) == len(frame) == len(table), name
        assert [column.name for column in table.columns] == list(frame.columns)
        assert len(set(frame.columns)) == len(frame.columns)
        for row in rows[:5]:
            assert all(isinstance(value, CELLS) for value in row.values()), (name, row)
        if table.file:
            table.write(tmp_path / table.file)
            with open(tmp_path / table.file, newline="", encoding="utf-8") as file:
                head, *lines = csv.reader(file)
            assert len(head) == len(table.of("file"))
            assert lines == list(table.texts())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_components_have_their_number_first_and_what_the_evidence_says_of_them(case):
    model = case.shared()
    table = model.tables["components"]
    numbers = list(table.columns[0].values)
    first = 1 if case.name == "ProbabilityMatrix" else 0  # directions of a spectrum are counted from 1
    assert sorted(numbers) == list(range(first, len(numbers) + first))
    found = model.evidence_.components
    if len(found) == len(numbers):
        grades = next(column for column in table.columns if column.kind == "grade")
        assert [grades.values[i] for i in np.argsort(numbers)] == [one.grade for one in found]


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_column_is_written_as_its_place_asks():
    table = components()
    assert [column.name for column in table.of("file")] == ["group", "share", "expected error", "grade", "x", "y"]
    assert [column.name for column in table.of("page")] == ["group", "share", "told by", "grade"]
    assert next(iter(table.texts())) == ["0", "0.500000", "0.1000", "supported", "0", "1"]
    assert table["share"].shown(0.5) == "50.0%"
    assert table["told by"].shown(table["told by"].values[0]) == "a +1.5, b -2.0"
    assert table["expected error"].shown(None) == ""
    assert table.rows()[1]["share"] == 0.3


def test_headings_of_files_have_units(tmp_path):
    components().write(tmp_path / "groups.csv")
    assert (tmp_path / "groups.csv").read_text().splitlines()[0] == "group,share,expected error (l1),grade,x,y"


def test_errors_that_were_not_measured_leave_cells_empty():
    error, grade = grade_columns(evidence(None), 2)
    assert (list(error.values), list(grade.values)) == ([None, None], ["", ""])


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(LatentiaError, match="cannot be written"):
        components().write(tmp_path / "nowhere" / "groups.csv")
    assert not list(tmp_path.iterdir())


# --- pages ----------------------------------------------------------------------------------------------------------


def page(tmp_path, *parts, **options):
    says = {"title": "Groups", "headline": "3 groups.", "nouns": ("group", "groups", "rows"), "evidence": evidence()}
    summary = Summary(**says, parts=parts, **options)
    return summary, write_summary(tmp_path / "page.html", summary).read_text("utf-8")


def test_a_page_has_the_cells_the_glossary_and_the_figures(tmp_path):
    figure = Figure(
        "f", {"kind": "heat"}, "A map", "label", "*Dark* is **much**.", term="Map", meaning="What a map is."
    )
    summary, text = page(tmp_path, components(), figure, reading=(("Last", "the `end`"),))
    assert summary.glossary == [("Group", "A group."), ("Map", "What a map is."), ("Last", "the `end`")]
    assert list(summary.figures) == ["f"]
    for part in ("All groups", "<em>Dark</em>", "<b>much</b>", "<code>end</code>", '<div id="f"', "<b>+1.5</b>"):
        assert part in text, part
    assert text.index("<dt>Group</dt>") < text.index("<dt>Map</dt>") < text.index("<dt>Last</dt>")
    cells = re.findall(r'<td data-label="Expected error">(.*?)</td>', text, re.DOTALL)
    assert [re.search(r'class="badge (\w+)"', cell)[1] for cell in cells] == ["good", "care", "bad"]


def test_what_users_write_stays_text(tmp_path):
    hostile = "<script>*x*</script>"
    table = Table(
        "components", (Column("group", [0], kind="bold"), Column("name", [hostile], kind="text")), title=hostile
    )
    _, text = page(tmp_path, table)
    assert "<script>*x*" not in text
    assert text.count("&lt;script&gt;*x*&lt;/script&gt;") == 2


def test_a_page_shows_the_first_rows_and_those_that_are_chosen(tmp_path):
    _, text = page(tmp_path, components(most=2))
    assert text.count('data-label="Share"') == 2
    _, text = page(tmp_path, components(order=[2]))
    assert re.findall(r'data-value="(0\.\d)"', text) == ["0.2"]


def test_tables_of_sections_are_tables_of_the_summary():
    inner = Table("inner", (Column("a", [1]),))
    section = Section("figures.html", tables=(inner,), figures={"g": {"kind": "heat"}})
    summary = Summary("t", "s", ("a", "b", "c"), evidence(), (section,))
    assert summary.tables["inner"] is inner
    assert list(summary.figures) == ["g"]
