"""
Regimes of a market
===================

**Question: was the market calm or nervous, and when did that change?**

Daily returns of three shares are drawn from three regimes: calm, nervous and crash.
:class:`~latentia.sequences.SpectralHMM` finds them in one fit; hmmlearn, where it is installed, starts from a
clustering that depends on a seed, and does as well here. What the fit adds is a grade, and an expected error for
every regime. Since the market is planted, the days can be held against the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.sequences import SpectralHMM

# %%
# Two thousand days of three shares
# ---------------------------------
transmat = np.array([[0.98, 0.018, 0.002], [0.03, 0.95, 0.02], [0.02, 0.10, 0.88]])
means = np.array([[0.06, 0.05, 0.07], [-0.02, -0.01, 0.0], [-0.8, -0.6, -1.0]])
spread = np.array([0.5, 1.4, 3.0])  # percent a day
rng = np.random.default_rng(7)
regimes = [0]
for _ in range(1999):
    regimes.append(int(rng.choice(3, p=transmat[regimes[-1]])))
regimes = np.array(regimes)
returns = means[regimes] + spread[regimes, None] * rng.standard_normal((2000, 3))

# %%
# One fit, and five seeds of hmmlearn
# -----------------------------------
model = SpectralHMM(3).fit(returns)
order = np.argsort(model.variances_.sum(axis=1))
found = np.argsort(order)[model.predict(returns)]
right = {"SpectralHMM, one fit": np.mean(found == regimes)}
try:
    from hmmlearn.hmm import GaussianHMM
except ImportError:
    print("hmmlearn is not installed: its seeds are left out")
else:
    for seed in range(5):
        peer = GaussianHMM(3, n_iter=100, random_state=seed).fit(returns)
        ranks = np.argsort(np.argsort(peer.covars_.trace(axis1=1, axis2=2)))
        right[f"hmmlearn, seed {seed}"] = np.mean(ranks[peer.predict(returns)] == regimes)
print(model.evidence_.verdict)
for name, share in right.items():
    print(f"{name}: {share:.0%} of the days in the right regime")

# %%
fig, axes = plt.subplots(2, 1, figsize=(9, 4.4), sharex=True, height_ratios=[3, 1], layout="constrained")
days, colours = np.arange(2000), ["#56b4e9", "#e69f00", "#000000"]
axes[0].plot(days, 100 * np.exp(np.cumsum(returns[:, 0]) / 100), color="#333333", linewidth=0.8)
axes[0].set(title="When was the market calm, nervous or crashing?", ylabel="price of one share")
for row, path in enumerate((regimes, found)):
    for k, colour in enumerate(colours):
        axes[1].fill_between(days, row + 0.1, row + 0.9, where=path == k, step="mid", color=colour, linewidth=0)
axes[1].set_yticks([0.5, 1.5], ["truth", "found"])
axes[1].set(xlabel="day")
for colour, name in zip(colours, ["calm", "nervous", "crash"], strict=True):
    axes[0].plot([], [], "s", color=colour, label=name)
axes[0].legend(ncols=3)
plt.show()
