"""
The dishonest casino
====================

**Question: which die was thrown when, if only the throws are known?**

A casino has a fair die and a loaded one that shows a six half of the time, and exchanges them now and then. This is
the textbook example of a hidden Markov model, and a hard one for the textbook algorithm: from random starts EM often
ends at dice that are wrong. :class:`~latentia.sequences.SpectralHMM` starts EM from what pairs and triples of throws
say, and needs one fit and no restarts.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.sequences import SpectralHMM

# %%
# 30,000 throws
# -------------
dice = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
stays = np.array([0.95, 0.90])  # with the fair die, with the loaded one
rng = np.random.default_rng(0)
state, states, throws = 0, [], []
for _ in range(30_000):
    states.append(state)
    throws.append(rng.choice(6, p=dice[state]))  # faces 1 to 6 are symbols 0 to 5
    if rng.random() > stays[state]:
        state = 1 - state

# %%
# One fit
# -------
model = SpectralHMM(2).fit(throws)
loaded = int(np.argmax(model.emissionprob_[:, 5]))
order = [1 - loaded, loaded]  # as in `dice`
print(model.evidence_.verdict)
print("stays with a die:", np.diag(model.transmat_)[order].round(3), "true:", stays)
print("worst die, l1 error:", np.abs(model.emissionprob_[order] - dice).sum(axis=1).max().round(3))
print(f"throws whose die is named rightly: {np.mean((model.predict(throws) == loaded) == np.array(states)):.0%}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), width_ratios=[1, 1.8], layout="constrained")
for k, name, colour, shift in ((0, "fair", "#0072b2", -0.2), (1, "loaded", "#d55e00", 0.2)):
    axes[0].bar(np.arange(1, 7) + shift, model.emissionprob_[order[k]], 0.4, color=colour, label=name)
    axes[0].plot(np.arange(1, 7) + shift, dice[k], "k_", markersize=11, label="truth" if k else None)
axes[0].set(title="Which dice are there?", xlabel="face", ylabel="probability")
axes[0].legend()
seen = slice(0, 300)
axes[1].fill_between(range(300), np.array(states[seen]), step="mid", color="#bbbbbb", label="the loaded die was thrown")
axes[1].plot(model.predict_proba(throws)[seen, loaded], color="#d55e00", label="found probability")
axes[1].set(title="Which die was thrown when?", xlabel="throw", ylabel="probability of the loaded die", ylim=(0, 1.25))
axes[1].legend(loc="upper right", ncols=2)
plt.show()
