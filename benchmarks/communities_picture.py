"""The picture of docs/communities.md: a graph as it comes, with its nodes sorted by what was found, and the memberships.

    python benchmarks/communities_picture.py

600 nodes in 5 communities, alpha0 = .2, degree 40, signal to noise 4; writes ``results/communities_picture.png``.
"""

from __future__ import annotations

import matplotlib
import numpy as np
from _common import RESULTS
from _communities import membership_error

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N, K = 600, 5


def main() -> None:
    graph = planted.mixed_membership_graph(N, K, alpha0=0.2, degree=40, snr=4, random_state=1)
    model = MixedMembershipBlockModel(K).fit(graph.adjacency)
    shares = model.memberships_
    order = np.lexsort((-shares.max(axis=1), model.labels_))
    table = graph.adjacency.tocsr()
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), width_ratios=(1, 1, 0.9))
    for axis, some, title in (
        (axes[0], table, "the graph as it comes"), (axes[1], table[order][:, order], "nodes sorted by labels_"),
    ):  # fmt: skip
        axis.spy(some, markersize=0.35, color="black")
        axis.set(title=title, xticks=[], yticks=[])
    axes[2].stackplot(np.arange(N), shares[order].T, step="mid", colors=plt.get_cmap("tab10").colors)
    axes[2].set(title="memberships_ in this order", xlim=(0, N - 1), ylim=(0, 1), xlabel="node", yticks=[0, 0.5, 1])
    figure.tight_layout()
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "communities_picture.png", dpi=110)
    print(f"l1 {membership_error(shares, graph.memberships):.3f}, expected {model.evidence_.expected_error:.3f}")


if __name__ == "__main__":
    main()
