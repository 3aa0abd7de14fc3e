"""The picture of docs/dictionary.md: products of rows, the connection graph, and how near atoms come.

    python benchmarks/dictionary_picture.py

10,000 rows of 4 of 192 atoms in 96 features, noise .02; writes ``docs/dictionary.png``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib
import numpy as np
from _dictionary import ksvd, some_rows

from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.metrics import atom_distances

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N, M, K, ROWS = 96, 192, 4, 10_000
SHOWN, EACH = 6, 60  # atoms of the graph in the picture, rows of each


def main() -> None:
    warnings.simplefilter("ignore")
    data = planted.sparse_codes(ROWS, N, M, K, coefficients="uniform", noise=0.02, random_state=1)
    fits = {
        "clusters alone": IncoherentDictionary(M, sparsity=K, refine=0, n_splits=0).fit(data.X).components_,
        "clusters and rounds": IncoherentDictionary(M, sparsity=K, n_splits=0).fit(data.X).components_,
        "the same rounds from random rows": IncoherentDictionary(M, sparsity=K, init="random", n_splits=0)
        .fit(data.X)
        .components_,
        "K-SVD, 30 rounds": ksvd(data.X, some_rows(data.X, M, 1), K),
    }
    supports = (data.codes.toarray() != 0).astype(np.float32)
    rng = np.random.default_rng(0)
    some = rng.permutation(ROWS)[:2000]
    products = np.abs(data.X[some] @ data.X[some].T)[np.triu_indices(2000, 1)]
    shared = (supports[some] @ supports[some].T)[np.triu_indices(2000, 1)] > 0
    threshold = 2.25 * np.median(products) / 0.6745
    order = np.concatenate([np.nonzero(supports[:, j])[0][:EACH] for j in range(SHOWN)])
    graph = np.abs(data.X[order] @ data.X[order].T) > threshold

    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.7), width_ratios=(1, 0.85, 1.1))
    bins = np.linspace(0, 6, 80)
    axes[0].hist(products[~shared], bins, density=True, alpha=0.6, label="no atom shared")
    axes[0].hist(products[shared], bins, density=True, alpha=0.6, label="an atom shared")
    axes[0].axvline(threshold, color="black", linewidth=1)
    axes[0].set(title="|product| of two rows", yscale="log", ylim=(1e-5, 20), ylabel="density")
    axes[0].legend(frameon=False)
    axes[1].imshow(~graph, cmap="gray", interpolation="nearest")
    axes[1].set(title=f"connected rows, {SHOWN} atoms", xticks=[], yticks=[])
    for name, atoms in fits.items():
        axes[2].plot(
            np.sort(atom_distances(data.components, atoms)), label=name, linestyle="--" if "random" in name else "-"
        )
    axes[2].set(title="distance to each true atom, sorted", yscale="log", ylim=(1e-3, 2), xlabel="atom")
    axes[2].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).parents[1] / "docs" / "dictionary.png", dpi=110)
    for name, atoms in fits.items():
        apart = atom_distances(data.components, atoms)
        print(f"{name}: median {np.median(apart):.4f}, below .1 {np.mean(apart < 0.1):.3f}")


if __name__ == "__main__":
    main()
