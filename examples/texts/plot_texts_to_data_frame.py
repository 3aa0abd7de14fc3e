"""
From texts to a data frame in five lines
========================================

**Question: I have texts; how do I get numbers that I can go on with?**

Five lines lead from a list of texts to a table of texts by topics, which pandas, scikit-learn or a spreadsheet take
from there.
"""

# %%
# Five lines
# ----------
from latentia.datasets import load_bible
from latentia.topics import AnchorTopics

texts = load_bible()  # or any list of strings
model = AnchorTopics(12).fit(texts)
table = model.document_table(texts)

print(table.iloc[:3, :4].round(3).to_string())

# %%
# And on with it
# --------------
# A question for pandas: the mean share of topics in the first five books, and in the four gospels.
import matplotlib.pyplot as plt

parts = {"five books of Moses": ["Genesis", "Exodus", "Leviticus", "Numbers", "Deuteronomy"],
         "four gospels": ["Matthew", "Mark", "Luke", "John"]}  # fmt: skip
book = table.index.str.rsplit(" ", n=1).str[0]
topics = table.columns[: model.n_components]
means = {name: 100 * table.loc[book.isin(books), topics].mean() for name, books in parts.items()}
fig, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
rows = range(len(topics))
ax.barh([row + 0.2 for row in rows], means["five books of Moses"], 0.4, color="#0072b2", label="five books of Moses")
ax.barh([row - 0.2 for row in rows], means["four gospels"], 0.4, color="#e69f00", label="four gospels", hatch="//")
ax.set_yticks(rows, [" ".join(words) for words in model.top_words(4)])
ax.set(
    title="What are two parts of the Bible about?",
    xlabel="mean share of the topic, %",
    ylabel="topic, by its first words",
)
ax.legend()
plt.show()
