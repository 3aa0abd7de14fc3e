"""Evidence: the theorems' assumptions measured on the data, and how far the answer can be trusted."""

from . import bounds
from .checks import Bound, Check, above, at_least, at_most, between, equal_to, within
from .convergence import convergence_checks
from .evidence import Evidence
from .goodness import Misfit, WhitenedMoments, misfit_of_tensor
from .grades import GRADES, Component, Components, Grade
from .hidden import missing_checks
from .parts import PartErrors
from .repeats import (
    ComponentView,
    again,
    again_text,
    discount_repeats,
    mean_cosine,
    mean_repeat_shares,
    neighbour_checks,
    parts_text,
    repeat_shares,
)
from .rows import RowsNeeded
from .simulated import RealAndSimulated, simulation_checks
from .sizes import CANDIDATES, Size, all_sizes, and_beyond, as_likely, beyond, enough_sizes, recommend, until_enough
from .spectrum import missing_spectrum_share, noise_limit
from .spread import Spread, spread_of_documents
from .stability import half_split_errors
from .statements import STATEMENTS, Statement, repeats_sentence
from .tensors import (
    TensorMeasured,
    error_checks,
    parts_checks,
    rank_checks,
    separation_limit,
    tensor_checks,
    whiten_noise,
)
from .trivial import trivial_checks
from .views import ViewMisfits, count_parameters

__all__ = [
    "CANDIDATES",
    "GRADES",
    "STATEMENTS",
    "Bound",
    "Check",
    "Component",
    "ComponentView",
    "Components",
    "Evidence",
    "Grade",
    "Misfit",
    "PartErrors",
    "RealAndSimulated",
    "RowsNeeded",
    "Size",
    "Spread",
    "Statement",
    "TensorMeasured",
    "ViewMisfits",
    "WhitenedMoments",
    "above",
    "again",
    "again_text",
    "all_sizes",
    "and_beyond",
    "as_likely",
    "at_least",
    "at_most",
    "between",
    "beyond",
    "bounds",
    "convergence_checks",
    "count_parameters",
    "discount_repeats",
    "enough_sizes",
    "equal_to",
    "error_checks",
    "half_split_errors",
    "mean_cosine",
    "mean_repeat_shares",
    "misfit_of_tensor",
    "missing_checks",
    "missing_spectrum_share",
    "neighbour_checks",
    "noise_limit",
    "parts_checks",
    "parts_text",
    "rank_checks",
    "recommend",
    "repeat_shares",
    "repeats_sentence",
    "separation_limit",
    "simulation_checks",
    "spread_of_documents",
    "tensor_checks",
    "trivial_checks",
    "until_enough",
    "whiten_noise",
    "within",
]
