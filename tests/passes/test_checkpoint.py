"""Fits that were killed and taken up again, and folders that are refused."""

import contextlib
import errno
import json
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from contract import CASES
from scipy import sparse

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.likelihood.rows import MixtureSums
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments.vectors import Coordinates
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.noisyor.absences import BitColumns
from latentia.passes import Blocks, _packing, accumulate, checkpointing, write_cache
from latentia.passes import checkpoint as room
from latentia.topics import AnchorTopics

REFINED = [case for case in CASES if not case.exact]


class Killed(BaseException):
    """What no fit catches."""


@pytest.fixture
def always(monkeypatch):
    """Every state is written, however long that takes."""
    monkeypatch.setattr(room, "_WRITE_SHARE", np.inf)


@pytest.fixture
def kill(monkeypatch):
    """``kill(n)``: the n-th file that is written from now on is the last."""

    own = room._Folder._write

    def after(n):
        written = iter(range(n))

        def write(self, name, pieces):
            own(self, name, pieces)
            if next(written, None) is None:
                raise Killed

        monkeypatch.setattr(room._Folder, "_write", write)

    return after


def arrays(model):
    """All that was learned as numbers."""
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray) and name.endswith("_")}


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize("case", REFINED, ids=lambda case: case.name)
def test_a_killed_fit_ends_with_the_same_bits_and_every_pass_is_kept(case, tmp_path, always, kill, monkeypatch):
    """What a statistic holds, and what its sums are, can be told and written; nothing of it changes from run to run."""
    whole, folder = case.shared(), tmp_path / "kept"
    kill(3)
    died = False
    try:
        with checkpointing(folder):
            case.fit()
    except Killed:
        died = True
    kill(10**9)
    assert not died or any(folder.glob("*-pass-*"))
    own, kept, made = room._Folder.next_pass, [], []

    def counted(self, statistics, blocks):
        file = own(self, statistics, blocks)
        if not any(getattr(statistic, "keeps_rows", False) for statistic in statistics) and self._thread:
            assert file is not None, statistics
            state = file.load()
            (made if state is None or state.next_block < len(blocks) else kept).append(statistics)
        return file

    monkeypatch.setattr(room._Folder, "next_pass", counted)
    with monkeypatch.context() as patch, checkpointing(folder):
        patch.setattr(room._Folder, "clear", lambda self: None)
        again = case.fit(**({"n_jobs": 2} if "n_jobs" in case.estimator.get_params() else {}))
    n_passes = len(made) + len(kept)
    made.clear()
    kept.clear()
    with checkpointing(folder):
        last = case.fit()
    assert (len(made), len(kept)) == (0, n_passes)
    assert not folder.exists()
    for model in (again, last):
        for name, value in arrays(whole).items():
            np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
        assert str(model.evidence_) == str(whole.evidence_)


CODE = """
import sys
import numpy as np
from latentia import persistence
from latentia.datasets import planted
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks, checkpoint, checkpointing
checkpoint._WRITE_SHARE = float("inf")
corpus = planted.labelled_corpus(1500, n_topics=4, n_words=100, n_labels=8)
blocks = Blocks.from_array(corpus.X, corpus.Y, block_rows=100)
with checkpointing(sys.argv[1]):
    print("begun", flush=True)
    MomentMultiLabelClassifier(4, head="ridge", refine=6).fit(blocks)
    print("ended", flush=True)
    sys.stdin.read()
"""


def test_a_process_that_is_killed_leaves_a_folder_to_go_on_from(tmp_path):
    folder = tmp_path / "kept"
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    assert process.stdout.readline() == "ended\n"
    with pytest.raises(LatentiaError, match="another process uses this checkpoint"), checkpointing(folder):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stdin.close()
    passes = list(folder.glob("fit-001-pass-*"))
    assert passes
    corpus = planted.labelled_corpus(1500, n_topics=4, n_words=100, n_labels=8)
    blocks, read = Blocks.from_array(corpus.X, corpus.Y, block_rows=100), []
    own = type(blocks).__getitem__

    def counted(self, number):
        read.append(number)
        return own(self, number)

    model = MomentMultiLabelClassifier(4, head="ridge", refine=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(blocks), "__getitem__", counted)
        whole = MomentMultiLabelClassifier(4, head="ridge", refine=6).fit(blocks)
        n_whole = len(read)
        read.clear()
        with checkpointing(folder):
            model.fit(blocks)
    assert len(read) < n_whole
    np.testing.assert_array_equal(model.word_probabilities_, whole.word_probabilities_)
    np.testing.assert_array_equal(model.coef_, whole.coef_)


