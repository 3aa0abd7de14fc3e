"""
Bad starts of Gaussian mixtures
===============================

**Question: are these clusters the best ones, or where EM happened to stop?**

Twenty round clusters in twenty dimensions. EM from a random start often leaves one cluster split and two merged, and
nothing says so. :class:`~latentia.mixtures.SphericalGaussianMixture` starts from the moments of the data, and there
is one answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.mixture import GaussianMixture

from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture

data = planted.gaussian_mixture(1500, n_components=20, n_features=20, separation=7, random_state=0)

# %%
# Twenty seeds, and one fit
# -------------------------
# The likelihood of the planted mixture is what can be reached.
score = []
for seed in range(20):
    peer = GaussianMixture(20, covariance_type="spherical", init_params="random_from_data", random_state=seed).fit(
        data.X
    )
    score.append(peer.score(data.X))
model = SphericalGaussianMixture(20).fit(data.X)
truth = GaussianMixture(20, covariance_type="spherical")
truth.weights_, truth.means_ = data.weights, data.means
truth.covariances_ = np.broadcast_to(data.variance, 20).astype(float)
truth.precisions_cholesky_ = 1 / np.sqrt(truth.covariances_)
best, ours = truth.score(data.X), model.score(data.X)
print(f"EM from random starts: {min(score):.2f} to {max(score):.2f}; moments: {ours:.2f}; truth: {best:.2f}")

# %%
fig, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
ax.plot(range(20), np.sort(score), "o", color="#d55e00", mfc="none", label="EM, 20 random starts")
ax.axhline(ours, color="#0072b2", label="SphericalGaussianMixture, one fit")
ax.axhline(best, color="k", linestyle=":", label="planted mixture")
ax.set(
    title="Did the fit reach the best clusters?",
    xlabel="starts, from the worst to the best",
    ylabel="log-likelihood of a row, nats",
)
ax.set_xticks(range(0, 20, 5))
ax.legend(loc="lower right")
plt.show()
