"""``latentia nmf``: a few rows of a table, pixels of an image or pictures, of which the others are mixtures."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..datasets.arrays import is_array, read_array
from ..datasets.images import image_files, is_image, read_image, write_image
from ..evidence.sizes import CANDIDATES
from ..exceptions import LatentiaError
from ..nmf import SeparableNMF
from ..report.dictionary import row_errors
from ..report.nmf import METHODS, axis_of, contributions, map_of, picture_of_component
from ..report.parts import count, largest, short_number
from ._exact import FILES as EXACT_FILES
from ._exact import factor_exactly
from ._shared import (
    Cache,
    Columns,
    Comparison,
    Encoding,
    Force,
    FullEvidence,
    Ignore,
    Jobs,
    NoCache,
    Out,
    Quiet,
    Reading,
    Results,
    Rows,
    Seed,
    Splits,
    check_choice,
    component_cells,
    hold_out,
    parse_sizes,
    possible_sizes,
    print_components,
    refuse_options,
    run_command,
    say,
    sizes_help,
    steps_of,
    write_csv,
)
from ._tables import (
    MISSING,
    Labels,
    MayBeMissing,
    Wanted,
    announce,
    described,
    known,
    naming,
    numeric_columns,
    read_known_columns,
    read_table,
    split_names,
)

__all__ = ["apply_nmf", "nmf"]

_WEIGHTS = "weights.csv"
_FILES = (_WEIGHTS, "anchors.csv", "components.csv", "components.png", "maps.png")
_METHODS = ("auto", *METHODS)
_MIXINGS = ("auto", "simplex", "cone")
_SHAPE = re.compile(r"(\d{1,6})\s*[xX*]\s*(\d{1,6})")
_STRETCHES = 100  # of neighbouring pixels, in which they are held out
_STRONGEST = 5
_BUDGET = 30.0  # seconds of an exact factorization
_GAP = 2  # pixels between maps


@dataclass(frozen=True)
class _Data:
    """What is factored.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, d)
    columns : list of str
    source, described : str
        The name of the source, and with what was done to it.
    reading : dict
        How other data is read.
    numbers : sequence of int
        Of the rows in the file.
    names : list of str
        Of the rows; empty where they have none.
    unit : str
        What ``numbers`` count.
    image, picture : (int, int) or None
        Height and width of the image whose pixels the rows are, or of the pictures that they are.
    """

    rows: Any
    columns: list[str]
    source: str
    described: str
    reading: dict[str, Any]
    numbers: Sequence[int]
    names: list[str] = field(default_factory=list)
    unit: str = "row"
    image: tuple[int, int] | None = None
    picture: tuple[int, int] | None = None

    def label(self, row: int) -> str:
        """What a row is called."""
        if self.names:
            return self.names[row]
        if self.image is not None:
            return f"row {row // self.image[1] + 1} column {row % self.image[1] + 1}"
        return f"{self.unit} {self.numbers[row]}"


def nmf(
    source: Annotated[
        Path,
        typer.Argument(
            help="A table with a header: CSV, TSV, Excel, Parquet; MatrixMarket; NumPy (.npy, .npz), also an image of several "
            "bands; or a folder of pictures of one size: PNG, JPEG, TIFF."
        ),
    ],
    k: Annotated[
        str,
        typer.Option(
            "-k",
            "--components",
            "-r",
            help=sizes_help("components", auto=True),
        ),
    ] = "5",
    out: Out = Path("nmf"),
    method: Annotated[str, typer.Option(help=f"How rows are chosen: {', '.join(_METHODS)}.")] = "auto",
    mixing: Annotated[
        str,
        typer.Option(
            help="simplex: the shares of a row sum to 1. cone: rows may have any scale. auto: as the rows look."
        ),
    ] = "auto",
    eps: Annotated[
        float | None,
        typer.Option(help="Noise of a row, sum of absolute values, for robust-lp and loners; otherwise it is found."),
    ] = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled/--single", help="Whether a component is the mean of the rows near its row, or that alone."
        ),
    ] = True,
    refine: Annotated[
        str,
        typer.Option(
            help="Rounds of polish by coordinate descent: 0 keeps to single rows, auto goes on until it has settled.",
            callback=steps_of,
        ),
    ] = "0",
    image: Annotated[
        str | None, typer.Option(help="WIDTHxHEIGHT of the image whose pixels the rows are, row by row: draws maps.")
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(help="WIDTHxHEIGHT of the pictures that the rows are: components are drawn as pictures."),
    ] = None,
    array: Annotated[
        str | None, typer.Option(help="Name of the array in a .npz file; by default its largest one.")
    ] = None,
    names: Annotated[str | None, typer.Option(help="Column of a table with the names of its rows.")] = None,
    columns: Columns = None,
    ignore: Ignore = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Factor a small table of whole numbers, decimals and fractions exactly, or prove that none is.",
        ),
    ] = False,
    budget: Annotated[float | None, typer.Option(help="Seconds for --exact, by default 30.", min=0.001)] = None,
    splits: Splits = 3,
    missing: MayBeMissing = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Find the rows of which all others are mixtures, and the shares, and write tables, a model and a report."""
    if exact:
        own = {"eps": eps, "image": image, "shape": shape, "array": array, "missing": missing}
        refuse_options(source, "--exact has no use for it", **own)
        if source.is_dir() or is_image(source) or is_array(source):
            raise LatentiaError(f"--exact: {source}: pictures and arrays hold rounded numbers; give a table.")
        results = Results(out, source, EXACT_FILES, force, evidence, not quiet)
        results.check()
        how = Reading.of(quiet, cache, no_cache, encoding=encoding)
        return factor_exactly(results, k, budget or _BUDGET, how, columns=columns, ignore=ignore, names=names)
    refuse_options(source, "is for --exact", budget=budget)
    sizes: list[Any] = parse_sizes(k, "components", auto=True)
    if len(sizes) != 1 and not splits:
        raise LatentiaError(f"--splits 0: -k {k} compares what fits on parts of the rows say; give 1 or more.")
    check_choice("--method", method, _METHODS)
    check_choice("--mixing", mixing, _MIXINGS)
    if eps is not None and not (eps > 0 and np.isfinite(eps)):
        raise LatentiaError(f"--eps {eps}: a number above 0 is needed.")
    asked = _shape("--image", image), _shape("--shape", shape)
    if image is not None and shape is not None:
        raise LatentiaError("--image and --shape: rows are pixels of one image or pictures themselves; give one.")
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, missing, MISSING, encoding=encoding)
    console = Console()
    of_tables = {"columns": columns, "ignore": ignore, "names": names, "missing": missing, "encoding": encoding}
    if source.is_dir() or is_image(source):
        refuse_options(source, "pictures have no columns", **of_tables)
        refuse_options(source, "pictures are no arrays", array=array)
        refuse_options(source, "pictures have a shape of their own", image=image, shape=shape)
        data = _pictures(source, console)
    elif is_array(source):
        refuse_options(source, "an array has no columns with names", **of_tables)
        data = _array(source, array, *asked, console)
    else:
        refuse_options(source, "only .npz files have arrays with names", array=array)
        data = _table(source, columns, ignore, names, *asked, how, console)
    options: dict[str, Any] = {
        "method": method, "mixing": mixing, "eps": eps, "pooled": pooled, "refine": refine, "n_splits": splits,
        "random_state": seed, "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    if k == "auto":
        number: Any = "auto"
        sizes = list(SeparableNMF(number, **options)._candidates(data.rows) or CANDIDATES)
    n, d = data.rows.shape
    carried = f"{data.source}: {count(n, 'row')} of {count(d, 'column')}"
    sizes = possible_sizes(sizes, min(n, d), carried, "components", console)
    weights = functools.cache(lambda model: np.asarray(model.transform(data.rows)))

    def fit(size: Any, rows: Any = data.rows, **more: Any) -> SeparableNMF:
        return SeparableNMF(size, **options | more).fit(rows)

    return run_command(
        results, data.source, sizes, fit,
        show=lambda model, console: _show(model, data, weights(model), console),
        write=lambda folder, model, comparison: _write(folder, model, data, weights(model), comparison),
        reading=data.reading,
        compare=lambda: _comparison(fit, data),
    )  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


def _shape(option: str, text: str | None) -> tuple[int, int] | None:
    """Height and width of ``WIDTHxHEIGHT``."""
    if text is None:
        return None
    found = _SHAPE.fullmatch(text.strip())
    if found is None or not int(found[1]) or not int(found[2]):
        raise LatentiaError(f"{option} {text!r}: give width and height in pixels, as in 95x60.")
    return int(found[2]), int(found[1])


def _table(
    source: Path,
    columns: str | None,
    ignore: str | None,
    names: str | None,
    image: tuple[int, int] | None,
    picture: tuple[int, int] | None,
    how: Reading,
    console: Console,
) -> _Data:
    """The columns of numbers of a table, and a column of names."""

    def choose(kinds: Mapping[str, str]) -> Wanted:
        known(source, kinds, "--names", [] if names is None else [names])
        unused = [*(split_names(ignore) or []), *([names] if names and kinds[names] != "text" else [])]
        chosen = numeric_columns(source, kinds, split_names(columns), unused, 2, "mixtures need two or more")
        return Wanted(
            chosen, [] if names is None else [names], naming(kinds) if names is None and image is None else None
        )

    table = read_table(source, choose, how)
    announce(table, console)
    _fits(table.source, "--image", image, table.values.shape[0], "rows")
    _fits(table.source, "--shape", picture, table.values.shape[1], "columns")
    called = list(table.names) if names is None else [str(name) for name in table.texts[names]]
    reading = {"columns": table.columns, "names": names}
    return _Data(
        table.values, table.columns, table.source, described(table), reading, table.rows, called, table.unit, image, picture
    )  # fmt: skip


def _array(
    source: Path, name: str | None, image: tuple[int, int] | None, picture: tuple[int, int] | None, console: Console
) -> _Data:
    """An array of NumPy: a table, or an image of several bands."""
    found = read_array(source, name)
    n, d = found.values.shape
    if found.image is not None and image is not None and image != found.image:
        raise LatentiaError(
            f"--image: {source.name} holds an image of {found.image[1]} x {found.image[0]} pixels; leave it out."
        )
    image = found.image or image
    _fits(source.name, "--image", image, n, "rows")
    _fits(source.name, "--shape", picture, d, "columns")
    what = f"{n:,} rows, {d} columns" if found.image is None else f"{image_words(found.image)} in {d} bands"
    text = f"{source.name}, array {found.name}" if found.name else source.name
    say(console, f"{text}: {what}.")
    columns = [str(i) for i in range(1, d + 1)]
    return _Data(
        found.values, columns, source.name, text, {"array": found.name}, range(1, n + 1), image=image, picture=picture
    )


def _pictures(source: Path, console: Console) -> _Data:
    """Pictures as rows, one a file, all of one size, in grey."""
    if not source.is_dir():
        raise LatentiaError(f"{source}: one picture, and mixtures need several: give a folder of pictures of one size.")
    files = image_files(source)
    if not files:
        raise LatentiaError(f"{source}: no images in this folder: PNG, JPEG and TIFF are read.")
    values, shape = _read_pictures(files)
    names = [str(file.relative_to(source)) for file in files]
    name = source.resolve().name
    columns = [f"row {i} column {j}" for i in range(1, shape[0] + 1) for j in range(1, shape[1] + 1)]
    text = f"{name}: {count(len(files), 'picture')} of {image_words(shape)}"
    say(console, f"{text}, grey.")
    return _Data(values, columns, name, text, {"picture": list(shape)}, range(1, len(files) + 1), names, picture=shape)


def _read_pictures(files: Sequence[Path]) -> tuple[np.ndarray, tuple[int, int]]:
    """Pictures as rows, and their height and width."""
    images = [read_image(file, grey=True) for file in files]
    for file, one in zip(files, images, strict=True):
        if one.shape != images[0].shape:
            raise LatentiaError(
                f"{file}: {image_words(one.shape)}, and {files[0].name} has {image_words(images[0].shape)}: pictures of one "
                "size are needed."
            )
    height, width = images[0].shape
    return np.array([one.ravel() for one in images]), (height, width)


def image_words(shape: Sequence[int]) -> str:
    """``95 x 60 pixels`` of a height and a width."""
    return f"{shape[1]} x {shape[0]} pixels"


def _fits(source: str, option: str, shape: tuple[int, int] | None, size: int, what: str) -> None:
    if shape is not None and shape[0] * shape[1] != size:
        raise LatentiaError(
            f"{option} {shape[1]}x{shape[0]}: these are {shape[0] * shape[1]:,} pixels, and {source} has {size:,} {what}."
        )


# --- fitting --------------------------------------------------------------------------------------------------------


def _comparison(fit: Callable[..., Any], data: _Data) -> Comparison:
    """Models of nine tenths of the rows, and what they leave of the others."""
    stretch = max(1, data.rows.shape[0] // _STRETCHES) if data.image is not None else 1
    train, test = hold_out(data.rows, data.source, stretch)
    return Comparison(
        "components",
        "stretches of pixels, one in ten" if data.image is not None else "one row in ten",
        lambda size: fit(size, train, verbose=False),
        lambda model: {"held-out error": float(np.sqrt(max(0.0, 1 - model.score(test))))},
    )


# --- printing -------------------------------------------------------------------------------------------------------


def _show(model: Any, data: _Data, weights: np.ndarray, console: Console) -> None:
    shares = contributions(model, weights).mean(axis=0)
    listed = data.picture is None and axis_of(data.columns) is None
    rows = []
    for i, component in enumerate(model.components_):
        cells = [str(i), f"{100 * shares[i]:.1f}%", *component_cells(model.evidence_, i, 2)]
        cells.append(data.label(int(model.anchors_[i])))
        if listed:
            first = [d for d in largest(component, _STRONGEST) if component[d] > 0]
            cells.append(", ".join(f"{data.columns[d]} {short_number(component[d])}" for d in first))
        rows.append(cells)
    heads = {"component": "right", "share": "right", "error": "right", "grade": "left", "taken from": "left"}
    heads |= {"largest entries": "left"} if listed else {}
    print_components(console, count(len(rows), "component"), heads, rows, "components.csv")
    scale = "rows of any scale" if model.mixing_ == "cone" else "shares that sum to 1"
    say(
        console,
        f"Chosen by {model.method_}, {scale}. Left over: {100 * model.relative_error_:.3g}% of the length of all rows "
        f"(|X - A W| = {short_number(model.reconstruction_err_)}).",
    )


# --- writing --------------------------------------------------------------------------------------------------------


def _write(folder: Path, model: Any, data: _Data, weights: np.ndarray, comparison: Rows | None) -> None:
    from ..report import write_nmf_report

    shares = contributions(model, weights)
    components = [
        [
            i,
            f"{shares[:, i].mean():.6f}",
            *component_cells(model.evidence_, i),
            *(f"{value:.8g}" for value in component),
        ]
        for i, component in enumerate(model.components_)
    ]
    write_csv(folder / "components.csv", ["component", "share", "expected error", "grade", *data.columns], components)
    anchors = [
        [i, data.numbers[row], data.label(row), f"{shares[row, i]:.6f}", f"{shares[:, i].mean():.6f}"]
        for i, row in enumerate(map(int, model.anchors_))
    ]
    head = ["component", "row", "name", "share of the row", "share"]
    write_csv(folder / "anchors.csv", head, anchors)
    _write_weights(folder / _WEIGHTS, weights, data.numbers, data.names)
    if data.image is not None:
        write_image(folder / "maps.png", _side_by_side([map_of(part, data.image) for part in shares.T]))
    if data.picture is not None:
        tiles = [picture_of_component(component, data.picture) for component in model.components_]
        write_image(folder / "components.png", _side_by_side([np.repeat(tile[..., None], 3, axis=2) for tile in tiles]))
    write_nmf_report(
        folder / "report.html", model, data.rows, columns=data.columns,
        rows=[data.label(i) for i in range(len(weights))], weights=weights, image=data.image, picture_shape=data.picture,
        comparison=comparison, title=f"Components of {data.source}", source=data.described,
    )  # fmt: skip


def _write_weights(path: Path, weights: np.ndarray, numbers: Sequence[int], names: Sequence[str]) -> None:
    """A line for every row: its number, its name if it has one, and the weight of each component."""
    labels = Labels(numbers, names)
    lines = ([*label, *(f"{value:.6g}" for value in row)] for label, row in zip(labels, weights, strict=True))
    write_csv(path, [*labels.head, *(f"component {i}" for i in range(weights.shape[1]))], lines)


def _side_by_side(images: Sequence[np.ndarray]) -> np.ndarray:
    """Images of one size, shape (height, width, 3), as one that is about square."""
    height, width = images[0].shape[:2]
    across = min(len(images), max(1, round(np.sqrt(len(images) * height / width))))
    down = -(-len(images) // across)
    whole = np.ones(((height + _GAP) * down - _GAP, (width + _GAP) * across - _GAP, 3))
    for i, one in enumerate(images):
        y, x = (height + _GAP) * (i // across), (width + _GAP) * (i % across)
        whole[y : y + height, x : x + width] = one
    return whole


# --- applying -------------------------------------------------------------------------------------------------------


def apply_nmf(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their weights."""
    reading = getattr(model, "reading_", {"columns": getattr(model, "feature_names_in_", None)})
    numbers: Sequence[int]
    names: list[str] = []
    if "picture" in reading:
        if not source.is_dir() and not is_image(source):
            raise LatentiaError(f"{source}: no picture, and the model is of pictures. PNG, JPEG and TIFF are read.")
        files = image_files(source) if source.is_dir() else [source]
        if not files:
            raise LatentiaError(f"{source}: no images in this folder: PNG, JPEG and TIFF are read.")
        rows, shape = _read_pictures(files)
        if list(shape) != list(reading["picture"]):
            raise LatentiaError(
                f"{source}: {image_words(shape)}, and the model is of pictures of {image_words(reading['picture'])}."
            )
        names = [str(file.relative_to(source)) if source.is_dir() else file.name for file in files]
        numbers = range(1, len(files) + 1)
    elif is_array(source):
        rows = read_array(source, reading.get("array") or None if source.suffix == ".npz" else None).values
        if rows.shape[1] != model.n_features_in_:
            raise LatentiaError(
                f"{source}: {count(rows.shape[1], 'column')}, and the model was fitted on {model.n_features_in_}."
            )
        numbers = range(1, rows.shape[0] + 1)
    else:
        table = read_known_columns(source, reading.get("columns"), model.n_features_in_, how)
        announce(table, console)
        rows, numbers, names = table.values, table.rows, list(table.names)
    weights = np.asarray(model.transform(rows))
    left = 100 * float(np.sqrt(np.median(row_errors(model, rows, weights))))
    say(console, f"Left over of a row: {left:.2g}% of its length (median).")
    return lambda path: _write_weights(path, weights, numbers, names)
