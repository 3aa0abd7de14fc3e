"""
Two regimes over a thousand symbols
===================================

**Question: is there a hidden switch in this sequence at all?**

A sequence of words, pages or error codes may come from one source, or from two that take turns. With a thousand
symbols, each seen a few dozen times, EM has too many parameters to begin at random.
:class:`~latentia.sequences.TwoStateHMM` first *detects* whether the pairs of neighbours hold a second state, and says
no where they do not; then it learns both.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.sequences import TwoStateHMM

# %%
# From independent symbols to a slow switch
# -----------------------------------------
# The chance to leave a state is varied. At 1/2 the states have no memory: nothing is there to be found.
leaving = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
errors, detected = [], []
for chance in leaving:
    chain = planted.two_state_chain(20_000, 1000, switch=(chance, chance), random_state=4)
    model = TwoStateHMM().fit(chain.symbols)
    detected.append(model.detected_)
    errors.append(recovery_errors(model.emissionprob_, chain.emissionprob).mean())
    print(f"leaves a state with {chance:.2f}: detected {model.detected_!s:5}, {model.evidence_.grade}")

# %%
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(leaving, errors, color="#999999", zorder=1)
yes = np.array(detected)
ax.scatter(np.array(leaving)[yes], np.array(errors)[yes], color="#0072b2", s=60, label="a second state is detected")
ax.scatter(np.array(leaving)[~yes], np.array(errors)[~yes], color="#d55e00", marker="X", s=80, label="none is detected")
ax.set(
    title="Is there a hidden switch, and is it found?",
    xlabel="chance to leave a state at a step",
    ylabel="l1 error of emissions (of 2)",
)
ax.set_ylim(0, None)
ax.legend()
plt.show()
