"""Division of texts into documents: at headings of chapters, at blank lines, or after a number of words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..exceptions import LatentiaError

_MIN_OPENING = 100  # words before the first chapter; fewer are a title page
_MIN_PARAGRAPH = 100  # words; shorter paragraphs are joined
_MIN_CHAPTER = 20  # words of a chapter; fewer are a line of a table of contents
_MIN_RUN = 3  # headings that are only numbers
_MAX_HEADING = 90  # characters
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
_EXTRA_WORDS = (
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
_EXTRA_HEADING = re.compile(rf"(?i:{'|'.join(_EXTRA_WORDS.split())})\.?")
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
    """Raise unless ``split`` is a way to cut texts."""
    is_whole = isinstance(split, int) and not isinstance(split, bool)
    if split in (None, "chapter", "paragraph") or (is_whole and split >= 1):
        return
    raise LatentiaError("expected 'chapter', 'paragraph', or a number of words.", parameter="split", value=split)


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
        Name, such as "chapter 3", and text of each document; empty if there are no headings.
    """
    text = _strip_licence(text.replace("\r\n", "\n").replace("\r", "\n"))
    if split == "chapter":
        return _cut_chapters(text)
    return _cut_paragraphs(text) if split == "paragraph" else _cut_stretches(text, int(split))


def _strip_licence(text: str) -> str:
    """Return the text between the marks of Project Gutenberg."""
    start, end = (mark.search(text) for mark in _GUTENBERG)
    return text[start.end() if start else 0 : end.start() if end else len(text)]


def _count_words(text: str) -> int:
    return len(text.split())


# --- stretches and paragraphs -----------------------------------------------------------------------------------


def _cut_stretches(text: str, n_words: int) -> list[tuple[str, str]]:
    """Cut a text into pieces of ``n_words``; a rest of less than half as many goes to the last piece."""
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    if not starts:
        return []
    firsts = starts[::n_words]
    if len(firsts) > 1 and 2 * (len(starts) % n_words or n_words) < n_words:
        firsts.pop()
    pieces = zip(firsts, [*firsts[1:], len(text)], strict=True)
    return [(f"part {i}", text[first:last].rstrip()) for i, (first, last) in enumerate(pieces, 1)]


def _cut_paragraphs(text: str) -> list[tuple[str, str]]:
    """Cut a text into paragraphs, joined until they have enough words."""
    pieces = [piece for piece in _BLANK_LINES.split(text) if piece.strip()]
    if len(pieces) == 1:
        pieces = [line for line in text.split("\n") if line.strip()]
    ranges: list[tuple[int, int]] = []
    first = n_words = 0
    for i, piece in enumerate(pieces):
        n_words += _count_words(piece)
        if n_words >= _MIN_PARAGRAPH:
            ranges.append((first, i + 1))
            first, n_words = i + 1, 0
    if first < len(pieces):
        first = ranges.pop()[0] if ranges and 2 * n_words < _MIN_PARAGRAPH else first
        ranges.append((first, len(pieces)))
    return [(_name_paragraphs(first, last), "\n\n".join(pieces[first:last])) for first, last in ranges]


def _name_paragraphs(first: int, last: int) -> str:
    return f"paragraph {last}" if last == first + 1 else f"paragraphs {first + 1} to {last}"


# --- chapters ---------------------------------------------------------------------------------------------------


class _Heading(NamedTuple):
    """A line that may be a heading: its start and end, level, label of the document, and number."""

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


def _cut_chapters(text: str) -> list[tuple[str, str]]:
    """Return the text below each heading, and the text before the first one if it is more than a title page."""
    headings = _find_keyed_headings(text) or _find_bare_headings(text)
    if not headings:
        return []
    sections = _label_by_part(_drop_contents(_cut_sections(text, headings)))
    if sum(section.level != "opening" for section in sections) < 2:
        return []
    labels = [section.label for section in sections]
    if len(set(labels)) < len(labels):
        labels = [f"chapter {i}" for i in range(1, len(labels) + 1)]
    return [(label, section.text) for label, section in zip(labels, sections, strict=True)]


def _find_keyed_headings(text: str) -> list[_Heading]:
    """Return headings with a word such as "chapter"; without chapters, headings of parts."""
    headings: list[_Heading] = []
    for start, line, after, before in _find_short_lines(text):
        last = headings[-1] if headings else None
        if not before and not (last and not text[last.stop : start].strip()):
            continue
        heading = _parse_heading(line, after)
        if heading:
            headings.append(_Heading(start, start + len(line), *heading))
    if sum(heading.level == "chapter" for heading in headings) < 2:
        headings = [heading._replace(level="chapter") if heading.level == "part" else heading for heading in headings]
    return headings if sum(heading.level == "chapter" for heading in headings) > 1 else []


