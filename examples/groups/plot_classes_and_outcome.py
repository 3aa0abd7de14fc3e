"""
Classes of a questionnaire and what follows from them
=====================================================

**Question: how much worse off is a class of people, if nobody's class is known for certain?**

The design is that of latent class studies with a distal outcome (Bolck, Croon and Hagenaars, Political Analysis 12, 2004;
Bakk and Vermunt, Structural Equation Modeling 23, 2016): a questionnaire on behavior at one time, a score of symptoms at
a later one. People are assigned to classes with error, which draws the means of the score together. ``regress``
corrects for it (BCH). Answers are planted here, so that the true means are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from latentia.metrics import match_components
from latentia.mixtures import MultiViewMixture

# %%
# 2,000 pupils of 100 schools, nine questions on three subjects
# -------------------------------------------------------------
# Three classes: few risks, some, many. Girls are more often in the first, and have 1.5 points more of symptoms in any class.
rng, n = np.random.default_rng(0), 2000
names = ["few risks", "some risks", "many risks"]
yes = np.array([
    [0.10, 0.10, 0.05, 0.10, 0.10, 0.05, 0.15, 0.10, 0.05],
    [0.75, 0.20, 0.60, 0.80, 0.15, 0.60, 0.75, 0.25, 0.50],
    [0.75, 0.70, 0.60, 0.80, 0.60, 0.70, 0.75, 0.70, 0.70],
])  # fmt: skip
pupils = pd.DataFrame({"girl": rng.random(n) < 0.5, "school": np.arange(n) // 20})
chances = np.array([[0.50, 0.30, 0.20], [0.60, 0.30, 0.10]])[pupils.girl.astype(int)]
classes = (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)
answers = (rng.random((n, 9)) < yes[classes]).astype(float)
score = np.array([12.0, 15.0, 20.0])[classes] + 1.5 * pupils.girl + rng.normal(size=100)[pupils.school]
score += 5 * rng.normal(size=n)

# %%
# Classes first, without the score; then one call
# -----------------------------------------------
model = MultiViewMixture(3, distribution="bernoulli").fit(answers, views=[range(3), range(3, 6), range(6, 9)])
print(model.evidence_.verdict)
found = model.regress(answers, score, controls=pupils, cluster="school")

# %%
# The table of a paper, beside most probable classes
# --------------------------------------------------
# Levels are mean scores at the mean of the controls. ``plug_in`` takes the most probable class for the true one.
own, planted_as = match_components(np.hstack(model.means_), yes)
label = dict(zip(own, planted_as, strict=True))
table = found.to_frame()[["component", "term", "estimate", "low", "high", "plug_in"]]
table = table[table.term == "level"].drop(columns="term")
unseen = pd.get_dummies(classes, dtype=float).assign(girl=pupils.girl - pupils.girl.mean())
true = np.linalg.lstsq(unseen.to_numpy(float), score.to_numpy(), rcond=None)[0]
table["true classes"] = [true[label[k]] for k in table.component]
table.insert(0, "class", [names[label[k]] for k in table.pop("component")])
print(table.round(1).to_string(index=False))
spread = table.drop(columns="class").max() - table.drop(columns="class").min()
print(f"between the outer classes: {spread['true classes']:.1f} points by true classes, "
      f"{spread.estimate:.1f} by regress, {spread.plug_in:.1f} by most probable classes")  # fmt: skip

# %%
# The other way round, who is in which class, is ``model.effects``.
print(model.effects(answers, "~ girl", pupils, cluster="school"))

# %%
# What a referee asks
# -------------------
# - *How many people per class?* The smallest class has 289 here, a fifth of them taken for others: its interval is the
#   widest. A class of thirty has none that is worth printing.
# - *Is the correction allowed?* It asks that answers depend on the score, on sex and on school through the class alone.
#   Compare a question between the girls and the boys of one class.
# - *Why not classes and score in one model?* Then the score would say what the classes are. Here any number of outcomes can
#   follow one set of classes.
# - *When not to:* if the evidence does not support the classes, or if the outcome is one of the questions.

# %%
# Bars are 90% intervals
# ----------------------
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
y = np.arange(3)
bars = [table.estimate - table.low, table.high - table.estimate]
ax.errorbar(table.estimate, y, xerr=bars, fmt="o", color="#0072b2", capsize=3, label="regress")
ax.plot(table.plug_in, y + 0.2, "s", color="#d55e00", label="most probable classes")
ax.plot(table["true classes"], y - 0.2, "k^", label="true classes")
ax.set(title="How much worse off is a class?", yticks=y, yticklabels=table["class"], ylim=(-0.5, 2.6))
ax.set(xlabel="mean score of symptoms", ylabel="class")
ax.legend(fontsize="small", loc="upper left")
plt.show()
