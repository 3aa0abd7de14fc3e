"""``latentia network``: learn hidden units that switch the columns of a table, layer above layer."""

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
from ..deep.agreement import encode_layers
from ..deep.edges import members
from ..exceptions import LatentiaError
from ..reading import has_columns
from ..report.network import summarize_network
from ..report.noisy_or import percent
from ..report.parts import count
from ..system.progress import progress_bar
from ..system.terminal import say
from ._records import NetworkOptions
from ._shared import ReadOptions, check_file, learn, write_csv
from ._tables import (
    Labels,
    Table,
    announce,
    describe_source,
    missing_setting,
    quote_names,
    read_like,
    read_numbers,
    to_binary,
)

_CODES, _DENOISED = "codes.csv", "denoised.csv"
_MIN_COLUMNS = 4  # least number of columns that a unit switches
_BATCH_ROWS = 5000
_EXPECTED_VALUES = "values are 1 (on) or 0 (off)"


def network(run: NetworkOptions) -> dict[str, Any]:
    """Learn a sparse network of hidden units above columns that are on or off, and write tables, a model and a report."""
    if run.real and run.above is not None:
        raise LatentiaError("--real and --above: give one of the two.")
    if run.real and run.min_count > 1:
        raise LatentiaError(f"--min-count {run.min_count}: real values are not on or off; leave it out.")
    results = run.results(run.source, _CODES, "columns.csv", "edges.csv", "units.csv")
    read_options = run.reading(run.missing, ("drop",)).code_two_values()
    table = _read(run, read_options)
    data = _keep_frequent(_threshold(table, run.real, run.above, _remedy), run.real, run.min_count)
    options = run.parameters_of(SparseNetwork) | {"input_type": "real" if run.real else "binary"}
    return learn(
        results, data.source, [None], lambda _: SparseNetwork(**options).fit(data.values),
        lambda model, _: summarize_network(model, data.values, columns=data.columns),
        description=describe_source(data),
        reading={"columns": list(data.columns), "above": run.above} | missing_setting(run.missing),
        write_more=lambda folder, model: _write_codes(folder / _CODES, model, data),
    )  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


def _is_bag(source: Path) -> bool:
    """Return True if the source must be read as a bag of words."""
    return source.exists() and not is_table(source) and (source.is_dir() or not has_columns(source))


def _read(run: NetworkOptions, read_options: ReadOptions) -> Table:
    source, vocabulary = run.source, run.vocabulary
    if not _is_bag(source):
        if vocabulary is not None:
            raise LatentiaError(f"--vocabulary: {source.name} has names of columns; leave it out.")
        reason = f"a unit switches {_MIN_COLUMNS} columns or more"
        return read_numbers(source, run.columns, run.ignore, _MIN_COLUMNS, reason, read_options)
    for option, value in (("--columns", run.columns), ("--ignore", run.ignore)):
        if value:
            raise LatentiaError(f"{option}: a bag of words has no columns to choose; leave it out.")
    words = None if vocabulary is None else check_file(vocabulary, "--vocabulary")
    return announce(_read_bag(source, words, read_options))


def _read_bag(source: Path, vocabulary: Path | None, read_options: ReadOptions) -> Table:
    """Read a bag of words as a table."""
    corpus = readers.read_corpus(
        source, vocabulary=vocabulary, progress=read_options.progress, cache=read_options.cache,
        encoding=read_options.encoding, stop_words=None, min_df=1, max_df=1.0,
    )  # fmt: skip
    if corpus.texts is not None:
        raise LatentiaError("expected a table or a bag of words, found texts.", source=source)
    n, width = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    names = corpus.vocabulary or [f"column {i}" for i in range(1, width + 1)]
    return Table(sparse.csr_array(corpus.counts), list(names), {}, range(1, n + 1), [], corpus.source)


def _threshold(table: Table, real: bool, above: float | None, remedy: Callable[[Sequence[str]], str] | None) -> Table:
    """Return the table for the network: real values, or True where a value is on."""
    if real or above is None:
        return table if real else to_binary(table, _EXPECTED_VALUES, remedy)
    values = table.values
    if sparse.issparse(values) and above >= 0:
        return replace(table, values=sparse.csr_array(values > above))
    return replace(table, values=(values.toarray() if sparse.issparse(values) else values) > above)


def _remedy(columns: Sequence[str]) -> str:
    exclusion = f"exclude such columns with --ignore {quote_names(columns)}, " if len(columns) <= 5 else ""
    return f"Give a threshold with --above, {exclusion}or use real values with --real."


