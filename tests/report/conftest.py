import json
import re
from html.parser import HTMLParser

import pytest


class _Tags(HTMLParser):
    """Start tags with their attributes, the text of every script, and all other text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.cells = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        elif self.cdata_elem is None and data.strip():
            self.cells.append(data.strip())

    @property
    def data(self):
        """What the scripts of the page read."""
        return json.loads(self.scripts[self.kinds.index("report-data")])

    @property
    def kinds(self):
        """The names of the scripts; those without one are code."""
        return [attrs.get("id") for tag, attrs in self.tags if tag == "script"]

    @property
    def addresses(self):
        """Whatever in the code could reach the network; the name of SVG is none."""
        code = "".join(text for text, kind in zip(self.scripts, self.kinds, strict=True) if kind is None)
        return re.findall(r"https?://(?!www\.w3\.org/2000/svg)|fetch\(|XMLHttpRequest|import\(", code)


@pytest.fixture(scope="session")
def read_page():
    """Parse a written page."""
    return lambda path: _Tags(path.read_text("utf-8"))
