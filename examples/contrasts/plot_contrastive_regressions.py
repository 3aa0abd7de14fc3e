"""
Causes of an outcome behind a shared disturbance
================================================

**Question: which measurements drive the outcome, when a disturbance is in all of them?**

An outcome depends on what the first table has alone. A regression on the table as it is mixes that up with the
disturbance that both tables share, and its coefficients stay wrong with any number of rows.
:class:`~latentia.contrastive.ContrastiveRegression` and :class:`~latentia.contrastive.ContrastiveLogisticRegression`
learn the coefficients of the part that is the table's own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from latentia.contrastive import ContrastiveLogisticRegression, ContrastiveRegression
from latentia.datasets import planted

# %%
# A number, and a yes or no
# -------------------------
cases = {
    "a number": ("regression", ContrastiveRegression(), LinearRegression()),
    "yes or no": ("logistic", ContrastiveLogisticRegression(), LogisticRegression(C=1e6)),
}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, (outcome, (problem, estimator, peer)) in zip(axes, cases.items(), strict=True):
    data = planted.contrastive_views(40_000, 8, problem, linear_map="orthogonal", random_state=1)
    model = estimator.fit(data.U, data.V, data.y)
    naive = peer.fit(data.U, data.y)
    ours, theirs = model.coef_.ravel(), naive.coef_.ravel()
    lines = [
        f"{name} {np.linalg.norm(c - data.truth):.2f}"
        for name, c in (("error", ours), ("of the table as it is", theirs))
    ]
    print(f"{outcome}: {', '.join(lines)}; {model.evidence_.grade}")
    ends = np.array([data.truth.min(), data.truth.max()]) * 1.1
    ax.plot(ends, ends, color="#999999", label="right")
    ax.plot(data.truth, theirs, "o", color="#d55e00", mfc="none", label="the table as it is")
    ax.plot(data.truth, ours, "s", color="#0072b2", label="contrastive")
    ax.set(title=f"The outcome is {outcome}", xlabel="true coefficient", ylabel="learned coefficient")
axes[0].legend()
fig.suptitle("Which measurements drive the outcome?")
plt.show()
