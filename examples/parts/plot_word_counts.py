"""
Parts of counts
===============

**Question: which groups of genes, or of words, do rows of counts add up?**

A count of two where none was expected says more than 102 where 100 were. :class:`~latentia.nmf.PoissonNMF` weighs counts in
that way, reads stored counts alone, and says how far each component can be trusted. Here cells mix three programs of genes; the
table is planted, so that components can be held against the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from latentia.nmf import PoissonNMF

# %%
# Cells and genes
# ---------------
rng = np.random.default_rng(3)
programs = rng.dirichlet(np.full(60, 0.15), 3)
use = rng.gamma(0.4, 100, (500, 3))  # counts of each program in a cell
cells = sparse.csr_array(rng.poisson(use @ programs))
print(
    f"{cells.shape[0]} cells, {cells.shape[1]} genes, {cells.nnz / np.prod(cells.shape):.0%} of the entries are not zero"
)

# %%
# One fit
# -------
model = PoissonNMF(3).fit(cells)
print(model.evidence_)

# %%
# Components beside the truth
# ---------------------------
nearest = ((model.components_[:, None] - programs) ** 2).sum(axis=2).argmin(axis=1)
found = model.transform(cells)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for k, color in enumerate(("#0072b2", "#d55e00", "#009e73")):
    axes[0].plot(programs[nearest[k]], model.components_[k], "o", color=color, label=f"component {k}")
    axes[1].plot(use[:, nearest[k]], found[:, k], ".", color=color, alpha=0.5)
axes[0].set(xlabel="true share of a gene", ylabel="share in the component", title="Genes")
axes[1].set(xlabel="true counts", ylabel="counts of the component", title="Cells")
axes[0].legend()
plt.show()
