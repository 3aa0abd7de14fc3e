"""
Political blogs
===============

**Question: do the links between blogs tell two parties apart, and who links to both?**

1,224 blogs on the election of 2004 in the United States, and the links between them (Adamic and Glance, 2005), if the
folder ``LATENTIA_DATA`` has them; else a planted network of the same kind, with popular and unpopular nodes in two
groups. :class:`~latentia.communities.MixedMembershipBlockModel` gives every blog a share in each community. Labels
are shown to it at no time.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted

# %%
# The links, and the party of every blog
# --------------------------------------
folder = Path(os.environ.get("LATENTIA_DATA", "../shared/data")) / "graphs"
if (folder / "polblogs.edges.txt.gz").is_file():
    edges = np.loadtxt(folder / "polblogs.edges.txt.gz", dtype=int)  # unpacks .gz itself
    party = np.loadtxt(folder / "polblogs.labels.txt", dtype=int)
    party = np.unique(party, return_inverse=True)[1]
    links = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(len(party),) * 2).tocsr()
    adjacency = ((links + links.T) > 0).astype(float)
else:
    graph = planted.mixed_membership_graph(1200, 2, alpha0=0.1, degree=27, snr=4.5, spread=1.0, random_state=0)
    adjacency, party = graph.adjacency, graph.memberships.argmax(axis=1)

# %%
# Two communities
# ---------------
model = MixedMembershipBlockModel(2).fit(adjacency)
share = model.memberships_[:, 1]
if np.corrcoef(share, party)[0, 1] < 0:
    share = 1 - share
agreement = np.mean((share > 0.5) == party)
print(model.evidence_.verdict)
between = np.mean((share > 0.2) & (share < 0.8))
print(f"{len(party):,} nodes; {agreement:.1%} in the community of their party; {between:.1%} between the two")

# %%
fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
bins = np.linspace(0, 1, 26)
ax.hist(
    [share[party == 0], share[party == 1]],
    bins,
    stacked=True,
    color=["#0072b2", "#d55e00"],
    label=["one party", "the other"],
)
for patch in ax.containers[1]:
    patch.set_hatch("//")
ax.set_yscale("symlog", linthresh=10)
ax.set(
    title="Do links tell two parties apart?",
    xlabel="share of a blog in the second community",
    ylabel="blogs (log scale above 10)",
)
ax.legend(title="what the blog says it is", loc="upper center")
plt.show()
