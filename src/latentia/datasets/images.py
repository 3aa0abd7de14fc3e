"""Images as tables of patches, and back; files are read through Pillow, from the ``report`` extra."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .._parameters import Integer, OrNone, check_parameter, seed_of
from ..exceptions import DroppedDataWarning, FileNotice, LatentiaError, MissingExtraError, warn, write_parameter
from ..passes.formats import readable

__all__ = [
    "Patches",
    "Pictures",
    "check_pixels",
    "image_files",
    "image_from_patches",
    "image_patches",
    "is_image",
    "noise_level",
    "pixel_names",
    "read_image",
    "read_patches",
    "read_pictures",
    "write_image",
]

COLOURS = "red", "green", "blue"
_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
_WHITE_8, _WHITE_16 = 255.0, 65535.0
_ROUNDING = 1e-12
_NORMAL_MEDIAN = 0.6745  # median modulus of a standard normal number


@dataclass(frozen=True)
class Pictures:
    """Pictures of one size, as rows of a table.

    Attributes
    ----------
    values : ndarray of shape (n_pictures, height * width)
        From 0, black, to 1, white, pixel by pixel, row by row.
    shape : (int, int)
        Height and width of a picture.
    names : list of str
        Names of the files, relative to the folder.
    """

    values: np.ndarray
    shape: tuple[int, int]
    names: list[str]


@dataclass(frozen=True)
class Patches:
    """Patches of images, as rows of a table.

    Attributes
    ----------
    values : ndarray of shape (n_patches, size * size) or (n_patches, size * size * 3)
        Patches minus their mean in every colour; uniform patches are zeros.
    shape : tuple of int
        Height and width of a patch, and 3 if there are colours.
    images : list of ndarray
        The images, shape (height, width), or all (height, width, 3) if one has colours.
    names : list of str
        Names of their files, relative to the folder.
    left_out : list of str
        The files of images that are smaller than a patch.
    """

    values: np.ndarray
    shape: tuple[int, ...]
    images: list[np.ndarray]
    names: list[str]
    left_out: list[str]

    @property
    def n_places(self) -> int:
        """Number of all patches of the images; ``values`` may be a sample of them."""
        size = self.shape[0]
        return sum((image.shape[0] - size + 1) * (image.shape[1] - size + 1) for image in self.images)


def is_image(path: str | os.PathLike[str]) -> bool:
    """Return True if the name is that of an image file that `read_image` reads.

    Parameters
    ----------
    path : str or path
        The file or folder.

    Returns
    -------
    bool
    """
    return Path(path).name.lower().endswith(_SUFFIXES)


def image_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the images in a folder and its subfolders, in the order of their names.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    list of Path
    """
    with readable(Path(folder)):
        return sorted(path for path in Path(folder).rglob("*") if is_image(path) and path.is_file())


def read_image(path: str | os.PathLike[str], *, grey: bool = False) -> np.ndarray:
    """Read a PNG, JPEG or TIFF file.

    Parameters
    ----------
    path : path
        Only the first of several pages or frames is read, with a note. Stored rotations are applied.
    grey : bool
        True converts colours to grey of the same brightness.

    Returns
    -------
    ndarray of shape (height, width), or (height, width, 3) where there are colours
        From 0, black, to 1, white. Transparent parts become white. Values that are no whole numbers of 8 or 16 bits are kept
        if they lie between 0 and 1, and otherwise scaled from their minimum and maximum to 0 and 1, with a note.
    """
    target = Path(path)
    with readable(target):
        if not target.is_file():
            raise LatentiaError(
                f"{'expected an image, found a folder' if target.is_dir() else 'no such file'}.", source=target
            )
        picture = _open(target)
        mode = picture.mode
        if mode in ("F", "I") or mode.startswith("I;16"):
            return _scale_numbers(target, np.asarray(picture, dtype=np.float64), mode != "F")
        if picture.has_transparency_data:
            picture = _blend_on_white(picture)
        if grey or picture.mode in ("1", "L"):
            return np.asarray(picture.convert("L"), dtype=np.float64) / _WHITE_8
        values = np.asarray(picture.convert("RGB"), dtype=np.float64) / _WHITE_8
        is_grey = (values == values[..., :1]).all()
        return np.ascontiguousarray(values[..., 0]) if is_grey else values


