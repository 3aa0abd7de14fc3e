"""Rows of words with labels: svmlight files, and tables of texts with tags."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from ..evidence.checks import count
from ..exceptions import DroppedDataWarning, LatentiaError, warn, write_parameter
from ..moments.counts import as_counts, check_counts
from ..passes import Blocks
from ..passes.formats import open_text, reusable
from ..reading import has_columns, split_tags
from .readers import count_words
from .texts import Texts, read_lines, read_texts

__all__ = ["Labelled", "read_labelled", "read_rows"]

_TAGS = frozenset(["tag", "tags", "label", "labels", "keywords", "categories", "category"])
_NAMED = 5  # tags that a warning names
_YES, _NO = ("1", "yes", "true", "x"), ("0", "no", "false", "")

_Cache = str | os.PathLike[str] | bool | None


@dataclass(frozen=True)
class Labelled:
    """Rows of words with labels.

    Attributes
    ----------
    rows : Blocks
        Of two parts: counts of words, shape (n_rows, D), and which labels each row has, shape (n_rows, L).
    words, labels : list of str or None
        Names of the columns.
    names : list of str or None
        Of the rows, where these are texts.
    path : Path
        Where they came from.
    first : (int, int)
        From what number the file counts words and labels.
    counted : dict
        How other files like it are to be read: ``zero_based`` and ``labels_zero_based`` of `read_labelled`.
    """

    rows: Blocks
    words: list[str] | None
    labels: list[str] | None
    names: list[str] | None
    path: Path
    first: tuple[int, int] = (0, 0)
    counted: dict[str, bool] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers of rows, words and labels."""
        return self.rows.n_rows, self.rows.shapes[0][1], self.rows.shapes[1][1]


def read_labelled(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    tags: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    zero_based: bool | None = None,
    labels_zero_based: bool | None = None,
    like: Labelled | None = None,
    encoding: str | None = None,
    cache: _Cache = None,
    progress: bool = False,
    **vectorizer: Any,
) -> Labelled:
    r"""Read rows with labels, as `latentia.multilabel.MomentMultiLabelClassifier` takes them.

    Parameters
    ----------
    path : path
        Counts of words in an svmlight file, a line ``label,label word:value ...``, also with the first line of the Extreme
        Classification Repository, or a binary cache of one; or texts with tags in a CSV or TSV file or Excel workbook.
    column, tags : str, optional
        Columns of the texts and of their tags, see `split_tags`; by default the only ones that can be.
    vocabulary, labels : path, optional
        Files of the names of words and labels of an svmlight file, one a line.
    zero_based, labels_zero_based : bool, optional
        Whether an svmlight file counts words, and labels where these differ, from 0.
    like : Labelled, optional
        The rows that a model is learned from, of the same kind: words and labels are theirs. Tags that none of them has are
        left out, and a warning names them.
    encoding : str, optional
        Of texts and files of names, see `latentia.datasets.readers`.
    cache : path or bool, optional
        Folder for the binary cache of an svmlight file; by default beside it. False keeps none.
    progress : bool, default=False
        Whether to show progress.
    **vectorizer
        Which words of texts are counted, as in `latentia.datasets.readers.count_words`.

    Returns
    -------
    Labelled
        With counts of shape (n_rows, D) and label sets of shape (n_rows, L).

    Raises
    ------
    LatentiaError
        If the file cannot be read so, has no labels, or other words and labels than there are names, or than ``like`` has.

    Examples
    --------
    >>> import tempfile
    >>> from latentia.datasets import read_labelled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "posts.csv"
    ...     _ = path.write_text("text,tags\nred house,art; home\nred car,art\n")
    ...     data = read_labelled(path, min_df=1, max_df=1.0)
    >>> data.words, data.labels, data.rows.table().toarray().tolist()
    (['car', 'house', 'red'], ['art', 'home'], [[0, 1, 1], [1, 0, 1]])
    """
    numbers = {"zero_based": zero_based, "labels_zero_based": labels_zero_based}
    path = Path(path)
    if not path.exists():
        raise LatentiaError("no such file.", source=path)
    if has_columns(path if like is None else like.path):
        _refuse(path, "its words and tags have names", labels=labels, vocabulary=vocabulary, **numbers)
        return _posts(path, (column, tags), like, encoding, vectorizer)
    _refuse(path, "it holds counts of words, and is no table of texts", column=column, tags=tags, **vectorizer)
    known = {name: value for name, value in numbers.items() if value is not None}
    if like is None:
        return _counts(path, known, (vocabulary, labels), encoding, cache, progress)
    rows = read_rows(
        path, *like.size[1:], str(like.path), **like.counted | known, cache=cache, progress=progress
    )  # fmt: skip
    with _naming(path):
        for block in rows:
            check_counts(as_counts(block[0]), block.rows)
    return Labelled(rows, like.words, like.labels, None, path, like.first, like.counted)


