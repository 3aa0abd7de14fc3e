"""
Clusters and links behind a shared disturbance
==============================================

**Question: which groups, and which neighbours, are there beneath a disturbance that two tables share?**

The same idea as for directions and regressions holds for other models of what a table has alone:
:class:`~latentia.contrastive.ContrastiveGaussianMixture` for round clusters,
:class:`~latentia.contrastive.ContrastiveIsing` for spins (on and off) that are coupled to their neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.mixture import GaussianMixture

from latentia.contrastive import ContrastiveGaussianMixture, ContrastiveIsing
from latentia.datasets import planted

# %%
# Clusters
# --------
groups = planted.contrastive_views(20_000, 4, "mixture", linear_map="orthogonal", random_state=1)
clusters = ContrastiveGaussianMixture(4).fit(groups.U, groups.V)
plain = GaussianMixture(4, covariance_type="full", random_state=0, n_init=3).fit(groups.U)
for name, means in (("contrastive", clusters.means_), ("the table as it is", plain.means_)):
    print(f"{name}: a true mean is {cdist(groups.truth, means).min(axis=1).mean():.2f} from the nearest one found")

# %%
# Spins
# -----
spins = planted.contrastive_views(50_000, 9, "ising", linear_map="orthogonal", random_state=1)
links = ContrastiveIsing(spins.edges).fit(spins.U, spins.V)
print("clusters:", clusters.evidence_.grade, "- spins:", links.evidence_.grade)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].plot(*groups.U[:1500, :2].T, ".", color="#cccccc", markersize=3, label="rows, with the disturbance")
axes[0].plot(*groups.truth[:, :2].T, "k+", markersize=14, mew=2, label="true means")
axes[0].plot(*plain.means_[:, :2].T, "o", color="#d55e00", mfc="none", label="GaussianMixture")
axes[0].plot(*clusters.means_[:, :2].T, "s", color="#0072b2", mfc="none", markersize=9, label="contrastive")
axes[0].set(title="Where are the clusters?", xlabel="first column", ylabel="second column")
axes[0].legend(fontsize=8)
ends = np.array([spins.truth.min(), spins.truth.max()])
axes[1].plot(ends, ends, color="#999999", label="right")
axes[1].plot(spins.truth, links.couplings_, "s", color="#0072b2", label="contrastive")
axes[1].set(title="How strongly are neighbours coupled?", xlabel="true coupling", ylabel="learned coupling")
axes[1].legend()
plt.show()
