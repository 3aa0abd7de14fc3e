"""Texts cut into documents: at the headings of their chapters, at blank lines, or after so many words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..exceptions import LatentiaError

_LEAST_OPENING = 100  # words before the first chapter that are more than a title page
_LEAST_PARAGRAPH = 100  # words up to which paragraphs are joined
_LEAST_CHAPTER = 20  # words of a chapter that is no line of a table of contents
_LEAST_RUN = 3  # headings that are numbers alone
_LONGEST_HEADING = 90
_DECORATION = "#*_=[]~ \t\ufeff"

_CHAPTERS = (
    "chapter chap chapitre kapitel kapitlet kapittel kap capítulo capitulo cap capitolo capitol hoofdstuk rozdział rozdzial "
    "kapitola luku fejezet bölüm глава розділ κεφάλαιο letter brief lettre lettera carta canto stave scene szene scène escena "
    "scena auftritt"
)
_PARTS = (
    "volume vol book part act tome livre partie acte band buch teil akt aufzug tomo libro parte acto atto boek deel bok "
    "księga tom część kniha kirja könyv rész том книга часть частина μέρος"
)
_OTHERS = (
    "prologue epilogue preface introduction foreword afterword conclusion appendix prolog epilog vorwort nachwort einleitung "
    "anhang préface prologue épilogue avant-propos prólogo epílogo prefacio prefácio prologo epilogo prefazione voorwoord"
)
_LEVELS = dict.fromkeys(_CHAPTERS.split(), "chapter") | dict.fromkeys(_PARTS.split(), "part")
_KEYS = "|".join(sorted(_LEVELS, key=len, reverse=True))
_ROMAN = r"(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})"
_NUMBER = rf"\d{{1,3}}|{_ROMAN}|{_ROMAN.lower()}"
_KEYED = re.compile(
    rf"(?P<key>(?i:{_KEYS}))\.? +(?:(?:[Nn]o|[Nn]r)\.? *)?(?P<number>{_NUMBER})(?P<rest>(?!\w).*)", re.DOTALL
)
_SPELLED = re.compile(
    rf"(?P<key>(?i:{_KEYS})) +(?P<words>[^\W\d_]+(?:[- ][^\W\d_]+){{0,3}})(?P<rest>[.:]?|[.:] .*| *[\u2013\u2014-]+ .*)"
)
_ORDINAL = re.compile(rf"(?P<words>\d{{1,3}}\.|[^\W\d_]{{4,}}) (?P<key>(?i:{_KEYS}))\.?")
_OTHER = re.compile(rf"(?i:{'|'.join(_OTHERS.split())})\.?")
_EAST_ASIAN = re.compile(
    r"(?P<label>第 ?[〇零一二三四五六七八九十百千\d]+ ?(?P<key>[章回節节話话部卷編编]))(?!\w).*|(?P<all>第\S{1,6}[章回])\s.*"
)
_BARE = {
    "roman": re.compile(rf"({_ROMAN})[.)]?"),
    "digits": re.compile(r"(\d{1,3})[.)]?"),
    "roman with title": re.compile(rf"({_ROMAN})[.:)]? +\S.*|({_ROMAN})[.:)]? *[\u2014\u2013-]+ *\S.*"),
    "digits with title": re.compile(r"(\d{1,3})[.:)] +[^\W\d].*"),
}
_NO_ORDINAL = frozenset(["this", "that", "each", "your", "last", "next", "same", "comic", "every", "other"])
_NUMBERED = frozenset(["letter", "brief", "lettre", "lettera", "carta"])  # no headings without a number
_GUTENBERG = (
    re.compile(r"^\*\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG.*$", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG.*$", re.MULTILINE | re.IGNORECASE),
)
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def check_split(split: Any) -> None:
    """Raise for what is no way to cut texts."""
    whole = isinstance(split, int) and not isinstance(split, bool)
    if split in (None, "chapter", "paragraph") or (whole and split >= 1):
        return
    raise LatentiaError("use 'chapter', 'paragraph', or a number of words.", parameter="split", value=split)


def cut_text(text: str, split: str | int) -> list[tuple[str, str]]:
    """Cut a text into documents.

    Parameters
    ----------
    text : str
    split : "chapter", "paragraph" or int
        "chapter" cuts at headings; "paragraph" at blank lines, or at ends of lines where there are none, and joins paragraphs
        until they have 100 words; a number after that many words.

    Returns
    -------
    list of (str, str)
        What each is called, such as "chapter 3", and its text; empty where there are no headings.
    """
    text = _without_licence(text.replace("\r\n", "\n").replace("\r", "\n"))
    if split == "chapter":
        return _chapters(text)
    return _paragraphs(text) if split == "paragraph" else _stretches(text, int(split))


def _without_licence(text: str) -> str:
    """What stands between the marks that Project Gutenberg puts around a text."""
    start, end = (mark.search(text) for mark in _GUTENBERG)
    return text[start.end() if start else 0 : end.start() if end else len(text)]


def _n_words(text: str) -> int:
    return len(text.split())


# --- stretches and paragraphs -----------------------------------------------------------------------------------


def _stretches(text: str, n_words: int) -> list[tuple[str, str]]:
    """So many words each; a rest of less than half as many goes to the last."""
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    if not starts:
        return []
    firsts = starts[::n_words]
    if len(firsts) > 1 and 2 * (len(starts) % n_words or n_words) < n_words:
        firsts.pop()
    pieces = zip(firsts, [*firsts[1:], len(text)], strict=True)
    return [(f"part {i}", text[first:last].rstrip()) for i, (first, last) in enumerate(pieces, 1)]


def _paragraphs(text: str) -> list[tuple[str, str]]:
    """Paragraphs, joined until they have enough words."""
    pieces = [piece for piece in _BLANK_LINES.split(text) if piece.strip()]
    if len(pieces) == 1:
        pieces = [line for line in text.split("\n") if line.strip()]
    found: list[tuple[int, int]] = []
    first = n_words = 0
    for i, piece in enumerate(pieces):
        n_words += _n_words(piece)
        if n_words >= _LEAST_PARAGRAPH:
            found.append((first, i + 1))
            first, n_words = i + 1, 0
    if first < len(pieces):
        first = found.pop()[0] if found and 2 * n_words < _LEAST_PARAGRAPH else first
        found.append((first, len(pieces)))
    return [(_numbers(first, last), "\n\n".join(pieces[first:last])) for first, last in found]


def _numbers(first: int, last: int) -> str:
    return f"paragraph {last}" if last == first + 1 else f"paragraphs {first + 1} to {last}"


# --- chapters ---------------------------------------------------------------------------------------------------


class _Heading(NamedTuple):
    """A line that may be a heading: where it begins and ends, its level, what the document is called, and its number."""

    start: int
    stop: int
    level: str
    label: str
    number: int = 0


class _Section(NamedTuple):
    level: str
    label: str
    text: str
    n_words: int


def _chapters(text: str) -> list[tuple[str, str]]:
    """The text below each heading, and what stands before the first where that is more than a title page."""
    headings = _keyed_headings(text) or _bare_headings(text)
    if not headings:
        return []
    sections = _within_parts(_kept(_sections(text, headings)))
    if sum(section.level != "opening" for section in sections) < 2:
        return []
    labels = [section.label for section in sections]
    if len(set(labels)) < len(labels):
        labels = [f"chapter {i}" for i in range(1, len(labels) + 1)]
    return [(label, section.text) for label, section in zip(labels, sections, strict=True)]


def _keyed_headings(text: str) -> list[_Heading]:
    """Headings with a word such as "chapter"; where there are none of chapters, those of parts."""
    found: list[_Heading] = []
    for start, line, after, before in _free_lines(text):
        last = found[-1] if found else None
        if not before and not (last and not text[last.stop : start].strip()):
            continue
        heading = _keyed(line, after)
        if heading:
            found.append(_Heading(start, start + len(line), *heading))
    if sum(heading.level == "chapter" for heading in found) < 2:
        found = [heading._replace(level="chapter") if heading.level == "part" else heading for heading in found]
    return found if sum(heading.level == "chapter" for heading in found) > 1 else []


def _free_lines(text: str) -> Iterator[tuple[int, str, bool, bool]]:
    """Short lines: where each begins, the line, and whether the next and the last one before it are blank."""
    start, before = 0, True
    lines = text.split("\n")
    for i, line in enumerate(lines):
        blank = not line.strip()
        if not blank and len(line.strip()) <= _LONGEST_HEADING:
            after = i + 1 == len(lines) or not lines[i + 1].strip()
            yield start, line, after, before
        start, before = start + len(line) + 1, blank


def _keyed(line: str, after: bool) -> tuple[str, str] | None:
    """Level and label of a line that is a heading with a word such as "chapter"; ``after``: a blank line follows."""
    line = line.strip(_DECORATION)
    found = _KEYED.fullmatch(line)
    if found and _is_title(found["rest"], after):
        key = found["key"].lower()
        return _LEVELS[key], f"{_full(key)} {_value(found['number'])}"
    found = _EAST_ASIAN.fullmatch(line)
    if found:
        label = found["label"] or found["all"]
        return "part" if label[-1] in "部卷編编" else "chapter", label
    if not after:
        return None
    if _OTHER.fullmatch(line):
        return "other", line.rstrip(".").lower()
    found = _SPELLED.fullmatch(line)
    key = found["key"].lower() if found else ""
    if (
        found
        and key not in _NUMBERED
        and all(w[0].isupper() or w == "the" for w in re.split("[- ]", found["words"])[:2])
    ):
        return _LEVELS[key], f"{_full(key)} {found['words'].lower()}"
    found = _ORDINAL.fullmatch(line)
    if found and (found["words"][0].isdigit() or found["words"][0].isupper()):
        words = found["words"].lower()
        return None if words in _NO_ORDINAL else (_LEVELS[found["key"].lower()], line.rstrip(".").lower())
    return None


def _is_title(rest: str, after: bool) -> bool:
    """Whether what follows "Chapter 1" on its line may be the end of a heading, and not that of a sentence."""
    rest = rest.strip()
    if not rest or rest in ".:":
        return True
    if rest[0] in ".:;-\u2013\u2014|(":
        return after or not rest.endswith((",", ";"))
    return rest[0].isupper() or rest[0] in "\"'\u201c\u2018"


def _full(key: str) -> str:
    return {"chap": "chapter", "vol": "volume", "kap": "kapitel"}.get(key, key)


def _value(number: str) -> int:
    """A number in digits or Roman numerals."""
    if number.isdigit():
        return int(number)
    values = [_VALUES[letter] for letter in number.upper()]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def _bare_headings(text: str) -> list[_Heading]:
    """Numbers that stand on lines of their own, or before titles, and count from 1: the form with the longest run."""
    runs: list[list[_Heading]] = []
    lines = [line for line in _free_lines(text) if line[2] and line[3]]
    for form in _BARE.values():
        run: list[_Heading] = []
        for start, line, _, _ in lines:
            found = form.fullmatch(line.strip(_DECORATION))
            number = _value(next(filter(None, found.groups()))) if found else 0
            if number and number in (1, run[-1].number + 1 if run else 1):
                run.append(_Heading(start, start + len(line), "chapter", f"chapter {number}", number))
        runs.append(run)
    best = max(runs, key=len)
    return best if len(best) >= _LEAST_RUN else []


def _sections(text: str, headings: list[_Heading]) -> list[_Section]:
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    opening = text[: headings[0].start].strip()
    sections = [_Section("opening", "opening", opening, _n_words(opening))]
    for heading, end in zip(headings, ends, strict=True):
        body = text[heading.stop : end].strip()
        sections.append(_Section(heading.level, heading.label, body, _n_words(body)))
    return sections


def _kept(sections: list[_Section]) -> list[_Section]:
    """Without the lines of a table of contents; what follows its last line stands before the first chapter."""
    kept: list[_Section] = []
    last = {section.label: i for i, section in enumerate(sections)}
    contents = 0  # its lines up to here
    for i, section in enumerate(sections):
        again = last[section.label] > i
        if (
            section.level in ("chapter", "other")
            and section.n_words < _LEAST_CHAPTER
            and (again or not section.n_words)
        ):
            contents += 1
            continue
        if section.level == "chapter" and contents and again:
            section = section._replace(level="opening", label="opening")
        contents = contents if section.level == "part" else 0
        if section.level != "opening" or section.n_words >= _LEAST_OPENING:
            kept.append(section)
    return kept


def _within_parts(sections: list[_Section]) -> list[_Section]:
    """The sections, called by their part too; of parts what stands before their first chapter, if it is more than a title."""
    found, part = [], ""
    for section in sections:
        if section.level == "part":
            part = section.label
            if section.n_words >= _LEAST_OPENING:
                found.append(section)
        elif section.level == "chapter" and part:
            found.append(section._replace(label=f"{part}, {section.label}"))
        else:
            found.append(section)
    return found
