"""
Four hospitals, one model, no rows exchanged
============================================

**Question: each hospital has too few patients, and none may hand them out. Can they learn one model together, and can a
patient be taken out of it again?**

:class:`~latentia.noisyor.NoisyOr` with ``keep_moments=True`` keeps counts of findings that occur together, and nothing else
of the patients. Counts add up: :func:`latentia.merge` makes of four models the one that all patients together would have given.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentia
from latentia.datasets import planted
from latentia.noisyor import NoisyOr

# %%
# The patients
# ------------
# Eight causes lie behind 40 findings. Each hospital sees 2,500 patients.
truth = planted.noisy_or_network(40, 8, leak=0.01, random_state=3)
hospitals = [truth.sample(2500, seed).X for seed in range(4)]

# %%
# Each alone, and together
# ------------------------
# Only the models travel: their size does not grow with the number of patients.
models = [NoisyOr(8, keep_moments=True).fit(X) for X in hospitals]
together = [latentia.merge(models[: n + 1]) for n in range(4)]
print(f"{together[-1].moments_.n_rows:,} patients, {together[-1].moments_.n_bytes / 2**20:.1f} MB of counts")
for name, model in (("one hospital", models[0]), ("all four", together[-1])):
    print(f"{name}: {model.evidence_.grade}, expected error {model.evidence_.component_errors.mean():.2f}")

# %%
# Is it the same as one fit on all patients?
everything = NoisyOr(8, keep_moments=True).fit(np.vstack(hospitals))
print("the same bits:", np.array_equal(everything.strengths_, together[-1].strengths_))

# %%
# A patient withdraws
# -------------------
# The row is taken away, and a receipt says so. The model is that of the 9,999 others.
receipt = together[-1].forget(hospitals[2][[7]])
print(receipt.n_rows, "removed,", f"{receipt.n_left:,} left")
others = NoisyOr(8, keep_moments=True).fit(np.delete(np.vstack(hospitals), 5007, axis=0))
print("the same bits:", np.array_equal(others.strengths_, together[-1].strengths_))

# %%
# What it brought
# ---------------
errors = [model.evidence_.component_errors for model in together]
fig, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(range(1, 5), errors, color="0.7")
ax.plot(range(1, 5), [one.mean() for one in errors], "o-", label="mean of the causes")
ax.set(
    title="What each hospital adds", xlabel="hospitals", ylabel="expected error of a cause", xticks=range(1, 5), ylim=0
)
ax.legend()
fig.tight_layout()
