"""Distances of dictionary atoms, which are identified up to order and sign."""

from __future__ import annotations

import numpy as np


def atom_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute the distance of every atom of ``first`` to the nearest one of ``second`` or its negative.

    Parameters
    ----------
    first, second : ndarrays of shape (m, n), (m', n)
        Rows of unit length.

    Returns
    -------
    ndarray of shape (m,)
        |d - d'| in l2, from 0 to the root of 2.
    """
    cosines = np.abs(first @ second.T)
    nearest = cosines.argmax(axis=1)
    nearest_atoms = second[nearest] * np.where(np.einsum("ij,ij->i", first, second[nearest]) < 0, -1.0, 1.0)[:, None]
    return np.asarray(np.minimum(np.linalg.norm(first - nearest_atoms, axis=1), np.sqrt(2)))


def atom_coherence(atoms: np.ndarray) -> np.ndarray:
    """Compute the largest |cosine| of every atom with another one, shape (m,); 0 for a single atom.

    Parameters
    ----------
    atoms : array-like of shape (m, n)
        One atom per row.

    Returns
    -------
    ndarray of shape (m,)
    """
    cosines = np.abs(atoms @ atoms.T)
    np.fill_diagonal(cosines, 0.0)
    return np.asarray(cosines.max(axis=1))
