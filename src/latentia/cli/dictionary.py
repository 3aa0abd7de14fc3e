"""``latentia dictionary``: atoms of which the rows of a table, or the patches of images, are sparse sums."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..datasets.images import (
    COLOURS,
    image_words,
    is_image,
    noise_level,
    pixel_names,
    read_image,
    read_patches,
    write_image,
)  # fmt: skip
from ..dictionary import IncoherentDictionary
from ..dictionary.codes import row_errors, sparse_codes
from ..dictionary.patches import mosaic, psnr, restore
from ..evidence.sizes import CANDIDATES, all_sizes, and_beyond, until_enough
from ..exceptions import DroppedDataWarning, LatentiaError
from ..report.dictionary import RebuiltPicture, codes_of, summarize_dictionary
from ..report.parts import count
from ..summaries import Summary
from ..system.scratch import real_path
from ..system.terminal import say
from ._records import DictionaryOptions
from ._shared import (
    BLANK,
    Comparison,
    ReadOptions,
    hold_out,
    learn,
    parse_sizes,
    refuse_options,
    write_csv,
)
from ._tables import (
    MISSING,
    Labels,
    Table,
    describe_source,
    labels_of,
    missing_setting,
    read_like,
    read_numbers,
    scale_rows,
    scaling,
)

_CODES, _DENOISED, _IMAGE = "codes.csv", "denoised.csv", "image.png"
_PATCH, _PATCHES, _LARGEST = 8, 20_000, 64
_MAX_PATCHES_OF_REPORT, _MAX_PICTURES = (
    100_000,
    3,
)  # limits of the report: patches to rebuild its pictures from, and pictures
_PIXELS_PER_ATOM = 16  # pixels of a patch for each atom that it may use
_N_STRETCHES = 100  # patches are held out in so many stretches of neighbours


class _Data(NamedTuple):
    """The data to learn from.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n)
    columns : list of str
    source, description : str
        The name of the source, and the name with the preparation of the data.
    reading : dict
        Options to read other data in the same way.
    table : Table, optional
        None for patches.
    patch : tuple of int
        Shape of a patch; empty for tables.
    pictures : list of (str, ndarray)
        Names and images.
    """

    rows: Any
    columns: list[str]
    source: str
    description: str
    reading: dict[str, Any]
    table: Table | None = None
    patch: tuple[int, ...] = ()
    pictures: Sequence[tuple[str, np.ndarray]] = ()


def dictionary(run: DictionaryOptions) -> dict[str, Any]:
    """Learn a dictionary of patterns, of which rows (or image patches) are sums, and write tables, a model and a report."""
    sizes = parse_sizes(run.k, "atoms", auto=True)
    if len(sizes) != 1 and not run.splits:
        raise LatentiaError(f"--splits 0: -k {run.k} compares fits on parts of the rows; give 1 or more.")
    results = run.results(run.source, "atoms.csv", "atoms.png", _CODES, "scaling.csv")
    reading_options = run.reading(run.missing, MISSING)
    if is_image(run.source) or run.source.is_dir():
        table_options = {name: getattr(run, name) for name in ("columns", "ignore", "scale", "missing", "encoding")}
        refuse_options(run.source, "an image has no columns", **table_options)
        data = _read_image_patches(run)
    else:
        refuse_options(run.source, "a table has no patches", patch=run.patch, n_patches=run.n_patches, grey=run.grey)
        data = _read_rows(run, reading_options)
    n, width = data.rows.shape
    sparsity = run.sparsity
    if sparsity is not None and sparsity > width:
        raise LatentiaError(f"--sparsity {sparsity}: {data.source} has {width} columns; give fewer atoms a row.")
    if sparsity is None and data.patch:
        # Images are not sums of few atoms and noise: residuals keep falling, and do not suggest a sparsity.
        sparsity = min(max(1, data.patch[0] ** 2 // _PIXELS_PER_ATOM), max(1, min(sizes, default=2) - 1))
    options = run.parameters_of(IncoherentDictionary) | {"sparsity": sparsity}
    walk = all_sizes
    if run.k == "auto":
        suggested_sizes = IncoherentDictionary("auto", **options)._candidates(data.rows)
        sizes[:], walk = (CANDIDATES, until_enough) if suggested_sizes is None else (suggested_sizes, and_beyond)
    sizes = sizes.limit_to(n, f"{data.source}: {n:,} {'patches' if data.patch else 'rows'}")

    def fit(size: Any, rows: Any = data.rows, **overrides: Any) -> IncoherentDictionary:
        return IncoherentDictionary(size, **options | overrides).fit(rows)

    def draw(folder: Path, model: Any) -> None:
        if data.patch:
            write_image(folder / "atoms.png", mosaic(model.components_, data.patch))

    return learn(
        results, data.source, sizes, fit, lambda model, _: _summarize(model, data, not run.quiet),
        description=data.description, reading=data.reading, write_more=draw,
        compare=lambda: _compare_on_held_out(fit, data, walk),
    )  # fmt: skip


def _summarize(model: Any, data: _Data, progress: bool) -> Summary:
    colour = len(data.patch) == 3
    pictures = [
        RebuiltPicture(
            name, image, restore(model, image, colour=colour, max_patches=_MAX_PATCHES_OF_REPORT, progress=progress)
        )
        for name, image in data.pictures[:_MAX_PICTURES]
    ]
    return summarize_dictionary(
        model, data.rows, columns=data.columns, codes=sparse_codes(model, data.rows, "codes" if progress else ""),
        patch=data.patch or None, pictures=pictures, scaling=data.reading if "divided_by" in data.reading else None,
        row_labels=labels_of(data.table) if data.table else (),
    )  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


def _read_rows(run: DictionaryOptions, options: ReadOptions) -> _Data:
    table = read_numbers(run.source, run.columns, run.ignore, 2, "atoms need two or more", options)
    reading: dict[str, Any] = {"columns": list(table.columns)} | missing_setting(run.missing)
    if run.scale is not False:
        reading |= scaling(table.values)
        say("Columns are scaled: weights and errors are in standard deviations.")
    return _Data(scale_rows(table.values, reading), table.columns, table.source, describe_source(table), reading, table)


def _read_image_patches(run: DictionaryOptions) -> _Data:
    """Read patches of an image, or of all images in a folder, without their means."""
    source, size, n_patches, grey = run.source, run.patch or _PATCH, run.n_patches or _PATCHES, bool(run.grey)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedDataWarning)  # each is named below
        patches = read_patches(source, size, n_patches=n_patches, grey=grey, random_state=run.seed)
    for name in patches.left_out:
        say(f"note: {name} is smaller than {size} x {size} pixels and is left out.")
    n, total, images = len(patches.values), patches.n_places, patches.images
    colour = len(patches.shape) == 3
    images_text = image_words(images[0].shape) if len(images) == 1 else count(len(images), "image")
    count_text = f"{n:,} of {total:,}" if n < total else f"all {total:,}"
    text = f"{count_text} patches of {size} x {size}, each without its mean"
    kind_and_text = ("colour", f"{text} in every colour") if colour else ("grey", text)
    say(f"{source.name}: {images_text}, {kind_and_text[0]}; {kind_and_text[1]}.")
    name, reading = real_path(source).name, {"patch": size, "colour": colour}
    pictures = list(zip(patches.names, images, strict=True))
    text = f"{name}: {images_text}, {text}"
    return _Data(
        patches.values, pixel_names(patches.shape), name, text, reading, patch=patches.shape, pictures=pictures
    )


# --- fitting --------------------------------------------------------------------------------------------------------


def _compare_on_held_out(fit: Callable[..., Any], data: _Data, walk: Any) -> Comparison:
    """Fit models to nine tenths of the rows and compare them by their residuals on the other rows."""
    # Neighbouring patches overlap, so they are held out together.
    stretch = max(1, data.rows.shape[0] // _N_STRETCHES) if data.patch else 1
    train, test = hold_out(data.rows, data.source, stretch)
    squares = np.asarray(test.power(2).sum(axis=1)).ravel() if sparse.issparse(test) else (test**2).sum(axis=1)
    held_out_square = float(abs(test).power(2).sum() if sparse.issparse(test) else (test**2).sum())

    def measure(model: Any) -> dict[str, Any]:
        residual = float(row_errors(model, test, sparse_codes(model, test)) @ squares)
        return {"held-out error": residual / held_out_square, "sparsity": int(model.sparsity_)}

    held_out_text = "one patch in ten" if data.patch else "one row in ten"
    return Comparison("atoms", held_out_text, lambda size: fit(size, train, verbose=False), measure, walk=walk)


# --- applying -------------------------------------------------------------------------------------------------------


def name_output_file(model: Any, source: Path, denoise: bool) -> str:
    """Return the name of the file that `apply_dictionary` writes."""
    if "patch" in model.reading_ or is_image(source):
        return _IMAGE
    return _DENOISED if denoise else _CODES


def apply_dictionary(model: Any, source: Path, options: ReadOptions, denoise: bool = False) -> Callable[[Path], object]:
    """Read other rows, or an image; return the function that writes their codes, the rebuilt rows, or the rebuilt image."""
    reading = model.reading_ or {"columns": model.column_names}
    if name_output_file(model, source, denoise) == _IMAGE:
        return _apply_to_image(model, source, reading, options, denoise)
    table = read_like(model, source, options)
    codes = sparse_codes(model, table.values, "codes" if options.progress else "")
    residual_percent = 100 * float(np.median(row_errors(model, table.values, codes)))
    say(f"Residual of a row: {residual_percent:.2g}% of its squares (median).")
    if not denoise:
        return lambda path: codes_of(codes, labels_of(table)).write(path)
    labels = Labels(table.rows, table.names)
    centre, scale = reading.get("subtracted", 0.0), reading.get("divided_by", 1.0)
    rebuilt_rows = (scale * (codes[[i]] @ model.components_)[0] + centre for i in range(codes.shape[0]))
    lines = ([*label, *(f"{value:.8g}" for value in row)] for label, row in zip(labels, rebuilt_rows, strict=True))
    return lambda path: write_csv(path, [*labels.head, *table.columns], lines)


def _apply_to_image(
    model: Any, source: Path, reading: dict[str, Any], options: ReadOptions, denoise: bool
) -> Callable[[Path], object]:
    """Rebuild an image from atoms of patches."""
    if not is_image(source):
        raise LatentiaError("expected an image (PNG, JPEG or TIFF), as the model has atoms of patches.", source=source)
    if options.missing not in ("error", BLANK):
        raise LatentiaError(f"--missing: {source.name} is an image without missing pixels; leave it out.")
    if reading.get("columns") is not None:
        raise LatentiaError("this is an image; the model was learned from columns of a table.", source=source)
    n, colour = model.components_.shape[1], reading.get("colour", False)
    channels = len(COLOURS) if colour else 1
    size = reading.get("patch", round((n / channels) ** 0.5))
    if size * size * channels != n:
        raise LatentiaError(
            f"this is an image; the atoms of the model have {n} columns, which are not a square patch.", source=source
        )
    image = read_image(source)
    height, width = image.shape[:2]
    if min(height, width) < size:
        raise LatentiaError(f"{width} x {height} pixels; the model has patches of {size} x {size}.", source=source)
    level = noise_level(image) if denoise else None
    rebuilt = restore(model, image, colour=colour, level=level, progress=options.progress)
    atoms = f"up to {count(int(model.sparsity_), 'atom')} a patch"
    atoms_text = atoms if level is None else f"the atoms of each patch above noise of {level:.2g}, white being 1"
    say(f"{source.name}: {width} x {height} pixels, rebuilt from {atoms_text}.")
    say(f"PSNR to the given image: {psnr(image, rebuilt):.1f} dB.")
    return lambda path: write_image(path, rebuilt)
