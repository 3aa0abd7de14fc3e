"""
What patients differ in
=======================

**Question: along which measures do patients differ from each other, apart from what all people differ in?**

Age, sex and diet move thirty measures of everybody, and principal components of patients show these. A table of healthy
people has the same: :class:`~latentia.contrastive.BackgroundPCA` finds what patients vary in beyond it. The tables are
planted, so that the answer can be held against the truth: two kinds of patients, who differ along one direction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from latentia.contrastive import BackgroundPCA

# %%
# Four hundred patients, five hundred healthy people
# --------------------------------------------------
rng = np.random.default_rng(3)
habits = np.linalg.qr(rng.standard_normal((30, 4)))[0] * np.array([6.0, 5, 4, 3])
illness = np.linalg.qr(rng.standard_normal((30, 1)))[0][:, 0]
kind = rng.integers(0, 2, 400)
patients = rng.standard_normal((400, 4)) @ habits.T + rng.standard_normal((400, 30))
patients += np.outer(np.where(kind == 0, -2.5, 2.5), illness)
healthy = rng.standard_normal((500, 4)) @ habits.T + rng.standard_normal((500, 30))

# %%
# One direction, without a strength to choose
# -------------------------------------------
model = BackgroundPCA(1).fit(patients, healthy)
plain = PCA(1).fit(patients)
print(model.evidence_.verdict)
print(f"strength of the background {model.strength_:.2f}, contrast {model.contrast_[0]:.1f}")
for name, direction in (("BackgroundPCA", model.components_[0]), ("PCA", plain.components_[0])):
    print(f"{name}: cosine with the truth {abs(direction @ illness):.2f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, one) in zip(axes, (("PCA of the patients", plain), ("BackgroundPCA", model)), strict=True):
    along = one.transform(patients)[:, 0]
    for group, colour in enumerate(["#56b4e9", "#d55e00"]):
        ax.hist(along[kind == group], 30, color=colour, alpha=0.7, label=f"patients of kind {group + 1}")
    ax.set(title=name, xlabel="coordinate of a patient", ylabel="patients")
axes[0].legend()
fig.suptitle("Are there two kinds of patients?")
plt.show()
