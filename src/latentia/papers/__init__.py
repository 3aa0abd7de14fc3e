"""Numbered algorithms of the five texts as printed: a module a subject, a function an algorithm, arrays in and arrays out.

Estimators take better steps where their docstrings say so. These functions are for people who replicate a paper, and the tests
compare estimators with them.
"""
