"""
Knowledge tracing
=================

**Question: when did a pupil learn it?**

Pupils answer twenty questions each. Before they have learned the skill they are right by luck, and afterwards wrong
by mistake; what has been learned is not forgotten: the second state is never left. One fit of
:class:`~latentia.sequences.SpectralHMM` gives the four numbers that schools ask for: known before, learned per question,
luck, mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.sequences import SpectralHMM

# %%
# 500 pupils, 20 answers each
# ---------------------------
known, learns, luck, mistake = 0.3, 0.15, 0.25, 0.10
rng = np.random.default_rng(0)
skilled = rng.random(500) < known
answers, states = np.empty((500, 20), int), np.empty((500, 20), bool)
for step in range(20):
    states[:, step] = skilled
    answers[:, step] = rng.random(500) < np.where(skilled, 1 - mistake, luck)
    skilled |= rng.random(500) < learns

# %%
# One fit
# -------
model = SpectralHMM(2).fit(answers.ravel(), [20] * 500)
after = int(np.argmax(model.emissionprob_[:, 1]))
before = 1 - after
found = {
    "knew it before": (model.startprob_[after], known),
    "learns it at a question": (model.transmat_[before, after], learns),
    "forgets it": (model.transmat_[after, before], 0.0),
    "right by luck": (model.emissionprob_[before, 1], luck),
    "wrong by mistake": (model.emissionprob_[after, 0], mistake),
}
for name, (value, true) in found.items():
    print(f"{name}: {value:.3f} (true {true:.2f})")

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[1, 1.3], layout="constrained")
places = range(len(found))
axes[0].plot([value for value, _ in found.values()], places, "o", color="#0072b2", label="found")
axes[0].plot([true for _, true in found.values()], places, "k|", markersize=16, label="truth")
axes[0].set_yticks(places, found)
axes[0].set(title="What are the chances?", xlabel="probability", ylabel="", xlim=(-0.02, 0.5))
axes[0].legend()
knows = model.predict_proba(answers.ravel(), [20] * 500)[:, after].reshape(500, 20)
pupil = int(np.argmax(states.sum(axis=1) == 10))
axes[1].plot(range(1, 21), knows[pupil], color="#d55e00", label="probability that it is known")
axes[1].plot(range(1, 21), answers[pupil], "ko", mfc="none", label="answers: 1 is right")
axes[1].axvline(11, color="#666666", linestyle="--", label="learned here")
axes[1].set(
    title="When did this pupil learn it?",
    xlabel="question",
    ylabel="probability",
    xticks=range(1, 21, 3),
    ylim=(-0.05, 1.4),
)
axes[1].legend(ncols=2, loc="upper left")
plt.show()
