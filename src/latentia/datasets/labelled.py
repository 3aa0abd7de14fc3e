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
_N_NAMED = 5  # tags in a warning
_YES, _NO = ("1", "yes", "true", "x"), ("0", "no", "false", "")

_Cache = str | os.PathLike[str] | bool | None


@dataclass(frozen=True)
class Labelled:
    """Rows of words with labels.

    Attributes
    ----------
    rows : Blocks
        Blocks of two parts: counts of words, shape (n_rows, D), and labels as 0 and 1, shape (n_rows, L).
    words, labels : list of str or None
        Names of the columns.
    names : list of str or None
        Names of the rows, if these are texts.
    path : Path
        The file.
    first : (int, int)
        First numbers of words and labels in the file.
    counted : dict
        Options to read similar files: ``zero_based`` and ``labels_zero_based`` of `read_labelled`.
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
    r"""Read rows with labels, for `latentia.multilabel.MomentMultiLabelClassifier`.

    Parameters
    ----------
    path : path
        Counts of words in an svmlight file, a line ``label,label word:value ...``, also with the first line of the Extreme
        Classification Repository, or a binary cache of one; or texts with tags in a CSV or TSV file or Excel workbook.
    column, tags : str, optional
        Columns of the texts and of their tags, see `split_tags`; by default the only possible ones.
    vocabulary, labels : path, optional
        Files of the names of words and labels of an svmlight file, one a line.
    zero_based, labels_zero_based : bool, optional
        True if an svmlight file counts words, and labels if these differ, from 0.
    like : Labelled, optional
        Training rows of the same kind, whose words and labels are used. Other tags are left out, with a warning.
    encoding : str, optional
        Encoding of texts and files of names, see `latentia.datasets.readers`.
    cache : path or bool, optional
        Folder for the binary cache of an svmlight file; by default beside it. False keeps none.
    progress : bool, default=False
        True shows progress.
    **vectorizer
        Choice of words of texts, as in `latentia.datasets.readers.count_words`.

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
        return _read_posts(path, (column, tags), like, encoding, vectorizer)
    _refuse(path, "it holds counts of words, and is no table of texts", column=column, tags=tags, **vectorizer)
    stated = {name: value for name, value in numbers.items() if value is not None}
    if like is None:
        return _read_counts(path, stated, (vocabulary, labels), encoding, cache, progress)
    rows = read_rows(
        path, *like.size[1:], str(like.path), **like.counted | stated, cache=cache, progress=progress
    )  # fmt: skip
    with _name_source(path):
        for block in rows:
            check_counts(as_counts(block[0]), block.rows)
    return Labelled(rows, like.words, like.labels, None, path, like.first, like.counted)


