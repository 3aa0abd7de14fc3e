"""
A diagnosis in the manner of QMR
================================

**Question: a patient complains of three things. Which diseases are likely, and what should be asked next?**

QMR-DT is a network of 570 diseases and 4,075 findings that physicians wrote down over years. A network like it, of 80
diseases and 400 findings, is planted here, and :class:`~latentia.noisyor.NoisyOr` learns it from 20,000 patients, of whom
only the findings are known.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets.planted import NoisyOrTruth
from latentia.noisyor import NoisyOr

# %%
# The clinic
# ----------
# Diseases are rare, each makes some 30 of the findings likely, and a finding may have several causes.
rng = np.random.default_rng(0)
strengths = np.zeros((80, 400))
for row in strengths:
    size = rng.poisson(30)
    row[rng.choice(400, size, replace=False)] = rng.uniform(0.2, 0.9, size)
truth = NoisyOrTruth(-np.log1p(-strengths), np.exp(rng.uniform(np.log(0.004), np.log(0.02), 80)), np.full(400, 0.005))
clinic = truth.sample(20_000, 1)
print(f"{clinic.X.sum(axis=1).mean():.0f} findings and {clinic.causes.sum(axis=1).mean():.1f} diseases a patient")

# %%
# Learn the network
# -----------------
# The causes come without names; each is compared with the disease that it resembles most.
model = NoisyOr(80).fit(clinic.X)
print(model.evidence_.verdict)
learned = model.strengths_ / np.linalg.norm(model.strengths_, axis=1, keepdims=True)
alike = strengths / np.linalg.norm(strengths, axis=1, keepdims=True) @ learned.T
order = alike.argmax(axis=1)
error = np.abs(model.strengths_[order] - strengths)[strengths > 0].mean()
print(f"{(alike.max(axis=1) > 0.9).sum()} of 80 diseases found, strengths off by {error:.2f} on average")

# %%
# A new patient
# -------------
# One with a disease comes in, and reports three of the findings. Nothing else is known yet: NaN.
new = truth.sample(1000, 2)
patient = int(np.flatnonzero((new.causes.sum(axis=1) == 1) & (new.X.sum(axis=1) > 12))[0])
disease = int(np.flatnonzero(new.causes[patient])[0])
known = np.full(400, np.nan)
known[np.flatnonzero(new.X[patient])[:3]] = 1
posteriors = [model.predict_proba(known[None])[0]]

# %%
# What to ask
# -----------
# :meth:`~latentia.noisyor.NoisyOr.ask` weighs every open finding by how far its answer is expected to lower the uncertainty.
# The answer goes into the row, and the next question follows.
for _ in range(6):
    question = model.ask(known, 1)[0]
    known[question.number] = new.X[patient, question.number]
    posteriors.append(model.predict_proba(known[None])[0])
    answer = "yes" if known[question.number] else "no"
    print(f"{question.finding}? Expected {question.probability:.2f}: {answer}")

# %%
found = np.array(posteriors)[:, order]
others = [k for k in np.argsort(-found.max(axis=0)) if k != disease][:5]
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for k in others:
    ax.plot(found[:, k], color="0.7", label="other diseases" if k == others[0] else None)
ax.plot(found[:, disease], color="C0", linewidth=2.5, label="the disease")
ax.set(xlabel="questions asked", ylabel="probability", ylim=(-0.02, 1.02), title="Three complaints, and six questions")
ax.legend()
plt.show()
