"""``latentia nmf``: find the few rows (or pixels, or pictures) of which all others are mixtures."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.arrays import is_array, read_array
from ..datasets.images import Pictures, check_pixels, image_words, is_image, pixel_names, read_pictures, write_image
from ..evidence.sizes import CANDIDATES, all_sizes, until_enough
from ..exceptions import LatentiaError
from ..nmf import PoissonNMF, SeparableNMF
from ..report.dictionary import row_errors
from ..report.nmf import colour_map, contributions, picture_of_component, summarize_counts, summarize_nmf, weights_table
from ..report.parts import count
from ..summaries import Summary
from ..system.scratch import real_path
from ..system.terminal import say
from ._exact import FILES as EXACT_FILES
from ._exact import factor_exactly
from ._records import NmfOptions
from ._results import Results
from ._shared import (
    Comparison,
    ReadOptions,
    Sizes,
    hold_out,
    learn,
    parse_sizes,
    refuse_options,
)
from ._tables import (
    MISSING,
    ColumnChoice,
    Labels,
    announce,
    check_columns,
    describe_source,
    labels_of,
    missing_setting,
    numeric_columns,
    read_like,
    read_table,
    split_names,
)  # fmt: skip

_FILES = "weights.csv", "anchors.csv", "components.csv", "components.png", "maps.png"
_SHAPE = re.compile(r"(\d{1,6})\s*[xX*]\s*(\d{1,6})")
_N_STRETCHES = 100  # stretches of neighbouring pixels for held-out rows
_BUDGET = 30.0  # seconds for an exact factorization
_GAP = 2  # pixels between maps
Shape = tuple[int, int] | None


@dataclass(frozen=True)
class _Data:
    """Rows to be factored, with their names.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, d)
    columns : list of str
    source, description : str
        The name of the source, and the same with the steps of reading.
    reading : dict
        Options for reading other data in the same way.
    labels : Labels
        Numbers and names of the rows in the file.
    unit : str
        The thing that the numbers count.
    image, picture : (int, int) or None
        Height and width of the image whose pixels are the rows, or of the pictures that are the rows.
    """

    rows: Any
    columns: list[str]
    source: str
    description: str
    reading: dict[str, Any]
    labels: Labels
    unit: str = "row"
    image: Shape = None
    picture: Shape = None

    @property
    def row_names(self) -> list[str]:
        """Names of the rows."""
        if self.labels.names:
            return list(self.labels.names)
        if self.image is not None:
            return pixel_names(self.image)
        return [f"{self.unit} {number}" for number in self.labels.rows]


def nmf(run: NmfOptions) -> dict[str, Any]:
    """Find the rows of which all others are mixtures, and the shares, and write tables, a model and a report."""
    if run.exact:
        unused_options = {name: getattr(run, name) for name in ("eps", "image", "shape", "array", "missing")}
        refuse_options(run.source, "--exact does not use it", **unused_options)
        if run.source.is_dir() or is_image(run.source) or is_array(run.source):
            raise LatentiaError(f"--exact: {run.source}: pictures and arrays hold rounded numbers; give a table.")
        return factor_exactly(run, run.results(run.source, *EXACT_FILES), run.budget or _BUDGET)
    refuse_options(run.source, "is for --exact", budget=run.budget)
    sizes = parse_sizes(run.k, "components", auto=True)
    if len(sizes) != 1 and not run.splits:
        raise LatentiaError(f"--splits 0: -k {run.k} compares what fits on parts of the rows say; give 1 or more.")
    if run.eps is not None and not (run.eps > 0 and np.isfinite(run.eps)):
        raise LatentiaError(f"--eps {run.eps}: expected a number above 0.")
    if run.counts:
        chosen = {"method": run.method, "mixing": run.mixing, "refine": run.refine}
        set_options = {name: value for name, value in chosen.items() if str(value) not in ("auto", "0")}
        refuse_options(
            run.source, "--counts chooses no rows", eps=run.eps, image=run.image, shape=run.shape, **set_options
        )
    shapes = _parse_shape("--image", run.image), _parse_shape("--shape", run.shape)
    if run.image is not None and run.shape is not None:
        raise LatentiaError("--image and --shape: rows are pixels of one image or pictures themselves; give one.")
    results = run.results(run.source, *_FILES)
    of_tables = {name: getattr(run, name) for name in ("columns", "ignore", "names", "missing", "encoding")}
    read_options = run.reading(run.missing, (*MISSING, "keep")).code_two_values(amounts=True)
    if run.source.is_dir() or is_image(run.source):
        refuse_options(run.source, "pictures have no columns", **of_tables)
        refuse_options(run.source, "pictures are no arrays", array=run.array)
        refuse_options(run.source, "pictures have a shape of their own", image=run.image, shape=run.shape)
        data = _read_picture_rows(run.source)
    elif is_array(run.source):
        refuse_options(run.source, "an array has no columns with names", **of_tables)
        data = _read_array_rows(run.source, run.array, *shapes)
    else:
        refuse_options(run.source, "only .npz files have arrays with names", array=run.array)
        data = _read_rows(run, *shapes, read_options)
    method: type[Any] = PoissonNMF if run.counts else SeparableNMF
    return _learn(results, data, sizes, method, run.parameters_of(method))


# --- reading --------------------------------------------------------------------------------------------------------


def _parse_shape(option: str, text: str | None) -> Shape:
    """Parse ``WIDTHxHEIGHT``; return height and width."""
    if text is None:
        return None
    match = _SHAPE.fullmatch(text.strip())
    if match is None or not int(match[1]) or not int(match[2]):
        raise LatentiaError(f"{option} {text!r}: give width and height in pixels, as in 95x60.")
    return int(match[2]), int(match[1])


def _read_rows(run: NmfOptions, image: Shape, picture: Shape, read_options: ReadOptions) -> _Data:
    """Read the columns of numbers of a table, and a column of names."""
    source, names = run.source, run.names
    name_columns = [] if names is None else [names]

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        check_columns(source, kinds, "--names", name_columns)
        unused = [*(split_names(run.ignore) or []), *(name for name in name_columns if kinds[name] != "text")]
        chosen = numeric_columns(source, kinds, split_names(run.columns), unused, 2, "mixtures need two or more")
        return ColumnChoice(chosen, name_columns, names is None and image is None)

    table = announce(read_table(source, choose, read_options))
    row_names = table.names if names is None else [str(name) for name in table.texts[names]]
    reading = (
        {"columns": list(table.columns)}
        | ({} if names is None else {"id": names})
        | missing_setting(read_options.missing)
    )
    labels = Labels(table.rows, row_names)
    check_pixels(table.values, table.source, image=image, shape=picture)
    return _Data(
        table.values, table.columns, table.source, describe_source(table), reading, labels, table.unit, image, picture
    )


def _read_array_rows(source: Path, name: str | None, image: Shape, picture: Shape) -> _Data:
    """Read an array of NumPy: a table, or an image of several bands."""
    array = read_array(source, name, image=image, shape=picture)
    n, d = array.values.shape
    text = f"{source.name}, array {array.name}" if array.name else source.name
    columns, reading = [str(i) for i in range(1, d + 1)], {"array": array.name}
    labels = Labels(range(1, n + 1))
    size_text = f"{n:,} rows, {d} columns" if array.image is None else f"{image_words(array.image)} in {d} bands"
    say(f"{text}: {size_text}.")
    return _Data(array.values, columns, source.name, text, reading, labels, image=array.image or image, picture=picture)


def _read_picture_rows(source: Path) -> _Data:
    """Read a folder of pictures of one size as rows, in grey."""
    if not source.is_dir():
        raise LatentiaError(
            "expected several pictures, found one: give a folder of pictures of one size.", source=source
        )
    pictures, name = read_pictures(source), real_path(source).name
    text = f"{name}: {count(len(pictures.values), 'picture')} of {image_words(pictures.shape)}"
    say(f"{text}, grey.")
    reading, labels = {"picture": list(pictures.shape)}, _label_pictures(pictures)
    return _Data(pictures.values, pixel_names(pictures.shape), name, text, reading, labels, picture=pictures.shape)


def _label_pictures(pictures: Pictures) -> Labels:
    return Labels(range(1, len(pictures.names) + 1), pictures.names)


# --- fitting --------------------------------------------------------------------------------------------------------


def _learn(results: Results, data: _Data, sizes: Sizes, method: type[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Learn a model with one of these numbers of components, or search for the number if there is none."""
    walk = all_sizes if sizes else until_enough
    sizes[:] = sizes or CANDIDATES
    n, d = data.rows.shape
    carried = f"{data.source}: {count(n, 'row')} of {count(d, 'column')}"
    sizes = sizes.limit_to(min(n, d), carried)
    weights = functools.cache(lambda model: np.asarray(model.transform(data.rows)))

    def fit(size: Any, rows: Any = data.rows, **overrides: Any) -> Any:
        return method(size, **options | overrides).fit(rows)

    def summarize(model: Any, _: Any) -> Summary:
        labels = labels_of(data.labels)
        if method is PoissonNMF:
            return summarize_counts(model, weights(model), data.columns, labels, title="Components")
        return summarize_nmf(
            model, data.rows, columns=data.columns, rows=data.row_names, weights=weights(model), image=data.image,
            picture_shape=data.picture, row_labels=labels,
        )  # fmt: skip

    return learn(
        results, data.source, sizes, fit, summarize,
        description=data.description, reading=data.reading, compare=lambda: _build_comparison(fit, data, walk),
        write_more=lambda folder, model: _write_images(folder, model, data, weights(model)),
    )  # fmt: skip