def read_pictures(path: str | os.PathLike[str]) -> Pictures:
    """Read a picture, or all in a folder and its subfolders, in grey, as rows of a table; all must have one size.

    Parameters
    ----------
    path : path
        A PNG, JPEG or TIFF file, see `read_image`, or a folder of them.

    Returns
    -------
    Pictures
        Values, shape (n_pictures, height * width), with height and width, and the names of the files, in whose order they are.

    Raises
    ------
    LatentiaError
        If there are no images, one cannot be read, or two differ in size. The message names the file.

    See Also
    --------
    read_image : One image, in its colours.
    """
    files, names = _list_images(Path(path))
    images = [read_image(file, grey=True) for file in files]
    for file, image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            raise LatentiaError(
                f"expected {image_words(images[0].shape)}, as in {files[0].name}; found {image_words(image.shape)}.",
                source=file,
            )
    height, width = images[0].shape
    return Pictures(np.array([image.ravel() for image in images]), (height, width), names)


def read_patches(
    path: str | os.PathLike[str],
    size: int = 8,
    *,
    n_patches: int | None = 20_000,
    grey: bool = False,
    random_state: Any = 0,
) -> Patches:
    """Read square patches of an image, or of all in a folder and its subfolders, as rows of a table, minus their means.

    Parameters
    ----------
    path : path
        A PNG, JPEG or TIFF file, see `read_image`, or a folder of them. Images that are smaller than a patch are left
        out, with a warning.
    size : int
        Height and width of a patch.
    n_patches : int or None
        Number of patches to draw without replacement from all places; None takes all. They stay in their order.
    grey : bool
        True converts colours to grey of the same brightness. Otherwise all images are in colour if one is.
    random_state : int, RandomState or None
        Seed of the draw.

    Returns
    -------
    Patches
        Values, shape (n_patches, size * size) or (n_patches, size * size * 3), and the images.

    Raises
    ------
    LatentiaError
        If there are no images, one cannot be read, all are smaller than a patch, or all patches are of one colour.

    See Also
    --------
    image_patches : Patches of images in memory, with their means.
    """
    check_parameter("size", size, Integer(1))
    check_parameter("n_patches", n_patches, OrNone(Integer(1)))
    files, names = _list_images(Path(path))
    images = [read_image(file, grey=grey) for file in files]
    large = [min(image.shape[:2]) >= size for image in images]
    if not any(large):
        raise LatentiaError(
            f"expected at least {size} x {size} pixels, found {image_words(images[0].shape)}. Choose smaller patches with "
            f"{write_parameter('size')}.",
            source=files[0],
        )
    left_out = [name for name, fits in zip(names, large, strict=True) if not fits]
    if left_out:
        subject = "image is" if len(left_out) == 1 else "images are"
        warn(f"{path}: {len(left_out)} {subject} smaller than {size} x {size} pixels and left out.", DroppedDataWarning)
    kept_images = list(compress(images, large))
    if any(image.ndim == 3 for image in kept_images):
        kept_images = [to_colour(image) for image in kept_images]
    patches = image_patches(kept_images, size, n_patches=n_patches, random_state=random_state)
    channels = kept_images[0].shape[2:]
    values = patches - patch_means(patches, channels)
    values[np.abs(values).max(axis=1) < _ROUNDING] = 0.0
    if not values.any():
        raise LatentiaError("all patches are of one colour: there is nothing to learn from.", source=path)
    return Patches(values, (size, size, *channels), kept_images, list(compress(names, large)), left_out)


