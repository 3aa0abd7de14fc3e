"""``latentia hmm``: a hidden Markov model of sequences on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.sequences import RARE, Sequences, read_sequences
from ..exceptions import LatentiaError
from ..passes import Folds
from ..persistence import load
from ..report.hmm import rows_of, summarize_hmm
from ..report.parts import count
from ..sequences import SpectralHMM, TwoStateHMM
from ..summaries import Column, Summary
from ..system.terminal import say
from ._run import Run

from ._shared import (  # isort: skip
    Comparison, ReadOptions, check_file, learn, parse_sizes,
    refuse_options,
)  # fmt: skip
from ._tables import missing_setting, split_names


def hmm(
    run: Run,
    source: Path,
    k: str | None = None,
    two_state: bool = False,
    column: str | None = None,
    columns: str | None = None,
    sequence: str | None = None,
    kind: str = "auto",
    min_count: int = 1,
    lower: bool = False,
    covariance: str = "diag",
    init: Path | None = None,
    missing: str | None = None,
    refine: str = "auto",
) -> dict[str, Any]:
    """Learn a hidden Markov model of sequences and write tables, a model and a report.

    Parameters
    ----------
    source
        A text file with one sequence per line, symbols separated by spaces or commas; FASTA; or a table: CSV, TSV, Excel,
        Parquet.
    k : -k, --states
        Number of states, by default 4; FROM:TO:STEP compares a range.
    two_state
        Two states over many symbols, and whether there is a second at all.
    column
        Column of symbols of a table.
    sequence
        Column of a table that says which sequence a row is of.
    kind : {auto, symbols, vectors, counts}
        auto, symbols, vectors or counts: what the steps are.
    min_count : >= 1
        Rarer symbols become one symbol, <rare>.
    lower
        Put symbols into lower case.
    covariance : {diag, full, tied}
        diag, full or tied: of numbers, whether columns vary together within a state, or alike in all.
    init
        A model.npz of chains of the same steps, from which EM starts.
    missing
        Cells without a value: keep takes them as not known; by default they are an error.
    """
    sizes = parse_sizes(k or ("2" if two_state else "4"), "states")
    if two_state and sizes != [2]:
        raise LatentiaError(f"-k {k}: --two-state has two states; give one of the two options.")
    results = run.results(source, "paths.csv", "states.csv", "transitions.csv", "covariances.csv")
    if two_state:
        other = None if covariance == "diag" else covariance
        refuse_options(source, "--two-state has none", covariance=other, init=init)
    how = run.reading(missing, ("keep",))
    data = read_sequences(
        source, column=column, columns=split_names(columns), sequence=sequence,
        kind="vectors" if kind == "counts" else kind, min_count=min_count, lower=lower, missing=how.missing,
        encoding=how.encoding, cache=how.cache,
    )  # fmt: skip
    data = data.whole() if kind == "counts" else data
    _check_steps(data, two_state, covariance)
    described = _described(data)
    say(described)
    few = data.symbols or kind == "counts"
    most = len(np.unique(data.steps[data.there])) if few else _most_of_vectors(data, refine)
    sizes = sizes.limit_to(most, described)
    options: dict[str, Any] = {"refine": refine, **run.parameters}
    if not two_state:
        options |= {"covariance_type": covariance, "init": _start(init, data, sizes)}
        options["kind"] = "symbols" if data.symbols else "counts" if kind == "counts" else "vectors"
    criteria: dict[str, float] = {}

    def told(model: Any, _: Any) -> Summary:
        criteria["log_likelihood"] = model.score(data.given, data.lengths)
        criteria.update(bic=model.bic(data.given, data.lengths), aic=model.aic(data.given, data.lengths))
        said = "Log-likelihood {log_likelihood:,.1f}, BIC {bic:,.1f}, AIC {aic:,.1f}".format(**criteria)
        if two_state:
            rate, alone = model.entropy_rate(random_state=run.seed), _entropy(data)
            said = f"Entropy rate: {rate:.3f} nats per step, of {alone:.3f} without memory.\n{said}"
        return summarize_hmm(
            model, data.given, data.lengths, columns=data.columns, names=data.names, row_labels=_labels(data), criteria=said,
        )  # fmt: skip

    summary = learn(
        results, data.source, sizes, lambda size: _fit(size, two_state, data, options), told,
        reading={"columns": data.columns, "sequence": sequence, "lower": lower} | missing_setting(missing),
        compare=lambda: _comparison(data, options | {"verbose": False}),
    )  # fmt: skip
    return summary | criteria


def _most_of_vectors(data: Sequences, refine: Any) -> int:
    """Return how many states vectors carry: by moments one more than columns, by EM as many as steps."""
    return max(data.steps.shape[1] + 1, len(data.steps) if refine else 0)


def _described(data: Sequences) -> str:
    """The source and its size."""
    there = data.there
    symbols = len(np.unique(data.steps[there])) if data.symbols else 0
    what = f"{symbols:,} symbols" if data.symbols else f"columns {', '.join(data.columns)}"
    gone = "" if there.all() else f", {(~there).sum():,} of them missing"
    n_cells = 0 if data.symbols else int(np.isnan(data.steps[there]).sum())
    gone += f", {count(n_cells, 'single cell')} missing" if n_cells else ""
    return f"{data.source}: {count(len(data.lengths), 'sequence')}, {len(data.steps):,} steps{gone}, {what}"


def _labels(data: Sequences) -> tuple[Column, ...]:
    """What tells steps apart that have lines of their own."""
    return () if data.rows is None else (Column("row", data.rows),)


def _check_steps(data: Sequences, two_state: bool, covariance: str) -> None:
    """Raise for options that these steps do not have."""
    if two_state and not data.symbols:
        raise LatentiaError(
            "--two-state is for symbols, and these steps are numbers: name a column of symbols with --column.",
            source=data.source,
        )
    if data.symbols and covariance != "diag":
        raise LatentiaError(f"--covariance {covariance} is for columns of numbers, and these steps are symbols.")
    if two_state and not data.there.all():
        raise LatentiaError("--two-state takes no missing steps: leave --missing keep out.", source=data.source)


def _entropy(data: Sequences) -> float:
    """Entropy of a step that nothing is known before, in nats."""
    shares = np.unique(data.steps, return_counts=True)[1] / len(data.steps)
    return float(-(shares @ np.log(shares)))


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(size: int | None, two_state: bool, data: Sequences, options: dict[str, Any]) -> Any:
    if two_state:
        return TwoStateHMM(**options).fit(data.given, data.lengths)
    return SpectralHMM(size, **options).fit(data.given, data.lengths)  # type: ignore[arg-type]


def _start(path: Path | None, data: Sequences, sizes: Sequence[int]) -> dict[str, Any] | None:
    """The chain of a saved model, for these symbols or columns."""
    if path is None:
        return None
    model = load(check_file(path, "--init"))
    if not isinstance(model, SpectralHMM | TwoStateHMM) or model.of_symbols != data.symbols:
        wanted = "symbols" if data.symbols else "columns of numbers"
        raise LatentiaError(f"--init {path}: a chain of {wanted} is needed, and this is a {type(model).__name__}.")
    k = len(model.startprob_)
    if list(sizes) != [k]:
        raise LatentiaError(f"--init {path}: a chain of {k} states; ask for as many with -k {k}.")
    start = {"startprob": model.startprob_, "transmat": model.transmat_}
    if not model.of_symbols:
        width, here = model.means_.shape[1], data.steps.shape[1]
        if width != here:
            raise LatentiaError(f"--init {path}: a chain of {width} columns, and {data.source} gives {here}.")
        return start | {"means": model.means_, "variances": model.variances_}
    places = {str(one): i for i, one in enumerate(model.symbols_)}
    there = [str(one) for one in np.unique(data.steps[data.there])]
    strange = [one for one in there if one not in places]
    if strange:
        raise LatentiaError(f"--init {path}: the model does not have the symbol {strange[0]!r} of {data.source}.")
    emissions = model.emissionprob_[:, [places[one] for one in there]]
    totals = emissions.sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise LatentiaError(f"--init {path}: state {int(totals.argmin())} has no symbol of {data.source}.")
    return start | {"emissionprob": emissions / totals}


def _comparison(data: Sequences, options: dict[str, Any]) -> Comparison:
    """Models of nine tenths of the steps, and the likelihood that each gives to the others."""
    train, test, what = _held_out(data)
    score = "held-out log-likelihood"

    def measure(model: Any) -> dict[str, Any]:
        value = model.score(test.given, test.lengths) / max(int(test.there.sum()), 1)
        bic = model.bic(train.given, train.lengths) / max(int(train.there.sum()), 1)
        return {"BIC a step": bic, score: value, "smallest share": float(model.weights_.min())}

    return Comparison(
        "states", what, lambda size: _fit(size, False, train, options), measure,
    )  # fmt: skip


def _held_out(data: Sequences) -> tuple[Sequences, Sequences, str]:
    """Sequences to learn from and to measure on: whole ones where there are ten or more, else parts of each.

    Steps whose symbol is not among those that are learned from are measured by no model: they end a sequence.
    """
    whole = len(data.lengths) >= 10
    sequence = np.repeat(np.arange(len(data.lengths)), data.lengths)
    within = np.arange(len(sequence)) - np.repeat(np.cumsum(data.lengths) - data.lengths, data.lengths)
    tenth = 10 * sequence + 10 * within // data.lengths[sequence]
    part = (Folds(10, 1).of(sequence if whole else tenth) == 0).astype(int)
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
    return train, test, "one sequence in ten" if whole else "a tenth of every sequence"


# --- applying ---------------------------------------------------------------------------------------------------


def apply_hmm(model: Any, source: Path, how: ReadOptions) -> Callable[[Path], object]:
    """Read other sequences; gives the function that writes their paths."""
    reading, symbols = model.reading_, model.of_symbols
    columns, kind = reading.get("columns") or None, "symbols" if symbols else "vectors"
    column, columns = (columns[0], None) if symbols and columns else (None, columns)
    data = read_sequences(
        source, column=column, columns=columns, sequence=reading.get("sequence"), kind=kind, of_model=True,
        lower=symbols and bool(reading.get("lower")), symbols=model.symbols_ if symbols else None,
        missing=how.missing, encoding=how.encoding, cache=how.cache,
    )  # fmt: skip
    data = data.whole() if not symbols and model.kind == "counts" else data
    if not symbols and data.steps.shape[1] != model.n_features_in_:
        raise LatentiaError(
            f"{data.steps.shape[1]} columns of numbers, and the model was fitted on {model.n_features_in_}, of which "
            "it has no names.",
            source=source,
        )
    if data.n_unknown and isinstance(model, TwoStateHMM) and not data.there.all():
        raise LatentiaError(
            f"{data.n_unknown:,} steps have symbols that the model does not have, and a TwoStateHMM takes no missing "
            f"steps. Exclude such steps, or learn the model with --min-count, which gives it a symbol for rare ones, {RARE}.",
            source=source,
        )
    if data.n_unknown:
        what = f"count as {RARE}" if RARE in model.symbols_ else "the model does not have: they are taken as not known"
        say(f"{data.n_unknown:,} of {len(data.steps):,} steps have symbols that {what}.")
    say(_described(data))
    return lambda path: rows_of(model, data.given, data.lengths, data.names, _labels(data)).write(path)
