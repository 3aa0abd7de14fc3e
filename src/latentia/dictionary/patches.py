"""Dictionaries of patches of images: what atoms make of an image, and atoms as one image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datasets.images import COLOURS, image_from_patches, image_patches, patch_means, to_colour
from ..system.progress import progress_bar
from .pursuit import matching_pursuit

_BATCH, _MOST_PLACES = 20_000, 300_000  # patches at a time, and those of which an image is rebuilt
_LEAST_DIMENSIONS = 4  # pixels for each atom of a patch that is freed of noise
_ABOVE_NOISE = 1.1  # times the level of the noise, down to which atoms are taken
_GAP = 1  # pixels between the atoms of a mosaic
_WORST = 100.0  # decibels of pictures that are the same
_INK_GREY = 0.5


# --- images from atoms ----------------------------------------------------------------------------------------------


def restored(
    model: Any,
    image: np.ndarray,
    *,
    colour: bool,
    level: float | None = None,
    most: int = _MOST_PLACES,
    progress: bool = False,
) -> np.ndarray:
    """What atoms make of an image; atoms of grey patches make every colour by itself.

    Parameters
    ----------
    model : IncoherentDictionary
        Its atoms are square patches.
    image : ndarray of shape (height, width) or (height, width, 3)
        From 0, black, to 1, white.
    colour : bool
        Whether the atoms are in colour.
    level : float, optional
        The level of the noise, down to which atoms are taken; by default as many are taken as the sparsity of the model allows.
    most : int
        About how many patches are used: those of images with more lie farther apart.
    progress : bool
        Whether it is shown.

    Returns
    -------
    ndarray of the shape of the image
    """
    if colour:
        found = _rebuilt(model, to_colour(image), level, most, progress)
        return found if image.ndim == 3 else np.asarray(found.mean(axis=2))
    if image.ndim == 3:
        parts = [_rebuilt(model, image[:, :, c], level, most, progress) for c in range(len(COLOURS))]
        return np.stack(parts, axis=2)
    return _rebuilt(model, image, level, most, progress)


def _rebuilt(model: Any, image: np.ndarray, level: float | None, most: int, progress: bool) -> np.ndarray:
    channels = image.shape[2:]
    size = round((model.components_.shape[1] / int(np.prod(channels))) ** 0.5)
    height, width = image.shape[:2]
    stride = max(1, min(int(np.ceil(np.sqrt(height * width / most))), size // 2))
    patches = image_patches(image, size, stride=stride)
    with progress_bar("rebuilding" if progress else "", len(patches), "patches") as advance:
        for start in range(0, len(patches), _BATCH):
            part = patches[start : start + _BATCH]
            means = patch_means(part, channels)
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


def psnr(original: np.ndarray, made: np.ndarray) -> float:
    """Peak signal-to-noise ratio in decibels, -10 log10 of the mean squared difference where white is 1; at most 100."""
    error = float(np.mean((original - made) ** 2))
    return min(-10 * float(np.log10(max(error, 1e-300))), _WORST)


# --- atoms as images ------------------------------------------------------------------------------------------------


def mosaic(atoms: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Atoms (m, n) of patches of this shape side by side as one image, black to white; grey is zero."""
    m, (height, width) = len(atoms), shape[:2]
    across = int(np.ceil(np.sqrt(m)))
    down = -(-m // across)
    whole = np.ones(((height + _GAP) * down - _GAP, (width + _GAP) * across - _GAP, *shape[2:]))
    for i, atom in enumerate(atoms):
        y, x = (height + _GAP) * (i // across), (width + _GAP) * (i % across)
        whole[y : y + height, x : x + width] = as_grey(atom).reshape(tuple(shape))
    return whole


def as_grey(atom: np.ndarray) -> np.ndarray:
    """Weights as brightness: the same distance from grey for as much weight of either sign."""
    return _INK_GREY + _INK_GREY * atom / max(float(np.abs(atom).max()), 1e-300)
