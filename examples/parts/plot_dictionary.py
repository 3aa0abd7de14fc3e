"""
The strokes of a picture
========================

**Question: which small patterns is a picture made of?**

Patches of a photograph are sparse combinations of some dozens of patterns, called atoms.
:class:`~latentia.dictionary.IncoherentDictionary` learns more atoms than a patch has pixels. The photograph is one
that comes with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from latentia.datasets import image_patches
from latentia.dictionary import IncoherentDictionary

# %%
# Patches of 8 x 8 pixels
# -----------------------
# The mean of each patch is taken off, and flat patches are left out: they have no pattern.
picture = load_sample_image("china.jpg").mean(axis=2)[60:400, 100:600] / 255
patches = image_patches(picture, 8)
patches = patches[np.random.default_rng(0).choice(len(patches), 12_000, replace=False)]
patches -= patches.mean(axis=1, keepdims=True)
patches = patches[patches.std(axis=1) > 0.02]

# %%
# 96 atoms for 64 pixels
# ----------------------
# A patch is a combination of four atoms. A photograph was not drawn from a dictionary: the fit warns that the
# guarantee does not hold, and grades every atom.
model = IncoherentDictionary(96, sparsity=4).fit(patches)
print(model.evidence_.verdict)
print(f"left over of the patches: {model.reconstruction_err_:.1%}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[1.1, 1], layout="constrained")
axes[0].imshow(picture, cmap="gray")
axes[0].set(title="A picture ...", xlabel="pixel", ylabel="pixel")
often = np.argsort(-model.usage_)[:60]
tiles = np.pad(model.components_[often].reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)), constant_values=np.nan)
mosaic = tiles.reshape(6, 10, 10, 10).transpose(0, 2, 1, 3).reshape(60, 100)
axes[1].imshow(mosaic, cmap="gray")
axes[1].set(
    title="... and the 60 atoms that it uses most",
    xticks=[],
    yticks=[],
    xlabel="atoms of 8 x 8 pixels, most used first",
)
fig.suptitle("Which small patterns is the picture made of?")
plt.show()
