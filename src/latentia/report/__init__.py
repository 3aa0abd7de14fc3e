"""Reports: one HTML file that needs no network and no other file."""

from .topics import write_topics_report

__all__ = ["write_topics_report"]
