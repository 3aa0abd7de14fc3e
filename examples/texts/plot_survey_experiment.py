"""
Open answers of a survey experiment
===================================

**Question: what does a treatment make people write about, and does it depend on their party?**

The design is that of the immigration survey of the structural topic model (Roberts and others, American Journal of
Political Science 58, 2014): half of the respondents are asked what worries them about immigration, the others what they
think of it, and all answer in a few lines of their own. Answers are planted here, so that the true effects are known.
``effects`` regresses the shares of topics on treatment, party and their interaction, beside least squares on the shares
of ``transform``, which are drawn to the mean of all answers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from latentia.datasets import planted
from latentia.metrics import match_components
from latentia.topics import AnchorTopics

# %%
# 1,200 answers of 20 to 60 words, and a row of the table for each
# -----------------------------------------------------------------
# Party goes from -1 to 1 in seven steps. A row of ``true`` is a term of the formula, a column a topic.
rng, n = np.random.default_rng(0), 1200
people = pd.DataFrame({"treated": np.arange(n) % 2, "party": rng.integers(-3, 4, n) / 3})
names = ["crime", "jobs", "families"]
true = np.array([[0.35, 0.35, 0.30], [0.08, -0.03, -0.05], [0.12, 0.03, -0.15], [0.10, 0.00, -0.10]])
design = np.column_stack([np.ones(n), people.treated, people.party, people.treated * people.party])
topics = planted.topic_model(3, 300, random_state=0).topics
shares = np.array([rng.dirichlet(4 * mean) for mean in design @ true])
answers = np.array([rng.multinomial(rng.integers(20, 61), share @ topics) for share in shares])

# %%
# One call
# --------
model = AnchorTopics(3).fit(answers)
print(model.evidence_.verdict)
found = model.effects(answers, "~ treated * party", people)

# %%
# The table of a paper, beside least squares on estimated shares
# --------------------------------------------------------------
# All numbers are points of a hundred. Each respondent is a row of their own; where several answers are by one person,
# ``cluster="person"`` says so.
own, planted_as = match_components(model.components_, topics)
plug_in = np.linalg.lstsq(design, model.transform(answers), rcond=None)[0]
table = found.to_frame()[["component", "term", "estimate", "low", "high"]]
table["plug-in"], table["planted"] = plug_in.T.ravel(), true[:, planted_as[np.argsort(own)]].T.ravel()
table.insert(0, "topic", [names[planted_as[np.argsort(own)][k]] for k in table.pop("component")])
points = table.columns[2:]
table[points] = (100 * table[points]).round(1)
print(table.to_string(index=False))
moved = table[table.term != "Intercept"]
short = 1 - (moved["plug-in"] @ moved.estimate) / (moved.estimate @ moved.estimate)
print(f"effects on plug-in shares are smaller by {short:.0%}")

# %%
# What a referee asks
# -------------------
# - *How many answers per cell?* 600 per arm give its mean share to about two points here, 60 to five. Say how
#   many there are in the smallest cell that is interpreted.
# - *What is a share?* The part of an answer's words that belongs to the topic; long answers do not count more.
# - *Were topics and effects learned from the same answers?* Yes, and the intervals know of errors of the topics, by fits on
#   halves. The number of topics is to be chosen before looking at effects.
# - *When not to:* if the arms use other words for the same thing, or repeat the words of their question, a difference of
#   words is taken for one of shares. Read answers of both arms for each topic first.

# %%
# Bars are 90% intervals
# ----------------------
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.6), sharey=True, layout="constrained")
for ax, term in zip(axes, ["treated", "party", "treated:party"], strict=True):
    rows = table[table.term == term]
    y = np.arange(len(rows))
    bars = [rows.estimate - rows.low, rows.high - rows.estimate]
    ax.axvline(0, color="0.7", linewidth=1)
    ax.errorbar(rows.estimate, y, xerr=bars, fmt="o", color="#0072b2", capsize=3, label="effects")
    ax.plot(rows["plug-in"], y + 0.2, "s", color="#d55e00", label="on shares of transform")
    ax.plot(rows.planted, y - 0.2, "k^", label="planted")
    ax.set(title=term, yticks=y, yticklabels=rows.topic, xlabel="change of the share, points", ylim=(-0.5, 2.5))
axes[0].set_ylabel("topic")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
fig.suptitle("What does the treatment make people write about?")
plt.show()
