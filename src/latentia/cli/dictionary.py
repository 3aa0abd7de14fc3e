"""``latentia dictionary``: atoms of which the rows of a table, or the patches of images, are sparse sums."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from .._progress import progress_bar
from ..datasets.images import (
    image_files,
    image_from_patches,
    image_patches,
    is_image,
    noise_level,
    read_image,
    write_image,
)
from ..dictionary import IncoherentDictionary
from ..dictionary.pursuit import matching_pursuit
from ..evidence.sizes import CANDIDATES
from ..exceptions import LatentiaError
from ..report.dictionary import Restored, mosaic, needed, psnr, row_errors, sparse_codes
from ..report.parts import count, largest, short_number
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
    Refine,
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
    write_csv,
)
from ._tables import (
    MISSING,
    Labels,
    MayBeMissing,
    Table,
    announce,
    described,
    read_known_columns,
    read_numbers,
    scaled_rows,
    scaling,
    split_names,
)

__all__ = ["applied_file", "apply_dictionary", "dictionary"]

_CODES, _DENOISED, _IMAGE = "codes.csv", "denoised.csv", "image.png"
_FILES = ("atoms.csv", "atoms.png", _CODES, "scaling.csv")
_PATCH, _PATCHES, _LARGEST = 8, 20_000, 64
_MOST_PLACES, _MOST_OF_REPORT = 300_000, 100_000  # patches of which a picture is rebuilt
_PIXELS_EACH = 16  # of a patch for each atom that it may use
_BATCH = 20_000
_PICTURES = 3  # that the report shows
_STRETCHES = 100  # of neighbouring patches, in which they are held out
_COLOURS = 3
_ROUNDING = 1e-12
_LEAST_DIMENSIONS = 4  # pixels for each atom of a patch that is freed of noise
_ABOVE_NOISE = 1.1  # times the level of the noise, down to which atoms are taken
_STRONGEST = 5


@dataclass(frozen=True)
class _Data:
    """What is learned from.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n)
    columns : list of str
    source, described : str
        The name of the source, and with what was done to it.
    reading : dict
        How other data is read.
    labels : Labels
        Of the rows in the file; empty for patches.
    patch : tuple of int
        Shape of a patch; empty for tables.
    pictures : list of (str, ndarray)
        Names and images.
    """

    rows: Any
    columns: list[str]
    source: str
    described: str
    reading: dict[str, Any]
    labels: Labels = field(default_factory=Labels)
    patch: tuple[int, ...] = ()
    pictures: Sequence[tuple[str, np.ndarray]] = ()


def dictionary(
    source: Annotated[
        Path,
        typer.Argument(
            help="A table with a header: CSV, TSV, Excel, Parquet; or MatrixMarket; or an image or a folder of images: PNG, "
            "JPEG, TIFF."
        ),
    ],
    k: Annotated[
        str,
        typer.Option("-k", "--atoms", "-m", help=sizes_help("atoms", auto=True)),
    ] = "100",
    out: Out = Path("dictionary"),
    sparsity: Annotated[
        int | None,
        typer.Option(
            help=f"Atoms that a row may use; by default it is found, and is one for {_PIXELS_EACH} pixels of patches.",
            min=1,
        ),
    ] = None,
    patch: Annotated[
        int | None,
        typer.Option(
            help=f"Height and width of the patches of images in pixels, by default {_PATCH}.", min=2, max=_LARGEST
        ),
    ] = None,
    n_patches: Annotated[
        int | None,
        typer.Option(help=f"Patches to learn from, drawn from all places; by default {_PATCHES:,}.", min=1),
    ] = None,
    grey: Annotated[
        bool | None,
        typer.Option("--grey/--colour", help="Whether colours of images become grey; by default they do not."),
    ] = None,
    columns: Columns = None,
    ignore: Ignore = None,
    scale: Annotated[
        bool | None,
        typer.Option(
            "--scale/--no-scale", help="Bring the columns of a table to mean 0 and standard deviation 1 (default: yes)."
        ),
    ] = None,
    start: Annotated[
        str, typer.Option(help="graph: atoms from the graph of rows that share one. random: from rows drawn at random.")
    ] = "graph",
    order: Annotated[
        int,
        typer.Option(help="Rows that must share an atom in the graph: more where rows use many atoms.", min=3, max=8),
    ] = 3,
    splits: Splits = 3,
    refine: Refine = "auto",
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
    """Learn atoms of which rows, or patches of images, are sums of few, and write tables, a model and a report."""
    sizes: list[Any] = parse_sizes(k, "atoms", auto=True)
    if len(sizes) != 1 and not splits:
        raise LatentiaError(f"--splits 0: -k {k} compares what fits on parts of the rows say; give 1 or more.")
    check_choice("--start", start, ("graph", "random"))
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, missing, MISSING, encoding=encoding)
    console = Console()
    if is_image(source) or source.is_dir():
        own = {"columns": columns, "ignore": ignore, "scale": scale, "missing": missing, "encoding": encoding}
        refuse_options(source, "an image has no columns", **own)
        data = _patches(source, patch or _PATCH, n_patches or _PATCHES, bool(grey), seed, console)
    else:
        refuse_options(source, "a table has no patches", patch=patch, n_patches=n_patches, grey=grey)
        data = _table(source, columns, ignore, scale, how, console)
    if sparsity is not None and sparsity > data.rows.shape[1]:
        raise LatentiaError(
            f"--sparsity {sparsity}: {data.source} has {data.rows.shape[1]} columns; give fewer atoms a row."
        )
    if sparsity is None and data.patch:
        # Images are no sums of few atoms and noise: what is left goes on falling, and no sparsity is to be found.
        sparsity = min(max(1, data.patch[0] ** 2 // _PIXELS_EACH), max(1, min(sizes, default=2) - 1))
    options: dict[str, Any] = {
        "sparsity": sparsity, "start": start, "order": order, "refine": refine, "n_splits": splits, "random_state": seed,
        "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    if k == "auto":
        asked: Any = "auto"
        sizes = list(IncoherentDictionary(asked, **options)._candidates(data.rows) or CANDIDATES)
    n = data.rows.shape[0]
    sizes = possible_sizes(sizes, n, f"{data.source}: {n:,} {'patches' if data.patch else 'rows'}", "atoms", console)
    codes = functools.cache(lambda model: sparse_codes(model, data.rows, "" if quiet else "codes"))
    restored = functools.cache(lambda model: [_restored(model, *one, not quiet) for one in data.pictures[:_PICTURES]])

    def fit(size: Any, rows: Any = data.rows, **more: Any) -> IncoherentDictionary:
        return IncoherentDictionary(size, **options | more).fit(rows)

    return run_command(
        results, data.source, sizes, fit,
        show=lambda model, console: _show(model, data, codes(model), restored(model), console),
        write=lambda folder, model, comparison: _write(folder, model, data, codes(model), restored(model), comparison),
        reading=data.reading,
        compare=lambda: _comparison(fit, data),
    )  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


def _table(
    source: Path, columns: str | None, ignore: str | None, scale: bool | None, how: Reading, console: Console
) -> _Data:
    table = read_numbers(source, split_names(columns), split_names(ignore) or [], 2, "atoms need two or more", how)
    announce(table, console)
    reading: dict[str, Any] = {"columns": table.columns}
    if scale is not False:
        reading |= scaling(table.values)
        say(console, "Columns are scaled: weights and errors are in standard deviations.")
    rows = scaled_rows(table.values, reading)
    return _Data(rows, table.columns, table.source, described(table), reading, Labels(table.rows, table.names))


def _patches(source: Path, size: int, n_patches: int, grey: bool, seed: int, console: Console) -> _Data:
    """Patches of an image, or of all in a folder, without their means; without those of one colour there may be none."""
    files = image_files(source) if source.is_dir() else [source]
    if not files:
        raise LatentiaError(f"{source}: no images in this folder: PNG, JPEG and TIFF are read.")
    names = [str(file.relative_to(source)) if source.is_dir() else file.name for file in files]
    images = [read_image(file, grey=grey) for file in files]
    small = [i for i, image in enumerate(images) if min(image.shape[:2]) < size]
    if len(small) == len(images):
        height, width = images[0].shape[:2]
        raise LatentiaError(
            f"{files[0]}: {width} x {height} pixels, and patches of {size} x {size} do not fit; choose smaller "
            "ones with --patch."
        )
    for i in small:
        say(console, f"note: {names[i]} is smaller than {size} x {size} pixels and is left out.")
    kept = [i for i in range(len(images)) if i not in set(small)]
    images, names = [images[i] for i in kept], [names[i] for i in kept]
    if any(image.ndim == 3 for image in images):
        images = [_in_colour(image) for image in images]
    channels = images[0].shape[2:]
    shape = (size, size, *channels)
    total = sum((image.shape[0] - size + 1) * (image.shape[1] - size + 1) for image in images)
    found = image_patches(images, size, n_patches=n_patches, random_state=seed)
    rows = found - _means(found, channels)
    rows[np.abs(rows).max(axis=1) < _ROUNDING] = 0.0
    if not rows.any():
        raise LatentiaError(f"{source}: all patches are of one colour: there is nothing to learn from.")
    what = f"{images[0].shape[1]} x {images[0].shape[0]} pixels" if len(images) == 1 else count(len(images), "image")
    colour = "colour" if channels else "grey"
    drawn = f"{len(rows):,} of {total:,}" if len(rows) < total else f"all {total:,}"
    text = f"{drawn} patches of {size} x {size}, each without its mean"
    say(console, f"{source.name}: {what}, {colour}; {text}{' in every colour' if channels else ''}.")
    columns = [
        f"row {i} column {j}{f' {c}' if c else ''}" for i in range(1, size + 1) for j in range(1, size + 1)
        for c in (("red", "green", "blue") if channels else ("",))
    ]  # fmt: skip
    name = source.resolve().name
    return _Data(
        rows, columns, name, f"{name}: {what}, {text}", {"patch": size, "colour": bool(channels)}, patch=shape,
        pictures=list(zip(names, images, strict=True)),
    )  # fmt: skip


def _in_colour(image: np.ndarray) -> np.ndarray:
    return image if image.ndim == 3 else np.repeat(image[:, :, None], _COLOURS, axis=2)


def _means(patches: np.ndarray, channels: Sequence[int]) -> np.ndarray:
    """The mean of every patch, of each of its colours, in the shape of the patches."""
    n = int(np.prod(channels))
    means = patches.reshape(len(patches), -1, n).mean(axis=1)
    return np.tile(means, patches.shape[1] // n)


# --- fitting --------------------------------------------------------------------------------------------------------


def _comparison(fit: Callable[..., Any], data: _Data) -> Comparison:
    """Models of nine tenths of the rows, and what each leaves of the others."""
    # Patches that lie beside each other overlap: what is held out lies together.
    stretch = max(1, data.rows.shape[0] // _STRETCHES) if data.patch else 1
    train, test = hold_out(data.rows, data.source, stretch)
    held = float(abs(test).power(2).sum() if sparse.issparse(test) else (test**2).sum())

    def measure(model: Any) -> dict[str, Any]:
        codes = sparse_codes(model, test)
        square = np.asarray(test.power(2).sum(axis=1)).ravel() if sparse.issparse(test) else (test**2).sum(axis=1)
        return {
            "held-out error": float(row_errors(model, test, codes) @ square) / held,
            "sparsity": int(model.sparsity_),
        }

    what = "one patch in ten" if data.patch else "one row in ten"
    return Comparison("atoms", what, lambda size: fit(size, train, verbose=False), measure)


def _restored(model: Any, name: str, image: np.ndarray, progress: bool = False) -> Restored:
    """An image, and the one of the codes of its patches, with their means."""
    return Restored(name, image, _rebuilt(model, image, progress, most=_MOST_OF_REPORT))


def _rebuilt(
    model: Any, image: np.ndarray, progress: bool, level: float | None = None, most: int = _MOST_PLACES
) -> np.ndarray:
    """The image of its patches' codes: of the model's sparsity or, with the level of the noise, as many atoms as reach it."""
    channels = image.shape[2:]
    size = round((model.components_.shape[1] / int(np.prod(channels))) ** 0.5)
    height, width = image.shape[:2]
    stride = max(1, min(int(np.ceil(np.sqrt(height * width / most))), size // 2))
    patches = image_patches(image, size, stride=stride)
    with progress_bar("rebuilding" if progress else "", len(patches), "patches") as advance:
        for part in _parts(patches):
            means = _means(part, channels)
            rows = part - means
            part[:] = means + (
                model.transform(rows) @ model.components_ if level is None else _down_to(model, rows, level)
            )
            advance(len(part))
    return np.clip(image_from_patches(patches, image.shape, stride=stride), 0.0, 1.0)


def _down_to(model: Any, rows: np.ndarray, level: float) -> np.ndarray:
    """What as many atoms say of each row as it takes until no more is left than noise of this standard deviation."""
    atoms, n = model.components_, rows.shape[1]
    most = max(int(model.sparsity_), n // _LEAST_DIMENSIONS)
    left = matching_pursuit(rows, atoms, most, n_jobs=model.n_jobs).left
    steps = np.minimum((left > n * (_ABOVE_NOISE * level) ** 2).sum(axis=1), left.shape[1] - 1)
    found = np.zeros_like(rows)
    for step in np.unique(steps[steps > 0]):
        own = np.flatnonzero(steps == step)
        found[own] = matching_pursuit(rows[own], atoms, int(step), n_jobs=model.n_jobs).dense(len(atoms)) @ atoms
    return found


def _parts(table: np.ndarray) -> Iterator[np.ndarray]:
    return (table[start : start + _BATCH] for start in range(0, len(table), _BATCH))


# --- printing -------------------------------------------------------------------------------------------------------


def _show(model: Any, data: _Data, codes: sparse.csr_array, restored: Sequence[Restored], console: Console) -> None:
    rows = []
    for i, atom in enumerate(model.components_):
        cells = [str(i), f"{100 * model.usage_[i]:.2g}%", *component_cells(model.evidence_, i, 2)]
        if not data.patch:
            first = largest(np.abs(atom), _STRONGEST)
            cells.append(", ".join(f"{data.columns[d]} {short_number(atom[d], sign=True)}" for d in first))
        rows.append(cells)
    heads = {"atom": "right", "used in": "right", "error": "right", "grade": "left"}
    heads |= {} if data.patch else {"strongest": "left"}
    print_components(console, f"{count(len(rows), 'atom')}, the most used first", heads, rows, "atoms.csv")
    what = "patch" if data.patch else "row"
    say(
        console,
        f"Up to {count(int(model.sparsity_), 'atom')} a {what}, {needed(model, codes).mean():.1f} needed on average; they "
        f"leave {100 * model.reconstruction_error_:.2g}% of the squares.",
    )
    for one in restored:
        say(console, f"{one.name}: rebuilt with a PSNR of {psnr(one.original, one.restored):.1f} dB.")


# --- writing --------------------------------------------------------------------------------------------------------


def _write(
    folder: Path,
    model: Any,
    data: _Data,
    codes: sparse.csr_array,
    restored: Sequence[Restored],
    comparison: Rows | None,
) -> None:
    from ..report import write_dictionary_report

    atoms = [
        [i, f"{model.usage_[i]:.6f}", *component_cells(model.evidence_, i), *(f"{value:.8g}" for value in atom)]
        for i, atom in enumerate(model.components_)
    ]
    write_csv(folder / "atoms.csv", ["atom", "usage", "expected error", "grade", *data.columns], atoms)
    if data.patch:
        write_image(folder / "atoms.png", mosaic(model.components_, data.patch))
    else:
        _write_codes(folder / _CODES, codes, data.labels)
    if "divided_by" in data.reading:
        scales = zip(data.columns, data.reading["subtracted"], data.reading["divided_by"], strict=True)
        write_csv(folder / "scaling.csv", ["column", "subtracted", "divided by"], scales)
    write_dictionary_report(
        folder / "report.html", model, data.rows, columns=data.columns, codes=codes, patch=data.patch or None,
        pictures=restored, comparison=comparison, title=f"Atoms of {data.source}", source=data.described,
    )  # fmt: skip


def _write_codes(path: Path, codes: sparse.csr_array, labels: Labels) -> None:
    """A line for every atom of every row, those of most weight first."""
    write_csv(path, [*labels.head, "atom", "weight"], _codes(codes, labels))


def _codes(codes: sparse.csr_array, labels: Labels) -> Iterator[list[Any]]:
    for i, label in enumerate(labels):
        own = slice(codes.indptr[i], codes.indptr[i + 1])
        atoms, weights = codes.indices[own], codes.data[own]
        for place in np.argsort(-np.abs(weights), kind="stable"):
            yield [*label, atoms[place], f"{weights[place]:.6g}"]


# --- applying -------------------------------------------------------------------------------------------------------


def applied_file(model: Any, source: Path, denoise: bool) -> str:
    """The name of the file that `apply_dictionary` writes."""
    if "patch" in getattr(model, "reading_", {}) or is_image(source):
        return _IMAGE
    return _DENOISED if denoise else _CODES


def apply_dictionary(
    model: Any, source: Path, console: Console, how: Reading, denoise: bool = False
) -> Callable[[Path], object]:
    """Read other rows, or an image; gives the function that writes their codes, the rows that the atoms make, or an image."""
    reading = getattr(model, "reading_", {"columns": getattr(model, "feature_names_in_", None)})
    if applied_file(model, source, denoise) == _IMAGE:
        return _apply_to_image(model, source, reading, console, how, denoise)
    table = read_known_columns(source, reading["columns"], model.n_features_in_, how)
    announce(table, console)
    rows = scaled_rows(table.values, reading)
    codes = sparse_codes(model, rows, "codes" if how.progress else "")
    left = 100 * float(np.median(row_errors(model, rows, codes)))
    say(console, f"Left over of a row: {left:.2g}% of its squares (median).")
    if denoise:
        return lambda path: _write_denoised(path, model, codes, table, reading)
    return lambda path: _write_codes(path, codes, Labels(table.rows, table.names))


def _write_denoised(path: Path, model: Any, codes: sparse.csr_array, table: Table, reading: dict[str, Any]) -> None:
    """The rows that the atoms make, in the units of the file."""
    labels = Labels(table.rows, table.names)

    def lines() -> Iterator[list[Any]]:
        for i, label in enumerate(labels):
            row = (codes[[i]] @ model.components_)[0]
            row = row * reading["divided_by"] + reading["subtracted"] if "divided_by" in reading else row
            yield [*label, *(f"{value:.8g}" for value in row)]

    write_csv(path, [*labels.head, *table.columns], lines())


def _apply_to_image(
    model: Any, source: Path, reading: dict[str, Any], console: Console, how: Reading, denoise: bool
) -> Callable[[Path], object]:
    """Rebuild an image from atoms of patches; grey ones rebuild every colour by itself."""
    if not is_image(source):
        raise LatentiaError(f"{source}: no image, and the model has atoms of patches. PNG, JPEG and TIFF are read.")
    if how.missing != "error":
        raise LatentiaError(f"--missing: {source.name} is an image, in which no pixel lacks a value; leave it out.")
    if reading.get("columns") is not None:
        raise LatentiaError(f"{source}: an image, and the model was learned from columns of a table.")
    n = model.components_.shape[1]
    colour = reading.get("colour", False)
    size = reading.get("patch", round((n / (_COLOURS if colour else 1)) ** 0.5))
    if size * size * (_COLOURS if colour else 1) != n:
        raise LatentiaError(
            f"{source}: an image, and the atoms of the model have {n} columns, which are no square patch."
        )
    image = read_image(source)
    height, width = image.shape[:2]
    if min(height, width) < size:
        raise LatentiaError(f"{source}: {width} x {height} pixels, and the model has patches of {size} x {size}.")
    level = noise_level(image) if denoise else None
    rebuilt = functools.partial(_rebuilt, model, progress=how.progress, level=level)
    if colour:
        found = rebuilt(_in_colour(image))
        found = found if image.ndim == 3 else found.mean(axis=2)
    elif image.ndim == 3:
        found = np.stack([rebuilt(image[:, :, c]) for c in range(_COLOURS)], axis=2)
    else:
        found = rebuilt(image)
    atoms = f"up to {count(int(model.sparsity_), 'atom')} a patch"
    how_many = atoms if level is None else f"as many atoms a patch as stand out of noise of {level:.2g}, white being 1"
    say(console, f"{source.name}: {width} x {height} pixels, rebuilt from {how_many}.")
    say(console, f"PSNR to what was given: {psnr(image, found):.1f} dB.")
    return lambda path: write_image(path, found)
