"""The table of abilities is made from the contract. ``python tests/test_abilities.py`` writes it into the page."""

import re
from pathlib import Path

from contract import CASES, SEQUENCES, SQUARE
from sklearn.utils.validation import has_fit_parameter

from latentia import families
from latentia._parameters import SHARED

DOCS = Path(__file__).parents[1] / "docs"
PAGE, CHOICE = DOCS / "abilities.md", DOCS / "how-to-choose.md"
APPLY = "transform", "predict", "predict_proba"
HEADS = "new rows", "score", "missing values", "weights", "partial_fit", "sparse", "texts", "files", "Dask", "auto"
DASK = {"MomentMultiLabelClassifier", "MultiViewMixture"}
"""Those of several tables that `passes/test_dask.py` fits on collections, beside those of one table."""


def abilities(name: str) -> tuple[str | bool, ...]:
    """What the cases of an estimator, its signature and its tags say, in the order of `HEADS`."""
    cases = [case for case in CASES if type(case.estimator).__name__ == name]
    case, one = cases[0], cases[0].estimator
    sizes = {**SHARED, **one._constraints}.get("n_components") if "n_components" in one.get_params() else None
    return (
        ", ".join(f"`{method}`" for method in APPLY if hasattr(one, method)),
        hasattr(one, "score"),
        any(each.missing for each in cases),
        has_fit_parameter(type(one), "sample_weight"),
        hasattr(one, "partial_fit"),
        one.__sklearn_tags__().input_tags.sparse or case.why_not == SQUARE,
        "vectorizer" in one.get_params(),
        case.why_not != SEQUENCES,
        (case.common_checks and not case.exact) or name in DASK,
        sizes is not None and sizes.allows("auto"),
    )


def table() -> str:
    pages = dict(re.findall(r"\[`(\w+)`\]\(([\w#.-]+)\)", CHOICE.read_text("utf-8")))
    lines = [f"| estimator | {' | '.join(HEADS)} |", f"|---{'|---' * len(HEADS)}|"]
    for name in families.estimators():
        said = [one if isinstance(one, str) else "yes" if one else "" for one in abilities(name)]
        page = pages.get(name, f"{families.family_of(name).package}.md")
        lines.append(f"| {' | '.join([f'[`{name}`]({page})', *said])} |")
    return "\n".join(lines)


def written(text: str) -> str:
    return re.sub(r"(?<=<!-- begin -->\n).*?(?=<!-- end -->)", lambda _: table() + "\n", text, flags=re.DOTALL)


def test_the_page_has_the_table_of_the_contract():
    text = PAGE.read_text("utf-8")
    assert text == written(text), "run python tests/test_abilities.py"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
