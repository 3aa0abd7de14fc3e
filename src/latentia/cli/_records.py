"""Options of every command, a record a command.

The function of the command takes the record. A field whose name, or the text beside its option, is a parameter of the family's
first estimator has no default here: it has that of the parameter. What ``--help`` says of a field stands in the docstring, for
fields of several commands in that of `Run`. This module imports nothing heavy, so that help appears at once.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ._options import one_of
from ._run import FileOptions, MaxDf, MinDf, Out, Quiet, Refine, Run, Splits, WorkOptions


@dataclass(frozen=True, kw_only=True)
class LookOptions(FileOptions):
    """Options of ``latentia look``.

    Parameters
    ----------
    source
        A table, texts, edges or a matrix: CSV, TSV, Excel, Parquet, JSON Lines, text. ``-`` is standard input.
    """

    source: Path


@dataclass(frozen=True, kw_only=True)
class TopicsOptions(Run):
    """Options of ``latentia topics``.

    Parameters
    ----------
    source
        A folder of texts, a file with one document per line, a CSV file or workbook, a UCI bag of words, or MatrixMarket.
    k
        Number of topics; FROM:TO:STEP compares a range.
    model
        anchor: topics have words of their own. lda: proportions are Dirichlet. single: one topic per document. auto: single
        where it predicts hidden words of held-out documents clearly better than anchor, otherwise anchor.
    group_by
        Column with the group of every document: topics by group, with error bars. May be repeated.
    over
        Column with dates or numbers: topics over time, with error bars and trends.
    period
        With --over: day, week, month, quarter, year, decade, century, or a width of numbers; by default it is chosen.
    anchors
        Anchors, one topic per line: words separated by spaces; word=strength allowed (anchor only).
    name
        Name of a topic, NUMBER=NAME, such as 3=guns, for tables, plots and pages; may be repeated.
    names
        CSV file with names of topics: the columns component and name.
    alpha0
        Sum of the Dirichlet parameters; estimated by default (lda only).
    """

    source: Path
    k: Annotated[str, Option("-k", "--topics"), "n_components"]
    model: Annotated[str, one_of("anchor", "lda", "single", "auto")] = "anchor"
    column: str | None = None
    split: str | None = None
    metadata: Path | None = None
    group_by: list[str] | None = None
    over: str | None = None
    period: str | None = None
    effects: str | None = None
    cluster: str | None = None
    vocabulary: Path | None = None
    anchors: Path | None = None
    alpha0: float | None = None
    refine: Refine
    stop_words: str | None = None
    min_df: MinDf = None
    max_df: MaxDf = None
    words: str | None = None
    keep_moments: bool
    name: list[str] | None = None
    names: Path | None = None
    levels: bool = False


@dataclass(frozen=True, kw_only=True)
class LabelsOptions(Run):
    """Options of ``latentia labels``.

    Parameters
    ----------
    source
        Rows with labels to learn from: svmlight, Extreme Classification Repository, or a CSV file or workbook of texts and
        tags.
    test
        Rows to predict labels of, in the same format.
    k
        Number of topics, and directions of the ridge head; FROM:TO:STEP compares a range.
    head
        auto, ridge, logistic, full or bayes: what predicts; auto compares, bayes is the topics alone.
    no_topics
        Learn to predict alone: no topics, and none of their files.
    moments
        auto, occurrence or factorial: how words are looked at.
    top
        Labels written for every row of --test.
    label_names
        Names of the labels, one per line.
    word_names
        Words of a table of counts, one per line.
    tags
        Column of tags of a CSV file or workbook: several are separated by ; | or commas.
    zero_based
        From where words and labels are counted.
    labels_zero_based
        The same for labels, where words differ.
    """

    source: Path
    test: Path | None = None
    k: Annotated[str, Option("-k", "--topics"), "n_components"]
    head: Annotated[str, one_of("auto", "ridge", "logistic", "full", "bayes")]
    no_topics: bool = False
    moments: Annotated[str, one_of("auto", "occurrence", "factorial")]
    refine: Refine
    top: Annotated[int, Option(min=1)] = 5
    label_names: Annotated[Path | None, Option("--labels")] = None
    word_names: Annotated[Path | None, Option("--vocabulary")] = None
    column: str | None = None
    tags: str | None = None
    stop_words: str | None = None
    min_df: MinDf = None
    max_df: MaxDf = None
    words: str | None = None
    zero_based: Annotated[bool | None, Option("--zero-based/--one-based")] = None
    labels_zero_based: Annotated[bool | None, Option("--labels-zero-based/--labels-one-based")] = None


@dataclass(frozen=True, kw_only=True)
class HmmOptions(Run):
    """Options of ``latentia hmm``.

    Parameters
    ----------
    source
        A text file with one sequence per line, symbols separated by spaces or commas; FASTA; or a table: CSV, TSV, Excel,
        Parquet.
    k
        Number of states, by default 4; FROM:TO:STEP compares a range.
    two_state
        Two states over many symbols, and whether there is a second at all.
    column
        Column of symbols of a table.
    sequence
        Column of a table that says which sequence a row is of.
    kind
        auto, symbols, vectors or counts: what the steps are.
    min_count
        Rarer symbols become one symbol, <rare>.
    lower
        Put symbols into lower case.
    covariance
        diag, full or tied: of numbers, whether columns vary together within a state, or alike in all.
    init
        A model.npz of chains of the same steps, from which EM starts.
    missing
        Cells without a value: keep takes them as not known; by default they are an error.
    """

    source: Path
    k: Annotated[str | None, Option("-k", "--states")] = None
    two_state: bool = False
    column: str | None = None
    columns: str | None = None
    sequence: str | None = None
    kind: Annotated[str, one_of("auto", "symbols", "vectors", "counts")]
    min_count: Annotated[int, Option(min=1)] = 1
    lower: bool = False
    covariance: Annotated[str, one_of("diag", "full", "tied"), "covariance_type"]
    init: Path | None = None
    missing: str | None = None
    refine: Refine


@dataclass(frozen=True, kw_only=True)
class MixtureOptions(Run):
    """Options of ``latentia mixture``.

    Parameters
    ----------
    source
        A table with a header: CSV, TSV, Excel, Parquet; or MatrixMarket.
    k
        Number of components; FROM:TO:STEP compares a range.
    scale
        Bring the columns to standard deviation 1 first (default: yes).
    views
        Three or more groups of columns, independent given the component: "a,b,c;d,e;f,g".
    covariance
        Shape of the components: spherical, diag, full, or tied (one for all); auto compares them on held-out rows.
    distribution
        bernoulli or gaussian, for --views; by default bernoulli for columns of 0 and 1. mixed takes numbers and categories
        together, each column in its own way.
    missing
        Cells without a value: drop leaves their rows out, mean puts the mean of the column there, keep takes them as not
        known; by default they are an error.
    """

    source: Path
    k: Annotated[str, Option("-k", "--components"), "n_components"]
    columns: str | None = None
    ignore: str | None = None
    scale: Annotated[bool | None, Option("--scale/--no-scale")] = None
    views: str | None = None
    covariance: Annotated[str, one_of("auto", "spherical", "diag", "full", "tied")] = "auto"
    distribution: Annotated[str | None, one_of("bernoulli", "gaussian", "mixed")] = None
    refine: Refine
    keep_moments: bool
    missing: str | None = None
    effects: str | None = None
    cluster: str | None = None
    levels: bool = False


@dataclass(frozen=True, kw_only=True)
class IcaOptions(Run):
    """Options of ``latentia ica``.

    Parameters
    ----------
    source
        A table with a header, one signal per column and one time step per row: CSV, TSV, Excel, Parquet.
    k
        Number of sources, by default that of the columns; FROM:TO:STEP compares a range.
    noise
        Gaussian noise in the signals: gaussian or none; auto decides from the data.
    """

    source: Path
    k: Annotated[str | None, Option("-k", "--sources")] = None
    columns: str | None = None
    ignore: str | None = None
    refine: Refine
    noise: Annotated[str, one_of("auto", "gaussian", "none")]
    keep_moments: bool
    missing: str | None = None


@dataclass(frozen=True, kw_only=True)
class NoisyOrOptions(Run):
    """Options of ``latentia noisy-or``.

    Parameters
    ----------
    source
        A table with a header, one finding per column, 1 or 0, empty where it is unknown: CSV, TSV, Excel, Parquet; or
        MatrixMarket. With --baskets, a text whose lines list items.
    k
        Number of causes, estimated by default. FROM:TO:STEP compares a range.
    columns
        Columns of findings, separated by commas; by default all columns of numbers.
    prior
        Share of the rows in which every cause is at work, if known.
    corrections
        Rounds that subtract moments of higher order.
    row
        Line of the file whose diagnosis is shown; may be given again for others.
    threshold
        Least strength of a link that is shown.
    baskets
        Each line of the file lists the items of one row, separated by commas.
    rows
        Of baskets: long has a row for each item, and --columns may name the column of baskets and that of items.
    min_df
        Of baskets: how many of them an item must be in.
    name
        Name of a cause, such as 0="the flu", by the number that another run gave it; for each cause.
    missing
        Cells without a value: keep takes them as unknown, drop leaves their rows out.
    """

    source: Path
    k: Annotated[str | None, Option("-k", "--causes", "-m")] = None
    columns: str | None = None
    ignore: str | None = None
    prior: float | None
    corrections: Annotated[int, Option(min=0)]
    refine: Refine
    row: list[int] | None = None
    threshold: Annotated[float, Option(min=0, max=1)] = 0.05
    baskets: bool = False
    rows: Annotated[str | None, one_of("long", "wide")] = None
    min_df: Annotated[int, Option(min=1)] = 5
    name: list[str] | None = None
    missing: str | None = "keep"


@dataclass(frozen=True, kw_only=True)
class MatrixOptions(Run):
    """Options of ``latentia matrix``.

    Parameters
    ----------
    source
        Pairs, two words per line and optionally a count; a table of counts (.mtx); or texts.
    k
        Rank, or number of communities; FROM:TO:STEP compares a range.
    bigrams
        Count neighbouring words of texts.
    window
        Count pairs of words of texts with at most this distance.
    lines
        Every line is a text of its own.
    column
        Text column of a CSV file.
    columns
        Two columns of words of a CSV file, and one of counts, separated by commas.
    min_count
        Skip rarer words; by default 5 for texts and 1 for pairs.
    near
        Show the nearest words of this word; may be given again.
    group
        The pairs are edges of a graph: find -k communities of nodes.
    ordered
        The order of a pair matters: what follows what in texts, or which user took which item.
    tau
        Smoothing of rare words; by default 0.3, for communities 0.5.
    """

    source: Path
    k: Annotated[str, Option("-k", "--rank", "-r"), "n_components"]
    bigrams: bool = False
    window: Annotated[int | None, Option(min=1)] = None
    lines: bool = False
    column: str | None = None
    columns: str | None = None
    vocabulary: Path | None = None
    min_count: Annotated[int | None, Option(min=1)] = None
    near: list[str] | None = None
    group: Annotated[bool, Option("--communities")] = False
    ordered: bool = False
    tau: float | None = None
    refine: Refine


@dataclass(frozen=True, kw_only=True)
class CommunitiesOptions(Run):
    """Options of ``latentia communities``.

    Parameters
    ----------
    source
        Edges, two nodes per line and, if wanted, a weight: text, CSV, TSV, Excel, NumPy; a matrix (.mtx, .npz); or GraphML,
        GML, GEXF, Pajek.
    k
        Number of communities; FROM:TO:STEP compares a range, auto as many as it takes.
    directed
        Whether edges have directions; by default as the file says, and lists of edges have none.
    columns
        Two columns of nodes of a table with headings, and one of weights, separated by commas.
    alpha0
        How mixed nodes are: 0 for one community each, 1 for two or three; estimated by default.
    degree_corrected
        Whether nodes of a community may have more edges than others: auto, yes or no.
    threshold
        Share from which a community is listed for a node, above 0.
    """

    source: Path
    k: Annotated[str, Option("-k", "--communities"), "n_components"]
    directed: Annotated[bool | None, Option("--directed/--undirected")] = None
    columns: str | None = None
    alpha0: Annotated[float | None, Option(min=0, max=1000)]
    degree_corrected: Annotated[str, one_of("auto", "yes", "no")]
    threshold: float = 0.1
    splits: Splits
    refine: Refine
    levels: bool = False


@dataclass(frozen=True, kw_only=True)
class DictionaryOptions(Run):
    """Options of ``latentia dictionary``.

    Parameters
    ----------
    source
        A table with a header: CSV, TSV, Excel, Parquet; or MatrixMarket; or an image or a folder of images: PNG, JPEG,
        TIFF.
    k
        Number of atoms; FROM:TO:STEP compares a range, auto as many as it takes.
    sparsity
        Atoms that a row may use; estimated by default: one for 16 pixels of patches.
    patch
        Height and width of the patches of images in pixels, by default 8.
    n_patches
        Patches to learn from, drawn from all places; by default 20,000.
    grey
        Whether colours of images become grey; by default they do not.
    scale
        Bring the columns of a table to mean 0 and standard deviation 1 (default: yes).
    start
        graph: atoms from the graph of rows that share one. random: from rows drawn at random.
    order
        Order of co-occurrence needed for an edge (3 to 8); raise it for dense codes.
    """

    source: Path
    k: Annotated[str, Option("-k", "--atoms", "-m"), "n_components"]
    sparsity: Annotated[int | None, Option(min=1)]
    patch: Annotated[int | None, Option(min=2, max=64)] = None
    n_patches: Annotated[int | None, Option(min=1)] = None
    grey: Annotated[bool | None, Option("--grey/--colour")] = None
    columns: str | None = None
    ignore: str | None = None
    scale: Annotated[bool | None, Option("--scale/--no-scale")] = None
    start: Annotated[str, one_of("graph", "random"), "init"]
    order: Annotated[int, Option(min=3, max=8), "clique_order"]
    splits: Splits
    refine: Refine
    missing: str | None = None


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(Run):
    """Options of ``latentia network``.

    Parameters
    ----------
    source
        A table with a header, 1 where a column is on and 0 where not: CSV, TSV, Excel, Parquet; MatrixMarket; or a UCI bag
        of words.
    layers
        Hidden layers above the columns.
    real
        Columns hold real values: sums of the units' edges, and noise.
    above
        Values above this are on, and all others off; 0 for counts of words.
    min_count
        Leave out columns that are on in fewer rows.
    missing
        Cells without a value: drop leaves their rows out; by default they are an error.
    """

    source: Path
    layers: Annotated[int, Option("--layers", "-l", min=1, max=5), "n_layers"]
    real: bool = False
    above: float | None = None
    min_count: Annotated[int, Option(min=1)] = 1
    columns: str | None = None
    ignore: str | None = None
    vocabulary: Path | None = None
    splits: Splits
    refine: Refine
    missing: str | None = None


@dataclass(frozen=True, kw_only=True)
class NmfOptions(Run):
    """Options of ``latentia nmf``.

    Parameters
    ----------
    source
        A table with a header: CSV, TSV, Excel, Parquet; MatrixMarket; NumPy (.npy, .npz), also an image of several bands;
        or a folder of pictures of one size: PNG, JPEG, TIFF.
    k
        Number of components; FROM:TO:STEP compares a range, auto as many as it takes.
    method
        How rows are chosen: auto, spa, farthest, spa-spa, whitened, snpa, robust-lp.
    mixing
        simplex: the shares of a row sum to 1. cone: rows may have any scale. auto: as the rows look.
    eps
        Noise of a row, sum of absolute values, for robust-lp; estimated by default.
    pooled
        Whether a component is the mean of the rows near its row, or that alone.
    refine
        Rounds of polish by coordinate descent, at most: 0 keeps single rows, auto stops at the noise.
    counts
        Numbers are counts: rows are sums of components, by the Kullback-Leibler divergence.
    image
        WIDTHxHEIGHT of the image whose pixels the rows are, row by row: draws maps.
    shape
        WIDTHxHEIGHT of the pictures that the rows are: components are drawn as pictures.
    array
        Name of the array in a .npz file; by default its largest one.
    names
        Column of a table with the names of its rows.
    exact
        Factor a small table of whole numbers, decimals and fractions exactly, or prove that none is.
    budget
        Seconds for --exact, by default 30.
    missing
        Cells without a value: drop leaves their rows out, mean puts the mean of the column there, keep takes them as not
        known; by default they are an error.
    """

    source: Path
    k: Annotated[str, Option("-k", "--components", "-r"), "n_components"]
    method: Annotated[str, one_of("auto", "spa", "farthest", "spa-spa", "whitened", "snpa", "robust-lp")]
    mixing: Annotated[str, one_of("auto", "simplex", "cone")]
    eps: float | None
    pooled: Annotated[bool, Option("--pooled/--single")]
    refine: Refine
    counts: bool = False
    image: str | None = None
    shape: str | None = None
    array: str | None = None
    names: str | None = None
    columns: str | None = None
    ignore: str | None = None
    exact: bool = False
    budget: Annotated[float | None, Option(min=0.001)] = None
    splits: Splits
    missing: str | None = None


@dataclass(frozen=True, kw_only=True)
class ContrastOptions(Run):
    """Options of ``latentia contrast``.

    Parameters
    ----------
    source
        The table to learn from: CSV, TSV, Excel, Parquet.
    other
        The table to set apart: the same rows in the same order, other columns. Leave it out with --background.
    background
        In place of V, a table of controls: other rows, with the same columns by name. Finds the directions along which the rows
        of U vary more. Takes -k, --columns, --ignore and --scale.
    fit
        What to learn about the part of U that V lacks: pca, regression, logistic, mixture, ising, components.
    target
        What to predict, with regression or logistic: a column of U, or a file of one column.
    k
        Number of directions (pca) or components (mixture), by default 2; FROM:TO:STEP compares a range.
    shared
        Dimensions of the shared part, if known; by default as many as U has columns.
    linear_map
        How V sees the part that it shares with U, if known: 'identity' for devices that are alike, or a file like map.csv, with
        a row for each column of V and a column for each column of U; by default it is learned.
    edges
        With ising: a file with two columns of U on each line, which may be coupled; by default all pairs.
    penalty
        With regression: the penalty of the coefficients, l1 or l2.
    alpha
        Weight of the penalty, by default 0.1.
    method
        How the shared part is found: auto, bls, gtls or eq2.
    order
        Order of the cumulants: 3, 4 or auto.
    columns
        Columns of U to use, separated by commas; by default all of numbers.
    columns_v
        Columns of V to use; by default all of numbers.
    ignore
        Columns of either table not to use, such as an id, separated by commas.
    scale
        Bring columns of U to standard deviation 1 first, with pca and mixture (default: yes).
    """

    source: Annotated[Path, Argument(metavar="U")]
    other: Annotated[Path | None, Argument(metavar="V")] = None
    background: Path | None = None
    fit: Annotated[str, one_of("pca", "regression", "logistic", "mixture", "ising", "components")] = "pca"
    target: str | None = None
    k: Annotated[str | None, Option("-k", "--components")] = None
    shared: Annotated[int | None, Option(min=1)] = None
    linear_map: str | None = None
    edges: Path | None = None
    penalty: Annotated[str | None, one_of("l1", "l2")] = None
    alpha: Annotated[float | None, Option(min=0.0)] = None
    method: Annotated[str, one_of("auto", "bls", "gtls", "eq2")]
    order: Annotated[str, one_of("auto", "3", "4")]
    columns: str | None = None
    columns_v: str | None = None
    ignore: str | None = None
    scale: Annotated[bool | None, Option("--scale/--no-scale")] = None
    keep_moments: bool
    missing: str | None = None


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(WorkOptions):
    """Options of ``latentia apply``.

    Parameters
    ----------
    model
        A folder of results, or its model.npz.
    source
        New data, in a form that the command of the model reads.
    other
        For 'contrast' models: V, a second table of the same rows.
    missing
        Cells without a value: drop leaves their rows out, keep takes them as not known ('mixture', 'nmf', 'hmm' and
        'noisy-or', where it is the default); otherwise they are an error by default.
    denoise
        For 'dictionary' and 'network': write the rows as the model reconstructs them, not their codes.
    ask
        For 'noisy-or': for each row with empty cells, name this many findings to ask for next, the most informative about
        its causes first.
    column
        Text column of a CSV file or workbook; by default the training column of the model.
    split
        How texts are cut into documents, see 'topics'; or none. By default as for the model.
    """

    model: Path
    source: Path
    other: Annotated[Path | None, Argument(metavar="V")] = None
    out: Out = Path("applied")
    missing: str | None = None
    denoise: bool = False
    ask: Annotated[int, Option(min=0)] = 0
    column: str | None = None
    split: str | None = None


@dataclass(frozen=True, kw_only=True)
class UpdateOptions(WorkOptions):
    """Options of ``latentia update``.

    The model's folder is rewritten, or another one (--out).

    Parameters
    ----------
    model
        A folder of results whose model was learned with --keep-moments.
    source
        Rows, in a form that the command of the model reads.
    other
        For 'contrast' models: V, a second table of the same rows.
    forget
        Remove these rows instead of adding them.
    """

    model: Path
    source: Path
    other: Annotated[Path | None, Argument(metavar="V")] = None
    forget: bool = False
    out: Annotated[Path | None, Option("--out", "-o")] = None


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """Options of ``latentia merge``.

    Parameters
    ----------
    models
        Folders of results, learned with the same options and --keep-moments.
    """

    models: list[Path]
    out: Out = Path("merged")
    force: bool = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of ``latentia compare``.

    Parameters
    ----------
    earlier
        A folder of results, or its model.npz.
    later
        Results of the same command on other rows.
    """

    earlier: Annotated[Path, Argument(metavar="A")]
    later: Annotated[Path, Argument(metavar="B")]
    out: Out = Path("compared")
    force: bool = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class NewsOptions(WorkOptions):
    """Options of ``latentia news``.

    Parameters
    ----------
    model
        A folder of results, or its model.npz.
    source
        New rows, 50 or more, in a form that the command of the model reads.
    reference
        Rows without news that were not in the fit, to compare with; by default rows that the model draws.
    batch
        Column with dates, numbers or groups: news, and shares of the components, in each period or group.
    """

    model: Path
    source: Path
    reference: Path | None = None
    batch: str | None = None
    out: Out = Path("news")


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of ``latentia demo``."""

    out: Out = Path("out/demo")
    evidence: bool = False


@dataclass(frozen=True, kw_only=True)
class AppOptions:
    """Options of ``latentia app``.

    Parameters
    ----------
    workspace
        Folder for files and results; by default the folder latentia of your home folder.
    browser
        Open a browser; without it only the address is printed.
    port
        Port of the address; 0 takes a free one.
    """

    workspace: Annotated[Path, Argument(metavar="FOLDER")] = Path("~/latentia")
    browser: Annotated[bool, Option("--browser/--no-browser")] = True
    port: Annotated[int, Option(min=0, max=65535)] = 0
