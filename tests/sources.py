"""A small file for every command that learns, from the bundled book or planted, and what the command is given with it."""

import csv
import gzip

import numpy as np

from latentia.datasets import load_bible, planted

rng = np.random.default_rng


def write_csv(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def _texts(folder):
    path = folder / "chapters.txt"
    path.write_text("\n\n".join(load_bible().texts[::6]))
    return [path, "-k", 4, "--refine", 1]


def _texts_in_a_column(folder):
    path = folder / "chapters.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["id", "body"], *([i, text] for i, text in enumerate(load_bible().texts[::8]))])
    (folder / "stops.txt").write_text("lord\nking\n")
    return [path, "-k", 3, "--refine", 0, "--column", "body", "--stop-words", folder / "stops.txt", "--model", "lda"]


def _texts_by_group(folder):
    path, bible = folder / "books.csv", load_bible()
    with open(path, "w", newline="") as file:
        write = csv.writer(file).writerow
        write(["year", "testament", "text"])
        for i in range(0, len(bible.texts), 6):
            write([1900 + i // 12, "old" if i < 929 else "new", bible.texts[i]])
    groups = ["--group-by", "testament", "--over", "year", "--effects", "~ testament"]
    return [path, "-k", 4, "--column", "text", *groups]


def _counts(folder):
    corpus = planted.topic_corpus(300, n_topics=4, n_words=120)
    coo = corpus.counts.tocoo()
    path = folder / "docword.p.txt"
    entries = [f"{d + 1} {w + 1} {c}" for d, w, c in zip(coo.row, coo.col, coo.data, strict=True)]
    path.write_text("\n".join([*map(str, (*coo.shape, coo.nnz)), *entries]) + "\n")
    (folder / "vocab.p.txt").write_text("".join(f"w{i}\n" for i in range(coo.shape[1])))
    return [path, "-k", 3, "--refine", 0, "--model", "single", "--max-df", 1]


def _symbols(folder):
    chain = planted.hidden_markov_chain(4000, n_states=2, n_symbols=6, lengths=[40] * 100)
    words = np.array(["Red", "green", "Blue", "<i>", "white", "12"])[chain.symbols].reshape(-1, 40)
    path = folder / "words.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n\n".join(" ".join(line) for line in words))
    least = int(np.sort(np.unique(words, return_counts=True)[1])[1])
    return [path, "-k", 2, "--refine", 1, "--lower", "--min-count", least]


def _column_of_symbols(folder):
    chain = planted.hidden_markov_chain(3000, n_states=2, n_symbols=5, lengths=[50] * 60)
    path = write_csv(folder / "steps.csv", "day,page,who", [(i, f"p{s}", i // 50) for i, s in enumerate(chain.symbols)])
    return [path, "-k", 2, "--refine", 1, "--column", "page", "--sequence", "who"]


def _vectors(folder):
    chain = planted.hidden_markov_chain(2000, n_states=2, n_symbols=4)
    values = np.array([[0.0, 500.0], [8.0, 100.0]])[chain.states] + rng(0).standard_normal((2000, 2)) * [1, 50]
    path = write_csv(folder / "v.csv", "time,a,b", [(i, *row) for i, row in enumerate(values)])
    return [path, "-k", 2, "--refine", 1, "--columns", "b,a"]


def _two_state(folder):
    chain = planted.two_state_chain(20_000, n_symbols=200, emissions="halves")
    path = folder / "switch.txt"
    path.write_text(" ".join(f"s{i}" for i in chain.symbols))
    return [path, "--two-state"]


def _mixture(folder):
    data = planted.gaussian_mixture(900, n_components=3, n_features=4, separation=10)
    path = write_csv(
        folder / "rows.csv", "id,a,b,c,d", [(i, *row) for i, row in enumerate(data.X * [1, 1000, 0.01, 5])]
    )
    return [path, "-k", 3, "--refine", 2, "--ignore", "id"]


def _sparse_mixture(folder):
    data = planted.gaussian_mixture(900, n_components=3, n_features=4, separation=10)
    entries = [f"{i + 1} {j + 1} {v:.6g}" for (i, j), v in np.ndenumerate(np.where(abs(data.X) > 0.3, data.X, 0)) if v]
    header = ["%%MatrixMarket matrix coordinate real general", f"900 4 {len(entries)}"]
    (folder / "rows.mtx").write_text("\n".join([*header, *entries]))
    return [folder / "rows.mtx", "-k", 3, "--refine", 2]


def _views(folder):
    data = planted.product_mixture(3000, n_components=2, n_features=9)
    path = write_csv(folder / "bits.csv", ",".join("abcdefghi"), data.X.astype(int))
    return [path, "-k", 2, "--refine", 1, "--views", "i,a,b;c,d,e;f,h,g"]


def _sources(folder):
    data = planted.independent_sources(4000, n_components=3)
    path = write_csv(folder / "signals.csv", "t,x,y,z", [(i, *row) for i, row in enumerate(data.X)])
    return [path, "-k", 3, "--ignore", "t", "--refine", 5, "--keep-moments"]


def _findings(folder):
    X = planted.noisy_or_network(18, 3, leak=0.02, random_state=2).sample(2000, random_state=1).X.astype(int)
    path = write_csv(folder / "ward.csv", "age," + ",".join(f"f{i}" for i in range(18)), [(20, *row) for row in X])
    return [path, "-k", 3, "--ignore", "age"]


def _labelled(folder):
    truth = planted.label_model(4, 120, 12, features=25)
    (folder / "tags.txt").write_text("\n".join(f"tag {i}" for i in range(12)))
    train, test = truth.write(folder / "train.txt", 1500, 0), truth.write(folder / "test.txt", 80, 1)
    return [train, "--test", test, "-k", 4, "--top", 3, "--labels", folder / "tags.txt"]


def _bigrams(folder):
    path = folder / "psalms.txt"
    path.write_text("\n\n".join(load_bible().texts[478:628]))
    return [path, "--bigrams", "-k", 3, "--near", "king"]


def _pairs(folder):
    counts = planted.word_pairs(20_000, n_components=3, n_words=60).counts.tocoo()
    return [
        write_csv(folder / "pairs.csv", "from,to,times", zip(counts.row, counts.col, counts.data, strict=True)),
        "-k",
        3,
    ]


def _edges(folder):
    graph = planted.mixed_membership_graph(250, 3, alpha0=0.1, degree=30, snr=4, random_state=1).adjacency
    path = folder / "edges.txt"
    path.write_text("".join(f"n{i} n{j}\n" for i, j in zip(*graph.nonzero(), strict=True) if i < j))
    return [path, "-k", 3]


def _patterns(folder):
    X = planted.sparse_codes(1500, n_features=16, n_components=20, sparsity=2, noise=0.03).X
    path = write_csv(
        folder / "patterns.csv", "id," + ",".join(f"f{i}" for i in range(16)), [(i, *row) for i, row in enumerate(X)]
    )
    return [path, "-k", 20, "--sparsity", 2, "--ignore", "id", "--no-scale"]


def _units(folder):
    Y = planted.sparse_network(1500, (120, 30), 5, 0.03, random_state=1).Y.toarray().astype(int)
    return [write_csv(folder / "units.csv", ",".join(f"item {i}" for i in range(120)), Y)]


def _spectra(folder):
    X = np.abs(planted.separable_rows(300, 30, 4, n_pure=5, noise=0.02).X)
    path = write_csv(
        folder / "spectra.csv",
        "id," + ",".join(f"band {i}" for i in range(30)),
        [(f"s{i}", *row) for i, row in enumerate(X)],
    )
    return [path, "-k", "3:5", "--names", "id"]


def _sums_of_counts(folder):
    rates = 20 * rng(0).exponential(size=(300, 3)) @ (rng(1).exponential(size=(3, 20)) * (rng(2).random((3, 20)) < 0.4))
    return [
        write_csv(folder / "sums.csv", ",".join(f"c{i}" for i in range(20)), rng(3).poisson(rates)),
        "-k",
        3,
        "--counts",
    ]


def _two_tables(problem, *options, n_rows=6000, n_columns=4):
    def make(folder):
        data = planted.contrastive_views(
            n_rows, n_columns, problem, shared="exponential", linear_map="orthogonal", random_state=16
        )
        names, U = [f"u{i}" for i in range(n_columns)], data.U
        if data.y is not None:
            names, U = [*names, "y"], np.column_stack([U, data.y])
        second = write_csv(folder / "v.csv", ",".join(f"v{i}" for i in range(data.V.shape[1])), data.V)
        return [write_csv(folder / "u.csv", ",".join(names), U), second, "--fit", problem, *options]

    return make


SOURCES = {
    "texts": ("topics", _texts),
    "texts in a column": ("topics", _texts_in_a_column),
    "texts by group": ("topics", _texts_by_group),
    "counts": ("topics", _counts),
    "symbols": ("hmm", _symbols),
    "a column of symbols": ("hmm", _column_of_symbols),
    "vectors": ("hmm", _vectors),
    "two states": ("hmm", _two_state),
    "mixture": ("mixture", _mixture),
    "sparse mixture": ("mixture", _sparse_mixture),
    "views": ("mixture", _views),
    "sources": ("ica", _sources),
    "findings": ("noisy-or", _findings),
    "labelled": ("labels", _labelled),
    "bigrams": ("matrix", _bigrams),
    "pairs": ("matrix", _pairs),
    "edges": ("communities", _edges),
    "patterns": ("dictionary", _patterns),
    "units": ("network", _units),
    "spectra": ("nmf", _spectra),
    "sums of counts": ("nmf", _sums_of_counts),
    "directions": ("contrast", _two_tables("pca")),
    "regression": ("contrast", _two_tables("regression", "--target", "y")),
    "classes": ("contrast", _two_tables("logistic", "--target", "y")),
    "clusters": ("contrast", _two_tables("mixture", "-k", "3:5")),
    "couplings": ("contrast", _two_tables("ising", n_rows=20_000, n_columns=9)),
}
"""A command, and ``make(folder)``: it writes the files, and returns the source, or both, with the options."""