def _find_short_lines(text: str) -> Iterator[tuple[int, str, bool, bool]]:
    """Yield short lines: start, line, and True if the next line, and the previous line, is blank."""
    start, before = 0, True
    lines = text.split("\n")
    for i, line in enumerate(lines):
        blank = not line.strip()
        if not blank and len(line.strip()) <= _MAX_HEADING:
            after = i + 1 == len(lines) or not lines[i + 1].strip()
            yield start, line, after, before
        start, before = start + len(line) + 1, blank


def _parse_heading(line: str, after: bool) -> tuple[str, str] | None:
    """Return level and label of a heading with a word such as "chapter", else None; ``after``: a blank line follows."""
    line = line.strip(_DECORATION)
    match = _KEYED.fullmatch(line)
    if match and _is_title(match["rest"], after):
        key = match["key"].lower()
        return _LEVELS[key], f"{_expand_key(key)} {_parse_number(match['number'])}"
    match = _EAST_ASIAN.fullmatch(line)
    if match:
        label = match["label"] or match["all"]
        return "part" if label[-1] in "部卷編编" else "chapter", label
    if not after:
        return None
    if _EXTRA_HEADING.fullmatch(line):
        return "other", line.rstrip(".").lower()
    match = _SPELLED.fullmatch(line)
    key = match["key"].lower() if match else ""
    if (
        match
        and key not in _NUMBERED
        and all(w[0].isupper() or w == "the" for w in re.split("[- ]", match["words"])[:2])
    ):
        return _LEVELS[key], f"{_expand_key(key)} {match['words'].lower()}"
    match = _ORDINAL.fullmatch(line)
    if match and (match["words"][0].isdigit() or match["words"][0].isupper()):
        words = match["words"].lower()
        return None if words in _NO_ORDINAL else (_LEVELS[match["key"].lower()], line.rstrip(".").lower())
    return None


def _is_title(rest: str, after: bool) -> bool:
    """Return True if the text after "Chapter 1" on its line may end a heading, rather than a sentence."""
    rest = rest.strip()
    if not rest or rest in ".:":
        return True
    if rest[0] in ".:;-\u2013\u2014|(":
        return after or not rest.endswith((",", ";"))
    return rest[0].isupper() or rest[0] in "\"'\u201c\u2018"


def _expand_key(key: str) -> str:
    return {"chap": "chapter", "vol": "volume", "kap": "kapitel"}.get(key, key)


def _parse_number(number: str) -> int:
    """Return the value of a number in digits or Roman numerals."""
    if number.isdigit():
        return int(number)
    values = [_VALUES[letter] for letter in number.upper()]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def _find_bare_headings(text: str) -> list[_Heading]:
    """Return headings that are numbers from 1, alone or before titles: the form with the longest run."""
    runs: list[list[_Heading]] = []
    lines = [line for line in _find_short_lines(text) if line[2] and line[3]]
    for form in _BARE.values():
        run: list[_Heading] = []
        for start, line, _, _ in lines:
            match = form.fullmatch(line.strip(_DECORATION))
            number = _parse_number(next(filter(None, match.groups()))) if match else 0
            if number and number in (1, run[-1].number + 1 if run else 1):
                run.append(_Heading(start, start + len(line), "chapter", f"chapter {number}", number))
        runs.append(run)
    best = max(runs, key=len)
    return best if len(best) >= _MIN_RUN else []


def _cut_sections(text: str, headings: list[_Heading]) -> list[_Section]:
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    opening = text[: headings[0].start].strip()
    sections = [_Section("opening", "opening", opening, _count_words(opening))]
    for heading, end in zip(headings, ends, strict=True):
        body = text[heading.stop : end].strip()
        sections.append(_Section(heading.level, heading.label, body, _count_words(body)))
    return sections


def _drop_contents(sections: list[_Section]) -> list[_Section]:
    """Drop the lines of a table of contents; the text after its last line becomes the opening."""
    chapters: list[_Section] = []
    last = {section.label: i for i, section in enumerate(sections)}
    contents = 0  # lines of the table of contents so far
    for i, section in enumerate(sections):
        recurs = last[section.label] > i
        if section.level in ("chapter", "other") and section.n_words < _MIN_CHAPTER and (recurs or not section.n_words):
            contents += 1
            continue
        if section.level == "chapter" and contents and recurs:
            section = section._replace(level="opening", label="opening")
        contents = contents if section.level == "part" else 0
        if section.level != "opening" or section.n_words >= _MIN_OPENING:
            chapters.append(section)
    return chapters


def _label_by_part(sections: list[_Section]) -> list[_Section]:
    """Add the names of parts to chapters; the text of a part before its first chapter is a section unless it is short."""
    labelled, part = [], ""
    for section in sections:
        if section.level == "part":
            part = section.label
            if section.n_words >= _MIN_OPENING:
                labelled.append(section)
        elif section.level == "chapter" and part:
            labelled.append(section._replace(label=f"{part}, {section.label}"))
        else:
            labelled.append(section)
    return labelled
