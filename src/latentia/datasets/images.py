"""Images as tables of patches, and back: files are read through Pillow, which comes with the ``report`` extra."""

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
_NORMAL_MEDIAN = 0.6745  # of the size of a standard normal number


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
        Of the files, relative to the folder.
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
        Each without its mean in every colour; those of one colour are zeros.
    shape : tuple of int
        Height and width of a patch, and 3 where there are colours.
    images : list of ndarray
        The images, shape (height, width), or all (height, width, 3) where one has colours.
    names : list of str
        Of their files, relative to the folder.
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
        """How many patches the images have, of which ``values`` may be some."""
        size = self.shape[0]
        return sum((image.shape[0] - size + 1) * (image.shape[1] - size + 1) for image in self.images)


def is_image(path: str | os.PathLike[str]) -> bool:
    """Whether the name says that the file is an image which `read_image` reads.

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
    """The images in a folder and those below it, in the order of their names.

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
        Of several pages or frames the first is read, with a note. A picture that says how it is to be turned is turned.
    grey : bool
        Whether colours become the grey of the same brightness.

    Returns
    -------
    ndarray of shape (height, width), or (height, width, 3) where there are colours
        From 0, black, to 1, white. Transparent parts are taken as white. Values that are no whole numbers of 8 or 16 bits are
        taken as they are if they lie between 0 and 1, and otherwise brought there from their least and greatest, with a note.
    """
    target = Path(path)
    with readable(target):
        if not target.is_file():
            raise LatentiaError(
                f"{'a folder, and an image is needed' if target.is_dir() else 'no such file'}.", source=target
            )
        picture = _opened(target)
        mode = picture.mode
        if mode in ("F", "I") or mode.startswith("I;16"):
            return _of_numbers(target, np.asarray(picture, dtype=np.float64), mode != "F")
        if picture.has_transparency_data:
            picture = _on_white(picture)
        if grey or picture.mode in ("1", "L"):
            return np.asarray(picture.convert("L"), dtype=np.float64) / _WHITE_8
        values = np.asarray(picture.convert("RGB"), dtype=np.float64) / _WHITE_8
        same = (values == values[..., :1]).all()
        return np.ascontiguousarray(values[..., 0]) if same else values


def read_pictures(path: str | os.PathLike[str]) -> Pictures:
    """Read a picture, or all of a folder and those below it, in grey, as rows of a table; they must be of one size.

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
    files, names = _listed(Path(path))
    images = [read_image(file, grey=True) for file in files]
    for file, one in zip(files, images, strict=True):
        if one.shape != images[0].shape:
            raise LatentiaError(
                f"{image_words(one.shape)}, and {files[0].name} has {image_words(images[0].shape)}: pictures of one "
                "size are needed.",
                source=file,
            )
    height, width = images[0].shape
    return Pictures(np.array([one.ravel() for one in images]), (height, width), names)


def read_patches(
    path: str | os.PathLike[str],
    size: int = 8,
    *,
    n_patches: int | None = 20_000,
    grey: bool = False,
    random_state: Any = 0,
) -> Patches:
    """Read squares of an image, or of all in a folder and those below it, as rows of a table, each without its mean.

    Parameters
    ----------
    path : path
        A PNG, JPEG or TIFF file, see `read_image`, or a folder of them. Images that are smaller than a patch are left
        out, with a warning.
    size : int
        Height and width of a patch.
    n_patches : int or None
        How many of them to draw from all places, each at most once; None takes all. They stay in their order.
    grey : bool
        Whether colours become the grey of the same brightness. Otherwise all images are in colour if one is.
    random_state : int, RandomState or None
        Of the drawing.

    Returns
    -------
    Patches
        Values, shape (n_patches, size * size) or (n_patches, size * size * 3), and the images that they are of.

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
    files, names = _listed(Path(path))
    images = [read_image(file, grey=grey) for file in files]
    large = [min(image.shape[:2]) >= size for image in images]
    if not any(large):
        raise LatentiaError(
            f"{image_words(images[0].shape)}, and patches of {size} x {size} do not fit; choose smaller ones with "
            f"{write_parameter('size')}.",
            source=files[0],
        )
    left_out = [name for name, fits in zip(names, large, strict=True) if not fits]
    if left_out:
        what = "image is" if len(left_out) == 1 else "images are"
        warn(f"{path}: {len(left_out)} {what} smaller than {size} x {size} pixels and left out.", DroppedDataWarning)
    kept = list(compress(images, large))
    if any(image.ndim == 3 for image in kept):
        kept = [in_colour(image) for image in kept]
    found = image_patches(kept, size, n_patches=n_patches, random_state=random_state)
    channels = kept[0].shape[2:]
    values = found - patch_means(found, channels)
    values[np.abs(values).max(axis=1) < _ROUNDING] = 0.0
    if not values.any():
        raise LatentiaError("all patches are of one colour: there is nothing to learn from.", source=path)
    return Patches(values, (size, size, *channels), kept, list(compress(names, large)), left_out)


def pixel_names(shape: Sequence[int]) -> list[str]:
    """Names of the pixels of an image, row by row; in colour, of the three values of each.

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
    each = [f"row {i} column {j}" for i in range(1, shape[0] + 1) for j in range(1, shape[1] + 1)]
    return [f"{one} {colour}" for one in each for colour in COLOURS] if len(shape) > 2 else each


