"""Claim: nine products with a large sparse matrix give its singular values within half a percent, if it has structure.

    python benchmarks/sparse_whitening.py [--quick]

Matrices of 15,000 rows and 100,000 columns with some 670 nonzeros a row. ``topics``: counts of a planted corpus of 100
topics; as they are, and with columns divided by the root of their document frequency, as the topic models do it. ``flat``:
columns whose frequencies fall as 1 / (rank + 30), three in ten from one of 200 vocabularies with a ranking of their own,
scaled likewise: a spectrum that is mostly flat, hard for all. K = 100. ``block_krylov_svd`` with n_passes=4, oversample=10,
beside scikit-learn's randomized_svd (the same oversample) and scipy's svds (to convergence: the reference). ``products``:
of X or X^T with a block of columns, with one column for svds. ``error``: mean relative error of the singular values. Every
method in a process of its own, one BLAS thread; ``memory_ratio``: peak resident memory beyond the loaded matrix, over the
bytes of the matrix.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _common import report, timed
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.linalg import block_krylov_svd


class Counted:
    """A matrix that counts its products."""

    def __init__(self, matrix: Any, counts: list[int] | None = None) -> None:
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype
        self.counts = [0] if counts is None else counts

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        self.counts[0] += 1
        return self.matrix @ other

    @property
    def T(self) -> Counted:  # noqa: N802
        return Counted(self.matrix.T, self.counts)


def krylov(matrix: Any, k: int) -> tuple[np.ndarray, int]:
    counted = Counted(matrix)
    return block_krylov_svd(counted, k, n_passes=4, oversample=10)[1], counted.counts[0]


def randomized(matrix: Any, k: int, n_iter: int) -> tuple[np.ndarray, int]:
    from sklearn.utils.extmath import randomized_svd

    values = randomized_svd(matrix, k, n_oversamples=10, n_iter=n_iter, random_state=0)[1]
    return values, 2 * n_iter + 2


def converged(matrix: Any, k: int) -> tuple[np.ndarray, int]:
    counted = Counted(matrix)
    operator = LinearOperator(
        matrix.shape, matvec=lambda v: counted @ v, rmatvec=lambda v: counted.T @ v, dtype=matrix.dtype
    )
    values = svds(operator, k, return_singular_vectors=True, random_state=0)[1]
    return np.sort(values)[::-1], counted.counts[0]


METHODS = {
    "scipy svds": converged,
    "block_krylov_svd": krylov,
    "randomized_svd, 4 iterations": lambda matrix, k: randomized(matrix, k, 4),
    "randomized_svd, 7 iterations": lambda matrix, k: randomized(matrix, k, 7),
}


def topics(n_rows: int, n_columns: int, per_row: int, k: int) -> sparse.csr_array:
    corpus = planted.topic_corpus(n_rows, n_topics=k, n_words=n_columns, length=int(1.3 * per_row))
    return sparse.csr_array(corpus.counts.astype(np.float64))


def flat(n_rows: int, n_columns: int, per_row: int, seed: int = 0) -> sparse.csr_array:
    """Counts with Zipf-like columns; every row has ``per_row`` different ones."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(1.0 / (np.arange(n_columns) + 30))
    cumulative /= cumulative[-1]
    group = rng.integers(200, size=n_rows)
    columns = np.empty((n_rows, per_row), np.int32)
    for i in range(n_rows):
        rank = np.searchsorted(cumulative, rng.random(4 * per_row))
        own = (rank * (2 * group[i] + 3) + 7919 * group[i]) % n_columns
        words = np.where(rng.random(len(rank)) < 0.3, own, rank)
        different = words[np.sort(np.unique(words, return_index=True)[1])]
        columns[i] = np.sort(different[:per_row])
    counts = 1.0 + rng.poisson(0.5, columns.size)
    return sparse.csr_array((counts, columns.ravel(), np.arange(0, columns.size + 1, per_row)), (n_rows, n_columns))


def scaled(matrix: sparse.csr_array) -> sparse.csr_array:
    frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
    factors = 1.0 / np.sqrt(np.maximum(frequency, 1))
    return sparse.csr_array((matrix.data * factors[matrix.indices], matrix.indices, matrix.indptr), matrix.shape)


def resident(field: str) -> int:
    """Bytes of VmRSS or VmHWM of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def child(path: str, method: str, k: int) -> None:
    """Run one method and print what it took as JSON."""
    matrix = sparse.csr_array(sparse.load_npz(path))
    small = sparse.random_array((300, 400), density=0.1, format="csr", random_state=0)
    METHODS[method](small, 5)  # imports
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    with threadpool_limits(1):
        run = timed(lambda: METHODS[method](matrix, k))
    peak = resident("VmHWM") - before
    values, products = run.value
    print(json.dumps([list(values), products, peak, run.cpu, run.wall]))


def compare(name: str, matrix: sparse.csr_array, k: int) -> list[dict]:
    size = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    rows, reference = [], None
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "matrix.npz")
        sparse.save_npz(path, matrix, compressed=False)
        for method in METHODS:
            command = [sys.executable, __file__, "--child", path, method, str(k)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            values, products, peak, cpu, wall = json.loads(out.splitlines()[-1])
            values = np.array(values)
            reference = values if reference is None else reference
            errors = np.abs(values - reference) / reference
            rows.append(
                {
                    "matrix": name, "method": method, "products": products, "error": errors.mean(), "worst": errors.max(),
                    "cpu_s": cpu, "wall_s": wall, "memory_mb": peak / 1e6, "memory_ratio": peak / size,
                }
            )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 x 20,000 with 200 nonzeros a row, K = 30")
    parser.add_argument("--child", nargs=3, metavar=("PATH", "METHOD", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], options.child[1], int(options.child[2]))
        return
    size, k = ((2000, 20_000, 200), 30) if options.quick else ((15_000, 100_000, 670), 100)
    planted_topics = topics(*size, k)
    matrices = {"topics": planted_topics, "topics, scaled": scaled(planted_topics), "flat, scaled": scaled(flat(*size))}
    rows = [row for name, matrix in matrices.items() for row in compare(name, matrix, k)]
    facts = {"size": f"{size[0]} x {size[1]}", "nonzeros a row": planted_topics.nnz / size[0], "components": k}
    report("sparse_whitening" + ("_quick" if options.quick else ""), rows, **facts)


if __name__ == "__main__":
    main()
