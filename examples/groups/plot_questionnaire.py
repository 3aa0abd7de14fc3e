"""
Types of people in a questionnaire
==================================

**Question: which kinds of answerers are there, if each question has yes and no?**

Latent class analysis: people are of a few types, and given the type the answers are independent.
:class:`~latentia.mixtures.MultiViewMixture` takes the questions in three blocks (here by theme) and learns the types
from what the blocks have in common.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.metrics import match_components
from latentia.mixtures import MultiViewMixture

# %%
# 5,000 people, 18 questions, 4 types
# -----------------------------------
data = planted.product_mixture(5000, n_components=4, n_features=18, random_state=5)
views = [range(6), range(6, 12), range(12, 18)]
model = MultiViewMixture(4).fit(data.X, views=views)
print(model.evidence_.verdict)
found = np.hstack(model.means_)
order, _ = match_components(found, data.means)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.2), sharey=True, layout="constrained")
for ax, table, title in ((axes[0], data.means, "planted"), (axes[1], found[order], "learned")):
    image = ax.imshow(table, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    ax.set(title=title, xlabel="question")
    for edge in (5.5, 11.5):
        ax.axvline(edge, color="white", linewidth=2)
axes[0].set_yticks(range(4), [f"type {k}" for k in range(4)])
fig.colorbar(image, ax=axes, label="probability of yes")
fig.suptitle("Which kinds of answerers are there?")
plt.show()
