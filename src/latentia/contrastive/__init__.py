"""Rich component analysis: models of one component of several views, without models of the others."""

from .background import BackgroundPCA
from .components import ContrastiveComponents
from .hidden import ContrastiveGradient, contrast_moments
from .ising import ContrastiveIsing
from .logistic import ContrastiveLogisticRegression
from .mixture import ContrastiveGaussianMixture
from .pca import ContrastivePCA
from .regression import ContrastiveRegression
from .rich import RichComponents

__all__ = [
    "BackgroundPCA",
    "ContrastiveComponents",
    "ContrastiveGaussianMixture",
    "ContrastiveGradient",
    "ContrastiveIsing",
    "ContrastiveLogisticRegression",
    "ContrastivePCA",
    "ContrastiveRegression",
    "RichComponents",
    "contrast_moments",
]