def read_rows(
    path: str | os.PathLike[str],
    n_words: int,
    n_labels: int | None = None,
    other: str = "the model",
    *,
    zero_based: bool | None = None,
    labels_zero_based: bool | None = None,
    cache: _Cache = None,
    progress: bool = False,
) -> Blocks:
    """Read counts of words in an svmlight file whose columns are those of other rows, or of a model.

    Parameters
    ----------
    path : path
        As in `read_labelled`. A pipe is read to its end.
    n_words : int
    n_labels : int, optional
        By default the file may have any labels, or none.
    other : str
        Source of the expected number, for messages.
    zero_based, labels_zero_based : bool, optional
        As in `read_labelled`.
    cache : path or bool, optional
    progress : bool, default=False

    Returns
    -------
    Blocks
        Of shapes (n_rows, n_words) and (n_rows, L).

    Raises
    ------
    LatentiaError
        If the file cannot be read so, or has other numbers of words and labels.
    """
    path = Path(path)
    given = {"zero_based": zero_based, "labels_zero_based": labels_zero_based}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with reusable(path) as file:
        promised = None if file.is_dir() else _promised(file)
        if promised is not None:
            _check_sizes(path, promised, other, n_words, n_labels)
        else:
            options |= {"n_features": n_words} | ({} if n_labels is None else {"n_labels": n_labels})
        blocks = _open(file, options, cache if file == path else False, progress)
    _check_sizes(path, tuple(shape[1] for shape in blocks.shapes[:2]), other, n_words, n_labels)
    return blocks


def _refuse(path: Path, why: str, **given: Any) -> None:
    """Raise for a parameter that files of this kind do not have."""
    for name, value in given.items():
        if value is not None:
            raise LatentiaError(f"{why}; leave it out.", source=path.name, parameter=name, value=value)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except LatentiaError as error:
        error.source = error.source or path
        raise


# --- counts -----------------------------------------------------------------------------------------------------


def _counts(
    path: Path,
    numbers: dict[str, bool],
    names: tuple[str | os.PathLike[str] | None, str | os.PathLike[str] | None],
    encoding: str | None,
    cache: _Cache,
    progress: bool,
) -> Labelled:
    rows = _open(path, numbers, cache, progress)
    if len(rows.shapes) < 2 or not rows.shapes[1][1]:
        raise LatentiaError(
            "there are no labels in it. A line is 'label,label word:value word:value ...'.", source=path
        )
    words = _names(names[0], "vocabulary", rows.shapes[0][1], "words", path, encoding)
    labels = _names(names[1], "labels", rows.shapes[1][1], "labels", path, encoding)
    first = numbers.get("zero_based", True)
    start = int(not first), int(not numbers.get("labels_zero_based", first))
    # What could be read without saying so counts from 0, unless it was read before.
    counted = ({} if path.is_dir() else {"zero_based": True}) | numbers
    return Labelled(rows, rows.names if words is None else words, labels, None, path, start, counted)


def _open(path: Path, options: Mapping[str, Any], cache: _Cache, progress: bool) -> Blocks:
    with _naming(path):
        if path.is_dir():
            return Blocks.from_files(path)
        return Blocks.from_files(path, format="svmlight", cache=cache, progress=progress, **options)


def _promised(path: Path) -> tuple[int, ...] | None:
    """Numbers of words and labels that the first line of a file states, if it does."""
    with contextlib.suppress(OSError, LatentiaError), open_text(path) as file:  # the reader names these
        first = file.readline(1 << 16).split()
        if len(first) == 3 and all(re.fullmatch(rb"\d{1,18}", number) for number in first):
            return int(first[1]), int(first[2])
    return None


