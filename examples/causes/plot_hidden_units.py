"""
Hidden units of a table of yes and no
=====================================

**Question: which hidden units switch these columns on?**

Rows of 0 and 1 come from hidden units that are on or off and switch a few columns each: a network of one layer, of
which only the outputs are seen. :class:`~latentia.deep.SparseNetwork` finds the units from pairs of columns that are
on together too often. With enough rows every single edge is right.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from latentia.datasets import planted
from latentia.deep import SparseNetwork

# %%
# 80 units over 400 columns
# -------------------------
# A unit counts as found if its edges are those of a planted unit exactly.
sizes, exact = [500, 1000, 2000, 4000], []
for n_rows in sizes:
    network = planted.sparse_network(n_rows, (400, 80), 8, 0.02, negative=False, random_state=1)
    model = SparseNetwork().fit(network.Y)
    true, found = network.layers[0].toarray(), model.layers_[0].toarray()
    if found.shape != true.shape:
        found = found.reshape(-1, 400)
    exact.append(np.mean([(row == found).all(axis=1).any() for row in true]))
    print(f"{n_rows:5,} rows: {exact[-1]:.0%} of the units exactly; {model.evidence_.grade}")

# %%
agreement = (true @ found.T.astype(float)) / np.maximum(np.abs(true).sum(axis=1, keepdims=True), 1)
rows, columns = linear_sum_assignment(-agreement)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
axes[0].plot(sizes, np.multiply(100, exact), "o-", color="#0072b2")
axes[0].set(title="How many units are found exactly?", xlabel="rows", ylabel="units, %", ylim=(-5, 105))
image = axes[1].imshow(agreement[rows][:, columns], cmap="cividis", vmin=0, vmax=1)
axes[1].set(title=f"Planted and found units, {sizes[-1]:,} rows", xlabel="found unit", ylabel="planted unit")
fig.colorbar(image, label="share of edges that agree")
plt.show()
