"""Dask collections, and passes on a cluster of two worker processes, one of which may die."""

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import time

import numpy as np
import pytest
from contract import CASES
from scipy import sparse

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks, Folds, accumulate, checkpoint, checkpointing, on_cluster, write_cache
from latentia.passes.cluster import Cluster
from latentia.topics import AnchorTopics

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
bag = pytest.importorskip("dask.bag")

DASK_CASES = [case for case in CASES if case.common_checks and not case.exact]


@contextlib.contextmanager
def started(n_workers):
    """A client of worker processes of one thread each, which have the modules that they need from one that has loaded them."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        if method == "forkserver":
            families = sorted({type(case.estimator).__module__ for case in DASK_CASES})
            context = distributed.utils.get_mp_context()  # which sets what is loaded, once
            context.set_forkserver_preload(["distributed", "dask.array", "latentia.passes", *families])
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def client():
    with started(2) as client:
        yield client


@pytest.fixture(scope="module")
def rows():
    return planted.gaussian_mixture(4000, n_components=3, n_features=6, separation=8).X


class Ranks:
    """Sums that show where they were made, and every row's number."""

    def zero(self):
        return np.zeros(3), set()

    def add(self, state, block):
        sums, processes = state
        return sums + [len(block.rows), block.rows.sum(), block[0].sum()], processes | {os.getpid()}

    def merge(self, first, second):
        return first[0] + second[0], first[1] | second[1]


class Columns:
    """Sums of the columns."""

    def zero(self):
        return np.zeros(6)

    def add(self, state, block):
        return state + block[0].sum(axis=0)

    def merge(self, first, second):
        return first + second


class Gram:
    """A large statistic, without a merge of its own."""

    def __init__(self, width):
        self.width = width

    def zero(self):
        return np.zeros((self.width, self.width))

    def add_tasks(self, state, block, parallel):
        state += block[0].T @ block[0]
        return state


def test_without_a_cluster_chunks_are_made_here(rows):
    blocks = Blocks.from_dask(da.from_array(rows, chunks=(300, 6)))
    (sums, processes) = accumulate(blocks, Ranks(), n_jobs=2)
    assert processes == {os.getpid()}
    np.testing.assert_allclose(sums, [4000, 3999 * 2000, rows.sum()], rtol=1e-12)


def test_workers_fold_runs_of_blocks(client, rows):
    blocks = Blocks.from_dask(da.from_array(rows, chunks=(300, 6)))
    assert blocks.shapes == ((4000, 6),)
    assert len(blocks) == 14
    (sums, processes), gram = accumulate(blocks, [Ranks(), Gram(6)])
    assert len(processes) == 2
    assert os.getpid() not in processes
    np.testing.assert_allclose(sums, [4000, 3999 * 2000, rows.sum()], rtol=1e-12)
    np.testing.assert_allclose(gram, rows.T @ rows, rtol=1e-12)


def test_moments_of_chunks_are_added_with_their_weights(rows):
    times, chunks = np.arange(len(rows)) % 3, da.from_array(rows, chunks=(300, 6))
    blocks = Blocks.from_dask(chunks)
    np.testing.assert_array_equal(blocks.repeated(times).table(), np.repeat(rows, times, axis=0))
    group, same = (one.group([0, 2], Folds()) for one in (blocks, Blocks.from_array(rows)))
    own = np.arange(group.n_rows) % 2
    np.testing.assert_array_equal(group.repeated(own).table(), same.repeated(own).table())
    with pytest.raises(LatentiaError, match="weights already"):
        blocks.repeated(times).repeated(np.ones(times.sum(), int))
    one = TensorICA(2, n_splits=0).partial_fit(chunks[:1000]).partial_fit(chunks[1000:], sample_weight=times[1000:])
    one.forget(chunks[:200])
    left = np.concatenate([rows[200:1000], np.repeat(rows[1000:], times[1000:], axis=0)])
    other = TensorICA(2, n_splits=0, keep_moments=True).fit(left)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-9)


def test_a_pass_does_not_wait_forever_for_workers(monkeypatch):
    class Future:
        def __init__(self):
            self.waited = 0

        def result(self, timeout):
            self.waited += 1
            raise TimeoutError

        def done(self):
            return False

    class Client:
        workers = iter([{"a": 1}, {}, {"b": 1}, {}, {}, {}])

        def nthreads(self):
            return next(self.workers)

        def cancel(self, futures):
            self.cancelled = futures

    monkeypatch.setattr("latentia.passes.cluster._MAX_WAIT_S", 15.0)
    future, client = Future(), Client()
    with pytest.raises(LatentiaError, match="no workers for 15 s"):
        Cluster(client)._add_results([Gram(2)], [future])
    assert future.waited == 6
    assert client.cancelled == [future]


