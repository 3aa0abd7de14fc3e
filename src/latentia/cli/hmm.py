"""``latentia hmm``: a hidden Markov model of sequences on disk, as tables, a model and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.sequences import RARE, Sequences, read_sequences
from ..datasets.tables import list_names
from ..exceptions import FileNotice, LatentiaError, warn
from ..passes import Folds
from ..persistence import load
from ..report.hmm import build_rows_table, summarize_hmm
from ..report.parts import count
from ..sequences import SpectralHMM, TwoStateHMM
from ..summaries import Column, Summary
from ..system.terminal import say
from ._records import HmmOptions

from ._shared import (  # isort: skip
    Comparison, ReadOptions, check_file, learn, parse_sizes,
    refuse_options,
)  # fmt: skip
from ._tables import NewRows, missing_setting, split_names


def hmm(run: HmmOptions) -> dict[str, Any]:
    """Learn a hidden Markov model of sequences and write tables, a model and a report."""
    sizes = parse_sizes(run.k or ("2" if run.two_state else "4"), "states")
    if run.two_state and sizes != [2]:
        raise LatentiaError(f"-k {run.k}: --two-state has two states; give one of the two options.")
    results = run.results(run.source, "paths.csv", "states.csv", "transitions.csv", "covariances.csv")
    if run.two_state:
        other_covariance = None if run.covariance == "diag" else run.covariance
        refuse_options(run.source, "--two-state has none", covariance=other_covariance, init=run.init)
    read_options = run.reading(run.missing, ("keep",))
    data = read_sequences(
        run.source, column=run.column, columns=split_names(run.columns), sequence=run.sequence,
        kind="vectors" if run.kind == "counts" else run.kind, min_count=run.min_count, lower=run.lower,
        missing=read_options.missing, encoding=read_options.encoding, cache=read_options.cache,
    )  # fmt: skip
    data = data.whole() if run.kind == "counts" else data
    _check_steps(data, run.two_state, run.covariance)
    description = _describe_data(data)
    say(description)
    is_discrete = data.symbols or run.kind == "counts"
    max_states = len(np.unique(data.steps[data.there])) if is_discrete else _count_supported(data, run.refine)
    sizes = sizes.limit_to(max_states, description)
    options = run.parameters_of(TwoStateHMM if run.two_state else SpectralHMM)
    if not run.two_state:
        options["init"] = _load_start(run.init, data, sizes)
        options["kind"] = "symbols" if data.symbols else "counts" if run.kind == "counts" else "vectors"
    criteria: dict[str, float] = {}

    def summarize(model: Any, _: Any) -> Summary:
        criteria["log_likelihood"] = model.score(data.given, data.lengths)
        criteria.update(bic=model.bic(data.given, data.lengths), aic=model.aic(data.given, data.lengths))
        criteria_line = "Log-likelihood {log_likelihood:,.1f}, BIC {bic:,.1f}, AIC {aic:,.1f}".format(**criteria)
        if run.two_state:
            rate, memoryless = model.entropy_rate(random_state=run.seed), _compute_entropy(data)
            criteria_line = (
                f"Entropy rate: {rate:.3f} nats per step, of {memoryless:.3f} without memory.\n{criteria_line}"
            )
        summary = summarize_hmm(
            model, data.given, data.lengths, columns=data.columns, names=data.names, row_labels=_label_rows(data),
            criteria=criteria_line,
        )  # fmt: skip
        return replace(summary, note=" ".join(filter(None, [summary.note, _describe_unknown_order(data)])))

    summary = learn(
        results, data.source, sizes, lambda size: _fit(size, run.two_state, data, options), summarize,
        description=f"{data.source}: {data.order_note}" if data.order_note else "",
        reading={"columns": data.columns, "sequence": run.sequence, "lower": run.lower} | missing_setting(run.missing),
        compare=lambda: _compare_held_out(data, options | {"verbose": False}),
    )  # fmt: skip
    return summary | criteria


def _count_supported(data: Sequences, refine: Any) -> int:
    """Count the states that vectors can carry: by moments one more than columns, by EM as many as steps."""
    return max(data.steps.shape[1] + 1, len(data.steps) if refine else 0)


def _describe_data(data: Sequences) -> str:
    """Describe the source and its size."""
    is_present = data.there
    symbols = len(np.unique(data.steps[is_present])) if data.symbols else 0
    content = f"{symbols:,} symbols" if data.symbols else f"columns {', '.join(data.columns)}"
    missing = "" if is_present.all() else f", {(~is_present).sum():,} of them missing"
    n_cells = 0 if data.symbols else int(np.isnan(data.steps[is_present]).sum())
    missing += f", {count(n_cells, 'single cell')} missing" if n_cells else ""
    return f"{data.source}: {count(len(data.lengths), 'sequence')}, {len(data.steps):,} steps{missing}, {content}"


def _describe_unknown_order(data: Sequences) -> str:
    """Return a warning if steps were mixed in the file and no column gives their order."""
    if data.order_is_known:
        return ""
    return (
        "The rows of the sequences are mixed in the file, and no column gives their order: if the order of the file is not "
        "that of time, these states are wrong."
    )


def _label_rows(data: Sequences) -> tuple[Column, ...]:
    """Return the row numbers that label the steps, if there are any."""
    return () if data.rows is None else (Column("row", data.rows),)


def _check_steps(data: Sequences, two_state: bool, covariance: str) -> None:
    """Raise for options that do not go with these steps."""
    if two_state and not data.symbols:
        raise LatentiaError(
            "--two-state needs symbols, but these steps are numbers: name a column of symbols with --column.",
            source=data.source,
        )
    if data.symbols and covariance != "diag":
        raise LatentiaError(f"--covariance {covariance} needs columns of numbers, but these steps are symbols.")
    if two_state and not data.there.all():
        raise LatentiaError("--two-state does not allow missing steps: leave --missing keep out.", source=data.source)


def _compute_entropy(data: Sequences) -> float:
    """Compute the entropy of a step without knowledge of earlier steps, in nats."""
    shares = np.unique(data.steps, return_counts=True)[1] / len(data.steps)
    return float(-(shares @ np.log(shares)))


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(size: int | None, two_state: bool, data: Sequences, options: dict[str, Any]) -> Any:
    if two_state:
        return TwoStateHMM(**options).fit(data.given, data.lengths)
    return SpectralHMM(size, **options).fit(data.given, data.lengths)  # type: ignore[arg-type]


def _load_start(path: Path | None, data: Sequences, sizes: Sequence[int]) -> dict[str, Any] | None:
    """Load the chain of a saved model, for these symbols or columns."""
    if path is None:
        return None
    model = load(check_file(path, "--init"))
    if not isinstance(model, SpectralHMM | TwoStateHMM) or model.of_symbols != data.symbols:
        expected = "symbols" if data.symbols else "columns of numbers"
        raise LatentiaError(f"--init {path}: expected a chain of {expected}; found a {type(model).__name__}.")
    k = len(model.startprob_)
    if list(sizes) != [k]:
        raise LatentiaError(f"--init {path}: the chain has {k} states; use -k {k}.")
    start = {"startprob": model.startprob_, "transmat": model.transmat_}
    if not model.of_symbols:
        width, data_width = model.means_.shape[1], data.steps.shape[1]
        if width != data_width:
            raise LatentiaError(f"--init {path}: the chain has {width} columns; {data.source} has {data_width}.")
        return start | {"means": model.means_, "variances": model.variances_}
    positions = {str(symbol): i for i, symbol in enumerate(model.symbols_)}
    data_symbols = [str(symbol) for symbol in np.unique(data.steps[data.there])]
    unknown = [symbol for symbol in data_symbols if symbol not in positions]
    if unknown:
        raise LatentiaError(f"--init {path}: the model does not have the symbol {unknown[0]!r} of {data.source}.")
    emissions = model.emissionprob_[:, [positions[symbol] for symbol in data_symbols]]
    totals = emissions.sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise LatentiaError(f"--init {path}: state {int(totals.argmin())} has no symbol of {data.source}.")
    return start | {"emissionprob": emissions / totals}


def _compare_held_out(data: Sequences, options: dict[str, Any]) -> Comparison:
    """Fit models to nine tenths of the steps and compare them by the likelihood of the other tenth."""
    train, test, held_out = _hold_out(data)
    score = "held-out log-likelihood"

    def measure(model: Any) -> dict[str, Any]:
        value = model.score(test.given, test.lengths) / max(int(test.there.sum()), 1)
        bic = model.bic(train.given, train.lengths) / max(int(train.there.sum()), 1)
        return {"BIC a step": bic, score: value, "smallest share": float(model.weights_.min())}

    return Comparison(
        "states", held_out, lambda size: _fit(size, False, train, options), measure,
    )  # fmt: skip


def _hold_out(data: Sequences) -> tuple[Sequences, Sequences, str]:
    """Split sequences for training and testing: whole sequences if there are at least ten, else parts of each.

    Test steps whose symbol does not occur in training are dropped, and cut their sequence.
    """
    by_sequence = len(data.lengths) >= 10
    sequence = np.repeat(np.arange(len(data.lengths)), data.lengths)
    position = np.arange(len(sequence)) - np.repeat(np.cumsum(data.lengths) - data.lengths, data.lengths)
    tenth = 10 * sequence + 10 * position // data.lengths[sequence]
    part = (Folds(10, 1).of(sequence if by_sequence else tenth) == 0).astype(int)
    if data.symbols:
        unknown = data.there & ~np.isin(data.steps, np.unique(data.steps[part == 0]))
        part[(part == 1) & unknown] = 2
    if min((part == 0).sum(), (part == 1).sum()) < 3:
        raise LatentiaError("too few steps to hold some out; give one number with -k.", source=data.source)
    starts = np.flatnonzero(np.diff(4 * sequence + part, prepend=-1))
    lengths = np.diff(np.append(starts, len(sequence)))
    train, test = (
        replace(data, steps=data.steps[part == i], lengths=lengths[part[starts] == i]) for i in (0, 1)
    )  # fmt: skip
    return train, test, "one sequence in ten" if by_sequence else "a tenth of every sequence"


# --- applying ---------------------------------------------------------------------------------------------------


def apply_hmm(model: Any, source: Path, read_options: ReadOptions) -> Callable[[Path], object]:
    """Read other sequences, and return the function that writes their paths."""
    data = _read_like(model, source, read_options)
    return lambda path: build_rows_table(model, data.given, data.lengths, data.names, _label_rows(data)).write(path)


def news_hmm(model: Any, source: Path, read_options: ReadOptions, batch: str | None) -> NewRows:
    """Read other sequences as one; of each, steps that fill no window are left out."""
    if batch is not None:
        raise LatentiaError("--batch: sequences have no batches. Give a file for each batch.", source=source)
    data, window = _read_like(model, source, read_options), len(model._steps_of(np.zeros(1, dtype=int)))
    place = np.concatenate([np.arange(n) for n in data.lengths])
    is_used = place < np.repeat(np.asarray(data.lengths) // window * window, data.lengths)
    firsts = (np.arange(len(place)) if data.rows is None else np.asarray(data.rows))[is_used][::window]
    return NewRows(data.given[is_used], f"first step of {window}", [str(first) for first in firsts])


def _read_like(model: Any, source: Path, read_options: ReadOptions) -> Sequences:
    """Read other sequences with the columns and symbols of a model."""
    reading, symbols = model.reading_, model.of_symbols
    columns, kind = reading.get("columns") or None, "symbols" if symbols else "vectors"
    column, columns = (columns[0], None) if symbols and columns else (None, columns)
    data = read_sequences(
        source, column=column, columns=columns, sequence=reading.get("sequence"), kind=kind, of_model=True,
        lower=symbols and bool(reading.get("lower")), symbols=model.symbols_ if symbols else None,
        missing=read_options.missing, encoding=read_options.encoding, cache=read_options.cache,
    )  # fmt: skip
    data = data.whole() if not symbols and model.kind == "counts" else data
    if not symbols and data.steps.shape[1] != model.n_features_in_:
        raise LatentiaError(
            f"expected {model.n_features_in_} columns of numbers, as in the fit, of which the model has no names; found "
            f"{data.steps.shape[1]}.",
            source=source,
        )
    if data.n_unknown and isinstance(model, TwoStateHMM) and not data.there.all():
        raise LatentiaError(
            f"{data.n_unknown:,} steps have symbols that the model does not have, and a TwoStateHMM does not allow missing "
            f"steps. Exclude such steps, or learn the model with --min-count, which adds a symbol for rare ones, {RARE}.",
            source=source,
        )
    if data.n_unknown:
        treatment = (
            f"count as {RARE}" if RARE in model.symbols_ else "the model does not have: they are taken as not known"
        )
        say(f"{data.n_unknown:,} of {len(data.steps):,} steps have symbols that {treatment}.")
        names = [f"{symbol!r} ({n:,})" for symbol, n in Counter(data.unknown).most_common()]
        warn(FileNotice(f"{source.name}: symbols that the model does not have: {list_names(names, 10)}."))
    say(_describe_data(data))
    return data