def pixel_names(shape: Sequence[int]) -> list[str]:
    """Return names of the pixels of an image, row by row; in colour, of the three values of each.

    Parameters
    ----------
    shape : sequence of int
        Height and width, and 3 where there are colours.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from latentia.datasets.images import pixel_names
    >>> pixel_names((1, 2))
    ['row 1 column 1', 'row 1 column 2']
    """
    pixels = [f"row {i} column {j}" for i in range(1, shape[0] + 1) for j in range(1, shape[1] + 1)]
    return [f"{pixel} {colour}" for pixel in pixels for colour in COLOURS] if len(shape) > 2 else pixels


def check_pixels(
    values: Any, source: str, *, image: Sequence[int] | None = None, shape: Sequence[int] | None = None
) -> None:
    """Raise unless a table has a row for every pixel of an image, or a column for every pixel of pictures.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (n_rows, d)
        The table.
    source : str
        Name of the table in the error.
    image : (int, int), optional
        Height and width of an image with a row for each pixel.
    shape : (int, int), optional
        Height and width of pictures, one a row.

    Raises
    ------
    LatentiaError
        If there are more or fewer of them.
    """
    n, d = values.shape
    for parameter, expected_shape, size, noun in (("image", image, n, "rows"), ("shape", shape, d, "columns")):
        if expected_shape is not None and expected_shape[0] * expected_shape[1] != size:
            raise LatentiaError(
                f"these are {expected_shape[0] * expected_shape[1]:,} pixels, and {source} has {size:,} {noun}.",
                parameter=parameter, value=f"{expected_shape[1]}x{expected_shape[0]}",
            )  # fmt: skip


def image_words(shape: Sequence[int]) -> str:
    """Return a text such as ``95 x 60 pixels`` for a height and a width."""
    return f"{shape[1]} x {shape[0]} pixels"


def write_image(path: str | os.PathLike[str], image: np.ndarray) -> Path:
    """Write an image, shape (height, width) or (height, width, 3), of values from 0 to 1, to a PNG file of 8 bits.

    Values beyond 0 and 1 become black and white.

    Parameters
    ----------
    path : str or path
        File to write, PNG.
    image : array-like of shape (height, width) or (height, width, 3)
        Values from 0 to 1.

    Returns
    -------
    Path
    """
    target = Path(path)
    try:
        picture_of(image).save(target, format="PNG")
    except OSError as error:
        raise LatentiaError(f"cannot be written ({error.strerror or error}).", source=target) from error
    return target


def picture_of(image: np.ndarray) -> Any:
    """Return an image of values from 0 to 1 as a Pillow image of 8 bits."""
    return pillow("Writing images").fromarray(np.rint(_WHITE_8 * np.clip(image, 0.0, 1.0)).astype(np.uint8))


def image_patches(
    images: Any, size: int = 8, *, stride: int = 1, n_patches: int | None = None, random_state: Any = 0
) -> np.ndarray:
    """Return square patches of an image, or of several, as rows of a table.

    Parameters
    ----------
    images : ndarray of shape (height, width) or (height, width, channels), or a sequence of them
    size : int
        Height and width of a patch.
    stride : int
        Pixels from one patch to the next. The last patches are aligned with the end of the image, so that all pixels are
        covered.
    n_patches : int, optional
        Number of patches to draw without replacement; all by default, or if there are fewer. They stay in their order.
    random_state : int, RandomState or None
        Seed of the draw.

    Returns
    -------
    ndarray of shape (n, size * size) or (n, size * size * channels)
        Pixels row by row, with the channels of a pixel together, so that ``reshape(size, size, channels)`` gives the patch.

    See Also
    --------
    image_from_patches : The image of all its patches.
    """
    check_parameter("size", size, Integer(1))
    check_parameter("stride", stride, Integer(1))
    checked = _check_images(images, size)
    grids = [
        (_find_starts(image.shape[0], size, stride), _find_starts(image.shape[1], size, stride)) for image in checked
    ]
    ends = np.cumsum([len(rows) * len(columns) for rows, columns in grids])
    chosen = np.arange(ends[-1])
    if n_patches is not None:
        check_parameter("n_patches", n_patches, Integer(1))
        if n_patches < len(chosen):
            generator = np.random.default_rng(seed_of(random_state))
            chosen = np.sort(generator.choice(len(chosen), n_patches, replace=False))
    patches = np.empty((len(chosen), size * size * checked[0].shape[2]))
    for image, (rows, columns), end in zip(checked, grids, ends, strict=True):
        in_image = (chosen >= end - len(rows) * len(columns)) & (chosen < end)
        down, across = np.divmod(chosen[in_image] - (end - len(rows) * len(columns)), len(columns))
        windows = sliding_window_view(image, (size, size), axis=(0, 1))  # (.., .., channels, size, size)
        patches[in_image] = (
            windows[rows[down], columns[across]].transpose(0, 2, 3, 1).reshape(len(down), patches.shape[1])
        )
    return patches