class Ended:
    """A future that ends between two looks at it."""

    def __init__(self, end):
        self.end, self.looks = end, 0

    def result(self, timeout=None):
        self.looks += 1
        if self.looks == 1:
            raise TimeoutError("not yet")
        return self.end()

    def done(self):
        return True


def test_a_run_that_ends_while_it_is_looked_at_is_no_error():
    assert Cluster(None)._await_result(Ended(lambda: [1.0])) == [1.0]

    def late():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        Cluster(None)._await_result(Ended(late))


def test_a_scheduler_that_does_not_answer_has_no_workers():
    class Client:
        def nthreads(self):
            raise OSError("Timed out trying to connect")

    with pytest.raises(LatentiaError, match="has no workers"):
        Cluster(Client()).fold(Blocks.from_array(np.ones((4, 2)), block_rows=1), [Gram(2)], False)


@pytest.mark.parametrize("client", [None, 5, [], object(), {"tcp": 1}])
def test_what_is_no_client_is_refused(client):
    with pytest.raises(LatentiaError, match=r"client=.*: expected a connected distributed\.Client"), on_cluster(client):
        pass


def test_a_client_that_was_closed_is_refused(client):
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(LatentiaError, match="a connected distributed"), on_cluster(other):
        pass


def test_persisted_chunks_are_not_made_again(client, rows, tmp_path):
    def loaded(path):
        (tmp_path / f"made-{time.time_ns()}-{os.getpid()}").touch()
        return np.load(path)

    np.save(tmp_path / "rows.npy", rows[:1000])
    chunks = dask.persist(*[dask.delayed(loaded)(tmp_path / "rows.npy") for _ in range(4)])
    distributed.wait(chunks)
    made = len(list(tmp_path.glob("made-*")))
    blocks = Blocks.from_dask(list(chunks))
    for _ in range(2):
        np.testing.assert_allclose(accumulate(blocks, Gram(6)), 4 * rows[:1000].T @ rows[:1000], rtol=1e-12)
    assert len(list(tmp_path.glob("made-*"))) == made


def test_files_are_mapped_by_the_workers(client, rows, tmp_path):
    table = sparse.csr_array(np.where(rows > 1, rows, 0))
    write_cache(tmp_path / "cache", [[rows, table]])
    blocks = Blocks.from_files(tmp_path / "cache", block_rows=250)
    assert len(pickle.dumps(blocks)) < 5000
    group = blocks.group([0, 2], Folds(4, 1))
    with on_cluster(client):
        (sums, processes), product = accumulate(group, Ranks()), accumulate(blocks, Gram(6))
    local, _ = accumulate(group, Ranks())
    assert os.getpid() not in processes
    np.testing.assert_allclose(sums, local, rtol=1e-12)
    np.testing.assert_allclose(product, rows.T @ rows, rtol=1e-12)
    again = pickle.loads(pickle.dumps(blocks))
    assert (again[1][1] != blocks[1][1]).nnz == 0
    with on_cluster(client):  # rows in memory stay where they are
        assert accumulate(Blocks.from_array(rows), Ranks())[1] == {os.getpid()}


