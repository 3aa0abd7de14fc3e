"""
Proofs about nonnegative tables
===============================

**Question: of how few nonnegative parts can a table be made, and who can prove it?**

The nonnegative rank of a table is the least number of nonnegative parts that it is a sum of. It can be larger than
its rank. :func:`~latentia.nmf.exact_nmf` answers in fractions: a factorization, or a proof that there is none.
:class:`~latentia.nmf.ApproximateNMF` answers for measured tables, with a bound on how much better any other answer
could be.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.nmf import ApproximateNMF
from latentia.nmf.exact.exact_nmf import exact_nmf

# %%
# A square of rank 3
# ------------------
# This table has rank 3. Three nonnegative parts do not suffice, and four do.
square = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
for parts in (3, 4):
    answer = exact_nmf(square, parts)
    print(f"{parts} parts: {type(answer).__name__}")

# %%
# A measured table
# ----------------
# Two parts and noise. The certificate says that no pair of parts has an error below the lower bound.
rng = np.random.default_rng(0)
noises, errors, bounds = [0.0, 0.02, 0.05, 0.1, 0.2], [], []
for noise in noises:
    table = rng.random((60, 2)) @ rng.random((2, 30)) + noise * rng.random((60, 30))
    model = ApproximateNMF(2).fit(table)
    errors.append(model.reconstruction_err_)
    bounds.append(model.lower_bound_)
    print(f"noise {noise}: error {errors[-1]:.4f}, no other below {bounds[-1]:.4f}; {model.evidence_.grade}")

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(noises, errors, "o-", color="#0072b2", label="ApproximateNMF")
ax.plot(noises, bounds, "_", color="#d55e00", markersize=22, mew=3, label="proven: no two parts do better")
ax.set(
    title="Could another answer be better?",
    xlabel="largest noise of an entry",
    ylabel="distance of the table from two parts",
)
ax.legend()
plt.show()
