"""What the pages say is so: their code runs and prints what they show, and every check that decides is on its page."""

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from contract import CASES
from pages import agree, run_page, sessions
from try_package import readme_code

from latentia.datasets import planted

ROOT = Path(__file__).parents[1]
APART = {"adding-a-family.md", "cluster.md"}
"""Pages whose code is not to be run: parts of the source, and addresses of a cluster, which `tests/passes/test_dask.py` has."""
PAGES = [
    path.name
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.name not in APART and re.search("^```(python|pycon|console)$", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_the_examples_of_the_readme_run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    example = readme_code()
    assert "refine" not in example  # the factor that stands below it was measured without refining
    exec(compile(example, "README.md", "exec"), {})
    assert "expected error" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_pages_runs_and_prints_what_they_say(page, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    said, names = (ROOT / "docs" / page).read_text("utf-8"), {}
    for old, new in zip(sessions(said), sessions(run_page(page, names)), strict=True):
        assert agree(old, new), f"run python tests/pages.py {page}: it prints\n{new}"
    if page == "get-started.md":
        assert names["mixture"].n_components_ == 4
        assert (tmp_path / "topics.html").exists()


def test_no_page_shows_what_nothing_prints():
    """Evidence and errors of the program stand in sessions, which are run."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        prose = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        shown = re.findall(r"^    (?:(?:NOT |PARTLY )?SUPPORTED\b|  (?:ok|look|bad) ).*$", prose, re.MULTILINE)
        assert not shown, f"{path.name}: {shown}"


def test_the_example_of_a_family_is_the_source():
    page = (ROOT / "docs" / "adding-a-family.md").read_text("utf-8")
    path, size, of_fit = re.search(r"`(src/[\w/]+\.py)`[^:]*: (\d+) lines[^,]*, and a `fit` of (\d+)", page).groups()
    source = [line.strip() for line in (ROOT / path).read_text("utf-8").splitlines()]
    assert len(source) == pytest.approx(int(size), rel=0.1)
    (shown,) = re.findall(r"```python\n@fitting\n(.*?)```", page, re.DOTALL)
    methods = [[line.strip() for line in method.strip().splitlines()] for method in shown.split("\n\n\n")]
    assert len(methods[0]) - 1 == int(of_fit)
    for head, *body in methods:
        at = source.index(body[0], source.index(head))
        assert source[at : at + len(body)] == body
    for place in re.findall(r"`((?:src|docs|tests|benchmarks|examples|cli|report|plots)/[\w./-]+)`", page):
        assert (ROOT / place).exists() or (ROOT / "src" / "latentia" / place).exists(), place


def test_sessions_are_compared():
    assert agree("error 0.128, 1,190 rows", "error 0.13,  1,200 rows")
    assert not agree("error 0.128", "error 0.2")
    assert not agree("3 of 5 supported", "3 of 5 not supported")


def test_links_between_the_pages_lead_somewhere():
    pages = {page.name: page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}
    for name, text in pages.items():
        for target, anchor in re.findall(r"\]\(([\w-]+\.md)?(?:#([^)]*))?\)", text):
            assert not target or target in pages, f"{name}: {target}"
            headings = re.findall(r"^#+ (.*)$", pages[target or name], re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
            assert not anchor or anchor in slugs, f"{name}: {target}#{anchor}"


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_check_that_decides_is_on_the_page_about_checks(case):
    page = (ROOT / "docs" / "checks.md").read_text("utf-8")
    for model in (case.shared(), case.lost()[0]):
        for check in model.evidence_.checks:
            assert check.role == "note" or f"*{check.name}*" in page, check.name


def test_what_the_page_on_the_api_names_is_there():
    rows = re.findall(
        r"^\| `(latentia[\w.]*)` \| (.*) \|$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 10
    for module, names in rows:
        for name in re.findall(r"`([\w.]+)`", names):
            assert attrgetter(name)(import_module(module)), f"{module}.{name}"


# --- what the pages say of the papers ---------------------------------------------------------------------------------


def test_a_known_map_tells_directions_as_the_page_says():
    row = r" \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \|[^\n]*\n"  # of true samples, by the default, and by the formula
    said = re.search(
        rf"principal direction \| 100{row}\| \| 1,000{row}", (ROOT / "docs" / "contrastive.md").read_text("utf-8")
    )

    def leading(matrix):
        return np.linalg.eigh((matrix + matrix.T) / 2)[1][:, -1]

    def away(vector, truth):
        return np.sum((vector * np.sign(vector @ truth) - truth) ** 2)

    found = []
    for n in (100, 1000):
        known, drawn = [], []
        for seed in range(300, 320):
            data = planted.contrastive_views(n, 10, "pca", linear_map="orthogonal", random_state=seed)
            both = np.cov(data.U.T, data.V.T)
            shared = np.linalg.solve(data.linear_map, both[10:, :10]).T  # cov(u, v) A^-T
            known.append(away(leading(both[:10, :10] - shared), data.truth.ravel()))
            drawn.append(away(leading(np.cov(data.own.T)), data.truth.ravel()))
        found += [np.mean(known), np.mean(drawn)]
    assert found == pytest.approx([float(said[i]) for i in (2, 1, 4, 3)], rel=0.05)


def test_the_printed_constants_leave_out_what_the_page_says():
    from latentia.papers.matrices import get_printed_constants, recover_by_bins

    constants = get_printed_constants(2, eps=0.5, w_min=0.2)
    least = np.exp(15) * (2 / (0.5 * np.sqrt(0.2))) ** 4  # as docs/papers.md has it
    assert np.exp(constants["first_bin"] - 1) == pytest.approx(least)
    assert 1e10 < least < 1e11
    for times, kept in ((least / 10, 0), (least * 10, 50)):
        counts = np.full((50, 50), np.round(times * 2 / 50))
        counts[[0, 1], [1, 0]] += 1  # no common divisor: these are pairs, not weights
        left, core, _ = recover_by_bins(counts, 2, **constants)
        assert np.count_nonzero(((left * core) @ left.T).sum(axis=1)) == kept