def in_chunks(value):
    """A table or blocks as Dask arrays, or as delayed blocks where they are sparse."""
    table = value
    if sparse.issparse(table):
        ends = np.linspace(0, table.shape[0], 6).astype(int)
        return [dask.delayed(sparse.csr_array)(table[a:b]) for a, b in itertools.pairwise(ends)]
    return da.from_array(np.asarray(table), chunks=(-(-len(table) // 5), -1))


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("case", DASK_CASES, ids=lambda case: case.name)
def test_estimators_take_collections(client, case):
    data = dict(case.data())
    name, first = next(iter(data.items()))
    if not (sparse.issparse(first) or isinstance(first, np.ndarray)) or len(data) > 1:
        pytest.skip("aligned tables have tests of their own")
    whole, model = case.shared(n_splits=1), case.new(n_splits=1).fit(in_chunks(first))
    for attribute in case.estimator._compared:
        found, expected = getattr(model, attribute, None), getattr(whole, attribute, None)
        if isinstance(expected, np.ndarray):
            scale = np.abs(expected).max()
            apart = np.abs(found[:, None] - expected).max(axis=-1).min(axis=0) if found.ndim == 2 else found - expected
            np.testing.assert_allclose(apart, 0, atol=1e-5 * scale, err_msg=name)
    assert model.evidence_.grade == whole.evidence_.grade


def test_labels_and_views_are_aligned(client):
    corpus = planted.labelled_corpus(3000, n_topics=4, n_words=200, n_labels=12)
    X, Y = corpus.X.toarray(), corpus.Y.toarray()
    whole = MomentMultiLabelClassifier(4).fit(X, Y)
    chunked = da.from_array(X, chunks=(700, 200)), da.from_array(Y, chunks=(1000, 12))
    model = MomentMultiLabelClassifier(4).fit(*chunked)
    np.testing.assert_allclose(model.word_probabilities_, whole.word_probabilities_, atol=1e-6)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(chunked[0]), whole.decision_function(X), atol=1e-6)
    assert model.score(*chunked) == pytest.approx(whole.score(X, Y))
    X = planted.product_mixture(3000, n_components=3, n_features=12, contrast=0.6).X
    views = [np.asarray(X[:, :4]), np.asarray(X[:, 4:8]), np.asarray(X[:, 8:])]
    whole = MultiViewMixture(3).fit(views)
    model = MultiViewMixture(3).fit([da.from_array(view, chunks=(800, -1)) for view in views])
    for found, expected in zip(model.means_, whole.means_, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_bags_of_texts_are_counted(client):
    rng = np.random.default_rng(0)
    words = np.array([f"word{chr(97 + i)}{chr(97 + j)}" for i in range(20) for j in range(10)])
    weights = rng.dirichlet(np.full(200, 0.05), size=4)
    texts = [" ".join(rng.choice(words, 40, p=weights[i % 4])) for i in range(600)]
    whole = AnchorTopics(4).fit(texts)
    model = AnchorTopics(4).fit(bag.from_sequence(texts, npartitions=5))
    assert model.vectorizer_.vocabulary_ == whole.vectorizer_.vocabulary_
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-6)
    np.testing.assert_array_equal(model.top_words(3), whole.top_words(3))
    np.testing.assert_allclose(model.transform(texts[:5]), whole.transform(texts[:5]), atol=1e-6)


def test_data_frames_keep_their_names(client, rows):
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    names = ["height", "weight", "age", "pulse", "sleep", "steps"]
    frame = frames.from_pandas(pandas.DataFrame(rows, columns=names), npartitions=4)
    model = SphericalGaussianMixture(3).fit(frame)
    assert model._column_names == names
    np.testing.assert_allclose(model.means_, SphericalGaussianMixture(3).fit(rows).means_, atol=1e-6)


class Dying:
    """A sum that kills the worker, once, in the middle of its run."""

    def __init__(self, flag):
        self.flag = flag

    def zero(self):
        return np.zeros(6)

    def add(self, state, block):
        if block.number == 9:
            try:
                os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return state + block[0].sum(axis=0)

    def merge(self, first, second):
        return first + second


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(rows, tmp_path):
    with started(2):
        blocks = Blocks.from_dask(da.from_array(rows, chunks=(300, 6)))
        sums = accumulate(blocks, Dying(str(tmp_path / "died")))
        assert (tmp_path / "died").exists()
        np.testing.assert_allclose(sums, rows.sum(axis=0), rtol=1e-9)


def deadly(number):
    """A block that kills every worker that makes it."""
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(Dying):
    def add(self, state, block):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_pass_that_kills_its_workers_is_a_sentence(rows):
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), started(1):
        blocks = Blocks.from_dask(da.from_array(rows, chunks=(300, 6)))
        with pytest.raises(LatentiaError, match="cluster failed .KilledWorker.*Look at the logs.*fit again"):
            accumulate(blocks, Deadly(""))
        with pytest.raises(LatentiaError, match="cluster failed .KilledWorker"):
            Blocks.from_dask([dask.delayed(deadly)(i) for i in range(2)])


@pytest.mark.parametrize("places", ["here, then there", "there, then here"])
def test_a_fit_goes_on_elsewhere(client, rows, tmp_path, monkeypatch, places):
    monkeypatch.setattr(checkpoint, "_WRITE_SHARE", np.inf)
    write_cache(tmp_path / "cache", [[rows]])
    blocks, folder = Blocks.from_files(tmp_path / "cache", block_rows=400), tmp_path / "kept"
    here, there = contextlib.nullcontext, lambda: on_cluster(client)
    first, second = (here, there) if places.startswith("here") else (there, here)
    with first():
        whole = SphericalGaussianMixture(3).fit(blocks)
    written, own = itertools.count(), checkpoint._Folder._write

    def write(self, name, pieces):
        own(self, name, pieces)
        if next(written) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint._Folder, "_write", write)
    with pytest.raises(KeyboardInterrupt), first(), checkpointing(folder):
        SphericalGaussianMixture(3).fit(blocks)
    assert any(folder.glob("*-pass-*"))
    with second(), checkpointing(folder):
        model = SphericalGaussianMixture(3).fit(blocks)
    np.testing.assert_allclose(model.means_, whole.means_, atol=1e-9)
    assert not folder.exists()


