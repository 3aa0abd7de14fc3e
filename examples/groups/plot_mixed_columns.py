"""
Classes in a table of numbers, categories and counts
====================================================

**Question: which classes of rows are in a table whose columns are of several kinds, and have gaps?**

A table of patients, customers or answers mostly has columns of several kinds, and gaps. Rows of a class share what is usual in
each column; given the class, columns are independent.
"""

# %%
# A planted table with three classes; a tenth of the cells is missing. The kinds of columns are found by their types.
import matplotlib.pyplot as plt
import pandas as pd

from latentia.datasets import planted
from latentia.mixtures import MultiViewMixture

data = planted.mixed_table(2000, n_components=3, contrast=1.2, missing=0.1)
frame = pd.DataFrame(data.X)
model = MultiViewMixture(3).fit(frame)
print(pd.Series(model.kinds).value_counts())
print(model.evidence_)

# %%
# What is usual in each class: means and standard deviations of numbers, probabilities of categories, means of counts.
table = model.tables["columns"].to_frame()
print(table.round(2).to_string())

# %%
# Of the first category the probabilities of its values in each class.
chances = table[table["column"] == "category 0"].set_index("parameter").iloc[:, 1:]
chances.T.plot.bar(stacked=True, rot=0, xlabel="class", ylabel="probability")
plt.title("Classes differ in their categories")
plt.show()
