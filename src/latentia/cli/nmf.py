"""``latentia nmf``: a few rows of a table, pixels of an image or pictures, of which the others are mixtures."""

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
from ..report.nmf import contributions, map_of, picture_of_component, rows_of, summarize_counts, summarize_nmf
from ..report.parts import count
from ..summaries import Summary
from ..system.scratch import real_path
from ..system.terminal import say
from ._exact import FILES as EXACT_FILES
from ._exact import factor_exactly
from ._results import Results
from ._run import Run
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
    described,
    keeps,
    labels_of,
    numeric_columns,
    read_like,
    read_table,
    split_names,
)  # fmt: skip

_FILES = "weights.csv", "anchors.csv", "components.csv", "components.png", "maps.png"
_SHAPE = re.compile(r"(\d{1,6})\s*[xX*]\s*(\d{1,6})")
_STRETCHES = 100  # of neighbouring pixels, in which they are held out
_BUDGET = 30.0  # seconds of an exact factorization
_GAP = 2  # pixels between maps
Shape = tuple[int, int] | None


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
    labels : Labels
        Of the rows in the file.
    unit : str
        What their numbers count.
    image, picture : (int, int) or None
        Height and width of the image whose pixels the rows are, or of the pictures that they are.
    """

    rows: Any
    columns: list[str]
    source: str
    described: str
    reading: dict[str, Any]
    labels: Labels
    unit: str = "row"
    image: Shape = None
    picture: Shape = None

    @property
    def called(self) -> list[str]:
        """What the rows are called."""
        if self.labels.names:
            return list(self.labels.names)
        if self.image is not None:
            return pixel_names(self.image)
        return [f"{self.unit} {number}" for number in self.labels.rows]


def nmf(
    run: Run,
    source: Path,
    k: str = "5",
    method: str = "auto",
    mixing: str = "auto",
    eps: float | None = None,
    pooled: bool = True,
    refine: str = "0",
    counts: bool = False,
    image: str | None = None,
    shape: str | None = None,
    array: str | None = None,
    names: str | None = None,
    columns: str | None = None,
    ignore: str | None = None,
    exact: bool = False,
    budget: float | None = None,
    splits: int = 3,
    missing: str | None = None,
) -> dict[str, Any]:
    """Find the rows of which all others are mixtures, and the shares, and write tables, a model and a report.

    Parameters
    ----------
    source
        A table with a header: CSV, TSV, Excel, Parquet; MatrixMarket; NumPy (.npy, .npz), also an image of several bands;
        or a folder of pictures of one size: PNG, JPEG, TIFF.
    k : -k, --components, -r
        Number of components; FROM:TO:STEP compares a range, auto as many as it takes.
    method : {auto, spa, farthest, spa-spa, whitened, snpa, xray, smoothed, lp, robust-lp, loners}
        How rows are chosen: auto, spa, farthest, spa-spa, whitened, snpa, xray, smoothed, lp, robust-lp, loners.
    mixing : {auto, simplex, cone}
        simplex: the shares of a row sum to 1. cone: rows may have any scale. auto: as the rows look.
    eps
        Noise of a row, sum of absolute values, for robust-lp and loners; estimated by default.
    pooled : --pooled/--single
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
    budget : >= 0.001
        Seconds for --exact, by default 30.
    missing
        Cells without a value: drop leaves their rows out, mean puts the mean of the column there, keep takes them as not
        known; by default they are an error.
    """
    if exact:
        own = {"eps": eps, "image": image, "shape": shape, "array": array, "missing": missing}
        refuse_options(source, "--exact has no use for it", **own)
        if source.is_dir() or is_image(source) or is_array(source):
            raise LatentiaError(f"--exact: {source}: pictures and arrays hold rounded numbers; give a table.")
        results = run.results(source, *EXACT_FILES)
        return factor_exactly(results, k, budget or _BUDGET, run.reading(), columns=columns, ignore=ignore, names=names)
    refuse_options(source, "is for --exact", budget=budget)
    sizes = parse_sizes(k, "components", auto=True)
    if len(sizes) != 1 and not splits:
        raise LatentiaError(f"--splits 0: -k {k} compares what fits on parts of the rows say; give 1 or more.")
    if eps is not None and not (eps > 0 and np.isfinite(eps)):
        raise LatentiaError(f"--eps {eps}: a number above 0 is needed.")
    if counts:
        chosen = {"method": method, "mixing": mixing, "refine": refine}
        other = {name: value for name, value in chosen.items() if str(value) not in ("auto", "0")}
        refuse_options(source, "--counts chooses no rows", eps=eps, image=image, shape=shape, **other)
    asked = _shape("--image", image), _shape("--shape", shape)
    if image is not None and shape is not None:
        raise LatentiaError("--image and --shape: rows are pixels of one image or pictures themselves; give one.")
    results = run.results(source, *_FILES)
    of_tables = {"columns": columns, "ignore": ignore, "names": names, "missing": missing, "encoding": run.encoding}
    how = run.reading(missing, (*MISSING, "keep")).of_two_values(amounts=True)
    if source.is_dir() or is_image(source):
        refuse_options(source, "pictures have no columns", **of_tables)
        refuse_options(source, "pictures are no arrays", array=array)
        refuse_options(source, "pictures have a shape of their own", image=image, shape=shape)
        data = _pictures(source)
    elif is_array(source):
        refuse_options(source, "an array has no columns with names", **of_tables)
        data = _array(source, array, *asked)
    else:
        refuse_options(source, "only .npz files have arrays with names", array=array)
        data = _table(source, columns, ignore, names, *asked, how)
    options = {"method": method, "mixing": mixing, "eps": eps, "pooled": pooled, "refine": refine}
    options = ({} if counts else options) | {"n_splits": splits} | run.parameters
    return _learned(results, data, sizes, PoissonNMF if counts else SeparableNMF, options)


# --- reading --------------------------------------------------------------------------------------------------------


def _shape(option: str, text: str | None) -> Shape:
    """Height and width of ``WIDTHxHEIGHT``."""
    if text is None:
        return None
    found = _SHAPE.fullmatch(text.strip())
    if found is None or not int(found[1]) or not int(found[2]):
        raise LatentiaError(f"{option} {text!r}: give width and height in pixels, as in 95x60.")
    return int(found[2]), int(found[1])


def _table(
    source: Path, columns: str | None, ignore: str | None, names: str | None, image: Shape, picture: Shape, how: ReadOptions
) -> _Data:  # fmt: skip
    """The columns of numbers of a table, and a column of names."""
    own = [] if names is None else [names]

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        check_columns(source, kinds, "--names", own)
        unused = [*(split_names(ignore) or []), *(name for name in own if kinds[name] != "text")]
        chosen = numeric_columns(source, kinds, split_names(columns), unused, 2, "mixtures need two or more")
        return ColumnChoice(chosen, own, names is None and image is None)

    table = announce(read_table(source, choose, how))
    called = table.names if names is None else [str(name) for name in table.texts[names]]
    reading = {"columns": list(table.columns)} | ({} if names is None else {"id": names}) | keeps(how.missing)
    labels = Labels(table.rows, called)
    check_pixels(table.values, table.source, image=image, shape=picture)
    return _Data(
        table.values, table.columns, table.source, described(table), reading, labels, table.unit, image, picture
    )


def _array(source: Path, name: str | None, image: Shape, picture: Shape) -> _Data:
    """An array of NumPy: a table, or an image of several bands."""
    found = read_array(source, name, image=image, shape=picture)
    n, d = found.values.shape
    text = f"{source.name}, array {found.name}" if found.name else source.name
    columns, reading = [str(i) for i in range(1, d + 1)], {"array": found.name}
    labels = Labels(range(1, n + 1))
    what = f"{n:,} rows, {d} columns" if found.image is None else f"{image_words(found.image)} in {d} bands"
    say(f"{text}: {what}.")
    return _Data(found.values, columns, source.name, text, reading, labels, image=found.image or image, picture=picture)


def _pictures(source: Path) -> _Data:
    """Pictures as rows, one a file, all of one size, in grey."""
    if not source.is_dir():
        raise LatentiaError(
            "one picture, and mixtures need several: give a folder of pictures of one size.", source=source
        )
    found, name = read_pictures(source), real_path(source).name
    text = f"{name}: {count(len(found.values), 'picture')} of {image_words(found.shape)}"
    say(f"{text}, grey.")
    reading, labels = {"picture": list(found.shape)}, _labels(found)
    return _Data(found.values, pixel_names(found.shape), name, text, reading, labels, picture=found.shape)


def _labels(found: Pictures) -> Labels:
    return Labels(range(1, len(found.names) + 1), found.names)


# --- fitting --------------------------------------------------------------------------------------------------------


def _learned(results: Results, data: _Data, sizes: Sizes, method: type[Any], options: dict[str, Any]) -> dict[str, Any]:
    """The model of one of these sizes, or of as many as it takes where there are none, and its summary."""
    walk = all_sizes if sizes else until_enough
    sizes[:] = sizes or CANDIDATES
    n, d = data.rows.shape
    carried = f"{data.source}: {count(n, 'row')} of {count(d, 'column')}"
    sizes = sizes.up_to(min(n, d), carried)
    weights = functools.cache(lambda model: np.asarray(model.transform(data.rows)))

    def fit(size: Any, rows: Any = data.rows, **more: Any) -> Any:
        return method(size, **options | more).fit(rows)

    def summarize(model: Any, _: Any) -> Summary:
        labels = labels_of(data.labels)
        if method is PoissonNMF:
            return summarize_counts(model, weights(model), data.columns, labels, title="Components")
        return summarize_nmf(
            model, data.rows, columns=data.columns, rows=data.called, weights=weights(model), image=data.image,
            picture_shape=data.picture, row_labels=labels,
        )  # fmt: skip

    return learn(
        results, data.source, sizes, fit, summarize,
        described=data.described, reading=data.reading, compare=lambda: _comparison(fit, data, walk),
        more=lambda folder, model: _write_images(folder, model, data, weights(model)),
    )  # fmt: skip


def _comparison(fit: Callable[..., Any], data: _Data, walk: Any) -> Comparison:
    """Models of nine tenths of the rows, and what they leave of the others."""
    stretch = max(1, data.rows.shape[0] // _STRETCHES) if data.image is not None else 1
    train, test = hold_out(data.rows, data.source, stretch)
    return Comparison(
        "components", "stretches of pixels, one in ten" if data.image is not None else "one row in ten",
        lambda size: fit(size, train, verbose=False),
        lambda model: {"held-out error": float(np.sqrt(max(0.0, 1 - model.score(test))))},
        walk=walk,
    )  # fmt: skip


def _write_images(folder: Path, model: Any, data: _Data, weights: np.ndarray) -> None:
    """Maps of the shares in an image, or the components as pictures, side by side."""
    if data.image is not None:
        shape = data.image
        write_image(folder / "maps.png", _side_by_side([map_of(own, shape) for own in contributions(model, weights).T]))
    if data.picture is not None:
        tiles = [picture_of_component(component, data.picture) for component in model.components_]
        write_image(folder / "components.png", _side_by_side([np.repeat(tile[..., None], 3, axis=2) for tile in tiles]))


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


def apply_nmf(model: Any, source: Path, how: ReadOptions) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their weights."""
    reading = model.reading_ or {"columns": model.column_names}
    if "picture" in reading:
        if not source.is_dir() and not is_image(source):
            raise LatentiaError("no picture, and the model is of pictures. PNG, JPEG and TIFF are read.", source=source)
        found = read_pictures(source)
        if list(found.shape) != list(reading["picture"]):
            raise LatentiaError(
                f"{image_words(found.shape)}, and the model is of pictures of {image_words(reading['picture'])}.",
                source=source,
            )
        rows, labels = found.values, _labels(found)
    elif is_array(source):
        rows = read_array(source, reading.get("array") or None if source.suffix == ".npz" else None).values
        if rows.shape[1] != model.n_features_in_:
            raise LatentiaError(
                f"{count(rows.shape[1], 'column')}, and the model was fitted on {model.n_features_in_}.", source=source
            )
        labels = Labels(range(1, rows.shape[0] + 1))
    else:
        table = read_like(model, source, how)
        rows, labels = table.values, Labels(table.rows, table.names)
    weights = np.asarray(model.transform(rows))
    left = 100 * float(np.sqrt(np.median(row_errors(model, rows, weights))))
    say(f"Left over of a row: {left:.2g}% of its length (median).")
    return rows_of(weights, labels_of(labels)).write