def read_rows(
    path: str | os.PathLike[str],
    n_words: int,
    n_labels: int | None = None,
    reference: str = "the model",
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
    reference : str
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
    flags = {"zero_based": zero_based, "labels_zero_based": labels_zero_based}
    options: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    with reusable(path) as file:
        promised = None if file.is_dir() else _read_promised_sizes(file)
        if promised is not None:
            _check_sizes(path, promised, reference, n_words, n_labels)
        else:
            options |= {"n_features": n_words} | ({} if n_labels is None else {"n_labels": n_labels})
        blocks = _open(file, options, cache if file == path else False, progress)
    _check_sizes(path, tuple(shape[1] for shape in blocks.shapes[:2]), reference, n_words, n_labels)
    return blocks


def _refuse(path: Path, reason: str, **parameters: Any) -> None:
    """Raise for a parameter that files of this kind do not have."""
    for name, value in parameters.items():
        if value is not None:
            raise LatentiaError(f"{reason}; leave it out.", source=path.name, parameter=name, value=value)


@contextlib.contextmanager
def _name_source(path: Path) -> Iterator[None]:
    """Add the name of the file to errors."""
    try:
        yield
    except LatentiaError as error:
        error.source = error.source or path
        raise


# --- counts -----------------------------------------------------------------------------------------------------


def _read_counts(
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
            "expected labels, found none. A line is 'label,label word:value word:value ...'.", source=path
        )
    words = _read_names(names[0], "vocabulary", rows.shapes[0][1], "words", path, encoding)
    labels = _read_names(names[1], "labels", rows.shapes[1][1], "labels", path, encoding)
    first = numbers.get("zero_based", True)
    start = int(not first), int(not numbers.get("labels_zero_based", first))
    # A file that could be read without the option counts from 0, unless it is a cache.
    counted = ({} if path.is_dir() else {"zero_based": True}) | numbers
    return Labelled(rows, rows.names if words is None else words, labels, None, path, start, counted)


def _open(path: Path, options: Mapping[str, Any], cache: _Cache, progress: bool) -> Blocks:
    with _name_source(path):
        if path.is_dir():
            return Blocks.from_files(path)
        return Blocks.from_files(path, format="svmlight", cache=cache, progress=progress, **options)


def _read_promised_sizes(path: Path) -> tuple[int, ...] | None:
    """Return the numbers of words and labels from the first line of a file; None if it has no such line."""
    with contextlib.suppress(OSError, LatentiaError), open_text(path) as file:  # the reader reports these
        first = file.readline(1 << 16).split()
        if len(first) == 3 and all(re.fullmatch(rb"\d{1,18}", number) for number in first):
            return int(first[1]), int(first[2])
    return None


def _check_sizes(path: Path, sizes: tuple[int, ...], reference: str, n_words: int, n_labels: int | None) -> None:
    """Raise unless the numbers of words, and of labels unless these are None, match the reference."""
    actual, expected = [count(sizes[0], "word")], [count(n_words, "word")]
    if n_labels is not None:
        actual.append(count(sizes[1], "label") if len(sizes) > 1 else "no labels")
        expected.append(count(n_labels, "label"))
    if actual != expected:
        raise LatentiaError(
            f"expected {' and '.join(expected)}, as in {reference}; found {' and '.join(actual)}. Rows to predict must have "
            "the words and labels of the training rows.",
            source=path,
        )


def _read_names(
    path: str | os.PathLike[str] | None, parameter: str, n_expected: int, noun: str, source: Path, encoding: str | None
) -> list[str] | None:
    """Return the names in a file, one a line; raise unless there is one for each column."""
    if path is None:
        return None
    if not Path(path).is_file():
        raise LatentiaError("no such file.", parameter=parameter, value=str(path))
    names = [name.strip() for name in read_lines(Path(path), encoding)]
    while names and not names[-1]:
        names.pop()
    if len(names) != n_expected:
        problem = f"expected {n_expected:,} names, one for each of the {noun} in {source}; found {len(names):,}."
        raise LatentiaError(problem, parameter=parameter, value=str(path))
    if "" in names:
        place = f"{path}, line {names.index('') + 1}"
        raise LatentiaError("expected a name, found an empty line.", parameter=parameter, value=place)
    return names


# --- texts and tags ---------------------------------------------------------------------------------------------


def _read_posts(
    path: Path,
    columns: tuple[str | None, str | None],
    like: Labelled | None,
    encoding: str | None,
    vectorizer: dict[str, Any],
) -> Labelled:
    """Read and count texts and their tags; ``columns`` names those of texts and of tags, or None."""
    texts, tags = _read_texts_and_tags(path, columns, encoding)
    if like is None:
        corpus, labels = count_words(texts, **vectorizer), sorted(set().union(*tags))
        words = [str(word) for word in corpus.vocabulary or ()]
    else:
        words, labels = like.words or [], like.labels or []
        tags = _keep_known_tags(path, tags, labels)
        chosen = {
            name: value for name, value in vectorizer.items() if name in ("stop_words", "language", "token_pattern")
        }
        corpus = count_words(texts, **chosen, words=words)
    table = sparse.csr_array(MultiLabelBinarizer(classes=labels, sparse_output=True).fit_transform(tags))
    table.sort_indices()
    rows = Blocks.from_array(corpus.counts, table.astype(np.float64), names=words)
    return Labelled(rows, words, labels, corpus.names, path)


def _read_texts_and_tags(
    path: Path, columns: tuple[str | None, str | None], encoding: str | None
) -> tuple[Texts, list[list[str]]]:
    texts = read_texts(path, column=columns[0], encoding=encoding)
    other_columns = (
        f"Besides the texts there {'are ' + ', '.join(texts.columns) if texts.columns else 'is no other column'}"
    )
    tag_columns = (
        [name for name in texts.columns if name.strip().lower() in _TAGS] if columns[1] is None else [columns[1]]
    )
    if not {*tag_columns} <= {*texts.columns}:
        raise LatentiaError(f"no such column. {other_columns}.", parameter="tags", value=columns[1], source=path)
    binary = _find_binary_tags(texts.columns) if columns[1] is None and not tag_columns else None
    if binary is not None:
        return texts, binary
    if len(tag_columns) != 1:
        raise LatentiaError(
            f"which column holds the tags? {other_columns}; name one with {write_parameter('tags')}.", source=path
        )
    tag_lists = split_tags(texts.columns[tag_columns[0]])
    if not any(tag_lists):
        raise LatentiaError("expected tags, found none.", source=path)
    return texts, tag_lists


def _find_binary_tags(columns: Mapping[str, list[str]]) -> list[list[str]] | None:
    """Return the tags of every row from columns of 0 and 1, or no and yes, one a tag; None for fewer than two columns."""
    cells = {name: [cell.strip().lower() for cell in column] for name, column in columns.items()}
    names = [name for name, column in cells.items() if {*column} <= {*_YES, *_NO} and not {*column}.isdisjoint(_YES)]
    if len(names) < 2:
        return None
    return [[name for name in names if cells[name][i] in _YES] for i in range(len(cells[names[0]]))]


def _keep_known_tags(path: Path, tags: Sequence[Sequence[str]], labels: Sequence[str]) -> list[list[str]]:
    """Return the tags that are among the labels, with a warning about others."""
    new = sorted(set().union(*tags).difference(labels))
    if new:
        shown_tags = ", ".join(new[:_N_NAMED]) + (", ..." if len(new) > _N_NAMED else "")
        problem = f"{count(len(new), 'tag')} without a training row cannot be predicted"
        warn(f"{path}: {problem}: {shown_tags}.", DroppedDataWarning)
    return [[tag for tag in row_tags if tag not in new] for row_tags in tags]
