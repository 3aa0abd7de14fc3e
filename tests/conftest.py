import gc
import os
import re
import shutil
from pathlib import Path

import pytest
import slow

# Before NumPy is loaded: workers share the processor, and threads of BLAS that wait for one another burn most of it. Tests of
# other numbers of threads set them, which counts for more.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from updates import enumerate_paths, naive_gaussian, naive_posterior, parameters, problem, problem_of  # noqa: F401

from latentia.datasets import planted

ONE_CLUSTER = "tests/passes/test_dask.py"
"""Its cluster would be started again for the tests of each estimator."""

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)

os.fsync = lambda descriptor: None  # nothing that is written here outlives the machine

gc.disable()  # until tests are collected, which stay to the end: modules and tests need not be looked through again and again


def pytest_collection_modifyitems(items):
    listed = slow.names()
    for item in items:
        if slow.name_of(item.nodeid) in listed:
            item.add_marker("slow")


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def together(test):
    """What one worker runs: the tests of an estimator, which share fits and compiled functions, or else those of a file."""
    path, _, name = test.partition("::")
    if path == ONE_CLUSTER:
        return path
    estimator = re.search(
        r"\[.*?\b((?:[A-Z][a-z]+)+[A-Z]\w+?)\d*\b", name[:500]
    )  # AnchorTopics, TensorICA, SpectralHMM1
    folders = Path(path).parts
    return estimator[1] if estimator else "/".join(folders[:3] if folders[0] == "src" else folders)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadgroup``, groups as `together` has them; names of tests stay as they are."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return together(nodeid)

    return Scheduler(config, log) if config.getvalue("dist") == "loadgroup" else None


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


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium with an empty profile."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    yield window
    window.quit()


@pytest.fixture
def impatient(monkeypatch):
    """Schedulers are waited for as always, but for a second and not for ten."""
    distributed = pytest.importorskip("distributed")

    class Client(distributed.Client):
        def __init__(self, address, *, timeout, **options):
            assert timeout == "10s"
            super().__init__(address, timeout="1s", **options)

    monkeypatch.setattr(distributed, "Client", Client)
