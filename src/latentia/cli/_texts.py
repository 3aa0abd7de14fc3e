"""Options of commands that read texts: their location, how they are split, and which words are counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..datasets import Corpus, readers
from ..datasets.tables import list_names
from ..exceptions import LatentiaError, MissingExtraError
from ..passes import Blocks
from ..passes.formats import reusable
from ..reading import has_columns, readings
from ..system.terminal import say
from ..words import resembles_language
from ..words import stop_words as words_of
from ._shared import ReadOptions, check_file

_READING_OPTIONS = "stop_words", "language", "token_pattern"


def parse_split(option: str | None) -> str | int | None:
    """Parse --split: a number of words, or the name of a unit."""
    if option is None or option in ("chapter", "paragraph"):
        return option
    if option.isascii() and option.isdigit() and len(option) < 10 and int(option):
        return int(option)
    raise LatentiaError(f"--split {option}: expected chapter, paragraph, or a number of words.")


def word_options(
    stop_words: str | None, min_df: int | None, max_df: float | None, words: str | None = None
) -> dict[str, Any]:
    """Return the given options, as readers take them."""
    values = {"min_df": min_df, "max_df": max_df, "token_pattern": words}
    return _stop_words(stop_words) | {name: value for name, value in values.items() if value is not None}


def reading_options(words: dict[str, Any]) -> dict[str, Any]:
    """Return the part of `word_options` that a model stores, to read other texts in the same way."""
    return {name: value for name, value in ({"stop_words": "english"} | words).items() if name in _READING_OPTIONS}


def _stop_words(option: str | None) -> dict[str, Any]:
    if option is None:
        return {}
    if option == "none":
        return {"stop_words": None}
    languages, words = list[str](), list[str]()
    for part in filter(None, (part.strip() for part in option.split(","))):
        path = Path(part)
        if path.is_file() or path.suffix or len(path.parts) > 1:
            words += [word.strip() for word in readers.read_lines(check_file(path, "--stop-words")) if word.strip()]
        elif resembles_language(part):
            languages.append(_check_language(part))
        elif part != "none":
            words.append(part)
    if len(languages) == 1 and not words:
        return {"stop_words": languages[0]}
    return {"stop_words": words, "language": languages or ([] if "none" in option.split(",") else ["english"])}


def _check_language(language: str) -> str:
    """Return the language if there are stop words for it."""
    try:
        words_of(language)
    except MissingExtraError:
        raise
    except LatentiaError as error:
        error.parameter, error.value, error.hint = (
            "stop_words",
            language,
            "Or give words, or a file with a word per line.",
        )
        raise
    return language


def say_columns(corpus: Corpus) -> None:
    """Print the columns of a table: that of the texts, that of their names, and the others."""
    for reading in readings()[-1:]:
        texts = [column.name for column in reading.columns if column.name not in (corpus.columns or {})]
        if len(texts) == 1:
            named = f"; documents are named as in {reading.naming!r}" if reading.naming not in ("", *texts) else ""
            say(f"texts: {texts[0]!r}{named}; other columns: {list_names(corpus.columns, 6) or 'none'}")


def say_words(corpus: Corpus) -> None:
    """Print how many words of a table of counts were left out, in one line."""
    if corpus.left_out:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in corpus.left_out.items())
        total = sum(corpus.left_out.values())
        say(f"{total:,} words were left out: {reasons} (--stop-words, --min-df, --max-df).")


def read_known(
    source: Path,
    model: Any,
    words: Sequence[str] | None,
    read_options: ReadOptions,
    column: str | None = None,
    split: str | None = None,
) -> Corpus:
    """Read other documents like those of the fit of a model, with its words.

    Unknown words are counted, reported, and ignored.

    Parameters
    ----------
    words : sequence of str, or None
        Names of its columns; without them the source must be a table of counts with as many columns.
    column, split : str, optional
        Options instead of those of the model; "none" does not split.
    """
    reading = model.reading_
    with reusable(source) as file:
        options: dict[str, Any] = {"progress": read_options.progress, "encoding": read_options.encoding}
        options["cache"] = read_options.cache if file == source else False
        options["column"] = column or (reading.get("column") if has_columns(file) else None)
        if split is not None:
            options["split"] = None if split == "none" else parse_split(split)
        elif not readers.holds_counts(file) and not (has_columns(file) and reading.get("split") == "chapter"):
            options["split"] = reading.get("split")
        if words is None:
            corpus = readers.read_corpus(file, **options, stop_words=None, min_df=1, max_df=1.0)
            _check_width(corpus, model.n_features_in_)
            return corpus
        if not readers.holds_counts(file) and model.text_vectorizer is not None:
            return _count_with(model.vectorizer_, file, options)
        word_choice: dict[str, Any] = {"stop_words": None}
        if not readers.holds_counts(file):
            word_choice |= {name: reading[name] for name in _READING_OPTIONS if name in reading}
        corpus = readers.read_corpus(file, **options, **word_choice, words=words)
    if corpus.n_unknown:
        total = corpus.n_unknown + sum(block[0].sum() for block in corpus.blocks)
        say(f"{corpus.n_unknown:,.0f} of {total:,.0f} words are unknown to the model and ignored.")
    return corpus


def _count_with(vectorizer: Any, file: Path, options: dict[str, Any]) -> Corpus:
    """Read texts, and count their words by the vectorizer of a model."""
    read_options = {name: options.get(name) for name in ("column", "split", "encoding")}
    texts = readers.read_texts(file, **read_options)
    blocks = Blocks.from_array(vectorizer.transform(texts.texts))
    return Corpus(blocks, None, texts.names, texts.texts, texts.source, texts.columns)


def _check_width(corpus: Corpus, n_words: int) -> None:
    if corpus.texts is not None or corpus.blocks.shapes[0][1] != n_words:
        raise LatentiaError(
            f"expected a table of counts with {n_words} columns, because the model was fitted without a vocabulary.",
            source=corpus.source,
        )
