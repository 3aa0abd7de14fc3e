"""Dictionaries of sparse representations: rows that are combinations of a few atoms each."""

from .incoherent_dictionary import IncoherentDictionary

__all__ = ["IncoherentDictionary"]
