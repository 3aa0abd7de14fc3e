"""Threads, files and terminals, independent of data and models."""
