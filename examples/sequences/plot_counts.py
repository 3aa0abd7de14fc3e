"""
Quiet and busy hours
====================

**Question: when was the help desk in trouble, and could it be known at the time?**

Calls and complaints an hour are counts whose rates depend on a state that nobody writes down: quiet, busy, or something
is broken. :class:`~latentia.sequences.SpectralHMM` with ``kind="counts"`` learns the rates of each state, and
``filter_step`` says after every hour, from the past alone, how probable each one is now. The weeks are planted, so that
hours can be held against the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.sequences import SpectralHMM

# %%
# Half a year of hours
# --------------------
transmat = np.array([[0.9, 0.09, 0.01], [0.12, 0.86, 0.02], [0.05, 0.15, 0.8]])
rates = np.array([[4.0, 0.3], [11.0, 0.6], [13.0, 4.0]])  # calls and complaints an hour
rng = np.random.default_rng(5)
states = [0]
for _ in range(24 * 180 - 1):
    states.append(int(rng.choice(3, p=transmat[states[-1]])))
states = np.array(states)
hours = rng.poisson(rates[states])

# %%
# One fit
# -------
model = SpectralHMM(3, kind="counts").fit(hours)
print(model.evidence_.verdict)
order = np.argsort(model.means_.sum(axis=1))
for k, name in zip(order, ("quiet", "busy", "broken"), strict=True):
    calls, complaints = model.means_[k]
    print(f"{name:7s} {calls:5.1f} calls {complaints:4.1f} complaints, {model.weights_[k]:.0%} of the hours")

# %%
# As the hours come in
# --------------------
broken, state = [], None
for hour in hours[:400]:
    state = model.filter_step(hour, state)
    broken.append(state[order[2]])

fig, axes = plt.subplots(2, 1, figsize=(9, 4.4), sharex=True, layout="constrained")
axes[0].step(np.arange(400), hours[:400, 0], color="#56b4e9", where="mid", label="calls")
axes[0].step(np.arange(400), hours[:400, 1], color="#000000", where="mid", label="complaints")
axes[0].set(title="When is something broken?", ylabel="an hour")
axes[0].legend(ncols=2)
axes[1].plot(broken, color="#d55e00", label="probability, from the hours so far")
axes[1].fill_between(np.arange(400), 0, 1, where=states[:400] == 2, color="#cccccc", step="mid", label="truth")
axes[1].set(xlabel="hour", ylabel="broken")
axes[1].legend(ncols=2)
plt.show()
