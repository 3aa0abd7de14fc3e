"""
From symptoms to causes
=======================

**Question: which hidden causes produce these findings, and which cause does a patient have?**

A noisy-or network says that each cause, if it is there, switches on each of its findings with some probability,
whatever the others do; a patient may have several causes at once. :class:`~latentia.noisyor.NoisyOr` learns the
causes from a table of 0 and 1 that names none of them. The clinic is planted, so that what is learned can be held
against the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.noisyor import NoisyOr

# %%
# 10,000 patients
# ---------------
# Probabilities that a cause switches a finding on.
causes = {
    "influenza": {"fever": 0.9, "cough": 0.7, "headache": 0.6, "muscle pain": 0.8, "chills": 0.6},
    "allergy": {"sneezing": 0.9, "itchy eyes": 0.8, "cough": 0.3, "runny nose": 0.7},
    "migraine": {"headache": 0.95, "nausea": 0.6, "light hurts": 0.8, "flicker": 0.5},
    "stomach bug": {"nausea": 0.8, "fever": 0.4, "diarrhoea": 0.9, "cramps": 0.8},
}
findings = list(dict.fromkeys(name for table in causes.values() for name in table))
strengths = np.array([[table.get(name, 0.0) for name in findings] for table in causes.values()])
priors, leak = np.array([0.12, 0.20, 0.10, 0.08]), 0.02
rng = np.random.default_rng(0)
present = rng.random((10_000, 4)) < priors
off = (1 - leak) * np.prod(np.where(present[:, :, None], 1 - strengths, 1.0), axis=1)
X = (rng.random(off.shape) > off).astype(np.int8)

# %%
# Learn, and name what was learned
# --------------------------------
# Causes come without names. The strongest findings of each tell what it is.
model = NoisyOr(4).fit(X)
order = [int(np.argmin(np.abs(model.strengths_ - row).sum(axis=1))) for row in strengths]
print(model.evidence_.verdict)
for name, k in zip(causes, order, strict=True):
    strongest = [findings[i] for i in np.argsort(-model.strengths_[k])[:3]]
    print(
        f"{name}: frequency {model.priors_[k]:.2f} (true {priors[list(causes).index(name)]:.2f}); {', '.join(strongest)}"
    )

# %%
# One patient
# -----------
# Fever, nausea and diarrhoea: what is it?
patient = np.array([[name in ("fever", "nausea", "diarrhoea") for name in findings]], np.int8)
probability = model.predict_proba(patient)[0, order]
for name, value in zip(causes, probability, strict=True):
    print(f"{name}: {value:.2f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), sharey=True, layout="constrained")
for ax, table, title in zip(axes, (strengths, model.strengths_[order]), ("planted", "learned"), strict=True):
    image = ax.imshow(table.T, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(4), list(causes), rotation=20)
    ax.set(title=title, xlabel="cause")
axes[0].set_yticks(range(len(findings)), findings)
axes[0].set_ylabel("finding")
fig.colorbar(image, ax=axes, label="probability that the cause\nswitches the finding on")
fig.suptitle("Which causes are behind which findings?")
plt.show()
