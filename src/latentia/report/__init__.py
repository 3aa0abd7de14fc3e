"""Reports: one HTML file that needs no network and no other file."""

from ._page import import_report
from .topics import write_topics_report

__all__ = ["import_report", "write_topics_report"]
