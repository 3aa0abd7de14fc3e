"""Posteriors by a sum over all 2^m configurations of the causes."""

from __future__ import annotations

import numpy as np
from sklearn import get_config

from ...system.threads import run_in_chunks, single_blas_thread
from .network import InteriorNetwork
from .records import EPS, Posteriors

MAX_CAUSES = 14  # causes up to which all 2^14 configurations are summed


def enumerate_configurations(
    model: InteriorNetwork, present: np.ndarray, observed: np.ndarray, out: Posteriors, n_jobs: int | None
) -> None:
    """Fill ``out`` by sums over all configurations of the causes."""
    m = len(model.on)
    configurations = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(float)
    prior = configurations @ np.log(model.on) + (1 - configurations) @ np.log(model.off)
    # At most four arrays of rows x configurations and of findings x configurations exist at a time, on a few threads.
    floats = get_config()["working_memory"] * (1 << 20) / 8 / 16 / len(configurations)
    rows = int(np.clip(floats, 1, 1024))

    def task(first: int, last: int) -> None:
        joint = np.tile(prior, (last - first, 1))
        for a in range(0, present.shape[1], rows):
            chunk = slice(a, a + rows)
            load = configurations @ model.weights[:, chunk] + model.hazard[chunk]
            # All terms have one sign, so that no digits cancel.
            joint -= (observed[first:last, chunk] & ~present[first:last, chunk]).astype(float) @ load.T
            joint += present[first:last, chunk].astype(float) @ np.log(-np.expm1(-load)).T
        largest = joint.max(axis=1)
        joint -= largest[:, None]
        np.exp(joint, out=joint)
        total = joint.sum(axis=1)
        out.probabilities[first:last] = np.clip(joint @ configurations / total[:, None], 0, 1)
        out.log_likelihood[first:last] = largest + np.log(total)
        out.error[first:last] = EPS * (m + 8 + 2 * np.abs(largest))

    with single_blas_thread():
        run_in_chunks(task, len(present), rows, n_jobs)
