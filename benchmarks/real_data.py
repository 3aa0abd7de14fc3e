"""Claim: on real data every family is level with the peers that a user would pick, or ahead of them, mostly in less time.

    python benchmarks/real_data.py [--family topics labels ...]

One table: a line for each data set of the folder LATENTIA_DATA (and three of scikit-learn) and each measure, with our default
settings beside the best peer of the same run. Fits, data and peers are those of the benchmarks of each family, which have more
of both; the kernels of ours were compiled before. Measures are of rows that were held out, or of the known truth. ``level``:
within 20 of perplexity, .02 nats, .05 dB, .005 of angles and Amari's index, and .01 of everything else. CPU seconds of one
thread; of peers with several starts, those of all of them; ours have error bars.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _common import DATA, report, timed
from threadpoolctl import threadpool_limits

Row = dict[str, Any]
LOWER = ("perplexity", "angle", "amari")
"""Measures of which less is better."""
LEVEL = {"perplexity": 20.0, "nats": 0.02, "psnr": 0.05, "angle": 0.005, "amari": 0.005}
"""Differences that are none; of all other measures, which are between 0 and 1, it is .01."""


def lines(data: str, family: str, rows: Sequence[Row], ours: str, measures: Sequence[str]) -> Iterator[Row]:
    """Our row beside, for each measure, the best of the others that have it."""
    own = next(row for row in rows if row["method"] == ours)
    for measure in measures:
        sign = -1 if measure in LOWER else 1
        others = [row for row in rows if not row.get("ours", row["method"] == ours) and row.get(measure) is not None]
        best = max(others, key=lambda row: sign * row[measure])
        gain = sign * (own[measure] - best[measure])
        told = "level" if abs(gain) <= LEVEL.get(measure, 0.01) else "ahead" if gain > 0 else "behind"
        yield {
            "data": data, "family": family, "measure": measure, "latentia": own[measure], "peer": best[measure],
            "": told, "best peer": best["method"], "cpu_s": own.get("cpu_s"), "peer_cpu_s": best.get("cpu_s"),
        }  # fmt: skip


def topics() -> Iterator[Row]:
    import topics_words_shown as words
    from _topics import associated_press, newsgroups
    from topics_real_corpora import FITS, compare

    from latentia.topics import AnchorTopics

    for split in (associated_press(), newsgroups()):
        rows = [row | {"ours": row["method"] in FITS} for row in compare(split, 20, 200)]
        yield from lines(split.name, "topics", rows, "refined", ("perplexity",))
        rows = [row | {"method": row["words"]} for row in words.compare(split, 20, 300, (AnchorTopics,))]
        rows = [row | {"ours": row["method"].startswith("AnchorTopics")} for row in rows]
        yield from lines(split.name, "topics", rows, f"AnchorTopics, {words.SHOWN}", ("coherence",))


def labels() -> Iterator[Row]:
    import tempfile

    from multilabel_heads import OURS, compare, splits

    with tempfile.TemporaryDirectory() as folder:
        for split in splits(["medical", "corel5k", "bibtex"], Path(folder), quick=True):
            rows = [row | {"ours": row["method"] in OURS} for row in compare(split)]
            yield from lines(split.name, "labels", rows, "auto", ("p@1", "p@5", "micro auc", "micro f1"))


def sequences() -> Iterator[Row]:
    from hmm_words import _RARE, numbered, own, peer, read

    train, test = read("train")[:800], read("test")[:400]
    counts = Counter(word.lower() for sentence in train for word, _ in sentence)
    words = {word: i for i, word in enumerate([*sorted(word for word, n in counts.items() if n > 1), _RARE])}
    tags: dict[str, int] = {}
    parts = [numbered(part, words, tags) for part in (train, test)]
    rows = [own(*parts, 12, len(words)), *peer(*parts, 12, len(words), 2, False)]
    yield from lines("tagged sentences", "sequences", rows, "SpectralHMM", ("nats", "many-to-one"))


def mixtures() -> Iterator[Row]:
    from mixtures_small_classes import real
    from sklearn.mixture import GaussianMixture

    from latentia.mixtures import SphericalGaussianMixture

    for name in ("digits", "wine", "breast cancer"):
        X, held, _, (k, *_) = real(name, 20)
        for shape in ("diag", "full"):
            models = {
                "ours": SphericalGaussianMixture(k, covariance_type=shape),
                "scikit-learn, ten starts": GaussianMixture(k, covariance_type=shape, n_init=10, random_state=0),
            }
            done = {method: timed(partial(model.fit, X)) for method, model in models.items()}
            rows = [{"method": m, "nats": run.value.score(held), "cpu_s": run.cpu} for m, run in done.items()]
            yield from lines(f"{name}, {shape}", "mixtures", rows, "ours", ("nats",))


def communities() -> Iterator[Row]:
    from communities_real import labelled, of_labels

    for name in ("football", "polblogs"):
        rows = of_labels(name, *labelled(name, DATA / "graphs"))
        rows = [row | {"ours": row["method"] in ("default", "alpha0=0", "refine=0")} for row in rows]
        yield from lines(name, "communities", rows, "default", ("nmi",))


def materials() -> Iterator[Row]:
    from nmf_samson import judged, peers

    from latentia.nmf import SeparableNMF

    data = np.load(DATA / "samson" / "samson.npz")
    X, truth = data["pixels"].astype(float), (data["endmembers"], data["abundances"])
    makers = {"ours": lambda: SeparableNMF(3)} | {name: make for name, make in peers().items() if "1e-4" in name}
    done = {name: timed(lambda make=make: make().fit(X)) for name, make in makers.items()}
    rows = [{"method": name, **judged(run.value, X, *truth), "cpu_s": run.cpu} for name, run in done.items()]
    yield from lines("Samson", "materials", rows, "ours", ("angle",))


def causes() -> Iterator[Row]:
    from noisy_or_baskets import CAUSES, LEAST, best_mixture, frequent, log_joint, table, tags
    from scipy.special import logsumexp

    from latentia.noisyor import NoisyOr

    parts = tags("bibtex", "train"), tags("bibtex", "test")
    kept = frequent(parts[0], LEAST)
    train, test = ([[item for item in basket if item in kept] for basket in part] for part in parts)
    X, held = table(train, sorted(kept)), table(test, sorted(kept))
    own, other = timed(lambda: NoisyOr(CAUSES, min_df=1).fit(train)), timed(lambda: best_mixture(X, CAUSES))
    nats = float(logsumexp(log_joint(held, *other.value), axis=1).mean())
    rows = [
        {"method": "ours", "nats": own.value.score(test), "cpu_s": own.cpu},
        {"method": "mixture of Bernoulli columns, best of starts", "nats": nats, "cpu_s": other.cpu},
    ]
    yield from lines("tags of Bibtex", "causes", rows, "ours", ("nats",))


def pairs() -> Iterator[Row]:
    from matrices_real_data import bigrams, text

    counts, words = bigrams(["bible_kjv/kjv.txt.gz"])
    rows = [row | {"ours": row["method"].startswith("rank ")} for row in text("Bible", counts, words, [100])]
    rows = [row for row in rows if row["method"] != "rank one"]
    yield from lines("word pairs of the Bible", "pairs", rows, "rank 100, refine=auto", ("nats",))


def dictionaries() -> Iterator[Row]:
    from dictionary_patches import CODED, coding

    from latentia.datasets import read_image

    images = {path.stem: read_image(path, grey=True) for path in sorted((DATA / "images").glob("*.png"))}
    rows = [row | {"ours": row["method"].startswith("ours")} for row in coding(images, *CODED[0], 4000)]
    yield from lines("patches of images", "dictionaries", rows, "ours", ("psnr",))


def sources() -> Iterator[Row]:
    from tensor_real_data import images

    rows = [row | {"ours": "Tensor" in row["method"]} for row in images(3)]
    yield from lines("mixed images", "sources", rows, "TensorICA", ("amari",))


FAMILIES: dict[str, Callable[[], Iterator[Row]]] = {
    task.__name__: task
    for task in (topics, labels, sequences, mixtures, communities, materials, causes, pairs, dictionaries, sources)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    with threadpool_limits(1):
        for name in options.family:
            rows += FAMILIES[name]()
            print(name, flush=True)
    told = Counter(row[""] for row in rows)
    times = [row["cpu_s"] / row["peer_cpu_s"] for row in rows if row["cpu_s"] and row["peer_cpu_s"]]
    name = "real_data" if options.family == list(FAMILIES) else "real_data_some"
    report(name, rows, **dict(told), **{"median CPU over the best peer's": median(times) if times else None})


if __name__ == "__main__":
    main()
