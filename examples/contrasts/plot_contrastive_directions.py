"""
What one table has and another lacks
====================================

**Question: which direction varies in this device's data, and not only because both devices see the same
disturbance?**

Two devices measure the same patients. A disturbance that both see is larger than what only the first one sees, so
that principal components of the first table show the disturbance. :class:`~latentia.contrastive.ContrastivePCA` takes
out what both tables share.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from latentia.contrastive import ContrastivePCA
from latentia.datasets import planted

# %%
# Stronger and stronger disturbances
# ----------------------------------
strengths, contrastive, plain = [0.25, 0.5, 1.0, 2.0, 4.0], [], []
for strength in strengths:
    data = planted.contrastive_views(5000, 8, "pca", linear_map="orthogonal", strength=strength, random_state=3)
    model = ContrastivePCA(1).fit(data.U, data.V)
    cosines = [abs(found @ data.truth) for found in (model.components_[0], PCA(1).fit(data.U).components_[0])]
    angles = np.degrees(np.arccos(np.clip(cosines, 0, 1)))
    contrastive.append(angles[0])
    plain.append(angles[1])
    print(f"disturbance {strength}: {angles[0]:.1f} degrees off, PCA {angles[1]:.1f}; {model.evidence_.grade}")

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(strengths, plain, "o--", color="#d55e00", label="PCA of the first table")
ax.plot(strengths, contrastive, "s-", color="#0072b2", label="ContrastivePCA of both")
ax.set(title="Is the direction of the first device alone found?", xscale="log", ylim=(-3, 93))
ax.set(xlabel="strength of the disturbance that both devices see", ylabel="angle to the true direction, degrees")
ax.set_xticks(strengths, [str(s) for s in strengths])
ax.minorticks_off()
ax.legend()
plt.show()