def image_from_patches(patches: np.ndarray, shape: Sequence[int], *, stride: int = 1) -> np.ndarray:
    """Return the image with these patches; overlapping patches are averaged.

    Parameters
    ----------
    patches : ndarray of shape (n, size * size) or (n, size * size * channels)
        All patches of an image of this shape, as `image_patches` gives them with the same ``stride``.
    shape : sequence of int
        Height and width of the image, and the number of its channels if it has several.
    stride : int, default=1
        Distance of neighbouring patches.

    Returns
    -------
    ndarray of that shape
    """
    check_parameter("stride", stride, Integer(1))
    height, width, channels = (*shape, 1)[:3]
    size = round((patches.shape[1] / channels) ** 0.5)
    if size * size * channels != patches.shape[1]:
        raise LatentiaError(
            f"patches has {patches.shape[1]} columns, which are no square of {_describe_channels(channels)}."
        )
    if size > min(height, width):
        raise LatentiaError(f"patches are {size} x {size} pixels, and the image {height} x {width}.")
    rows, columns = _find_starts(height, size, stride), _find_starts(width, size, stride)
    if len(patches) != len(rows) * len(columns):
        raise LatentiaError(
            f"patches: expected all {len(rows) * len(columns)} patches of {size} x {size} with stride {stride} of an image of "
            f"{height} x {width} pixels, found {len(patches)}."
        )
    cells = patches.reshape(len(rows), len(columns), size, size, channels)
    total, times = np.zeros((height, width, channels)), np.zeros((height, width, 1))
    for i in range(size):
        for j in range(size):
            place = np.ix_(rows + i, columns + j)
            total[place] += cells[:, :, i, j]
            times[place] += 1
    return (total / times).reshape(tuple(shape))


def to_colour(image: np.ndarray) -> np.ndarray:
    """Return the image with three colours, which are equal if it is grey."""
    return image if image.ndim == 3 else np.repeat(image[:, :, None], len(COLOURS), axis=2)


