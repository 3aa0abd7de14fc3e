"""
Parts of a noisy tensor
=======================

**Question: which method takes a table in three ways apart, and how much noise does it stand?**

Most methods here end in a small symmetric tensor, a sum of third powers of vectors, known up to noise.
:func:`~latentia.tensor.decompose` takes such a tensor apart; the default starts from the polar form of its slices and
needs no random restarts. The power method is that of the theorems.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.papers.tensors import robust_power_method
from latentia.tensor import decompose

# %%
# Ten directions in ten dimensions, and noise
# -------------------------------------------
rng = np.random.default_rng(0)
directions = np.linalg.qr(rng.standard_normal((10, 10)))[0]
weights = rng.uniform(1, 2, 10)
exact = np.einsum("r,ri,rj,rk->ijk", weights, directions, directions, directions)
methods = {
    "polar": lambda tensor: decompose(tensor, 10).vectors,
    "als": lambda tensor: decompose(tensor, 10, method="als", n_init=5).vectors,
    "power method": lambda tensor: robust_power_method(tensor, 10)[1],
}
noises = [0.001, 0.003, 0.01, 0.03, 0.1]
errors = np.zeros((len(methods), len(noises)))
for column, size in enumerate(noises):
    raw = rng.standard_normal((10, 10, 10))
    noise = sum(raw.transpose(axes) for axes in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))) / 6
    for row, find_vectors in enumerate(methods.values()):
        likeness = np.abs(find_vectors(exact + size * noise) @ directions.T)
        errors[row, column] = np.degrees(np.arccos(np.clip(likeness.max(axis=0), 0, 1))).mean()
for method, row in zip(methods, errors, strict=True):
    print(f"{method:12} {row.round(2)} degrees")

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for method, row, marker, colour in zip(methods, errors, "o^s", ["#0072b2", "#cc79a7", "#009e73"], strict=True):
    ax.plot(noises, row, marker + "-", color=colour, label=method, mfc="none", markersize=5 + 3 * "so^".index(marker))
ax.set(title="How much noise does each method stand?", xscale="log", yscale="log")
ax.set(xlabel="noise of an entry, beside weights of 1 to 2", ylabel="mean angle to the true direction, degrees")
ax.legend()
plt.show()
