"""Threads, files and terminals: the machine beneath, which knows nothing of data or models."""
