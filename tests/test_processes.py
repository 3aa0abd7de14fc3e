"""New processes: any seed of hashes gives the same bits, and several may compile into one empty folder."""

import os
import subprocess
import sys

import pytest

FITS = """
import hashlib, json, sys, warnings
import numpy as np
from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.topics import AnchorTopics
warnings.simplefilter("ignore")
texts = [" ".join(f"word{(7 * i + j * j) % 23} {'red' if i % 2 else 'blue'}{j % 5}tone" for j in range(12)) for i in range(200)]
topics = AnchorTopics(2).fit(texts)
mixture = SphericalGaussianMixture(2).fit(planted.gaussian_mixture(300, n_components=2, n_features=3, random_state=0).X)
network = NoisyOr(2).fit(planted.noisy_or_network(12, 2, leak=0.02, random_state=1).sample(400).X)
for model in (topics, mixture, network):
    for name, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiU":
            print(type(model).__name__, name, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest())
    print(hashlib.sha256(str(model.summary()).encode()).hexdigest(), list(model.get_feature_names_out())
          if hasattr(model, "get_feature_names_out") else "")
"""
COMMANDS = """
import hashlib, pathlib, sys
import numpy as np
sys.path.insert(0, TESTS)
from shell import latentia
rng = np.random.default_rng(0)
table = np.round(np.vstack([rng.normal(size=(60, 3)), 6 + rng.normal(size=(60, 3))]), 3)
lines = ["a,b,c,group", *(",".join(map(str, row)) + f",g{i % 3}" for i, row in enumerate(table))]
pathlib.Path("t.csv").write_text("\\n".join(lines))
pairs = rng.integers(0, 8, (400, 2)) + 8 * rng.integers(0, 2, (400, 1))
pathlib.Path("p.csv").write_text("from,to\\n" + "".join(f"n{a},n{b}\\n" for a, b in pairs if a != b))
for words in (["mixture", "t.csv", "-k", 2], ["communities", "p.csv", "-k", 2], ["mixture", "t.csv", "-k", 2, "--json"]):
    done = latentia(*words, "--out", f"o{len(words)}{words[0]}", "--quiet")
    assert done.returncode == 0, done.stderr
    print(hashlib.sha256(done.stdout.encode()).hexdigest())
for file in sorted(pathlib.Path().glob("o*/*")):
    print(file, hashlib.sha256(file.read_bytes()).hexdigest())
"""
KERNEL = """
import hashlib
import numpy as np
from latentia.metrics import ranking
rng = np.random.default_rng(0)
found = ranking.document_auc(rng.random((50, 8)) > 0.6, rng.random((50, 8)))
print(hashlib.sha256(np.asarray(found).tobytes()).hexdigest())
"""


def started(code, folder, **environment):
    """A process of its own, in a folder of its own."""
    folder.mkdir()
    kept = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=kept, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def printed(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out
    return out


@pytest.mark.parametrize(
    "code", [FITS, COMMANDS.replace("TESTS", repr(os.path.dirname(__file__)))], ids=["fits", "commands"]
)
def test_seeds_of_hashes_change_no_bit(code, tmp_path):
    first, *others = [printed(started(code, tmp_path / seed, PYTHONHASHSEED=seed)) for seed in "012"]
    assert others == [first, first]


def test_two_processes_compile_into_one_empty_folder(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    running = [started(KERNEL, tmp_path / name, **cache) for name in "ab"]
    first, second = map(printed, running)
    third = printed(started(KERNEL, tmp_path / "c", **cache))
    assert first == second == third
    assert list((tmp_path / "cache").rglob("*.nbc"))
