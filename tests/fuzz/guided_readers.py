"""Bytes that are led into every branch of the readers by what they reach: ``make fuzz`` runs this for a fixed time.

    NUMBA_DISABLE_JIT=1 python tests/fuzz/guided_readers.py -max_total_time=120 -seed=1 FOLDER

Compiled loops run as plain Python, so that the fuzzer sees their branches too. The first byte chooses the reader. FOLDER, which
may be left out, keeps what was found.
"""

import os
import shutil
import sys
import tempfile
import types
import warnings
from pathlib import Path

import numpy as np

FORMATS = ("__init__", "_sizes", "_text", "_triples", "_vocabulary", "matrixmarket", "pairs", "svmlight", "uci")
MODULES = [f"latentia.passes.formats.{name}".removesuffix(".__init__") for name in FORMATS]
MODULES += ["latentia.passes.parsing", "latentia.passes.cache"]
MODULES += [f"latentia.datasets.{name}" for name in ("_csv", "pairs", "tables", "texts")]
KINDS = [
    ("docword.x.txt", "uci"), ("x.mtx", "market"), ("x.svm", "svmlight"), ("x.svm", "svmlight1"), ("x.txt", "headed"),
    ("x.txt", "numbers"), ("x.npy", "numbers"), ("x.csv", "table"), ("x.csv", "drop"), ("x.dat", "mean"), ("x.txt", "texts"),
    ("x.csv", "texts"), ("x.txt", "pairs"), ("x.csv", "pairs"),
]  # fmt: skip


def fuzz(arguments):
    """Run until the time is over, or something is found, which ends the process with a report."""
    import atheris

    sys.path.insert(0, str(Path(__file__).parent))
    with atheris.instrument_imports(include=MODULES):
        import _worker
    from latentia.exceptions import LatentiaError, LatentiaWarning
    from latentia.passes import parsing

    warnings.simplefilter("ignore", LatentiaWarning)
    np.seterr(all="ignore")  # compiled loops overflow to infinity without a word, and so does this one:
    parsing.math = types.SimpleNamespace(ldexp=lambda value, power: float(np.ldexp(value, power)))
    root = tempfile.mkdtemp(prefix="guided-readers-")
    scratch = _worker.temporary(root)

    def one_input(data):
        if not data:
            return
        name, reader = KINDS[data[0] % len(KINDS)]
        folder = Path(tempfile.mkdtemp(dir=root))
        (folder / name).write_bytes(data[1:])
        try:
            _worker.READERS[reader](folder / name)
        except LatentiaError as error:
            if name not in str(error) and error.parameter is None:
                raise RuntimeError("the error does not name the file") from error
        finally:
            shutil.rmtree(folder)
        assert not os.listdir(scratch), "files are left among the temporary ones"

    corpus = next((Path(word) for word in arguments if not word.startswith("-")), Path(root) / "corpus")
    put_seeds(corpus, _worker.seeds())
    options = [word for word in arguments if word.startswith("-")]
    limits = ["-timeout=60", "-rss_limit_mb=4096", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *options, *limits, str(corpus)], one_input)
    atheris.Fuzz()


def put_seeds(corpus, seeds):
    """Files as they should be, each with the number of its reader before it."""
    corpus.mkdir(parents=True, exist_ok=True)
    for i, (name, reader) in enumerate(KINDS):
        for j, seed in enumerate(seeds):
            if (
                reader in seed.readers
                and isinstance(seed.content, bytes)
                and Path(seed.name).suffix == Path(name).suffix
            ):
                (corpus / f"seed-{i}-{j}").write_bytes(bytes([i]) + seed.content)


if __name__ == "__main__":
    fuzz(sys.argv[1:])
