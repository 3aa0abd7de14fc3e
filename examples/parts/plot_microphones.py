"""
Four microphones unmixed
========================

**Question: what did each of four instruments play, if every microphone hears all of them?**

Independent component analysis finds signals that are independent from mixtures of them.
:class:`~latentia.ica.TensorICA` starts from fourth cumulants, which need no random start, and expects a crosstalk:
how much of the others is left in each signal.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.ica import TensorICA
from latentia.metrics import amari_index

# %%
# Two seconds of four instruments, at 8,000 Hz
# --------------------------------------------
time = np.arange(16_000) / 8_000
rng = np.random.default_rng(0)
played = {
    "organ": np.sign(np.sin(2 * np.pi * 110 * time)) * (0.6 + 0.4 * np.sin(2 * np.pi * 1.5 * time)),
    "siren": np.sin(2 * np.pi * (330 + 60 * np.sin(2 * np.pi * 3 * time)) * time),
    "drum": rng.standard_normal(16_000) * np.exp(-25 * (time % 0.25)),
    "strings": 2 * ((196 * time) % 1) - 1,
}
sources = np.column_stack(list(played.values()))
sources = (sources - sources.mean(axis=0)) / sources.std(axis=0)
mixing = rng.uniform(0.3, 1.0, (4, 4)) + np.eye(4)
heard = sources @ mixing.T

# %%
# One fit
# -------
model = TensorICA(4).fit(heard)
found = model.transform(heard)
likeness = np.corrcoef(sources.T, found.T)[:4, 4:]
print("Amari index (0 is perfect):", round(float(amari_index(model.components_, mixing)), 4))
print(model.evidence_.verdict)

# %%
fig, axes = plt.subplots(4, 3, figsize=(10, 5.2), sharex=True, layout="constrained")
part = slice(1000, 3400)
for row, name in enumerate(played):
    match = int(np.argmax(np.abs(likeness[row])))
    signals = sources[:, row], heard[:, row], np.sign(likeness[row, match]) * found[:, match]
    for ax, signal, colour in zip(axes[row], signals, ["#333333", "#d55e00", "#0072b2"], strict=True):
        ax.plot(1000 * time[part], signal[part], color=colour, linewidth=0.6)
        ax.set_yticks([])
    axes[row, 0].set_ylabel(name)
    axes[row, 2].annotate(
        f"r = {abs(likeness[row, match]):.3f}",
        (0.99, 0.95),
        xycoords="axes fraction",
        ha="right",
        va="top",
        bbox={"color": "white", "alpha": 0.8, "pad": 1},
    )
for ax, title in zip(axes[0], ["played", "heard by a microphone", "unmixed"], strict=True):
    ax.set_title(title)
for ax in axes[-1]:
    ax.set_xlabel("time, milliseconds")
fig.suptitle("What did each instrument play?")
plt.show()