@pytest.fixture
def rows():
    return planted.gaussian_mixture(600, n_components=3, n_features=5, separation=8).X


@pytest.fixture
def left(rows, tmp_path, always, kill):
    """A folder that a killed fit left."""
    folder = tmp_path / "kept"
    kill(2)
    with pytest.raises(Killed), checkpointing(folder):
        SphericalGaussianMixture(3).fit(rows)
    kill(10**9)
    return folder


def scaled(X, factor):
    return Blocks.from_array(X).map(lambda block: [block[0] * factor], [X.shape])


def test_functions_of_maps_are_told_apart(tmp_path, rows, always, kill):
    """They differ in a constant, and else in nothing."""
    folder, twice, five_times = tmp_path / "kept", lambda b: [b[0] * 2.0], lambda b: [b[0] * 5.0]
    kill(2)
    with pytest.raises(Killed), checkpointing(folder):
        SphericalGaussianMixture(3).fit(Blocks.from_array(rows).map(twice, [rows.shape]))
    kill(10**9)
    with pytest.raises(LatentiaError, match="other data"), checkpointing(folder):
        SphericalGaussianMixture(3).fit(Blocks.from_array(rows).map(five_times, [rows.shape]))
    with checkpointing(folder):
        model = SphericalGaussianMixture(3).fit(Blocks.from_array(rows).map(twice, [rows.shape]))
    np.testing.assert_array_equal(model.means_, SphericalGaussianMixture(3).fit(2 * rows).means_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: SphericalGaussianMixture(4).fit(X), r"other parameters \(n_components\)"),
        (lambda X: SphericalGaussianMixture(3, refine=5, n_splits=1).fit(X), r"other parameters \(n_splits, refine\)"),
        (lambda X: SphericalGaussianMixture(3).fit(X + 1e-9), "other data"),
        (lambda X: SphericalGaussianMixture(3).fit(scaled(X, 1.0)), "other data"),
        (lambda X: SphericalGaussianMixture(3).fit(X[::-1]), "other data"),
        (lambda X: AnchorTopics(3).fit(np.abs(X)), r"SphericalGaussianMixture\.fit, and this is AnchorTopics\.fit"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(left, rows, change, message):
    before = {file.name: file.read_bytes() for file in left.iterdir()}
    with pytest.raises(LatentiaError, match=message), checkpointing(left):
        change(rows)
    assert {file.name: file.read_bytes() for file in left.iterdir()} == before
    with checkpointing(left):
        SphericalGaussianMixture(3, n_jobs=2).fit(rows)  # threads change nothing


def test_a_checkpoint_of_another_version_is_refused(left, rows):
    kept = room._Folder(left)
    header = json.loads(kept.read("fit-001")[0])
    header["versions"]["numpy"] = "1.0.0"
    kept._write("fit-001", [json.dumps(header).encode()])
    with pytest.raises(LatentiaError, match=r"numpy 1\.0\.0.*may round differently"), checkpointing(left):
        SphericalGaussianMixture(3).fit(rows)


def test_damaged_files_are_made_again(left, rows):
    whole = SphericalGaussianMixture(3).fit(rows)
    for file in left.glob("*-pass-*"):
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(bytes(content))
    with checkpointing(left):
        again = SphericalGaussianMixture(3).fit(rows)
    np.testing.assert_array_equal(again.means_, whole.means_)


def test_a_full_disk_is_said_and_loses_nothing(left, rows, monkeypatch):
    before = {file.name: file.read_bytes() for file in left.iterdir()}

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LatentiaError, match="No space left on device.*make room"), checkpointing(left):
            SphericalGaussianMixture(3).fit(rows)
    assert {file.name: file.read_bytes() for file in left.iterdir()} == before
    with checkpointing(left):
        SphericalGaussianMixture(3).fit(rows)


