"""Pictures of fitted models with matplotlib: one function for each question, for all families that can answer it.

Every function takes a fitted model and the axes to draw on, and returns the axes; without ``ax`` it makes a figure. What is
drawn are attributes of the model: nothing is fitted anew.
"""

from .communities import plot_connectivity, plot_memberships
from .comparison import plot_comparison, plot_refinement
from .components import plot_coefficients, plot_components
from .evidence import plot_evidence
from .figures import plot_figure
from .network import plot_network
from .prevalence import plot_prevalence
from .rows import plot_clusters
from .spectrum import plot_spectrum
from .states import plot_states, plot_transitions
from .topics import plot_topics

__all__ = [
    "plot_clusters",
    "plot_coefficients",
    "plot_comparison",
    "plot_components",
    "plot_connectivity",
    "plot_evidence",
    "plot_figure",
    "plot_memberships",
    "plot_network",
    "plot_prevalence",
    "plot_refinement",
    "plot_spectrum",
    "plot_states",
    "plot_topics",
    "plot_transitions",
]
