"""Options that commands share, and their help."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from typer import Option

from ..exceptions import LatentiaError
from ._options import check_choice, check_jobs, one_of, steps_of

if TYPE_CHECKING:
    from ..reading import ColumnOptions
    from ._results import Results
    from ._shared import ReadOptions

Refine = Annotated[str, Option(callback=steps_of)]
Splits = Annotated[int, Option(min=0, max=3), "n_splits"]
MinDf = Annotated[int | None, Option(min=1)]
MaxDf = Annotated[float | None, Option(min=0.0, max=1.0)]
Out = Annotated[Path, Option("--out", "-o")]
Quiet = Annotated[bool, Option("--quiet", "-q")]


def link_parameters(record: type[Any]) -> dict[str, str]:
    """Return the fields of a record that have no default, with the parameter of an estimator that each of them sets.

    That is the text beside the option in ``Annotated``, or else the name of the field. The default is the parameter's.
    """
    kinds = get_type_hints(record, include_extras=True)
    parameters = {}
    for field in fields(record):
        if field.default is MISSING:
            texts = (text for text in getattr(kinds[field.name], "__metadata__", ()) if isinstance(text, str))
            parameters[field.name] = next(texts, field.name)
    return parameters


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options of commands that read files."""

    encoding: str | None = None
    role: list[str] | None = None
    missing_codes: str | None = None
    empty: Annotated[str, one_of("missing", "absent")] = "missing"
    positive: list[str] | None = None
    id: str | None = None
    sheet: str | None = None

    @property
    def column_options(self) -> "ColumnOptions":
        """Options about columns."""
        from ..reading import ColumnOptions

        codes = tuple(filter(None, (code.strip() for code in (self.missing_codes or "").split(","))))
        roles, positive = _parse_pairs("--role", self.role), _parse_pairs("--positive", self.positive)
        return ColumnOptions(roles, codes, self.empty, positive, self.id)


def _parse_pairs(option: str, entries: list[str] | None) -> dict[str, str]:
    """Split NAME=VALUE entries at the last equals sign."""
    pairs = {}
    for text in entries or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise LatentiaError(f"{option} {text}: expected NAME=VALUE, such as {option} age=measurement.")
        pairs[name] = value
    return pairs


@dataclass(frozen=True, kw_only=True)
class WorkOptions(FileOptions):
    """Options of commands that read rows and write results."""

    cache: Path | None = None
    no_cache: bool = False
    jobs: Annotated[int, Option(callback=check_jobs)] = -1
    force: bool = False
    quiet: Quiet = False

    def reading(self, missing: str | None = None, ways: tuple[str, ...] = ()) -> "ReadOptions":
        """Check the options for reading files and collect them."""
        from ..passes.formats import check_encoding
        from ..system.scratch import can_write
        from ._shared import ReadOptions

        column_options = self.column_options
        if self.encoding is not None:
            check_encoding(self.encoding)
        if missing is not None:
            check_choice("--missing", missing, ways)
        if self.cache is not None:
            if self.no_cache:
                raise LatentiaError("--cache and --no-cache exclude each other: give one of them.")
            existing_folder = next(path for path in (self.cache, *self.cache.absolute().parents) if path.exists())
            if not can_write(existing_folder):
                raise LatentiaError(
                    f"--cache {self.cache}: the folder cannot be written. Choose another, or --no-cache."
                )
        cache: Any = False if self.no_cache else self.cache
        return ReadOptions(not self.quiet, cache, missing or "error", ways, self.encoding, column_options, self.sheet)

    def reading_like(
        self, model: Any, source: Path, missing: str | None = None, ways: tuple[str, ...] = ()
    ) -> "ReadOptions":
        """Check the options for reading rows as those of a model and collect them."""
        from ..reading import is_excel

        read_options = self.reading(missing, ways)
        sheet = self.sheet or (model.reading_.get("sheet") if is_excel(source) else None)
        return replace(read_options, column_options=read_options.column_options.like(model.reading_), sheet=sheet)


@dataclass(frozen=True, kw_only=True)
class Run(WorkOptions):
    r"""Options common to all learning commands.

    Parameters
    ----------
    out
        Folder for the results.
    cache
        Folder for binary copies of tables, which later runs read faster; by default the folder of each file.
    no_cache
        Keep no binary copies.
    encoding
        Encoding of texts and CSV files, such as cp1251; detected by default.
    seed
        Seed of the random splits and starts.
    jobs
        Number of threads; -1 uses every core.
    evidence
        Print all checks, not only the decisive ones.
    force
        Replace the results of an earlier run in the folder.
    quiet
        Show no progress.
    checkpoint
        Folder for the state of long fits: after a crash the same command continues from it. Removed at the end.
    role
        Role of a column, NAME=ROLE: measurement, count, binary, category, text, tags, id, clock, date, group, weight, from,
        to or ignored; may be repeated.
    missing_codes
        Values that stand for missing answers, such as -99,999; age=99 for one column only.
    empty
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
    as_json
        Print one JSON object for programs; everything else goes to standard error.
    progress
        bar on a terminal, or json: a line of JSON for programs on standard error for every step.
    columns
        Columns of numbers to use, separated by commas; by default all.
    ignore
        Columns not to use, such as an id, separated by commas.
    missing
        Cells without a value: drop leaves their rows out, mean inserts the mean of the column; by default they are an error.
    splits
        Number of splits of the data for the expected errors; 0 measures none.
    refine
        Steps of refinement after the recovery: a number, 0 for the result of the theorem, or auto to run until convergence.
    levels
        Group the components on coarser levels: a tree of them in levels.csv, result.json and the report, each split graded.
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
    min_df
        Skip words in fewer documents; by default 2, or 5 of 20,000 documents.
    max_df
        Skip words in more than this share of the documents; by default 0.5.
    """

    out: Out
    seed: Annotated[int, Option(min=0)] = 0
    evidence: bool = False
    checkpoint: Path | None = None
    scheduler: str | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of every estimator."""
        return {"random_state": self.seed, "n_jobs": self.jobs, "verbose": not self.quiet}

    def parameters_of(self, estimator: type[Any]) -> dict[str, Any]:
        """Return the parameters of an estimator that options set, but for the number of components."""
        values = {parameter: getattr(self, name) for name, parameter in link_parameters(type(self)).items()}
        known = signature(estimator).parameters.keys() - {"n_components"}
        return {name: value for name, value in (values | self.parameters).items() if name in known}

    def results(self, source: Path, *files: str) -> "Results":
        """Return the checked output folder; ``files`` may be written besides those of every command."""
        from ._results import Results

        results = Results(self.out, source, files, self.force, self.evidence, not self.quiet)
        results.check()
        return results

    @contextmanager
    def apply_settings(self) -> Iterator[None]:
        """Run the block with the options for reading, checkpoints and the cluster."""
        from ..passes import checkpointing, on_cluster
        from ..reading import reading_as

        with ExitStack() as around:
            around.enter_context(reading_as(self.column_options, self.sheet))
            if self.checkpoint is not None:
                around.enter_context(checkpointing(self.checkpoint))
            if self.scheduler is not None:
                around.enter_context(on_cluster(self.scheduler))
            yield
