"""The engine of all families: estimators, stages of a fit, sums that can be added, and what a model may hold."""