def check_pixels(
    values: Any, source: str, *, image: Sequence[int] | None = None, shape: Sequence[int] | None = None
) -> None:
    """Raise unless a table has a row for every pixel of an image, or a column for every pixel of pictures.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (n_rows, d)
        The table.
    source : str
        What the error calls it.
    image : (int, int), optional
        Height and width of the image whose pixels the rows are.
    shape : (int, int), optional
        Height and width of the pictures that the rows are.

    Raises
    ------
    LatentiaError
        If there are more or fewer of them.
    """
    n, d = values.shape
    for parameter, given, size, what in (("image", image, n, "rows"), ("shape", shape, d, "columns")):
        if given is not None and given[0] * given[1] != size:
            raise LatentiaError(
                f"these are {given[0] * given[1]:,} pixels, and {source} has {size:,} {what}.",
                parameter=parameter, value=f"{given[1]}x{given[0]}",
            )  # fmt: skip


def image_words(shape: Sequence[int]) -> str:
    """``95 x 60 pixels`` of a height and a width."""
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
    """An image of values from 0 to 1 as a Pillow image of 8 bits."""
    return pillow("Writing images").fromarray(np.rint(_WHITE_8 * np.clip(image, 0.0, 1.0)).astype(np.uint8))


def image_patches(
    images: Any, size: int = 8, *, stride: int = 1, n_patches: int | None = None, random_state: Any = 0
) -> np.ndarray:
    """Squares of an image, or of several, as rows of a table.

    Parameters
    ----------
    images : ndarray of shape (height, width) or (height, width, channels), or a sequence of them
    size : int
        Height and width of a patch.
    stride : int
        Pixels from one patch to the next. The last patches are aligned with the end of the image, so that all pixels are
        covered.
    n_patches : int, optional
        How many of them to draw, each at most once; all by default, and where there are fewer. They stay in their order.
    random_state : int, RandomState or None
        Of the drawing.

    Returns
    -------
    ndarray of shape (n, size * size) or (n, size * size * channels)
        Pixels row by row, the channels of a pixel beside each other: what ``reshape(size, size, channels)`` gives back.

    See Also
    --------
    image_from_patches : The image of all its patches.
    """
    check_parameter("size", size, Integer(1))
    check_parameter("stride", stride, Integer(1))
    many = _checked(images, size)
    grids = [(_starts(image.shape[0], size, stride), _starts(image.shape[1], size, stride)) for image in many]
    ends = np.cumsum([len(rows) * len(columns) for rows, columns in grids])
    chosen = np.arange(ends[-1])
    if n_patches is not None:
        check_parameter("n_patches", n_patches, Integer(1))
        if n_patches < len(chosen):
            generator = np.random.default_rng(seed_of(random_state))
            chosen = np.sort(generator.choice(len(chosen), n_patches, replace=False))
    found = np.empty((len(chosen), size * size * many[0].shape[2]))
    for image, (rows, columns), end in zip(many, grids, ends, strict=True):
        own = (chosen >= end - len(rows) * len(columns)) & (chosen < end)
        down, across = np.divmod(chosen[own] - (end - len(rows) * len(columns)), len(columns))
        windows = sliding_window_view(image, (size, size), axis=(0, 1))  # (.., .., channels, size, size)
        found[own] = windows[rows[down], columns[across]].transpose(0, 2, 3, 1).reshape(len(down), found.shape[1])
    return found