@pytest.mark.parametrize("places", ["here, then there", "there, then here"])
def test_sums_of_a_pass_serve_elsewhere(client, rows, tmp_path, monkeypatch, places):
    """Those of a pass that has ended, and of statistics of both kinds."""
    monkeypatch.setattr(checkpoint, "_WRITE_SHARE", np.inf)
    monkeypatch.setattr(checkpoint._Folder, "clear", lambda self: None)
    write_cache(tmp_path / "cache", [[rows]])
    blocks, folder = Blocks.from_files(tmp_path / "cache", block_rows=400), tmp_path / "kept"
    here, there = contextlib.nullcontext, lambda: on_cluster(client)
    first, second = (here, there) if places.startswith("here") else (there, here)
    with first():
        before = accumulate(blocks, [Columns(), Gram(6)], checkpoint=folder)
    monkeypatch.setattr(type(blocks), "__getitem__", lambda *_: pytest.fail("read again"))
    monkeypatch.setattr(Cluster, "fold", lambda *_: pytest.fail("folded again"))
    with second():
        again = accumulate(blocks, [Columns(), Gram(6)], checkpoint=folder)
    for one, other in zip(again, before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_digest_of_chunks_is_found_by_the_workers(client, rows):
    chunked = da.from_array(rows, chunks=(300, 6))
    blocks = Blocks.from_dask(chunked)
    assert blocks.fingerprint() == Blocks.from_dask(chunked).fingerprint()
    assert blocks.fingerprint() != Blocks.from_dask(chunked * 2).fingerprint()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(blocks), "__getitem__", lambda *_: pytest.fail("read here"))
        blocks.fingerprint()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rows: Blocks.from_dask(rows), "Part 0 is a ndarray.*from_array"),
        (lambda rows: Blocks.from_dask(), "at least one collection"),
        (lambda rows: Blocks.from_dask([]), "expected at least one delayed block"),
        (lambda rows: Blocks.from_dask(da.from_array(rows[None])), "3 dimensions"),
        (lambda rows: Blocks.from_dask(da.from_array(rows), names=["a"]), "1 entries and the table 6 columns"),
        (
            lambda rows: Blocks.from_dask([dask.delayed(np.zeros)((3, 2)), dask.delayed(np.zeros)((3, 4))]),
            "Chunk 1 has other numbers of columns",
        ),
        (
            lambda rows: Blocks.from_dask([dask.delayed(lambda: (np.zeros((3, 2)), np.zeros((4, 2))))()]),
            "Chunk 0 has 3, 4 rows in its parts",
        ),
        (lambda rows: Blocks.from_dask(da.from_array(rows), lengths=[5, 6]), "lengths add up to 11"),
    ],
)
def test_collections_that_are_no_tables_are_refused(make, message, rows):
    with pytest.raises(LatentiaError, match=message):
        make(rows)


def test_an_address_without_a_scheduler_is_refused(impatient):
    with pytest.raises(LatentiaError, match="no Dask scheduler answers"), on_cluster("tcp://127.0.0.1:9"):
        pass


def test_sequences_end_with_chunks(client, rows):
    lengths = np.full(40, 100)
    blocks = Blocks.from_dask(da.from_array(rows, chunks=(333, 6)), lengths=lengths)
    assert all(block[1].sum() == len(block[0]) for block in blocks)
    np.testing.assert_array_equal(np.vstack([block[0] for block in blocks]), rows)
