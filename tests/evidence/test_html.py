"""Evidence as notebooks show it: complete, escaped, without scripts, readable on any ground."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from latentia.evidence import Check, Evidence, above, at_most

HOSTILE = "<script>alert('x')</script>"


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def evidence(error=0.2, *others, n=3):
    return Evidence(
        [
            Check("expected error", "e", error, at_most(0.4), "Mean error.", "parts", "verdict", "Use more rows."),
            Check("null", "g", 1.0, above(0), "Gain.", "the model", "veto"),
            Check("goodness", "g", 1.0, at_most(2), "Residual.", "the model", "caution"),
            *others,
        ],
        np.linspace(0.1, 0.9, n),
        found_again=np.full(n, 0.7),
        nouns=("topic", "topics", "documents"),
        shares=np.full(n, 1 / n),
    )


CAUTION = Check("round", "r", 3.0, at_most(1.0), "Spread.", "the model", "caution", "Scale the columns.")
NOTE = Check("sample size", "N", 12.0, above(10.0), "Rows needed.", "Theorem 3", "note")


@pytest.mark.parametrize(
    ("found", "head"),
    [
        (evidence(n=2), "PARTLY SUPPORTED"),
        (evidence(0.1, n=1), "SUPPORTED"),
        (evidence(0.1, CAUTION, n=1), "SUPPORTED WITH CARE"),
        (evidence(0.6), "PARTLY SUPPORTED"),
        (evidence(0.6, replace(NOTE, name="null", role="veto", measured=0.0)), "NOT SUPPORTED"),
        (Evidence([]), "NOT MEASURED"),
    ],
)
def test_the_verdict_comes_first_and_every_tag_is_closed(found, head):
    page = _Page(found._repr_html_())
    assert not page.open
    text = " ".join("".join(page.texts).split())
    assert head in text[: len(head) + 5]
    assert found.verdict.partition(". ")[2] in text
    assert found.advice in text


def test_checks_that_decide_are_seen_and_the_others_folded():
    text = evidence(0.2, CAUTION, NOTE)._repr_html_()
    seen, folded = text[: text.index("<details")], text[text.index("<details") :]
    assert "round" in seen
    assert "Scale the columns." in seen
    assert "≤ 1" in seen
    assert "sample size" not in seen
    assert "sample size" in folded
    assert "1 more lines" not in text
    assert "Theorem 3" in folded


def test_components_have_their_errors_and_grades():
    page = _Page(evidence()._repr_html_())
    for text in ("33.3%", "0.1", "0.9", "supported", "with care"):
        assert any(text in cell for cell in page.texts)
    many = evidence(n=150)._repr_html_()
    assert "and 50 more" in many


def test_the_table_of_components_has_the_columns_that_were_measured():
    few = _Page(evidence(n=2)._repr_html_()).texts
    assert "The 2 topics" in few
    assert "share of the documents" in few
    assert few.count("found again") == 2  # a statement, and a column
    assert "The 1 topics" not in _Page(evidence(n=1)._repr_html_()).texts
    errors = np.array([0.0004, 0.5])
    bare = _Page(Evidence(evidence().checks, errors, nouns=("topic", "topics", "documents"))._repr_html_()).texts
    assert "share of the documents" not in bare
    assert bare.count("found again") == 1
    assert {"< 0.001", "0.5"} <= set(bare)


def test_the_advice_of_each_further_check_that_fails_is_bold():
    second = replace(CAUTION, name="square", measured=2.0, remedy="Scale <the> rows.")
    page = evidence(0.2, CAUTION, second)._repr_html_()
    assert "<b>Scale &lt;the&gt; rows.</b>" in page
    assert "<b></b>" not in evidence(0.2, CAUTION, replace(second, remedy=""))._repr_html_()


def test_hostile_texts_stay_texts():
    check = Check(HOSTILE, HOSTILE, HOSTILE, at_most(1.0), HOSTILE, HOSTILE, "caution", HOSTILE)
    note = Check(HOSTILE, HOSTILE, HOSTILE, None, HOSTILE, HOSTILE, "note")
    found = Evidence([*evidence().checks, check, note], np.array([0.1, 0.2]), nouns=(HOSTILE, HOSTILE, HOSTILE))
    page = _Page(found._repr_html_())
    assert {tag for tag, _ in page.tags} <= {
        "div", "p", "b", "span", "small", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
    }  # fmt: skip
    assert not [attrs for _, attrs in page.tags if set(attrs) - {"style", "scope", "aria-hidden"}]


def test_colours_are_those_of_the_notebook_but_for_badges():
    page = _Page(evidence(0.2, CAUTION, NOTE)._repr_html_())
    for _, attrs in page.tags:
        style = attrs.get("style", "")
        # Where a colour of letters is set, so is the ground behind them.
        assert bool(re.search(r"(^|;)color:", style)) == ("background:#" in style)
