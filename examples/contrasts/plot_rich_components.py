"""
What several tables share
=========================

**Question: which parts are in which of several tables of the same rows?**

With two tables, :class:`~latentia.contrastive.ContrastiveComponents` tells the part that both have from what each has
alone. With three and more, :class:`~latentia.contrastive.RichComponents` tests every combination: is there something
that only the first and the third share?
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.contrastive import ContrastiveComponents, RichComponents
from latentia.datasets import planted

# %%
# Two tables
# ----------
# The linear map from the shared part in the first table to that in the second.
two = planted.contrastive_views(20_000, 4, shared="exponential", linear_map="orthogonal")
pair = ContrastiveComponents().fit(two.U, two.V)
print("worst entry of the map:", abs(pair.linear_map_ - two.linear_map).max().round(3), "-", pair.evidence_.grade)

# %%
# Three tables
# ------------
# Seven combinations of three tables; two of them have no part in truth.
three = planted.rich_components(60_000, n_features=3, absent=[3, 5], random_state=2)
model = RichComponents().fit(three.views)
names = [" + ".join(f"table {i + 1}" for i in subset) for subset in model.subsets_]
for name, found, true in zip(names, model.present_, three.present, strict=True):
    print(f"{name}: {'found' if found else 'none found'}, {'planted' if true else 'not planted'}")

# %%
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
height = np.maximum(np.nan_to_num(model.zero_test_, nan=0.0), 0.0)
planted_here = np.asarray(three.present, bool)
for present, colour, hatch, label in ((True, "#0072b2", "", "planted"), (False, "#d55e00", "//", "not planted")):
    where = np.flatnonzero(planted_here == present)
    ax.barh(where, height[where], color=colour, hatch=hatch, label=label)
ax.set_yticks(range(len(names)), names)
ax.set(
    title="Which parts are in which tables?",
    xlabel="test statistic of the part",
    ylabel="tables that have it",
    xscale="symlog",
)
ax.legend()
plt.show()
