"""Options of commands that read texts: where they are, how they are cut, and which words are counted."""

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
from ..words import stop_words as words_of
from ._shared import ReadOptions, existing

_OF_READING = "stop_words", "language", "token_pattern"


def split_of(option: str | None) -> str | int | None:
    """A number of words, or the name of a way to cut."""
    if option is None or option in ("chapter", "paragraph"):
        return option
    if option.isascii() and option.isdigit() and len(option) < 10 and int(option):
        return int(option)
    raise LatentiaError(f"--split {option}: use chapter, paragraph, or a number of words.")


def word_options(
    stop_words: str | None, min_df: int | None, max_df: float | None, words: str | None = None
) -> dict[str, Any]:
    """The options that were given, as readers take them."""
    given = {"min_df": min_df, "max_df": max_df, "token_pattern": words}
    return _stop_words(stop_words) | {name: value for name, value in given.items() if value is not None}


def kept_options(words: dict[str, Any]) -> dict[str, Any]:
    """What a model keeps of `word_options`, to read other texts in the same way."""
    return {name: value for name, value in ({"stop_words": "english"} | words).items() if name in _OF_READING}


def _stop_words(option: str | None) -> dict[str, Any]:
    if option is None:
        return {}
    if option == "none":
        return {"stop_words": None}
    languages, words, files = [], [], 0
    for part in filter(None, (part.strip() for part in option.split(","))):
        path = Path(part)
        if path.is_file() or path.suffix or len(path.parts) > 1:
            words += [word.strip() for word in readers.read_lines(existing(path, "--stop-words")) if word.strip()]
            files += 1
        elif part != "none":
            languages.append(_known(part))
    if len(languages) == 1 and not files:
        return {"stop_words": languages[0]}
    return {"stop_words": words, "language": languages or ([] if "none" in option.split(",") else ["english"])}


def _known(language: str) -> str:
    """The language, if there are stop words of it."""
    try:
        words_of(language)
    except MissingExtraError:
        raise
    except LatentiaError as error:
        error.parameter, error.value, error.hint = "stop_words", language, "Or name a file with a word per line."
        raise
    return language


def say_columns(corpus: Corpus) -> None:
    """Say which column of a table holds the texts, which one names them, and what the others are."""
    for reading in readings()[-1:]:
        texts = [column.name for column in reading.columns if column.name not in (corpus.columns or {})]
        if len(texts) == 1:
            named = f"; documents are named as in {reading.naming!r}" if reading.naming not in ("", *texts) else ""
            say(f"texts: {texts[0]!r}{named}; other columns: {list_names(corpus.columns, 6) or 'none'}")


def say_words(corpus: Corpus) -> None:
    """How many words of a table of counts were left out, in one line."""
    if corpus.left_out:
        why = ", ".join(f"{n:,} {reason}" for reason, n in corpus.left_out.items())
        total = sum(corpus.left_out.values())
        say(f"{total:,} words were left out: {why} (--stop-words, --min-df, --max-df).")


def read_known(
    source: Path,
    model: Any,
    words: Sequence[str] | None,
    how: ReadOptions,
    column: str | None = None,
    split: str | None = None,
) -> Corpus:
    """Read other documents as those were read that a model has learned from, with its words.

    Words that it does not have are counted, said, and ignored.

    Parameters
    ----------
    words : sequence of str, or None
        Names of its columns; without them the source must be a table of counts of as many columns.
    column, split : str, optional
        Options in place of what the model knows; "none" cuts nothing.
    """
    known = model.reading_
    with reusable(source) as file:
        options: dict[str, Any] = {"progress": how.progress, "encoding": how.encoding}
        options["cache"] = how.cache if file == source else False
        options["column"] = column or (known.get("column") if has_columns(file) else None)
        if split is not None:
            options["split"] = None if split == "none" else split_of(split)
        elif not readers.holds_counts(file) and not (has_columns(file) and known.get("split") == "chapter"):
            options["split"] = known.get("split")
        if words is None:
            corpus = readers.read_corpus(file, **options, stop_words=None, min_df=1, max_df=1.0)
            _check_width(corpus, model.n_features_in_)
            return corpus
        if not readers.holds_counts(file) and model.text_vectorizer is not None:
            return _counted_by(model.vectorizer_, file, options)
        chosen: dict[str, Any] = {"stop_words": None}
        if not readers.holds_counts(file):
            chosen |= {name: known[name] for name in _OF_READING if name in known}
        corpus = readers.read_corpus(file, **options, **chosen, words=words)
    if corpus.n_unknown:
        total = corpus.n_unknown + sum(block[0].sum() for block in corpus.blocks)
        say(f"{corpus.n_unknown:,.0f} of {total:,.0f} words are none of the model's and are ignored.")
    return corpus


def _counted_by(vectorizer: Any, file: Path, options: dict[str, Any]) -> Corpus:
    """Texts as the vectorizer counts them that a model was fitted with."""
    given = {name: options.get(name) for name in ("column", "split", "encoding")}
    texts = readers.read_texts(file, **given)
    blocks = Blocks.from_array(vectorizer.transform(texts.texts))
    return Corpus(blocks, None, texts.names, texts.texts, texts.source, texts.columns)


def _check_width(corpus: Corpus, n_words: int) -> None:
    if corpus.texts is not None or corpus.blocks.shapes[0][1] != n_words:
        raise LatentiaError(
            f"its words and the model's cannot be compared, because the model's have no names: a table of "
            f"counts with {n_words} columns is needed.",
            source=corpus.source,
        )
