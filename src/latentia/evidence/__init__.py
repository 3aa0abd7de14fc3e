"""What the theorems assume, measured on the data at hand, and how far the answer can be trusted."""

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
    doubted,
    found_again,
    mean_cosine,
    neighbour_checks,
    parts_text,
    repeated,
)
from .rows import RowsNeeded
from .simulated import Drawn, simulated_checks
from .sizes import CANDIDATES, Size, all_sizes, and_beyond, as_likely, beyond, enough_sizes, recommend, until_enough
from .spectrum import left_out, noise_limit
from .spread import Spread, spread_of_documents
from .stability import half_split_errors
from .statements import STATEMENTS, Statement, found_sentence
from .tensors import TensorMeasured, error_checks, rank_checks, separation_limit, tensor_checks, whitened_noise
from .trivial import trivial_checks
from .views import ViewMisfits, counted_parameters

__all__ = [
    "CANDIDATES",
    "GRADES",
    "STATEMENTS",
    "Bound",
    "Check",
    "Component",
    "ComponentView",
    "Components",
    "Drawn",
    "Evidence",
    "Grade",
    "Misfit",
    "PartErrors",
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
    "counted_parameters",
    "doubted",
    "enough_sizes",
    "equal_to",
    "error_checks",
    "found_again",
    "found_sentence",
    "half_split_errors",
    "left_out",
    "mean_cosine",
    "misfit_of_tensor",
    "missing_checks",
    "neighbour_checks",
    "noise_limit",
    "parts_text",
    "rank_checks",
    "recommend",
    "repeated",
    "separation_limit",
    "simulated_checks",
    "spread_of_documents",
    "tensor_checks",
    "trivial_checks",
    "until_enough",
    "whitened_noise",
    "within",
]
