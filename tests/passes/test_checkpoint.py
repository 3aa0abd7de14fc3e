"""Fits that were killed and taken up again, and folders that are refused."""

import errno
import io
import json
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from contract import CASES

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.mixtures import SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks, accumulate, checkpointing, write_cache
from latentia.passes import checkpoint as room
from latentia.topics import AnchorTopics

REFINED = [case for case in CASES if not case.exact]


class Killed(BaseException):
    """What no fit catches."""


@pytest.fixture
def always(monkeypatch):
    """Every state is written, however long that takes."""
    monkeypatch.setattr(room, "_SHARE", np.inf)


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
def test_a_killed_fit_ends_with_the_same_bits(case, tmp_path, always, kill):
    whole, folder = case.fit(), tmp_path / "kept"
    kill(3)
    died = False
    try:
        with checkpointing(folder):
            case.fit()
    except Killed:
        died = True
    kill(10**9)
    assert not died or any(folder.glob("*-pass-*"))
    with checkpointing(folder):
        again = case.fit(**({"n_jobs": 2} if "n_jobs" in case.estimator.get_params() else {}))
    assert not folder.exists()
    for name, value in arrays(whole).items():
        np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)
    assert str(again.evidence_) == str(whole.evidence_)


CODE = """
import sys
import numpy as np
from latentia import persistence
from latentia.datasets import planted
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks, checkpointing
corpus = planted.labelled_corpus(4000, n_topics=5, n_words=300, n_labels=20)
blocks = Blocks.from_array(corpus.X, corpus.Y, block_rows=100)
with checkpointing(sys.argv[1]):
    print("begun", flush=True)
    MomentMultiLabelClassifier(5, head="ridge", refine=20).fit(blocks)
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
    corpus = planted.labelled_corpus(4000, n_topics=5, n_words=300, n_labels=20)
    blocks, read = Blocks.from_array(corpus.X, corpus.Y, block_rows=100), []
    own = type(blocks).__getitem__

    def counted(self, number):
        read.append(number)
        return own(self, number)

    model = MomentMultiLabelClassifier(5, head="ridge", refine=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(blocks), "__getitem__", counted)
        whole = MomentMultiLabelClassifier(5, head="ridge", refine=20).fit(blocks)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: SphericalGaussianMixture(4).fit(X), r"other parameters \(n_components\)"),
        (lambda X: SphericalGaussianMixture(3, refine=5, n_splits=1).fit(X), r"other parameters \(n_splits, refine\)"),
        (lambda X: SphericalGaussianMixture(3).fit(X + 1e-9), "other data"),
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


def test_folders_of_others_are_left_alone(tmp_path, rows):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(LatentiaError, match=r"holds thesis\.tex"), checkpointing(tmp_path):
        SphericalGaussianMixture(3).fit(rows)
    with pytest.raises(LatentiaError, match="is not a folder"), checkpointing(tmp_path / "thesis.tex"):
        SphericalGaussianMixture(3).fit(rows)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path, rows):
    tmp_path.chmod(0o500)
    with pytest.raises(LatentiaError, match="cannot be written"), checkpointing(tmp_path / "kept"):
        SphericalGaussianMixture(3).fit(rows)


def test_several_fits_are_taken_up_in_their_order(tmp_path, rows, always, kill):
    def both():
        return [SphericalGaussianMixture(k).fit(rows).means_ for k in (2, 3)]

    whole, folder = both(), tmp_path / "kept"
    kill(14)
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
