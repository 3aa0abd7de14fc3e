"""``latentia network``: hidden units that switch the columns of a table on disk, layer above layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..datasets import readers
from ..datasets.tables import is_table
from ..deep import SparseNetwork
from ..deep.agreement import encoded
from ..deep.edges import members
from ..exceptions import LatentiaError
from ..reading import has_columns
from ..report.network import summarize_network
from ..report.noisy_or import percent
from ..report.parts import count
from ..system.progress import progress_bar
from ..system.terminal import say
from ._run import Run
from ._shared import ReadOptions, check_file, learn, write_csv
from ._tables import Labels, Table, announce, describe_source, quote_names, read_like, read_numbers, to_binary

_CODES, _DENOISED = "codes.csv", "denoised.csv"
_LEAST_COLUMNS = 4  # that a unit switches
_BATCH = 5000
_WHAT = "values are 1 (on) or 0 (off)"


def network(
    run: Run,
    source: Path,
    layers: int = 1,
    real: bool = False,
    above: float | None = None,
    min_count: int = 1,
    columns: str | None = None,
    ignore: str | None = None,
    vocabulary: Path | None = None,
    splits: int = 1,
    refine: str = "auto",
    missing: str | None = None,
) -> dict[str, Any]:
    """Learn a sparse network of hidden units above columns that are on or off, and write tables, a model and a report.

    Parameters
    ----------
    source
        A table with a header, 1 where a column is on and 0 where not: CSV, TSV, Excel, Parquet; MatrixMarket; or a UCI bag
        of words.
    layers : --layers, -l, >= 1, <= 5
        Hidden layers above the columns.
    real
        Columns hold real values: sums of the units' edges, and noise.
    above
        Values above this are on, and all others off; 0 for counts of words.
    min_count : >= 1
        Leave out columns that are on in fewer rows.
    missing
        Cells without a value: drop leaves their rows out; by default they are an error.
    """
    if real and above is not None:
        raise LatentiaError("--real and --above: give one of the two.")
    if real and min_count > 1:
        raise LatentiaError(f"--min-count {min_count}: real values are not on or off; leave it out.")
    results = run.results(source, _CODES, "columns.csv", "edges.csv", "units.csv")
    how = run.reading(missing, ("drop",)).code_two_values()
    table = _read(source, columns, ignore, vocabulary, how)
    data = _frequent(_on(table, real, above, _remedy), real, min_count)
    options = {"input_type": "real" if real else "binary", "refine": refine, "n_splits": splits, **run.parameters}
    return learn(
        results, data.source, [None], lambda _: SparseNetwork(layers, **options).fit(data.values),
        lambda model, _: summarize_network(model, data.values, columns=data.columns),
        description=describe_source(data), reading={"columns": list(data.columns), "above": above},
        write_more=lambda folder, model: _write_codes(folder / _CODES, model, data),
    )  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


def _is_bag(source: Path) -> bool:
    """Whether it is to be read as a bag of words."""
    return source.exists() and not is_table(source) and (source.is_dir() or not has_columns(source))


def _read(source: Path, columns: str | None, ignore: str | None, vocabulary: Path | None, how: ReadOptions) -> Table:
    if not _is_bag(source):
        if vocabulary is not None:
            raise LatentiaError(f"--vocabulary: {source.name} has names of columns; leave it out.")
        why = f"a unit switches {_LEAST_COLUMNS} columns or more"
        return read_numbers(source, columns, ignore, _LEAST_COLUMNS, why, how)
    for option, given in (("--columns", columns), ("--ignore", ignore)):
        if given:
            raise LatentiaError(f"{option}: a bag of words has no columns to choose; leave it out.")
    words = None if vocabulary is None else check_file(vocabulary, "--vocabulary")
    return announce(_bag(source, words, how))


def _bag(source: Path, vocabulary: Path | None, how: ReadOptions) -> Table:
    """A bag of words as a table."""
    corpus = readers.read_corpus(
        source, vocabulary=vocabulary, progress=how.progress, cache=how.cache, encoding=how.encoding, stop_words=None,
        min_df=1, max_df=1.0,
    )  # fmt: skip
    if corpus.texts is not None:
        raise LatentiaError("holds texts, and a table or a bag of words is needed.", source=source)
    n, width = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    names = corpus.vocabulary or [f"column {i}" for i in range(1, width + 1)]
    return Table(sparse.csr_array(corpus.counts), list(names), {}, range(1, n + 1), [], corpus.source)


def _on(table: Table, real: bool, above: float | None, remedy: Callable[[Sequence[str]], str] | None) -> Table:
    """The table as the network sees it: real values, or which are on."""
    if real or above is None:
        return table if real else to_binary(table, _WHAT, remedy)
    values = table.values
    if sparse.issparse(values) and above >= 0:
        return replace(table, values=sparse.csr_array(values > above))
    return replace(table, values=(values.toarray() if sparse.issparse(values) else values) > above)


def _remedy(others: Sequence[str]) -> str:
    few = f"exclude such columns with --ignore {quote_names(others)}, or " if len(others) <= 5 else ""
    return f"Say from where values are on with --above, {few}take them as they are with --real."


def _frequent(table: Table, real: bool, least: int) -> Table:
    """The table without columns that are on in too few rows."""
    if real:
        return table
    counts = np.asarray(table.values.sum(axis=0)).ravel()
    kept = np.flatnonzero(counts >= least)
    n = len(table.columns)
    if len(kept) < _LEAST_COLUMNS:
        raise LatentiaError(
            f"{count(len(kept), 'column')} of {n} {'is' if len(kept) == 1 else 'are'} on in "
            f"{count(least, 'row')} or more, and a unit switches {_LEAST_COLUMNS} or more.",
            source=table.source,
        )
    if len(kept) < n:
        say(f"{count(n - len(kept), 'column')} on in fewer than {count(least, 'row')} left out.")
        names = [table.columns[i] for i in kept]
        table = replace(table, values=table.values[:, kept], columns=names)
    rate = float(counts[kept].mean() / table.values.shape[0])
    say(f"{count(len(kept), 'column')}, {percent(rate)} on.")
    return table


# --- rows -----------------------------------------------------------------------------------------------------------


def _write_codes(path: Path, model: Any, data: Table) -> None:
    """For every row the units of each layer that are on, by their numbers."""
    _write(path, data, [f"layer {i}" for i in range(1, len(model.layers_) + 1)], _codes(model, data.values))


def _write(path: Path, data: Table, names: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    labels = Labels(data.rows, data.names)
    write_csv(path, [*labels.head, *names], ([*own, *cells] for own, cells in zip(labels, rows, strict=True)))


def _codes(model: Any, values: Any) -> Iterator[Sequence[str]]:
    firsts = np.cumsum([0, *(len(one) for one in model.densities_)])
    for part in _parts(values, model):
        layers = zip(firsts, encoded(model, part), strict=False)
        yield from zip(*([" ".join(str(k + j) for j in own) for own in members(on)] for k, on in layers), strict=True)


def _denoised(model: Any, values: Any) -> Iterator[Sequence[str]]:
    real = model.input_type == "real"
    for part in _parts(values, model):
        rows = model.denoise(part)
        for row in rows.toarray() if sparse.issparse(rows) else np.asarray(rows):
            yield [f"{value:.6g}" if real else str(int(value)) for value in row]


def _parts(values: Any, model: Any) -> Iterator[Any]:
    """Some rows at a time, with a bar."""
    with progress_bar("codes" if model.verbose else "", values.shape[0], "rows") as advance:
        for start in range(0, values.shape[0], _BATCH):
            part = values[start : start + _BATCH]
            yield part
            advance(part.shape[0])


# --- applying -------------------------------------------------------------------------------------------------------


def applied_file(model: Any, source: Path, denoise: bool) -> str:
    """The name of the file that `apply_network` writes."""
    return _DENOISED if denoise else _CODES


def apply_network(model: Any, source: Path, how: ReadOptions, denoise: bool = False) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes which units are on in them, or the rows as the units have them."""
    if _is_bag(source):
        names = model.reading_.get("columns", model.column_names)
        table = announce(_in_columns(_bag(source, None, how), names, model.n_features_in_))
    else:
        table = read_like(model, source, how)
    data = _on(table, model.input_type == "real", model.reading_.get("above"), None)
    if denoise:
        return lambda path: _write(path, data, data.columns, _denoised(model, data.values))
    return lambda path: _write_codes(path, model, data)


def _in_columns(table: Table, names: Sequence[str] | None, width: int) -> Table:
    """A bag of words with the columns of the model: words that it lacks are 0, and others are left out."""
    if names is None or list(names) == table.columns:
        if len(table.columns) != width:
            raise LatentiaError(
                f"{len(table.columns)} columns, and the model was fitted on {width}.", source=table.source
            )
        return table
    places = {name: i for i, name in enumerate(table.columns)}
    cells = [(places[name], i) for i, name in enumerate(names) if name in places]
    if not cells:
        raise LatentiaError("the model has none of its columns.", source=table.source)
    chosen = sparse.csr_array((np.ones(len(cells)), tuple(np.transpose(cells))), shape=(len(places), len(names)))
    if len(cells) < len(names):
        say(f"{len(names) - len(cells):,} of the {len(names):,} columns of the model are not there, and off.")
    return replace(table, values=sparse.csr_array(table.values @ chosen), columns=list(names))
