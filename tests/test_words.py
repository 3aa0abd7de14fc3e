"""Public text has none of the words that only its authors understand, and no sentence that begins with "What" for a name."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from test_docstrings import FAMILIES, ROOMS, methods, names_of

import latentia

ROOT, SOURCE = Path(__file__).parents[1], Path(latentia.__file__).parent
HOUSE = {
    r"deal(s|t|ing)?\b(?! with)": "split, assign or put into groups",
    r"settle(s|d)?": "converge, converged",
    r"told\b(?! apart)": "identified, distinguished, known",
    r"tells?\b(?! (\S+ ){0,3}(apart|which|whether|how|what|from|where|why|who|people)\b)": "say, show, identify",
    r"(default|otherwise) (it is )?found|as found(?! if)|found (by default|out)": "estimated, detected",
    r"ends\b(?! (with|in) )": "stops; endpoints; has no ...",
    r"take[ns]? (\S+ )?apart|(fit|fitted|read|learn) (\S+ ){0,2}apart": "decompose; separately",
    r"(is|are|was|were|not) made\b(?! (of|up|from|dense|symmetric|independent|orthonormal|anew))": "computed, taken, run",
    r"made (it|them)\b": "generated",
    r"(is|are|was|were|be|been|not|words|symbols|pairs|cells) seen": "occurs, observed, detected, missing",
    r"so many": "this many, that many, as many as",
    r"(nothing|anything) to speak of": "negligible",
    r"order of (its|their) own": "canonical order",
    r"theorists": "not part of the verdict",
    r"of a possible": "at most",
    r"bare": "alone, plain",
}
"""Words of the house, and better ones. *Own*, *found*, *made* and *apart* are plain English elsewhere."""
ALLOWED = {
    "_matrix.seen is not what": "the name of a field, in an error about a damaged file",
}
"""Sentences that may have one, and why."""
NAMES = re.compile(r"```.*?```|``[^`]*``|`[^`]*`|\{[{%#].*?[}%#]\}|<[^>]*>", re.DOTALL)
"""Names of code, and marks of templates."""


def house_words(text: str) -> list[str]:
    plain = " ".join(NAMES.sub(" _ ", re.sub(r"^\s*(>>>|\.\.\. |dealt : |settled : ).*", "", text, flags=re.M)).split())
    found = [
        plain[max(m.start() - 40, 0) : m.end() + 30] for word in HOUSE for m in re.finditer(rf"\b(?i:{word})\b", plain)
    ]
    return [one for one in found if not any(known in one for known in ALLOWED)]


def docstrings():
    """Of everything that is public: names, methods, properties."""
    for case in names_of(("", *FAMILIES, *ROOMS)):
        (thing,) = case.values
        members = dict(methods(thing)) | {
            k: v for k, v in vars(thing).items() if isinstance(v, property) and k[0] != "_"
        }
        for name, one in {"": thing, **(members if inspect.isclass(thing) else {})}.items():
            yield f"{case.id}.{name}".rstrip("."), inspect.getdoc(one) or ""


def strings(path: Path):
    """What a module may show to people: its strings of several words, but no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "_" for part in node.values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in parts
            and " " in node.value
        ):
            yield node.value


def test_docstrings_of_public_names_have_no_house_words():
    found = {name: house_words(text) for name, text in docstrings()}
    assert not {name: words for name, words in found.items() if words}


def test_docstrings_of_public_names_begin_with_a_noun_or_a_verb():
    assert not {name: text[:60] for name, text in docstrings() if re.match(r"What\b", text)}


def test_messages_helps_and_checks_have_no_house_words():
    found = {
        str(path): [w for text in strings(path) for w in house_words(text)] for path in sorted(SOURCE.rglob("*.py"))
    }
    assert not {path: words for path, words in found.items() if words}


@pytest.mark.parametrize("pattern", ["*.md", "docs/*.md", "src/latentia/report/templates/*.html", "examples/**/*.py"])
def test_pages_have_no_house_words(pattern):
    for path in sorted(ROOT.glob(pattern)):
        text = path.read_text("utf-8")
        text = "\n".join(re.findall(r"^#.*", text, re.M)) if path.suffix == ".py" else text
        text = re.sub(r"^```.*?^```|^    .*$", "", text, flags=re.M | re.S) if path.suffix == ".md" else text
        assert not house_words(text), f"{path.name}: {house_words(text)}"


def test_house_words_are_found():
    assert house_words("Rows are dealt into groups until it has settled, as far as so many rows can tell.")
    assert not house_words("Deal with gaps; two states that can be told apart, and `dealt` of a table.")
