"""Dictionaries of patches of images: images rebuilt from atoms, and atoms as one image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datasets.images import COLOURS, image_from_patches, image_patches, patch_means, to_colour
from ..system.progress import progress_bar
from .pursuit import matching_pursuit

_BATCH, _MAX_PATCHES = 20_000, 300_000  # patches at a time, and the most for one image
_PIXELS_PER_ATOM = 4  # pixels for each atom when noise is removed
_NOISE_FACTOR = 1.1  # atoms are added until the residual is at this multiple of the noise
_GAP = 1  # pixels between the atoms of a mosaic
_MAX_DECIBELS = 100.0  # decibels of identical pictures
_INK_GREY = 0.5


# --- images from atoms ----------------------------------------------------------------------------------------------


def restore(
    model: Any,
    image: np.ndarray,
    *,
    colour: bool,
    level: float | None = None,
    max_patches: int = _MAX_PATCHES,
    progress: bool = False,
) -> np.ndarray:
    """Rebuild an image from atoms; atoms of grey patches rebuild every colour by itself.

    Parameters
    ----------
    model : IncoherentDictionary
        Its atoms are square patches.
    image : ndarray of shape (height, width) or (height, width, 3)
        From 0, black, to 1, white.
    colour : bool
        Whether the atoms are in colour.
    level : float, optional
        The level of the noise: atoms are added until the residual reaches it; by default as many as the model's sparsity
        allows.
    max_patches : int
        Approximate largest number of patches: in larger images they are further apart.
    progress : bool
        Whether to show progress.

    Returns
    -------
    ndarray of the shape of the image
    """
    if colour:
        grey_image = _rebuild(model, to_colour(image), level, max_patches, progress)
        return grey_image if image.ndim == 3 else np.asarray(grey_image.mean(axis=2))
    if image.ndim == 3:
        parts = [_rebuild(model, image[:, :, c], level, max_patches, progress) for c in range(len(COLOURS))]
        return np.stack(parts, axis=2)
    return _rebuild(model, image, level, max_patches, progress)


def _rebuild(model: Any, image: np.ndarray, level: float | None, max_patches: int, progress: bool) -> np.ndarray:
    channels = image.shape[2:]
    size = round((model.components_.shape[1] / int(np.prod(channels))) ** 0.5)
    height, width = image.shape[:2]
    stride = max(1, min(int(np.ceil(np.sqrt(height * width / max_patches))), size // 2))
    patches = image_patches(image, size, stride=stride)
    with progress_bar("rebuilding" if progress else "", len(patches), "patches") as advance:
        for start in range(0, len(patches), _BATCH):
            part = patches[start : start + _BATCH]
            means = patch_means(part, channels)
            rows = part - means
            part[:] = means + (
                model.transform(rows) @ model.components_ if level is None else _code_down_to_noise(model, rows, level)
            )
            advance(len(part))
    return np.clip(image_from_patches(patches, image.shape, stride=stride), 0.0, 1.0)


def _code_down_to_noise(model: Any, rows: np.ndarray, level: float) -> np.ndarray:
    """Rebuild each row from as many atoms as it takes until the residual is noise of this standard deviation."""
    atoms, n = model.components_, rows.shape[1]
    max_atoms = max(int(model.sparsity_), n // _PIXELS_PER_ATOM)
    residuals = matching_pursuit(rows, atoms, max_atoms, n_jobs=model.n_jobs).residuals
    steps = np.minimum((residuals > n * (_NOISE_FACTOR * level) ** 2).sum(axis=1), residuals.shape[1] - 1)
    sums = np.zeros_like(rows)
    for step in np.unique(steps[steps > 0]):
        rows_of_step = np.flatnonzero(steps == step)
        sums[rows_of_step] = (
            matching_pursuit(rows[rows_of_step], atoms, int(step), n_jobs=model.n_jobs).dense(len(atoms)) @ atoms
        )
    return sums


def psnr(original: np.ndarray, rebuilt: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio in decibels, -10 log10 of the mean squared difference; at most 100."""
    error = float(np.mean((original - rebuilt) ** 2))
    return min(-10 * float(np.log10(max(error, 1e-300))), _MAX_DECIBELS)


# --- atoms as images ------------------------------------------------------------------------------------------------


def mosaic(atoms: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return atoms (m, n) of patches of this shape side by side as one image, black to white; grey is zero."""
    m, (height, width) = len(atoms), shape[:2]
    across = int(np.ceil(np.sqrt(m)))
    down = -(-m // across)
    image = np.ones(((height + _GAP) * down - _GAP, (width + _GAP) * across - _GAP, *shape[2:]))
    for i, atom in enumerate(atoms):
        y, x = (height + _GAP) * (i // across), (width + _GAP) * (i % across)
        image[y : y + height, x : x + width] = as_grey(atom).reshape(tuple(shape))
    return image


def as_grey(atom: np.ndarray) -> np.ndarray:
    """Return weights as brightness: equal weights of both signs have the same distance from grey."""
    return _INK_GREY + _INK_GREY * atom / max(float(np.abs(atom).max()), 1e-300)
