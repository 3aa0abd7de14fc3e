"""Claim: the paper's Figure 2 again: AUC and memory against K, of its algorithm, the default and a LEML-like model.

    python benchmarks/multilabel_figure_2.py [--quick] [--only bibtex ...] [--workdir DIR]

Bibtex and Delicious with their splits; Wiki-31K and NYTimes planted with their sizes of Table 1 (100 topics) and AUC on 2,000
new documents. ``paper`` is Algorithm 1 with eta = .001, by polar iteration. The LEML-like model has words that are present,
penalty 30, and ten rounds on the small data, five on the others, as in the paper. Every fit runs in a process of its own;
memory is its largest resident set (see `_multilabel`), interpreter and libraries included, some 250 MB. --quick: Bibtex,
K = 50 and 100.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from _common import DATA, RESULTS, report
from _multilabel import SHAPES, Job, fit_apart, planted_test, planted_text, workplace

from latentia.passes import Blocks

SMALL, PLANTED = ("bibtex", "delicious"), ("wiki31k", "nytimes")
NAMES = {"bibtex": "Bibtex", "delicious": "Delicious", "wiki31k": "Wiki-31K (planted)", "nytimes": "NYTimes (planted)"}
KS = (50, 75, 100, 125, 150)
TEST_ROWS = 2000
LEML = {"penalty": 30.0}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("paper", {"method": "polar"}),
    "default": ("moments", {"head": "ridge"}),
    "LEML-like": ("leml", LEML),
}


def job_of(name: str, folder: Path) -> Job:
    """Training and test data, converted."""
    if name in SMALL:
        train, test = (DATA / name / f"{part}.txt.gz" for part in ("train", "test"))
        job = Job(str(train), 0, cache=str(folder), test=str(test), test_cache=str(folder))
    else:
        train = planted_text(folder, name, SHAPES[name].rows)
        job = Job(str(train), 0, test=str(planted_test(folder, name, TEST_ROWS)))
    Blocks.from_files(job.path, cache=job.cache)
    return job


def measure(name: str, folder: Path, ks: list[int]) -> list[dict[str, Any]]:
    rows, job = [], job_of(name, folder)
    for k in ks:
        for method, (model, options) in MODELS.items():
            rounds = {"rounds": 10 if name in SMALL else 5} if model == "leml" else {}
            facts = fit_apart(replace(job, k=k, model=model, options=options | rounds))
            row = {"data": name, "method": method, "k": k, "auc": facts["auc"], "peak_mb": 1000 * facts["peak_gb"]}
            row |= {"anonymous_mb": 1000 * facts["anonymous_gb"], "before_mb": 1000 * facts["before_gb"]}
            rows.append(row | {"wall_s": facts["fit_s"], "cpu_s": facts["cpu_s"]})
            print(".", end="", flush=True)
    print()
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """AUC above, memory below, a column for every data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    data = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = plt.subplots(2, len(data), figsize=(3.2 * len(data), 5.2), sharex=True, squeeze=False)
    for column, name in enumerate(data):
        for method, marker in zip(MODELS, "os^", strict=True):
            own = [row for row in rows if (row["data"], row["method"]) == (name, method)]
            for axis, key in zip(axes[:, column], ("auc", "peak_mb"), strict=True):
                axis.plot([row["k"] for row in own], [row[key] for row in own], marker=marker, label=method)
        axes[0, column].set_title(NAMES[name])
        axes[1, column].set(xlabel="K", ylim=(0, None), xticks=KS)
    axes[0, 0].set_ylabel("AUC")
    axes[1, 0].set_ylabel("largest resident set (MB)")
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=[*SMALL, *PLANTED], default=[*SMALL, *PLANTED])
    parser.add_argument("--workdir", type=Path, help="folder of generated files and caches; by default a temporary one")
    options = parser.parse_args()
    names, ks = (["bibtex"], [50, 100]) if options.quick else (options.only, list(KS))
    rows: list[dict[str, Any]] = []
    name = "multilabel_figure_2" + ("_quick" if options.quick else "")
    with workplace(options.workdir) as folder:
        for data in names:
            rows += measure(data, folder, ks)
    report(name, rows, test_rows_of_planted=TEST_ROWS, leml=LEML)
    draw(rows, RESULTS / f"{name}.png")


if __name__ == "__main__":
    main()
