"""Options of all learning commands, and help for options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import LatentiaError
from ..passes import checkpointing, on_cluster
from ..reading import ColumnOptions, reading_as
from ._results import Results
from ._shared import ReadOptions


def parse_column_options(
    role: list[str] | None,
    missing_codes: str | None,
    empty: str,
    positive: list[str] | None,
    id: str | None,
) -> ColumnOptions:
    """Collect the options about columns."""
    codes = [code.strip() for code in (missing_codes or "").split(",")]
    return ColumnOptions(
        _parse_pairs("--role", role),
        tuple(code for code in codes if code),
        empty,
        _parse_pairs("--positive", positive),
        id,
    )


def _parse_pairs(option: str, entries: list[str] | None) -> dict[str, str]:
    """Split NAME=VALUE entries at the last equals sign."""
    pairs = {}
    for text in entries or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise LatentiaError(f"{option} {text}: expected NAME=VALUE, such as {option} age=measurement.")
        pairs[name] = value
    return pairs


@dataclass(frozen=True)
class Run:
    r"""Options common to all learning commands.

    Parameters
    ----------
    out : --out, -o
        Folder for the results.
    cache
        Folder for binary copies of tables, which later runs read faster; by default the folder of each file.
    no_cache
        Keep no binary copies.
    encoding
        Encoding of texts and CSV files, such as cp1251; detected by default.
    seed : >= 0
        Seed of the random splits and starts.
    jobs
        Number of threads; -1 uses every core.
    evidence
        Print all checks, not only the decisive ones.
    force
        Replace the results of an earlier run in the folder.
    quiet : --quiet, -q
        Show no progress.
    checkpoint
        Folder for the state of long fits: after a crash the same command continues from it. Removed at the end.
    role
        Role of a column, NAME=ROLE: measurement, count, binary, category, text, tags, id, clock, date, group, weight or
        ignored; may be repeated.
    missing_codes
        Values that stand for missing answers, such as -99,999; age=99 for one column only.
    empty : {missing, absent}
        Meaning of empty cells in columns of two values: missing, or absent, which is 0.
    positive
        Value that becomes 1 in a column of two values, NAME=VALUE; may be repeated.
    id
        Column that names the rows.
    sheet
        Sheet of a workbook, by name or number.
    scheduler
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers read the files.

    Other Parameters
    ----------------
    as_json : --json
        Print one JSON object for programs; everything else goes to standard error.
    progress : {bar, json}
        bar on a terminal, or a line of JSON for programs on standard error for every step.
    columns
        Columns of numbers to use, separated by commas; by default all.
    ignore
        Columns not to use, such as an id, separated by commas.
    missing
        Cells without a value: drop leaves their rows out, mean inserts the mean of the column; by default they are an error.
    splits : >= 0, <= 3
        Number of splits of the data for the expected errors; 0 measures none.
    refine
        Steps of refinement after the recovery: a number, 0 for the result of the theorem, or auto to run until convergence.
    keep_moments
        Store sums over the rows in the model, so that rows can be added and models merged: see 'update' and 'merge'.
    effects
        Formula of columns, such as '~ party + year': their effects on the components, with error bars.
    cluster
        With --effects: column whose groups of rows depend on each other, such as an author.
    column
        Text column of a CSV file or workbook.
    split
        Cut texts into documents: chapter, paragraph, or a number of words. A text file then counts as one text.
    metadata
        Table about the documents: one row each, in order or with the name of the document in the first column.
    vocabulary
        Words of a table of counts, one per line.
    stop_words
        Words to skip: english (the default), german, ..., none, or a file of words to skip besides the English ones; several
        separated by commas.
    words
        Regular expression for words, such as '\S+'; by default three letters or more.
    min_df : >= 1
        Skip words in fewer documents; by default 2, or 5 of 20,000 documents.
    max_df : >= 0.0, <= 1.0
        Skip words in more than this share of the documents; by default 0.5.
    """

    out: Path
    cache: Path | None = None
    no_cache: bool = False
    encoding: str | None = None
    seed: int = 0
    jobs: int = -1
    evidence: bool = False
    force: bool = False
    quiet: bool = False
    checkpoint: Path | None = None
    role: list[str] | None = None
    missing_codes: str | None = None
    empty: str = "missing"
    positive: list[str] | None = None
    id: str | None = None
    sheet: str | None = None
    scheduler: str | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of every estimator."""
        return {"random_state": self.seed, "n_jobs": self.jobs, "verbose": not self.quiet}

    def results(self, source: Path, *files: str) -> Results:
        """Return the checked output folder; ``files`` may be written besides those of every command."""
        results = Results(self.out, source, files, self.force, self.evidence, not self.quiet)
        results.check()
        return results

    def reading(self, missing: str | None = None, ways: tuple[str, ...] = ()) -> ReadOptions:
        """Return the options for reading files."""
        return ReadOptions.from_options(
            self.quiet,
            self.cache,
            self.no_cache,
            missing,
            ways,
            encoding=self.encoding,
            column_options=self.column_options,
            sheet=self.sheet,
        )

    @property
    def column_options(self) -> ColumnOptions:
        """Options about columns."""
        return parse_column_options(self.role, self.missing_codes, self.empty, self.positive, self.id)

    @contextmanager
    def apply_settings(self) -> Iterator[None]:
        """Run the block with the options for reading, checkpoints and the cluster."""
        with ExitStack() as around:
            around.enter_context(reading_as(self.column_options, self.sheet))
            if self.checkpoint is not None:
                around.enter_context(checkpointing(self.checkpoint))
            if self.scheduler is not None:
                around.enter_context(on_cluster(self.scheduler))
            yield
