"""The picture of docs/networks.md: columns that are on together, the edges that were found, and units found by rows.

    python benchmarks/network_picture.py

Networks of 1,000 columns and 250 units, 20 positive and 20 negative edges each, on in .01 of the rows; in the first two
panels 120 columns and 12 units, on in .05, and 4,000 rows. Writes ``docs/networks.png``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib
import numpy as np
from _networks import compared

from latentia.datasets import planted
from latentia.deep import SparseNetwork

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROWS = (500, 1000, 1500, 2000, 3000, 5000)
FLIPS = (0.0, 0.02, 0.05)
SMALL = (4000, (120, 12), 2.0, 0.05)
_OPEN, _LINE = 2, 3  # beside -1, 0 and 1: undetermined, and between the panels


def main() -> None:
    warnings.simplefilter("ignore")
    small = planted.sparse_network(*SMALL, random_state=3)
    model = SparseNetwork(n_splits=0).fit(small.Y)
    found = compared(small.layers[0], model.layers_[0])
    G = np.zeros(small.layers[0].shape)
    open_pairs = model.undetermined_[0].toarray().astype(bool)
    G[found.true] = np.where(open_pairs, _OPEN, model.layers_[0].toarray())[found.fitted]
    members = small.layers[0].toarray() > 0
    order = np.lexsort([np.arange(G.shape[1]), np.where(members.any(axis=0), members.argmax(axis=0), len(members))])
    Y = small.Y.toarray().astype(float)[:, order]
    Y = Y[:, Y.any(axis=0)]
    together = Y.T @ Y / len(Y)
    np.fill_diagonal(together, np.nan)

    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.7), width_ratios=(0.9, 1.2, 1.1))
    axes[0].imshow(together, cmap="Greys", vmin=0, interpolation="nearest")
    axes[0].set(title="share of rows with both columns on", xticks=[], yticks=[], xlabel="columns", ylabel="columns")
    shown = np.concatenate([small.layers[0].toarray(), np.full((1, G.shape[1]), _LINE), G])[:, order]
    colours = matplotlib.colors.ListedColormap(["#c43c39", "#f4f4f4", "#2b5c8a", "#d9d2b0", "black"])
    axes[1].imshow(shown, cmap=colours, vmin=-1, vmax=_LINE, aspect="auto", interpolation="nearest")
    axes[1].set(title="edges: planted above, found below", xticks=[], yticks=[], xlabel="columns", ylabel="units")
    for flips in FLIPS:
        exact = []
        for n_rows in ROWS:
            data = planted.sparse_network(n_rows, (1000, 250), 10, 0.01, flips=flips, random_state=1)
            fit = SparseNetwork(n_splits=0).fit(data.Y)
            exact.append(compared(data.layers[0], fit.layers_[0]).exact)
        print(f"flips {flips:g}: exact of 250 at {ROWS}: {exact}", flush=True)
        axes[2].plot(ROWS, exact, marker="o", label=f"{100 * flips:g}% of the bits flipped")
    axes[2].set(title="exact units of 250", xlabel="rows", ylim=(0, 260))
    axes[2].legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(Path(__file__).parents[1] / "docs" / "networks.png", dpi=110)
    print(f"small network: {len(found.true)} of 12 units, {found.exact} exact, {found.spurious} spurious")


if __name__ == "__main__":
    main()
