"""
Tagging, and explaining a tag
=============================

**Question: which tags does a new text get, and which of its words are the reason?**

Chapters of the King James Bible are tagged with the kind of book they are in, and whether they speak of a king or of
an offering. :class:`~latentia.multilabel.MomentMultiLabelClassifier` learns from three chapters in four and tags the
others. It keeps a linear rule, so that each tag can be taken apart into the words that speak for it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from latentia.datasets import load_bible
from latentia.multilabel import MomentMultiLabelClassifier

# %%
# Texts and tags
# --------------
KINDS = {
    "law": ["Genesis", "Exodus", "Leviticus", "Numbers", "Deuteronomy"],
    "history": ["Joshua", "Judges", "Ruth", "1 Samuel", "2 Samuel", "1 Kings", "2 Kings", "1 Chronicles", "2 Chronicles",
                "Ezra", "Nehemiah", "Esther"],
    "poetry": ["Job", "Psalms", "Proverbs", "Ecclesiastes", "Song of Solomon"],
    "prophets": ["Isaiah", "Jeremiah", "Lamentations", "Ezekiel", "Daniel", "Hosea", "Joel", "Amos", "Obadiah", "Jonah",
                 "Micah", "Nahum", "Habakkuk", "Zephaniah", "Haggai", "Zechariah", "Malachi"],
    "gospels": ["Matthew", "Mark", "Luke", "John"],
}  # fmt: skip
bible = load_bible()
kind_of = {book: kind for kind, books in KINDS.items() for book in books}
tags = [*KINDS, "letters", "dialogue"]
Y = np.zeros((len(bible.texts), len(tags)), int)
for row, (name, text) in enumerate(zip(bible.names, bible.texts, strict=True)):
    Y[row, tags.index(kind_of.get(name.rsplit(" ", 1)[0], "letters"))] = 1
    Y[row, tags.index("dialogue")] = sum(text.lower().count(said) for said in (" said ", " saith ", " answered ")) >= 10
words = CountVectorizer(stop_words="english", min_df=3)
X = words.fit_transform(bible.texts)
test = np.arange(len(bible.texts)) % 4 == 3

# %%
# Learn and tag
# -------------
model = MomentMultiLabelClassifier(25, vocabulary=words.get_feature_names_out(), label_names=tags)
model.fit(X[~test], Y[~test])
first = model.decision_function(X[test])[:, :-1].argmax(axis=1)
right = np.mean(first == Y[test, :-1].argmax(axis=1))
print(f"the kind of book is right for {right:.0%} of {test.sum()} chapters not learned from")

# %%
# Why is this chapter poetry?
# ---------------------------
chapter = bible.names.index("Psalms 104")
(explained,) = model.explain(X[[chapter]], [tags.index("poetry"), tags.index("gospels")], n_words=8)
for one in explained:
    print(
        f"{one.name}: probability {one.probability:.2f}; {', '.join(f'{word} {weight:+.2f}' for word, weight in one.words)}"
    )

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
names, weights = zip(*explained[0].words[::-1], strict=True)
ax.barh(names, weights, color=["#0072b2" if weight > 0 else "#d55e00" for weight in weights])
ax.axvline(0, color="k", linewidth=0.8)
ax.set(
    title=f'Why is {bible.names[chapter]} tagged "{explained[0].name}"?',
    xlabel="what the word adds to the score",
    ylabel="word of the chapter",
)
plt.show()
