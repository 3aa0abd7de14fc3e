"""
What is in each pixel of a spectral image?
==========================================

**Question: which materials does a picture show, and how much of each is in every pixel?**

A spectral image has a curve of 156 wavelengths in each pixel, a mixture of the curves of a few materials. If some
pixels show one material alone, :class:`~latentia.nmf.SeparableNMF` finds these pixels; all others are mixtures of
them. The picture is the Samson scene (water, trees and soil) if the folder ``LATENTIA_DATA`` has it, and a planted
one otherwise.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.metrics import match_components
from latentia.nmf import SeparableNMF

# %%
# The picture
# -----------
path = Path(os.environ.get("LATENTIA_DATA", "../shared/data")) / "samson" / "samson.npz"
if path.is_file():
    archive = np.load(path)
    X, truth, shape = archive["pixels"], archive["endmembers"], tuple(archive["image_shape"])
else:
    scene = planted.separable_rows(95 * 95, 156, 3, n_pure=50, noise=0.01, kind="spectra", random_state=0)
    X, truth, shape = np.abs(scene.X), scene.components, (95, 95)

# %%
# Three materials
# ---------------
# Curves of any brightness are mixtures of the same materials: a cone.
model = SeparableNMF(3, mixing="cone").fit(X)
weights = model.transform(X) * model.components_.sum(axis=1)
shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
order, _ = match_components(model.components_ / model.components_.max(), truth / truth.max())
unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (model.components_[order], truth)]
angles = np.degrees(np.arccos(np.clip((unit[0] * unit[1]).sum(axis=1), 0, 1)))
print(model.evidence_.verdict)
print("angles to the reference curves, degrees:", angles.round(1))

# %%
fig, axes = plt.subplots(1, 4, figsize=(11, 2.9), width_ratios=[1.4, 1, 1, 1], layout="constrained")
for number, (k, colour, style) in enumerate(
    zip(order, ["#0072b2", "#009e73", "#d55e00"], ["-", "--", "-."], strict=True)
):
    axes[0].plot(model.components_[k] / model.components_[k].max(), style, color=colour, label=f"material {number + 1}")
    place = divmod(int(model.anchors_[k]), shape[1])
    image = axes[number + 1].imshow(shares[:, k].reshape(shape), cmap="cividis", vmin=0, vmax=1)
    axes[number + 1].plot(*place[::-1], "o", color="#d55e00", mfc="none", markersize=9)
    axes[number + 1].set(title=f"material {number + 1}", xticks=[], yticks=[], xlabel="circle: its pure pixel")
axes[0].set(title="curves found", xlabel="band", ylabel="brightness (largest is 1)")
axes[0].legend(fontsize=8)
fig.colorbar(image, ax=axes[-1], label="share of the pixel")
fig.suptitle("Which materials are in the picture, and where?")
plt.show()
