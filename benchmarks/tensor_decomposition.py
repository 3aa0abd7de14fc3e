"""Claim: polar iteration decomposes nearly orthogonal tensors faster and more accurately than deflation as in the thesis.

    python benchmarks/tensor_decomposition.py [--quick] [--seeds 5]

T = sum_k lambda_k v_k^(x 3) + E with orthonormal v_k, lambda_k uniform in [1, 2], and symmetric Gaussian E scaled to an
operator norm (as power iterations find it) of .05 or 1 times the least lambda. ``Algorithm 7.2`` is
that of `latentia.papers.tensors`: for every component 20 random starts of 20 steps, the best polished by 20 more, and its
deflation subtracted from T. ``error``: mean distance of the true vectors to those they are matched with, signs fixed;
``recovered``: share of them below .5. All in one process on one BLAS thread; tensorly's parafac has its defaults but for
the start. ``ratio``: time or error over that of polar.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import Rates, report, timed
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from latentia.papers.tensors import robust_orthogonal_decomposition, robust_power_method
from latentia.tensor import decompose
from latentia.tensor.operators import tensor_norm

METHODS = {
    "polar": {},
    "als, 3 starts, 100 iterations": {"method": "als", "n_init": 3, "max_iter": 100},
}


def symmetric_noise(k: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal((k, k, k))
    noise = noise + noise.transpose(1, 2, 0) + noise.transpose(2, 0, 1)
    return noise + noise.transpose(0, 2, 1)


def planted(k: int, level: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The tensor and its true vectors in rows."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((k, k)))[0]
    weights = rng.uniform(1, 2, k)
    noise = symmetric_noise(k, rng)
    noise *= level * weights.min() / tensor_norm(noise)
    pairs = (vectors[:, :, None] * vectors[:, None, :]).reshape(k, -1)
    return ((vectors * weights[:, None]).T @ pairs).reshape(k, k, k) + noise, vectors


def literal(tensor: np.ndarray, seed: int) -> np.ndarray:
    return robust_power_method(tensor, len(tensor), n_starts=20, n_iter=20, random_state=seed)[1]


def tensorly_parafac(tensor: np.ndarray, seed: int) -> np.ndarray:
    from tensorly.decomposition import parafac

    return parafac(tensor, len(tensor), init="random", random_state=seed, normalize_factors=True).factors[0].T


def vector_errors(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Distance of every true vector to its match, signs fixed; sqrt(2) without one."""
    found = np.asarray(found) / np.linalg.norm(found, axis=1, keepdims=True)
    cosines = np.abs(found @ true.T)
    of_found, of_true = linear_sum_assignment(-cosines)
    errors = np.full(len(true), np.sqrt(2))
    errors[of_true] = np.sqrt(np.maximum(2 - 2 * cosines[of_found, of_true], 0))
    return errors


def own(tensor: np.ndarray, **options) -> np.ndarray:
    found = decompose(tensor, **options).vectors
    return found[0] if isinstance(found, tuple) else found


def compare(k: int, level: float, seeds: list[int], peers: bool = True, methods=METHODS) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in seeds:
        tensor, vectors = planted(k, level, seed)
        tasks = {name: lambda o=options: own(tensor, **o) for name, options in methods.items()}
        if peers:
            tasks["Algorithm 7.2"] = lambda: literal(tensor, seed)
            tasks["noisy-or paper, Algorithm 2"] = lambda: robust_orthogonal_decomposition(tensor, k)[1][0]
            tasks["tensorly parafac, random start"] = lambda: tensorly_parafac(tensor, seed)
        for name, task in tasks.items():
            run = timed(task)
            errors = vector_errors(run.value, vectors)
            rows.setdefault(name, []).append((errors.mean(), (errors < 0.5).mean(), run.cpu, run.wall))
        print(".", end="", flush=True)
    print()
    medians = {name: np.median(runs, axis=0) for name, runs in rows.items()}
    first = medians["polar"]
    return [
        {
            "K": k, "noise": level, "seeds": len(seeds), "method": name, "error": error, "recovered": share,
            "cpu_s": cpu, "wall_s": wall, "error_ratio": error / first[0], "wall_ratio": wall / first[3],
        }
        for name, (error, share, cpu, wall) in medians.items()
    ]  # fmt: skip


def large(k: int) -> list[dict]:
    """One large tensor, in both precisions.

    ``gflop``: the contractions T(I, v, v) of all iterations, K d^2 (d + 1) each. ``share``: the time that they take as
    matrix products in single precision, where most of them are made, of the whole.
    """
    tensor, vectors = planted(k, 0.05, 0)
    rates = Rates.measured(1)
    rows = []
    for dtype in (np.float64, np.float32):
        given = tensor.astype(dtype)
        run = timed(lambda given=given: decompose(given))
        errors = vector_errors(run.value.vectors, vectors)
        gflop = 1e-9 * (run.value.info.iterations + 1) * k**3 * (k + 1)
        rows.append(
            {
                "K": k, "noise": 0.05, "seeds": 1, "method": f"polar, {np.dtype(dtype).name}", "error": errors.mean(),
                "recovered": (errors < 0.5).mean(), "cpu_s": run.cpu, "wall_s": run.wall, "gflop": gflop,
                "gemm_double": rates.double, "gemm_single": rates.single, "share": gflop / rates.single / run.cpu,
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="K = 30 and 20 in place of 100 and 50, and 100 in place of 300"
    )
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        compare(4, 0.05, [0])  # compile and import
        rows = compare(30 if options.quick else 100, 0.05, [0])
        rows += compare(20 if options.quick else 50, 1.0, list(range(options.seeds)))
        rows += large(100 if options.quick else 300)
    report("tensor_decomposition" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
