"""Runs the code of the pages in docs: blocks of ``python``, sessions of ``pycon`` and of ``console``, page by page, in order.

``python tests/pages.py [PAGE ...]`` writes what sessions print into the pages; `test_docs.py` compares it. Where a page speaks
of the reader's own data, `DATA` has some.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(python|pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
TERMINAL = {"COLUMNS": "100", "LINES": "25", "FORCE_COLOR": "1", "TERM": "dumb", "TTY_COMPATIBLE": "1"}
"""Sessions look as in a terminal of this size, without colours, whatever the environment of the tests says of it."""


# --- sessions -------------------------------------------------------------------------------------------------------


def run_page(page, names=None):
    """The text of a page with what its sessions print now; ``names`` are what its code has defined in the end."""
    names = {} if names is None else names
    text = (DOCS / page).read_text("utf-8")
    with _terminal():
        names.update(DATA.get(page, dict)())
        return BLOCK.sub(lambda match: f"```{match[1]}\n{_run(match[1], match[2], page, names)}```", text)


def agree(first, second):
    """Whether two texts have the same words, and numbers that differ by some percent at most."""
    plain = [" ".join(NUMBER.sub("#", text).split()) for text in (first, second)]
    values = [[float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (first, second)]
    return plain[0] == plain[1] and np.allclose(*values, rtol=0.05, atol=0.02)


def sessions(text):
    """The blocks of a page that show what is printed."""
    return [match[2] for match in BLOCK.finditer(text) if match[1] != "python"]


def _run(kind, block, page, names):
    if kind == "python":
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, page, "exec"), names)
        return block
    prompt, more = (">>> ", "... ") if kind == "pycon" else ("$ ", "> ")
    said, code = [], []
    for line in [*block.splitlines(), prompt]:
        if line.startswith(prompt) and code:
            command = "\n".join(one[len(prompt) :] for one in code)
            printed = _python(command, page, names) if kind == "pycon" else _shell(command)
            said += [*code, *printed.rstrip().splitlines(), *([""] if kind == "console" and line != prompt else [])]
            code = []
        if line.startswith((prompt, more)):
            code.append(line)
    return "".join(line.rstrip() + "\n" for line in said)


def _python(code, page, names):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code + "\n", page, "single"), names)
    return printed.getvalue()


def _shell(command):
    """What ``latentia`` prints, run in this process."""
    from latentia.cli.commands import app

    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        words = shlex.split(command)[1:]
        app([*words, *([] if words[0] == "look" else ["--quiet"])], standalone_mode=False)
    return printed.getvalue()


@contextlib.contextmanager
def _terminal():
    before = {name: os.environ.get(name) for name in TERMINAL}
    os.environ.update(TERMINAL)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


# --- data of the reader ---------------------------------------------------------------------------------------------


def _communities():
    from latentia.datasets import planted

    return {"A": planted.mixed_membership_graph(300, 3, alpha0=0.1, degree=30, snr=4).adjacency}


def _contrastive():
    from latentia.datasets import planted

    data = planted.contrastive_views(1000, 5, "regression")
    return {"U": data.U, "V": data.V, "y": data.y}


def _dictionary():
    from latentia.datasets import planted

    return {"X": planted.sparse_codes(3000, 128, 256, sparsity=4).X}


def _matrices():
    from scipy import sparse

    from latentia.datasets import planted

    counts = sparse.csr_array(planted.word_pairs(50_000, 5, 200).counts)
    words = ["seven", *(f"word{i}" for i in range(1, counts.shape[0]))]
    return {"counts": counts, "other_counts": counts, "words": words, "i": 3, "j": 5, **_imported("matrices")}


def _imported(family):
    from importlib import import_module

    module = import_module(f"latentia.{family}")
    return {name: getattr(module, name) for name in module.__all__}


def _labels_files(*paths, rows=400):
    from latentia.datasets import planted

    data = planted.labelled_corpus(rows, n_topics=5, n_words=200, n_labels=10)
    for path in paths:
        lines = [f"{data.X.shape[0]} {data.X.shape[1]} {data.Y.shape[1]}"]
        for x, y in zip(data.X.toarray(), data.Y.toarray(), strict=True):
            labels = ",".join(map(str, np.flatnonzero(y)))
            lines.append(f"{labels} " + " ".join(f"{j}:{x[j]:g}" for j in np.flatnonzero(x)))
        Path(path).write_text("\n".join(lines) + "\n")
    return data


def _multilabel():
    _labels_files("train.txt", "test.txt")
    return {}


def _network():
    from latentia.datasets import planted

    return {"Y": planted.sparse_network(2000, (200, 50), density=0.05).Y}


def _nmf():
    from latentia.datasets import planted

    return {"X": planted.separable_rows(300, 20, 5).X, "M": [[1, 2, 3], [2, 4, 6], [1, 0, 1]]}


def _noisy_or():
    from try_package import findings

    table = findings(np.random.default_rng(0), 15)[:1000]
    items = ["bread", "butter", "jam", *(f"item {j}" for j in range(3, table.shape[1]))]
    baskets = [[items[j] for j in np.flatnonzero(row)] for row in table]
    return {"X": table.astype(float), "baskets": baskets}


def _sequences():
    from latentia.datasets import planted

    return {"symbols": planted.hidden_markov_chain(4000, n_states=4, n_symbols=8).symbols, "lengths": [2000, 2000]}


def _tensors():
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 3)))[0]
    return {"T": np.einsum("ik,jk,lk->ijl", vectors, vectors, vectors), "n_components": 3}


def _topics():
    from latentia.datasets import load_bible
    from latentia.plots import plot_prevalence

    texts = load_bible().texts[::4]
    Path("articles.txt").write_text("\n".join(texts))
    dates = [1900 + i % 7 for i in range(len(texts))]
    party = ["left" if i % 2 else "right" for i in range(len(texts))]
    return {"texts": texts, "party": party, "dates": dates, "plot_prevalence": plot_prevalence}


def _iris():
    from sklearn.datasets import load_iris

    flowers = load_iris()
    names = [name.removesuffix(" (cm)") for name in flowers.feature_names]
    lines = [
        ",".join([*(f"{value:g}" for value in row), flowers.target_names[kind]])
        for row, kind in zip(flowers.data, flowers.target, strict=True)
    ]
    Path("iris.csv").write_text("\n".join([",".join([*names, "species"]), *lines]) + "\n")
    return {}


def _files():
    """Real tables and texts that come with scikit-learn and with this package, as files of several kinds."""
    from sklearn.datasets import load_diabetes, load_linnerud

    from latentia.datasets import load_bible

    _iris()
    for name, data, separator in (
        ("diabetes.csv", load_diabetes(scaled=False), ","),
        ("gym.tsv", load_linnerud(), "\t"),
    ):
        rows = [[f"{value:g}" for value in row] for row in np.column_stack([data.data, data.target])]
        targets = data.get("target_names", ["progression"])
        lines = map(separator.join, [[*data.feature_names, *targets], *rows])
        Path(name).write_text("\n".join(lines) + "\n")
    bible = load_bible()
    lines = [json.dumps({"chapter": name, "text": text}) for name, text in zip(bible.names, bible.texts, strict=True)]
    Path("bible.jsonl").write_text("\n".join(lines) + "\n")
    people = [
        "Abraham", "Isaac", "Jacob", "Joseph", "Moses", "Aaron", "Joshua", "Samuel", "Saul", "David", "Jonathan", "Solomon",
        "Peter", "Paul", "John", "James",
    ]  # fmt: skip
    named = np.array([[person in text for person in people] for text in bible.texts], int)
    together = np.triu(named.T @ named, 1)
    pairs = [f"{people[i]},{people[j]},{together[i, j]}" for i, j in np.argwhere(together)]
    Path("people.csv").write_text("\n".join(["source,target,chapters", *pairs]) + "\n")
    return {}


DATA = {
    "command-line.md": _iris, "communities.md": _communities, "contrastive.md": _contrastive,
    "dictionary.md": _dictionary, "files.md": _files, "matrices.md": _matrices, "multilabel.md": _multilabel,
    "networks.md": _network,
    "nmf.md": _nmf, "noisy_or.md": _noisy_or, "sequences.md": _sequences, "tensors.md": _tensors, "topics.md": _topics,
}  # fmt: skip
"""By page: what its code takes from its reader, files in the present folder among them."""


def main():
    import warnings

    warnings.simplefilter("ignore")
    for page in sys.argv[1:] or sorted(path.name for path in DOCS.glob("*.md")):
        if sessions((DOCS / page).read_text("utf-8")):
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                text = run_page(page)
            (DOCS / page).write_text(text, "utf-8")
            print(page)


if __name__ == "__main__":
    main()
