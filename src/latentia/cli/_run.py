"""What all commands that learn are asked for, and what help says of options that several commands have."""

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


def asked_of(
    role: list[str] | None,
    missing_codes: str | None,
    empty: str,
    positive: list[str] | None,
    id: str | None,
) -> ColumnOptions:
    """Return what options say of columns."""
    codes = [code.strip() for code in (missing_codes or "").split(",")]
    return ColumnOptions(
        _pairs("--role", role), tuple(code for code in codes if code), empty, _pairs("--positive", positive), id
    )


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Return names and values, which are split at the last equals sign."""
    pairs = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise LatentiaError(f"{option} {text}: expected NAME=VALUE, such as {option} age=measurement.")
        pairs[name] = value
    return pairs


@dataclass(frozen=True)
class Run:
    r"""What the options say that all commands which learn have.

    Parameters
    ----------
    out : --out, -o
        Folder for the results.
    cache
        Folder for binary copies of tables, which later runs read faster; by default that of each file.
    no_cache
        Keep no binary copies.
    encoding
        Encoding of texts and CSV files, such as cp1251; detected by default.
    seed : >= 0
        Seed of the random splits and starts.
    jobs
        Number of threads; -1 uses every core.
    evidence
        Print all checks, not only those that decide.
    force
        Replace the results of an earlier run in the folder.
    quiet : --quiet, -q
        Show no progress.
    checkpoint
        Folder for the state of long fits: after a crash the same command goes on from it. Removed in the end.
    role
        Role of a column, NAME=ROLE: measurement, count, binary, category, text, tags, id, clock, date, group, weight or
        ignored; may be given again.
    missing_codes
        Values that stand for missing answers, such as -99,999; age=99 in one column alone.
    empty : {missing, absent}
        What empty cells of columns of two values are: missing, or absent, which is 0.
    positive
        Of a column of two values the one that is 1, NAME=VALUE; may be given again.
    id
        Column that names the rows.
    sheet
        Sheet of a workbook, by name or number.
    scheduler
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers make the passes over files.

    Other Parameters
    ----------------
    as_json : --json
        Print one JSON object for programs; all else goes to standard error.
    columns
        Columns of numbers to use, separated by commas; by default all of them.
    ignore
        Columns not to use, such as an id, separated by commas.
    missing
        Cells without a value: drop leaves their rows out, mean puts the mean of the column there; by default they are an error.
    splits : >= 0, <= 3
        Fits on parts of the data, for the expected errors; 0 measures none.
    refine
        Steps of refinement after the recovery: a number, 0 for the theorem, or auto: until it converges.
    keep_moments
        Keep sums over the rows in the model, so that rows can be added and models merged: see 'update' and 'merge'.
    effects
        Formula of columns, such as '~ party + year': their effects on the components, with error bars.
    cluster
        With --effects: column of what rows depend on each other within, such as an author.
    column
        Text column of a CSV file or workbook.
    split
        Cut texts into documents: chapter, paragraph, or a number of words. A text file is one text then.
    metadata
        Table about the documents: a row for each, in order, or with its name in the first column.
    vocabulary
        Words of a table of counts, one per line.
    stop_words
        Words to skip: english (the default), german, ..., none, or a file of words to skip besides the English ones; several
        separated by commas.
    words
        Regular expression of what is a word, such as '\S+'; by default three letters or more.
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
        """Of every estimator."""
        return {"random_state": self.seed, "n_jobs": self.jobs, "verbose": not self.quiet}

    def results(self, source: Path, *files: str) -> Results:
        """Where results go, after a look whether they can; ``files`` may be written besides those of all commands."""
        found = Results(self.out, source, files, self.force, self.evidence, not self.quiet)
        found.check()
        return found

    def reading(self, missing: str | None = None, ways: tuple[str, ...] = ()) -> ReadOptions:
        """How files are read."""
        return ReadOptions.of(
            self.quiet,
            self.cache,
            self.no_cache,
            missing,
            ways,
            encoding=self.encoding,
            asked=self.asked,
            sheet=self.sheet,
        )

    @property
    def asked(self) -> ColumnOptions:
        """What is said of columns."""
        return asked_of(self.role, self.missing_codes, self.empty, self.positive, self.id)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Fits run on the cluster, and keep what they have read, where the options say so."""
        with ExitStack() as around:
            around.enter_context(reading_as(self.asked, self.sheet))
            if self.checkpoint is not None:
                around.enter_context(checkpointing(self.checkpoint))
            if self.scheduler is not None:
                around.enter_context(on_cluster(self.scheduler))
            yield