def _check_sizes(path: Path, found: tuple[int, ...], other: str, n_words: int, n_labels: int | None) -> None:
    """Raise unless the numbers of words, and of labels unless these are None, are those of ``other``."""
    has, needed = [count(found[0], "word")], [count(n_words, "word")]
    if n_labels is not None:
        has.append(count(found[1], "label") if len(found) > 1 else "no labels")
        needed.append(count(n_labels, "label"))
    if has != needed:
        raise LatentiaError(
            f"has {' and '.join(has)}, and {other} {' and '.join(needed)}: they must agree. Rows to predict are "
            "counted in the words and labels of those learned from.",
            source=path,
        )


def _names(
    path: str | os.PathLike[str] | None, parameter: str, needed: int, what: str, source: Path, encoding: str | None
) -> list[str] | None:
    """The names in a file, one a line, which must be as many as there are columns."""
    if path is None:
        return None
    if not Path(path).is_file():
        raise LatentiaError("no such file.", parameter=parameter, value=str(path))
    names = [name.strip() for name in read_lines(Path(path), encoding)]
    while names and not names[-1]:
        names.pop()
    if len(names) != needed:
        problem = f"{count(len(names), 'name')}, and {source} has {needed:,} {what}: they must agree."
        raise LatentiaError(problem, parameter=parameter, value=str(path))
    if "" in names:
        place = f"{path}, line {names.index('') + 1}"
        raise LatentiaError("empty, and a name is needed.", parameter=parameter, value=place)
    return names


# --- texts and tags ---------------------------------------------------------------------------------------------


def _posts(
    path: Path,
    columns: tuple[str | None, str | None],
    like: Labelled | None,
    encoding: str | None,
    vectorizer: dict[str, Any],
) -> Labelled:
    """Texts and their tags, counted; ``columns`` are those of texts and of tags, where they are named."""
    texts, tags = _texts(path, columns, encoding)
    if like is None:
        corpus, labels = count_words(texts, **vectorizer), sorted(set().union(*tags))
        words = [str(word) for word in corpus.vocabulary or ()]
    else:
        words, labels = like.words or [], like.labels or []
        tags = _known(path, tags, labels)
        chosen = {
            name: value for name, value in vectorizer.items() if name in ("stop_words", "language", "token_pattern")
        }
        corpus = count_words(texts, **chosen, words=words)
    table = sparse.csr_array(MultiLabelBinarizer(classes=labels, sparse_output=True).fit_transform(tags))
    table.sort_indices()
    rows = Blocks.from_array(corpus.counts, table.astype(np.float64), names=words)
    return Labelled(rows, words, labels, corpus.names, path)


def _texts(path: Path, columns: tuple[str | None, str | None], encoding: str | None) -> tuple[Texts, list[list[str]]]:
    texts = read_texts(path, column=columns[0], encoding=encoding)
    there = f"Besides the texts there {'are ' + ', '.join(texts.columns) if texts.columns else 'is no other column'}"
    known = [name for name in texts.columns if name.strip().lower() in _TAGS] if columns[1] is None else [columns[1]]
    if not {*known} <= {*texts.columns}:
        raise LatentiaError(f"no such column. {there}.", parameter="tags", value=columns[1], source=path)
    binary = _binary_tags(texts.columns) if columns[1] is None and not known else None
    if binary is not None:
        return texts, binary
    if len(known) != 1:
        raise LatentiaError(
            f"which column holds the tags? {there}; name one with {write_parameter('tags')}.", source=path
        )
    found = split_tags(texts.columns[known[0]])
    if not any(found):
        raise LatentiaError("there are no tags in it.", source=path)
    return texts, found


def _binary_tags(columns: Mapping[str, list[str]]) -> list[list[str]] | None:
    """Return the tags of every row where each has a column of 0 and 1, or no and yes; None if fewer than two do."""
    cells = {name: [cell.strip().lower() for cell in column] for name, column in columns.items()}
    names = [name for name, column in cells.items() if {*column} <= {*_YES, *_NO} and not {*column}.isdisjoint(_YES)]
    if len(names) < 2:
        return None
    return [[name for name in names if cells[name][i] in _YES] for i in range(len(cells[names[0]]))]


def _known(path: Path, tags: Sequence[Sequence[str]], labels: Sequence[str]) -> list[list[str]]:
    """The tags that are among the labels."""
    new = sorted(set().union(*tags).difference(labels))
    if new:
        some = ", ".join(new[:_NAMED]) + (", ..." if len(new) > _NAMED else "")
        what = f"{count(len(new), 'tag')} that no row learned from has, and that cannot be predicted"
        warn(f"{path}: {what}: {some}.", DroppedDataWarning)
    return [[tag for tag in one if tag not in new] for one in tags]