def _keep_frequent(table: Table, real: bool, min_count: int) -> Table:
    """Drop columns that are on in fewer than ``min_count`` rows."""
    if real:
        return table
    counts = np.asarray(table.values.sum(axis=0)).ravel()
    chosen = np.flatnonzero(counts >= min_count)
    n = len(table.columns)
    if len(chosen) < _MIN_COLUMNS:
        raise LatentiaError(
            f"{count(len(chosen), 'column')} of {n} {'is' if len(chosen) == 1 else 'are'} on in "
            f"{count(min_count, 'row')} or more, and a unit switches {_MIN_COLUMNS} or more.",
            source=table.source,
        )
    if len(chosen) < n:
        say(f"{count(n - len(chosen), 'column')} on in fewer than {count(min_count, 'row')} left out.")
        names = [table.columns[i] for i in chosen]
        table = replace(table, values=table.values[:, chosen], columns=names)
    rate = float(counts[chosen].mean() / table.values.shape[0])
    say(f"{count(len(chosen), 'column')}, {percent(rate)} on.")
    return table


# --- rows -----------------------------------------------------------------------------------------------------------


def _write_codes(path: Path, model: Any, data: Table) -> None:
    """Write the numbers of the units of each layer that are on in every row."""
    _write(path, data, [f"layer {i}" for i in range(1, len(model.layers_) + 1)], _encode_batches(model, data.values))


def _write(path: Path, data: Table, names: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    labels = Labels(data.rows, data.names)
    write_csv(path, [*labels.head, *names], ([*label, *cells] for label, cells in zip(labels, rows, strict=True)))


def _encode_batches(model: Any, values: Any) -> Iterator[Sequence[str]]:
    firsts = np.cumsum([0, *(len(densities) for densities in model.densities_)])
    for part in _iterate_batches(values, model):
        layers = zip(firsts, encode_layers(model, part), strict=False)
        yield from zip(
            *([" ".join(str(offset + j) for j in units) for units in members(active)] for offset, active in layers),
            strict=True,
        )


def _denoise_rows(model: Any, values: Any) -> Iterator[Sequence[str]]:
    real = model.input_type == "real"
    for part in _iterate_batches(values, model):
        rows = model.denoise(part)
        for row in rows.toarray() if sparse.issparse(rows) else np.asarray(rows):
            yield [f"{value:.6g}" if real else str(int(value)) for value in row]


def _iterate_batches(values: Any, model: Any) -> Iterator[Any]:
    """Yield batches of rows, with a progress bar."""
    with progress_bar("codes" if model.verbose else "", values.shape[0], "rows") as advance:
        for start in range(0, values.shape[0], _BATCH_ROWS):
            part = values[start : start + _BATCH_ROWS]
            yield part
            advance(part.shape[0])


# --- applying -------------------------------------------------------------------------------------------------------


def name_output_file(model: Any, source: Path, denoise: bool) -> str:
    """Return the name of the file that `apply_network` writes."""
    return _DENOISED if denoise else _CODES


def apply_network(
    model: Any, source: Path, read_options: ReadOptions, denoise: bool = False
) -> Callable[[Path], object]:
    """Read other rows; return a function that writes the units that are on in them, or the denoised rows."""
    if _is_bag(source):
        names = model.reading_.get("columns", model.column_names)
        table = announce(_align_columns(_read_bag(source, None, read_options), names, model.n_features_in_))
    else:
        table = read_like(model, source, read_options)
    data = _threshold(table, model.input_type == "real", model.reading_.get("above"), None)
    if denoise:
        return lambda path: _write(path, data, data.columns, _denoise_rows(model, data.values))
    return lambda path: _write_codes(path, model, data)


def _align_columns(table: Table, names: Sequence[str] | None, width: int) -> Table:
    """Align a bag of words with the columns of the model: missing words are 0, unknown ones are dropped."""
    if names is None or list(names) == table.columns:
        if len(table.columns) != width:
            raise LatentiaError(
                f"expected {width} columns, as in the fit; found {len(table.columns)}.", source=table.source
            )
        return table
    places = {name: i for i, name in enumerate(table.columns)}
    cells = [(places[name], i) for i, name in enumerate(names) if name in places]
    if not cells:
        raise LatentiaError("it shares no columns with the model.", source=table.source)
    chosen = sparse.csr_array((np.ones(len(cells)), tuple(np.transpose(cells))), shape=(len(places), len(names)))
    if len(cells) < len(names):
        say(f"{len(names) - len(cells):,} of the {len(names):,} columns of the model are missing and count as off.")
    return replace(table, values=sparse.csr_array(table.values @ chosen), columns=list(names))