def image_from_patches(patches: np.ndarray, shape: Sequence[int], *, stride: int = 1) -> np.ndarray:
    """The image whose patches these are; where they overlap it is their mean.

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
        raise LatentiaError(f"patches has {patches.shape[1]} columns, which are no square of {_of_channels(channels)}.")
    if size > min(height, width):
        raise LatentiaError(f"patches are {size} x {size} pixels, and the image {height} x {width}.")
    rows, columns = _starts(height, size, stride), _starts(width, size, stride)
    if len(patches) != len(rows) * len(columns):
        raise LatentiaError(
            f"patches has {len(patches)} rows, and an image of {height} x {width} pixels has {len(rows) * len(columns)} "
            f"patches of {size} x {size} with stride {stride}: all are needed."
        )
    cells = patches.reshape(len(rows), len(columns), size, size, channels)
    total, times = np.zeros((height, width, channels)), np.zeros((height, width, 1))
    for i in range(size):
        for j in range(size):
            place = np.ix_(rows + i, columns + j)
            total[place] += cells[:, :, i, j]
            times[place] += 1
    return (total / times).reshape(tuple(shape))


def in_colour(image: np.ndarray) -> np.ndarray:
    """The image with three colours, which are the same where it is grey."""
    return image if image.ndim == 3 else np.repeat(image[:, :, None], len(COLOURS), axis=2)


def patch_means(patches: np.ndarray, channels: Sequence[int]) -> np.ndarray:
    """The mean of every patch, of each of its colours, in the shape of the patches."""
    n = int(np.prod(channels))
    means = patches.reshape(len(patches), -1, n).mean(axis=1)
    return np.tile(means, patches.shape[1] // n)


def noise_level(image: np.ndarray) -> float:
    """Standard deviation of the noise in an image, shape (height, width) or (height, width, channels), of 2 x 2 pixels or more.

    It is taken from the second differences of four neighbours, in which little but noise is left of most images; fine texture
    counts as noise.

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


def _listed(source: Path) -> tuple[list[Path], list[str]]:
    """The image, or those of a folder, and their names as seen from it."""
    if not source.is_dir():
        return [source], [source.name]
    files = image_files(source)
    if not files:
        raise LatentiaError("no images in this folder: PNG, JPEG and TIFF are read.", source=source)
    return files, [str(file.relative_to(source)) for file in files]


def pillow(purpose: str) -> Any:
    """Pillow's module of images."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("Pillow", "report", purpose) from None
    return Image


def _opened(path: Path) -> Any:
    """The first picture of a file, turned as it says."""
    Image = pillow("Reading images")
    from PIL import ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it does not read, and of large pictures
            with Image.open(path) as picture:
                frames = getattr(picture, "n_frames", 1)
                turned = ImageOps.exif_transpose(picture)
                turned.load()
    except (LatentiaError, MemoryError):
        raise
    except Image.UnidentifiedImageError:
        raise LatentiaError("not an image, or damaged. PNG, JPEG and TIFF are read.", source=path) from None
    except Exception as error:  # whatever its readers meet in a damaged file
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise LatentiaError(f"not a readable image ({error}).", source=path) from error
    if frames > 1:
        warn(FileNotice(f"{path}: of {frames} pictures the first was read."))
    return turned


def _on_white(picture: Any) -> Any:
    """A picture with transparent parts, laid on white."""
    Image = pillow("Reading images")
    over = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB")


def _of_numbers(path: Path, values: np.ndarray, whole: bool) -> np.ndarray:
    """Grey values that are no bytes, brought to 0 and 1; ``whole`` ones of 16 bits as these are."""
    if not np.isfinite(values).all():
        row, column = (int(at) for at in np.argwhere(~np.isfinite(values))[0])
        raise LatentiaError(f"the pixel in row {row + 1}, column {column + 1} is {values[row, column]}.", source=path)
    least, most = float(values.min()), float(values.max())
    if whole and least >= 0 and most <= _WHITE_16:
        return values / _WHITE_16
    if not whole and least >= 0 and most <= 1:
        return values
    warn(FileNotice(f"{path}: values from {least:g} to {most:g} were brought to 0, black, and 1, white."))
    return (values - least) / (most - least) if most > least else np.ones_like(values)


# --- patches --------------------------------------------------------------------------------------------------------


def _starts(length: int, size: int, stride: int) -> np.ndarray:
    """Where patches begin along an axis; the last ends with it."""
    regular = np.arange(0, length - size + 1, stride)
    return regular if regular[-1] == length - size else np.append(regular, length - size)


def _checked(images: Any, size: int) -> list[np.ndarray]:
    """Images of finite numbers, shape (height, width, channels), all with as many channels."""
    single = isinstance(images, np.ndarray) and images.ndim in (2, 3)
    many = [np.asarray(image, dtype=np.float64) for image in ([images] if single else images)]
    if not many:
        raise LatentiaError("There are no images.")
    for image in many:
        if image.ndim not in (2, 3) or not image.size:
            raise LatentiaError(
                f"An image has the shape {image.shape}: (height, width) or (height, width, channels) is needed."
            )
        if min(image.shape[:2]) < size:
            raise LatentiaError(
                f"An image has {image.shape[0]} x {image.shape[1]} pixels, and patches of {size} x {size} do not fit into it.",
                parameter="size", value=size,
            )  # fmt: skip
        if not np.isfinite(image).all():
            raise LatentiaError("An image has values that are NaN or infinite.")
    found = [image if image.ndim == 3 else image[:, :, None] for image in many]
    if len(kinds := sorted({image.shape[2] for image in found})) > 1:
        raise LatentiaError(f"Images have {kinds[0]} and {kinds[1]} channels: bring them to the same colours.")
    return found


def _of_channels(channels: int) -> str:
    return f"{channels} channels" if channels > 1 else "grey pixels"