OTHERS = [
    "thesis.tex", "lock", "fit-2026.csv", "fit-model.npz", "fit-001", "fit-001.json", "fit-001-pass-000001", "fit-002.partial",
    "latentia-checkpoint.lock", ".latentia-a1b2c3d4.partial",
]  # fmt: skip


def contents(folder):
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("name", OTHERS)
def test_a_folder_with_files_of_others_is_refused_and_left_as_it_is(tmp_path, rows, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(LatentiaError, match=rf"holds {name}, which is no part"), checkpointing(tmp_path):
        SphericalGaussianMixture(3).fit(rows)
    with pytest.raises(LatentiaError, match="expected a folder for the checkpoint"), checkpointing(tmp_path / name):
        SphericalGaussianMixture(3).fit(rows)
    assert contents(tmp_path) == {str(tmp_path / name): b"mine"}


@pytest.mark.parametrize("name", [name for name in OTHERS if name not in ("fit-001", "latentia-checkpoint.lock")])
def test_files_of_others_that_come_meanwhile_stay(tmp_path, rows, name):
    folder = tmp_path / "kept"
    with checkpointing(folder):
        SphericalGaussianMixture(3).fit(rows)
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text("mine")
    assert contents(folder) == {str(folder / name): b"mine"}


def test_a_folder_to_go_on_from_is_refused_while_others_have_files_in_it(left, rows):
    before = contents(left)
    (left / "fit-2026.csv").write_text("mine")
    with pytest.raises(LatentiaError, match=r"holds fit-2026\.csv"), checkpointing(left):
        SphericalGaussianMixture(3).fit(rows)
    assert contents(left) == before | {str(left / "fit-2026.csv"): b"mine"}
    (left / "fit-2026.csv").unlink()
    with checkpointing(left):
        SphericalGaussianMixture(3).fit(rows)
    assert not left.exists()


def test_links_in_a_folder_are_not_followed(tmp_path, rows):
    (tmp_path / "victim").write_bytes(room._FIRST_LINE)
    for name in ("fit-001", "latentia-checkpoint.lock"):
        folder = tmp_path / f"with-{name}"
        folder.mkdir()
        (folder / name).symlink_to(tmp_path / "victim")
        with pytest.raises(LatentiaError), checkpointing(folder):
            SphericalGaussianMixture(3).fit(rows)
        assert (folder / name).is_symlink()
    assert (tmp_path / "victim").read_bytes() == room._FIRST_LINE


def test_the_lock_is_the_last_file_that_is_removed(tmp_path, rows, monkeypatch):
    removed, own = [], room.Path.unlink

    def unlink(self, **options):
        removed.append(self.name)
        own(self, **options)

    with checkpointing(tmp_path / "kept"):
        SphericalGaussianMixture(3).fit(rows)
        monkeypatch.setattr(room.Path, "unlink", unlink)
    assert len(removed) > 1
    assert removed[-1] == "latentia-checkpoint.lock"


def test_file_systems_without_locks(tmp_path, rows, monkeypatch):
    def lock(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(room.fcntl, "flock", lock)
    with checkpointing(tmp_path / "kept"):
        SphericalGaussianMixture(3).fit(rows)
    assert not (tmp_path / "kept").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path, rows):
    tmp_path.chmod(0o500)
    with pytest.raises(LatentiaError, match="cannot be written"), checkpointing(tmp_path / "kept"):
        SphericalGaussianMixture(3).fit(rows)


def test_several_fits_are_taken_up_in_their_order(tmp_path, rows, always, kill, monkeypatch):
    def both():
        return [SphericalGaussianMixture(k).fit(rows).means_ for k in (2, 3)]

    files, write = [], room._Folder._write
    with monkeypatch.context() as patch, checkpointing(tmp_path / "counted"):
        patch.setattr(room._Folder, "_write", lambda *args: (files.append(args[1]), write(*args)))
        SphericalGaussianMixture(2).fit(rows)
    whole, folder = both(), tmp_path / "kept"
    kill(len(files) + 3)
    with pytest.raises(Killed), checkpointing(folder):
        both()
    kill(10**9)
    assert {file.name[:7] for file in folder.glob("fit-*")} == {"fit-001", "fit-002"}
    with checkpointing(folder):
        again = both()
    for one, other in zip(again, whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_seed_that_was_drawn_is_kept(tmp_path, rows, always, kill):
    folder = tmp_path / "kept"
    kill(2)
    with pytest.raises(Killed), checkpointing(folder):
        SphericalGaussianMixture(3, random_state=None).fit(rows)
    header = json.loads(room._Folder(folder).read("fit-001")[0])
    kill(10**9)
    with checkpointing(folder):
        model = SphericalGaussianMixture(3, random_state=None).fit(rows)
    assert model._seed == header["seed"]


dies = {"at": None}


class Total:
    """Sum of the rows."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def zero(self):
        return np.zeros(5)

    def add(self, state, block):
        if block.number == sys.modules[__name__].dies["at"]:
            raise Killed
        return state + self.factor * block[0].sum(axis=0)

    def merge(self, first, second):
        return first + second


def test_a_single_pass_is_taken_up(tmp_path, rows, always, monkeypatch):
    blocks, folder = Blocks.from_array(rows, block_rows=10), tmp_path / "kept"
    whole = accumulate(blocks, Total())
    with monkeypatch.context() as patch:
        patch.setitem(dies, "at", 17)
        with pytest.raises(Killed):
            accumulate(blocks, Total(), checkpoint=folder)
    with pytest.raises(LatentiaError, match=r"other parameters \(statistics\)"):
        accumulate(blocks, Total(2.0), checkpoint=folder)
    with monkeypatch.context() as patch:
        patch.setitem(dies, "at", 3)  # which is not read again
        np.testing.assert_array_equal(accumulate(blocks, Total(), checkpoint=folder), whole)
    assert not folder.exists()


def test_files_are_known_by_their_checksums(tmp_path, rows):
    write_cache(tmp_path / "one", [[rows]])
    write_cache(tmp_path / "other", [[rows]])
    write_cache(tmp_path / "third", [[rows * 2]])
    prints = [Blocks.from_files(tmp_path / name).fingerprint() for name in ("one", "other", "third")]
    assert prints[0] == prints[1] != prints[2]
    halves = [half.fingerprint() for half in Blocks.from_array(rows).split(2)]
    assert halves[0] != halves[1]


@pytest.mark.parametrize("number", range(1, 7))
def test_sums_of_another_pass_are_not_taken(tmp_path, rows, always, kill, number):
    """They may be left from a fit whose folder was not cleared to the end, or whose sums were rounded differently."""
    whole, folder = SphericalGaussianMixture(3).fit(rows), tmp_path / "kept"
    kill(8)
    with pytest.raises(Killed), checkpointing(folder):
        SphericalGaussianMixture(3).fit(rows)
    kill(10**9)
    sums = (folder / f"fit-001-pass-{number:06d}").read_bytes()
    for other in range(1, 40):
        (folder / f"fit-001-pass-{other:06d}").write_bytes(sums)
    with checkpointing(folder):
        again = SphericalGaussianMixture(3).fit(rows)
    np.testing.assert_array_equal(again.means_, whole.means_)
    assert not folder.exists()


def test_a_fit_that_fails_is_not_the_next_one(tmp_path, rows, always, kill):
    def fits():
        with pytest.raises(LatentiaError, match="many"):
            SphericalGaussianMixture(3).fit(Blocks.from_array(rows).map(too_many, [rows.shape]))
        return SphericalGaussianMixture(2).fit(rows)

    def too_many(block):
        raise LatentiaError("too many")

    whole, folder = fits(), tmp_path / "kept"
    kill(3)
    with pytest.raises(Killed), checkpointing(folder):
        fits()
    kill(10**9)
    assert {file.name[:7] for file in folder.glob("fit-*")} == {"fit-001", "fit-002"}
    with checkpointing(folder):
        np.testing.assert_array_equal(fits().means_, whole.means_)


class Interrupted(Total):
    """Ctrl-C in the middle of the pass, in the main thread or another one."""

    def add(self, state, block):
        if block.number == sys.modules[__name__].dies["at"]:
            signal.raise_signal(signal.SIGINT)
        return Total.zero(self) + state + self.factor * block[0].sum(axis=0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_pass_that_is_interrupted_is_taken_up(tmp_path, rows, always, monkeypatch, n_jobs):
    blocks, folder = Blocks.from_array(rows, block_rows=10), tmp_path / "kept"
    with monkeypatch.context() as patch:
        patch.setitem(dies, "at", 17)
        with pytest.raises(KeyboardInterrupt):
            accumulate(blocks, Interrupted(), n_jobs, checkpoint=folder)
    assert not list(folder.rglob("*.partial"))
    np.testing.assert_array_equal(accumulate(blocks, Interrupted(), checkpoint=folder), accumulate(blocks, Total()))
    assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_writes_nothing_into_the_folder_of_its_parent(tmp_path, rows, always):
    blocks, folder = Blocks.from_array(rows, block_rows=100), tmp_path / "kept"
    with checkpointing(folder):
        SphericalGaussianMixture(2, refine=0).fit(rows)
        before = contents(folder)
        child = os.fork()
        if not child:
            code = 1
            with contextlib.suppress(BaseException):
                SphericalGaussianMixture(3, refine=0).fit(blocks)
                code = 0
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert contents(folder) == before


class Strange(Total):
    def zero(self):
        return Total()

    def add(self, state, block):
        return state


def test_sums_that_cannot_be_kept_are_named(tmp_path, rows, always):
    with pytest.raises(LatentiaError, match="Expected sums that are numbers.*found a Total"):
        accumulate(Blocks.from_array(rows), Strange(), checkpoint=tmp_path / "kept")


def test_reading_a_state_runs_no_code(left, rows, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    dotted = b"\x80\x04\x8c\x0elatentia.passes\x8c\x15cache.os.path.os.mkdir\x93\x8c\x04made\x85R."
    for file in left.glob("*-pass-*"):
        for content in (pickle.dumps(Evil()), dotted):
            room._Folder(left)._write(file.name, [content])
            assert room._PassFile(room._Folder(left), file.name, "key").load() is None
    assert not (tmp_path / "made").exists()
    with checkpointing(left):
        SphericalGaussianMixture(3).fit(rows)


@pytest.mark.parametrize(
    "name",
    ["os:system", "builtins:eval", "latentia.passes.cache:os.system", "latentia.passes.cluster:Cluster",
     "latentia.passes:accumulate", "latentia.mixtures:SphericalGaussianMixture", "latentia..passes:Block",
        "latentia.passes.blocks:Block", "", None, 5],
)  # fmt: skip
def test_records_of_others_are_not_made(name):
    tree = {"record": name, "state": {}}
    with pytest.raises(LatentiaError, match="is no record of this version"):
        _packing.unpack([json.dumps({"tree": tree, "arrays": []}).encode()])


def test_sums_come_back_as_they_were():
    square = np.arange(6.0).reshape(2, 3)
    sums = [
        (0, MixtureSums(square, [square], np.asfortranarray(square), 2.5, 3)), {(0, 1): square, "n": np.float64(3)},
        Coordinates(np.array([True]), np.array(2 + 1j), True), BitColumns(*[square] * len(BitColumns._fields)),
        sparse.csr_array(square), np.empty((0, 3)), square[:, ::2], {1, 2}, frozenset({3}), None,
        float("inf"), "text", np.int32(5),
    ]  # fmt: skip
    pieces = _packing.pack(sums)
    found = _packing.unpack([bytearray(piece) for piece in pieces])
    assert [type(one) for one in found] == [type(one) for one in sums]
    assert found[0][1].__dict__.keys() == sums[0][1].__dict__.keys()
    for one, other in zip(_packing.pack(found), pieces, strict=True):
        assert bytes(one) == bytes(other)
    assert found[1][0, 1] is found[0][1].mass  # the same array twice
