import os
from pathlib import Path

import pytest

from latentia.datasets import planted


@pytest.fixture(scope="session")
def corpus():
    """An easy corpus: 10 topics, 2,000 documents of 100 words."""
    return planted.topic_corpus(2000, n_topics=10, n_words=800, length=100, random_state=5)


@pytest.fixture(scope="session")
def data():
    """The folder of real data sets, or a skip that says what is missing."""
    folder = Path(os.environ.get("LATENTIA_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set LATENTIA_DATA to the folder that holds it")
    return folder
