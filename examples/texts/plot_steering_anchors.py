"""
Steering topics by anchor words
===============================

**Question: how do I get the topic that I am looking for?**

An anchor is a word that stands for its topic. :class:`~latentia.topics.AnchorTopics` finds anchors by itself;
``reanchor`` takes yours, and learns the topics anew in a moment, without another pass over the texts. Here we ask the
King James Bible for a topic of sacrifice and one of war.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import load_bible
from latentia.topics import AnchorTopics

bible = load_bible()
model = AnchorTopics(12, min_df=20).fit(bible)
print(model.topic_table(8)[["share", "words"]].to_string())

# %%
# Two topics of our own
# ---------------------
# They take the place of the two rarest topics; the others keep the anchors that were found.
wanted = {"sacrifice": ["altar", "incense"], "war": ["battle", "army"]}
rarest = np.argsort(model.prevalence_)[:2]
steered = model.reanchor(replace=dict(zip(rarest.tolist(), wanted.values(), strict=True)))
for name, words in zip(wanted, steered.top_words(12)[rarest], strict=True):
    print(f"{name}: {' '.join(words)}")

# %%
# Where they are
# --------------
shares = steered.transform(bible)[:, rarest]
books = [name.rsplit(" ", 1)[0] for name in bible.names]
order = list(dict.fromkeys(books))
by_book = np.array([shares[np.array(books) == book].mean(axis=0) for book in order])
fig, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, layout="constrained")
for ax, name, colour, column in zip(axes, wanted, ["#0072b2", "#d55e00"], by_book.T, strict=True):
    ax.bar(range(len(order)), 100 * column, color=colour)
    ax.annotate(order[column.argmax()], (column.argmax(), 100 * column.max()), ha="center", va="bottom", fontsize=9)
    ax.set(ylabel="share, %", title=f"anchored on {', '.join(wanted[name])}")
    ax.margins(y=0.2)
axes[1].set_xlabel("books of the Bible, in their order")
fig.suptitle("Where is the topic that I asked for?")
plt.show()
