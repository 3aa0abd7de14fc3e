"""
From novels to themes
=====================

**Question: what are six novels about, and which theme belongs to which novel?**

A novel is too long to be one document: it has many themes. Cut into chapters, six novels by Jane Austen are some
hundred documents. Without the novels (see :func:`latentia.datasets.readers.read_corpus` for how a folder of files is
read) the books of the King James Bible, which come with the library, take their place.

Names of characters occur in one novel only and would be the strongest themes. They are left out by asking for words
that occur in lower case, in every novel.
"""

import gzip
import os
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import load_bible
from latentia.topics import AnchorTopics

# %%
# Chapters, with the name of the novel of each
# --------------------------------------------
# Words of three letters and more, as they stand: a capital letter in the middle of a sentence is a name.
TITLES = {
    "emma": "Emma", "mansfieldpark": "Mansfield Park", "northangerabbey": "Northanger Abbey", "persuasion": "Persuasion",
    "prideprejudice": "Pride and Prejudice", "sensesensibility": "Sense and Sensibility",
}  # fmt: skip
BOOKS = ["Genesis", "Psalms", "Proverbs", "Jeremiah", "Matthew", "Romans"]


def chapters():
    """Texts of chapters, and the book that each is from."""
    folder = Path(os.environ.get("LATENTIA_DATA", "../shared/data")) / "austen"
    if not folder.is_dir():
        bible = load_bible()
        books = [name.rsplit(" ", 1)[0] for name in bible.names]
        return zip(*[pair for pair in zip(bible.texts, books, strict=True) if pair[1] in BOOKS], strict=True)
    found = []
    for name, title in TITLES.items():
        novel = gzip.decompress((folder / f"{name}.txt.gz").read_bytes()).decode()
        parts = re.split(r"\n\s*chapter\s+\w+\.?\s*\n", novel, flags=re.IGNORECASE)[1:]
        found += [(part, title) for part in parts if len(part) > 1000]
    return zip(*found, strict=True)


texts, books = chapters()
words = [re.findall(r"\b[a-z]{3,}\b", text) for text in texts]
names = list(dict.fromkeys(books))
used = {name: {word for one, book in zip(words, books, strict=True) if book == name for word in one} for name in names}
everywhere = set.intersection(*used.values())
documents = [" ".join(word for word in one if word in everywhere) for one in words]
print(len(documents), "chapters;", len(everywhere), "words that all", len(names), "books have")

# %%
# Themes
# ------
# Six novels are little text, and the evidence says so: the grade of each theme stands in the table.
model = AnchorTopics(6).fit(documents)
print(model.topic_table(6)[["share", "expected error", "grade", "words"]].to_string())

# %%
# Which theme in which book
# -------------------------
# ``prevalence_by`` gives the mean share of every theme in every book. Its intervals know of the documents that were
# drawn and of the errors of the themes.
by_book = model.prevalence_by(documents, books)
share = by_book.share.value

themes = np.argsort(-share.mean(axis=0))
labels = [", ".join(words) for words in model.top_words(4)[themes]]
fig, ax = plt.subplots(figsize=(8.5, 4.6), layout="constrained")
image = ax.imshow(100 * share[:, themes].T, cmap="cividis", aspect="auto")
for (row, column), value in np.ndenumerate(share[:, themes].T):
    ax.text(
        column,
        row,
        f"{100 * value:.0f}",
        ha="center",
        va="center",
        color="white" if value < 0.6 * share.max() else "black",
        fontsize=9,
    )
ax.set_xticks(range(len(by_book.labels)), [label.replace(" ", "\n") for label in by_book.labels], fontsize=8)
ax.set_yticks(range(len(themes)), labels)
ax.set(title="Which theme in which book?", xlabel="book", ylabel="theme, by its first words")
fig.colorbar(image, label="share of the words, in percent")
plt.show()
