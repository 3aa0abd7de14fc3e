"""Limits that families share. `benchmarks/evidence_on_wrong_models.py` set them, on worlds of seeds below 400."""

# Largest mean error of components that can be read one by one.
MAX_L1_ERROR = 0.4  # probabilities of topics and states, in l1: a fifth of the probability is on wrong words
MAX_DIRECTION_ERROR = 0.3  # sine of the angle to the true direction; distance of unit vectors, such as atoms and causes
MAX_FOREIGN_SHARE = 0.25  # what others have in a component: sources, as amplitude (12 dB); columns of a unit (Jaccard)
MAX_RELATIVE_ERROR = 0.2  # relative to the length of a component: factors, maps of several tables
MAX_MEMBERSHIP_ERROR = 0.5  # memberships of a community, in l1, relative to its size
MAX_TOTAL_ERROR = 1.0  # all probabilities of a matrix together, in l1: above it most is on wrong pairs

# Differences that may be chance.
STANDARD_ERRORS = 2.0  # of a single comparison
MANY_STANDARD_ERRORS = 3.0  # of one that was chosen among many, or is measured by few groups
NOISE_RATIO = 2.0  # a squared residual over that of noise
