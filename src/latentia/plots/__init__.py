"""Plots of fitted models with matplotlib: one function per question, for all families that can answer it.

Every function takes a fitted model and the axes to draw on, and returns the axes; without ``ax`` it makes a figure. Plots show
attributes of the model; nothing is fitted again.
"""

from .components import plot_coefficients, plot_components, plot_connectivity, plot_network, plot_transitions
from .effects import plot_effects
from .evidence import plot_comparison, plot_evidence, plot_refinement, plot_spectrum
from .figures import plot_figure
from .rows import plot_clusters, plot_memberships, plot_states
from .topics import plot_prevalence, plot_topics

__all__ = [
    "plot_clusters", "plot_coefficients", "plot_comparison", "plot_components", "plot_connectivity", "plot_effects",
    "plot_evidence", "plot_figure", "plot_memberships", "plot_network", "plot_prevalence", "plot_refinement",
    "plot_spectrum", "plot_states", "plot_topics", "plot_transitions",
]  # fmt: skip
