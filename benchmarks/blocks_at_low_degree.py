"""Claim: two blocks at three edges a node are found by the scaled matrix, and not by scikit-learn's spectral clustering.

    python benchmarks/blocks_at_low_degree.py [--quick] [--seeds 3]

Block models of 4,000 nodes and two blocks. Overlap: share of nodes in the right block, less one half, times two; mean over
seeds. ``ProbabilityMatrix`` has tau=.5 and ``labels_`` is timed with the fit; Bethe Hessian is that of Saade, Krzakala and
Zdeborova (2014) on its own, naive the second eigenvector of the adjacency matrix. ``over_sklearn``: wall seconds of
SpectralClustering(affinity="precomputed"), one seed, over those of the row. One BLAS thread.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, timed
from scipy import sparse
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.matrices import ProbabilityMatrix


def overlap(labels: np.ndarray, true: np.ndarray) -> float:
    return float(abs(2 * np.mean((labels > 0) == (true > 0)) - 1))


def bethe_hessian(adjacency: Any) -> np.ndarray:
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    r = np.sqrt((degrees**2).mean() / degrees.mean() - 1)
    hessian = (r**2 - 1) * sparse.eye_array(len(degrees)) - r * adjacency + sparse.diags_array(degrees)
    shift = float(2 * (r**2 + degrees.max()))
    _, vectors = eigsh(shift * sparse.eye_array(len(degrees)) - hessian, k=2, which="LA", v0=np.ones(len(degrees)))
    return (vectors[:, 0] > 0).astype(int)


def naive(adjacency: Any) -> np.ndarray:
    values, vectors = eigsh(adjacency.astype(float), k=2, which="LA", v0=np.ones(adjacency.shape[0]))
    return (vectors[:, np.argmin(values)] > 0).astype(int)


def sklearn_clustering(adjacency: Any) -> np.ndarray:
    from sklearn.cluster import SpectralClustering

    table = sparse.csr_matrix(adjacency)
    table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return SpectralClustering(2, affinity="precomputed", random_state=0).fit(table).labels_


def compare(degree: float, snr: float, nodes: int, seeds: int) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in range(seeds):
        graph = planted.block_model(nodes, 2, degree=degree, snr=snr, random_state=70 + seed)
        a = graph.adjacency
        tasks = {
            "ProbabilityMatrix": lambda: ProbabilityMatrix(2, tau=0.5).fit(a).labels_,
            "Bethe Hessian": lambda: bethe_hessian(a),
            "naive": lambda: naive(a),
        }
        if seed == 0:
            tasks["SpectralClustering"] = lambda: sklearn_clustering(a)
        for name, task in tasks.items():
            run = timed(task)
            rows.setdefault(name, []).append((overlap(run.value, graph.labels), run.wall, run.cpu))
    print(".", end="", flush=True)
    peer = rows["SpectralClustering"][0][1]
    out = []
    for name, found in rows.items():
        score, wall, cpu = np.mean(found, axis=0)
        row = {"degree": degree, "snr": snr, "nodes": nodes, "method": name, "runs": len(found), "overlap": score}
        out.append(row | {"wall_s": wall, "cpu_s": cpu, "over_sklearn": peer / wall})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 nodes, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    nodes, seeds = (1000, 1) if options.quick else (4000, options.seeds)
    with threadpool_limits(1):
        ProbabilityMatrix(2).fit(planted.block_model(200, degree=6).adjacency)  # compile
        rows = [row for degree, snr in ((3, 1.3), (3, 2), (5, 2)) for row in compare(degree, snr, nodes, seeds)]
    print()
    report("blocks_at_low_degree" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