def patch_means(patches: np.ndarray, channels: Sequence[int]) -> np.ndarray:
    """Return the mean of every patch, for each colour, in the shape of the patches."""
    n = int(np.prod(channels))
    means = patches.reshape(len(patches), -1, n).mean(axis=1)
    return np.tile(means, patches.shape[1] // n)


def noise_level(image: np.ndarray) -> float:
    """Estimate the standard deviation of the noise in an image of at least 2 x 2 pixels.

    The estimate uses second differences of four neighbours, which contain little but noise in most images; fine texture counts
    as noise.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        The image, of 2 x 2 pixels or more.

    Returns
    -------
    float
    """
    corners = image[:-1, :-1] - image[1:, :-1] - image[:-1, 1:] + image[1:, 1:]
    return float(np.median(np.abs(corners)) / 2 / _NORMAL_MEDIAN)


# --- files ----------------------------------------------------------------------------------------------------------


def _list_images(source: Path) -> tuple[list[Path], list[str]]:
    """Return the image, or those of a folder, and their names relative to it."""
    if not source.is_dir():
        return [source], [source.name]
    files = image_files(source)
    if not files:
        raise LatentiaError("expected PNG, JPEG or TIFF files, found no images in this folder.", source=source)
    return files, [str(file.relative_to(source)) for file in files]


def pillow(purpose: str) -> Any:
    """Import Pillow's module of images."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("Pillow", "report", purpose) from None
    return Image


def _open(path: Path) -> Any:
    """Open the first picture of a file, with its stored rotation applied."""
    Image = pillow("Reading images")
    from PIL import ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ignored metadata, and large pictures
            with Image.open(path) as picture:
                frames = getattr(picture, "n_frames", 1)
                turned = ImageOps.exif_transpose(picture)
                turned.load()
    except (LatentiaError, MemoryError):
        raise
    except Image.UnidentifiedImageError:
        raise LatentiaError("expected a PNG, JPEG or TIFF image; the file is none, or damaged.", source=path) from None
    except Exception as error:  # its readers raise anything for a damaged file
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise LatentiaError(f"not a readable image ({error}).", source=path) from error
    if frames > 1:
        warn(FileNotice(f"{path}: of {frames} pictures the first was read."))
    return turned


def _blend_on_white(picture: Any) -> Any:
    """Blend a picture with transparent parts on white."""
    Image = pillow("Reading images")
    over = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB")


def _scale_numbers(path: Path, values: np.ndarray, is_whole: bool) -> np.ndarray:
    """Scale grey values that are no bytes to the range from 0 to 1; whole numbers by the range of 16 bits if they fit."""
    if not np.isfinite(values).all():
        row, column = (int(at) for at in np.argwhere(~np.isfinite(values))[0])
        raise LatentiaError(f"the pixel in row {row + 1}, column {column + 1} is {values[row, column]}.", source=path)
    low, high = float(values.min()), float(values.max())
    if is_whole and low >= 0 and high <= _WHITE_16:
        return values / _WHITE_16
    if not is_whole and low >= 0 and high <= 1:
        return values
    warn(FileNotice(f"{path}: values from {low:g} to {high:g} were scaled to 0, black, to 1, white."))
    return (values - low) / (high - low) if high > low else np.ones_like(values)


# --- patches --------------------------------------------------------------------------------------------------------


def _find_starts(length: int, size: int, stride: int) -> np.ndarray:
    """Return the first pixels of patches along an axis; the last patch ends with the axis."""
    regular = np.arange(0, length - size + 1, stride)
    return regular if regular[-1] == length - size else np.append(regular, length - size)


def _check_images(images: Any, size: int) -> list[np.ndarray]:
    """Return images of finite numbers, shape (height, width, channels); raise for others, or different channels."""
    is_single = isinstance(images, np.ndarray) and images.ndim in (2, 3)
    arrays = [np.asarray(image, dtype=np.float64) for image in ([images] if is_single else images)]
    if not arrays:
        raise LatentiaError("Expected at least one image, found none.")
    for image in arrays:
        if image.ndim not in (2, 3) or not image.size:
            raise LatentiaError(
                f"An image has the shape {image.shape}; expected (height, width) or (height, width, channels)."
            )
        if min(image.shape[:2]) < size:
            raise LatentiaError(
                f"expected images of at least {size} x {size} pixels, found {image.shape[0]} x {image.shape[1]}.",
                parameter="size", value=size,
            )  # fmt: skip
        if not np.isfinite(image).all():
            raise LatentiaError("An image has values that are NaN or infinite.")
    with_channels = [image if image.ndim == 3 else image[:, :, None] for image in arrays]
    if len(kinds := sorted({image.shape[2] for image in with_channels})) > 1:
        raise LatentiaError(f"Images have {kinds[0]} and {kinds[1]} channels: bring them to the same colours.")
    return with_channels


def _describe_channels(channels: int) -> str:
    return f"{channels} channels" if channels > 1 else "grey pixels"