def _build_comparison(fit: Callable[..., Any], data: _Data, walk: Any) -> Comparison:
    """Fit models to nine tenths of the rows and compare them by their errors on the others."""
    stretch = max(1, data.rows.shape[0] // _N_STRETCHES) if data.image is not None else 1
    train, test = hold_out(data.rows, data.source, stretch)
    return Comparison(
        "components", "stretches of pixels, one in ten" if data.image is not None else "one row in ten",
        lambda size: fit(size, train, verbose=False),
        lambda model: {"held-out error": float(np.sqrt(max(0.0, 1 - model.score(test))))},
        walk=walk,
    )  # fmt: skip


def _write_images(folder: Path, model: Any, data: _Data, weights: np.ndarray) -> None:
    """Write maps of the shares in an image, or the components as pictures, side by side."""
    if data.image is not None:
        shape = data.image
        write_image(
            folder / "maps.png",
            _place_side_by_side([colour_map(shares, shape) for shares in contributions(model, weights).T]),
        )
    if data.picture is not None:
        tiles = [picture_of_component(component, data.picture) for component in model.components_]
        write_image(
            folder / "components.png", _place_side_by_side([np.repeat(tile[..., None], 3, axis=2) for tile in tiles])
        )


def _place_side_by_side(images: Sequence[np.ndarray]) -> np.ndarray:
    """Place images of one size, shape (height, width, 3), side by side in a roughly square image."""
    height, width = images[0].shape[:2]
    n_across = min(len(images), max(1, round(np.sqrt(len(images) * height / width))))
    n_down = -(-len(images) // n_across)
    canvas = np.ones(((height + _GAP) * n_down - _GAP, (width + _GAP) * n_across - _GAP, 3))
    for i, image in enumerate(images):
        y, x = (height + _GAP) * (i // n_across), (width + _GAP) * (i % n_across)
        canvas[y : y + height, x : x + width] = image
    return canvas


# --- applying -------------------------------------------------------------------------------------------------------


def apply_nmf(model: Any, source: Path, read_options: ReadOptions) -> Callable[[Path], object]:
    """Read other rows; return a function that writes their weights."""
    reading = model.reading_ or {"columns": model.column_names}
    if "picture" in reading:
        if not source.is_dir() and not is_image(source):
            raise LatentiaError(
                "expected pictures (PNG, JPEG or TIFF), since the model was fitted on pictures.", source=source
            )
        pictures = read_pictures(source)
        if list(pictures.shape) != list(reading["picture"]):
            raise LatentiaError(
                f"expected pictures of {image_words(reading['picture'])}, as in the fit; found {image_words(pictures.shape)}.",
                source=source,
            )
        rows, labels = pictures.values, _label_pictures(pictures)
    elif is_array(source):
        rows = read_array(source, reading.get("array") or None if source.suffix == ".npz" else None).values
        if rows.shape[1] != model.n_features_in_:
            raise LatentiaError(
                f"expected {count(model.n_features_in_, 'column')}, as in the fit; found {rows.shape[1]}.",
                source=source,
            )
        labels = Labels(range(1, rows.shape[0] + 1))
    else:
        table = read_like(model, source, read_options)
        rows, labels = table.values, Labels(table.rows, table.names)
    weights = np.asarray(model.transform(rows))
    residual_percent = 100 * float(np.sqrt(np.median(row_errors(model, rows, weights))))
    say(f"Unexplained part of a row: {residual_percent:.2g}% of its length (median).")
    return weights_table(weights, labels_of(labels)).write
