"""The figures of README.md, all of them read from results of other benchmarks: a table, and a chart of error against time.

``python benchmarks/readme_figures.py`` writes the table into README.md, between its marks, and draws
docs/error_against_time.png. Nothing is measured here; ``--check`` writes nothing and fails where the README says something
else than the results. Each row of the table is one run in which both sides saw the same data on the same machine.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from functools import cache
from statistics import median
from typing import Any

from _common import RESULTS

README = RESULTS.parents[1] / "README.md"
CHART = README.parent / "docs" / "error_against_time.png"
START, END = "<!-- figures of benchmarks/readme_figures.py -->", "<!-- end of figures -->"
HERE, THERE = "#0072b2", "#d55e00"
CPU = "median CPU over the best peer's"


# --- values -------------------------------------------------------------------------------------------------------


@cache
def rows(name: str) -> list[dict[str, Any]]:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["rows"]


@cache
def facts(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["facts"]


def row(name: str, **keys: Any) -> dict[str, Any]:
    """The one row of a result that has these values."""
    (found,) = [row for row in rows(name) if all(row.get(key) == value for key, value in keys.items())]
    return found


def number(value: float) -> str:
    """Two digits that count, without a zero before the point."""
    if abs(value) >= 10:
        return f"{value:.0f}"
    digits = 1 if value == 0 else max(1 - math.floor(math.log10(abs(float(f"{value:.1e}")))), 0)
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if text.startswith("0.") else text


# --- the table ----------------------------------------------------------------------------------------------------


def topics() -> tuple[str, str, str]:
    size = {"documents": 3000, "topics": 50}
    here, there = (row("topics_recover_planted", **size, method=m) for m in ("default", "tomotopy, 200 iterations"))
    return (
        "50 topics of 3,000 documents: l1 error of a topic, of the worst one; CPU s",
        f"`AnchorTopics`: **{number(here['l1'])}**, **{number(here['worst'])}**; {number(here['cpu_s'])}",
        f"tomotopy, 200 iterations of Gibbs sampling: {number(there['l1'])}, {number(there['worst'])}; "
        f"{number(there['cpu_s'])}",
    )


def chains() -> tuple[str, str, str]:
    here, one, five = (
        row("hmm_ten_seeds", persistence=0.8, method=m)
        for m in ("SpectralHMM", "hmmlearn, one start", "hmmlearn, best of 5")
    )
    return (
        "hidden Markov chains of 20,000 steps: found within .1; CPU s each",
        f"`SpectralHMM`: **{here['found']}**; {number(here['cpu_s'])}",
        f"hmmlearn, one start: {one['found']}; {number(one['cpu_s'])}; best of five: {five['found']}; {number(five['cpu_s'])}",
    )


def casino() -> tuple[str, str, str]:
    here, one, five = (
        row("hmm_bad_optima", world="casino", method=m) for m in ("one fit", "hmmlearn, a start", "hmmlearn, best of 5")
    )
    return (
        "the dishonest casino, five draws: in the best optimum; CPU s each",
        f"`SpectralHMM`: **{here['in optimum']}**; {number(here['cpu_s'])}",
        f"hmmlearn, one start: {one['in optimum']}; {number(one['cpu_s'])}; best of five: {five['in optimum']}; "
        f"{number(five['cpu_s'])}",
    )


def regimes() -> tuple[str, str, str]:
    data = {"symbols": 1000, "steps_a_symbol": 50, "emissions": "halves"}
    here, there = (row("two_state_hmm", **data, method=m) for m in ("default", "hmmlearn, 200"))
    return (
        "two regimes over 1,000 symbols: l1 error of emissions; CPU s",
        f"`TwoStateHMM`: **{number(here['emission'])}**; {number(here['cpu_s'])}",
        f"hmmlearn, 200 iterations: {number(there['emission'])}; {number(there['cpu_s'])}",
    )


def clusters() -> tuple[str, str, str]:
    data = {"data": "spherical Gaussians"}
    here, one, ten = (
        row("tensor_mixtures", **data, method=m)
        for m in ("SphericalGaussianMixture", "scikit-learn, k-means start", "scikit-learn, 10 k-means starts")
    )
    return (
        "20 Gaussian clusters in 50,000 rows: distance of the worst mean; CPU s",
        f"`SphericalGaussianMixture`: **{number(here['worst'])}**; {number(here['cpu_s'])}",
        f"scikit-learn, one start: {number(one['worst'])}; {number(one['cpu_s'])}; ten starts: {number(ten['worst'])}; "
        f"{number(ten['cpu_s'])}",
    )


def causes() -> tuple[str, str, str]:
    here = row("noisy_or_against_em", data="img", method="moments, then EM")
    others = [row("noisy_or_against_em", data="img", method=f"EM, start {start}") for start in range(3)]
    errors, lost, seconds = (sorted(one[key] for one in others) for key in ("error_median", "lost", "wall_s"))
    return (
        "eight hidden causes of 64 findings, 10,000 rows: median error of a strength, causes lost; s",
        f"`NoisyOr`: **{number(here['error_median'])}**, **{here['lost']}**; {number(here['wall_s'])}",
        f"EM from three random starts: {number(errors[0])} to {number(errors[-1])}, {lost[0]} to {lost[-1]}; "
        f"{number(seconds[0])} to {number(seconds[-1])}",
    )


def communities() -> tuple[str, str, str]:
    data = {"world": "one community a node"}
    here, spectral, leiden = (
        row("communities_recovery", **data, method=m) for m in ("default", "scikit-learn SpectralClustering", "Leiden")
    )
    return (
        "10 communities that are hard to see, 10,000 nodes: agreement (NMI, 1 is perfect); CPU s",
        f"`MixedMembershipBlockModel`: **{number(here['nmi'])}**; {number(here['cpu_s'])}",
        f"scikit-learn, spectral: {number(spectral['nmi'])}; {number(spectral['cpu_s'])}; Leiden: {number(leiden['nmi'])}; "
        f"{number(leiden['cpu_s'])}",
    )


def atoms() -> tuple[str, str, str]:
    data = {"world": "n 128, m 256, k 4"}
    here, there = (row("dictionary_recovery", **data, method=m) for m in ("default", "scikit-learn, 6 times our time"))
    return (
        "256 atoms in 128 features, 20,000 rows: atoms within .01 of the truth (within .1); CPU s",
        f"`IncoherentDictionary`: **{here['below .01']:.0%}** ({here['below .1']:.0%}); {number(here['cpu_s'])}",
        f"scikit-learn: {there['below .01']:.0%} ({there['below .1']:.0%}); {number(there['cpu_s'])}",
    )


def spectra() -> tuple[str, str, str]:
    here, there = (row("nmf_samson", method=m) for m in ("SeparableNMF", "NMF nndsvda, tol 1e-4"))
    return (
        "materials of a spectral image, 9,025 pixels: angle to the reference spectra, radians; CPU s",
        f"`SeparableNMF`: **{number(here['angle'])}**; {number(here['cpu_s'])}",
        f"scikit-learn NMF: {number(there['angle'])}; {number(there['cpu_s'])}",
    )


TASKS = (topics, chains, casino, regimes, clusters, causes, communities, atoms, spectra)


def block() -> str:
    """What stands in the README between its marks."""
    gibbs, real = (facts(name) for name in ("topics_against_gibbs", "real_data"))
    n_sets = len({row["data"] for row in rows("real_data")})
    behind = float(gibbs["NPMI gain >= 0: mean"].partition(",")[0])
    lines = ["| task | latentia, with error bars | peer |", "|---|---|---|"]
    lines += [f"| {' | '.join(task())} |" for task in TASKS]
    lines += [
        "",
        "Where peers are ahead: a single start of scikit-learn's mixtures and its spectral clustering take less time,",
        "and on real text the most probable words of a long Gibbs sampler's topics, though not the words that are shown",
        "of ours, are a little more coherent (words that occur together: their normalised mutual information is higher by",
        f"{number(-behind)} on average).",
        "",
        f"**On real data** (`benchmarks/real_data.py`, {n_sets} data sets of all kinds,",
        "rows held out or a known truth) the defaults are ahead of the best peer in"
        f" {real.get('ahead', 0)} measures, level in {real.get('level', 0)}",
        f"and behind in {real.get('behind', 0)}; with error bars they take"
        f" {number(real[CPU])} times its CPU time in the median.",
    ]
    return "\n".join(lines)


# --- the chart ----------------------------------------------------------------------------------------------------


def panels() -> list[tuple[str, str, list[tuple[str, float, float]]]]:
    """Title, what the error is, and of each method its name, CPU seconds and error; the first is of this library."""
    found = [
        ("Topics", "l1 error of a topic", "topics_recover_planted", {"documents": 3000, "topics": 50}, "l1", {
            "default": "AnchorTopics", "tomotopy, 200 iterations": "tomotopy", "gensim, 2 passes": "gensim",
            "scikit-learn online, 10 passes": "scikit-learn"}),
        ("Hidden Markov chains", "l1 error of the worst state", "hmm_ten_seeds", {"persistence": 0.8}, "median", {
            "SpectralHMM": "SpectralHMM", "hmmlearn, one start": "hmmlearn, 1 start", "hmmlearn, best of 5": "best of 5"}),
        ("Two regimes", "l1 error of emissions", "two_state_hmm",
         {"symbols": 1000, "steps_a_symbol": 50, "emissions": "halves"}, "emission",
         {"default": "TwoStateHMM", "hmmlearn, 200": "hmmlearn"}),
        ("Gaussian clusters", "distance of the worst mean", "tensor_mixtures", {"data": "spherical Gaussians"}, "worst", {
            "SphericalGaussianMixture": "SphericalGaussian\nMixture", "scikit-learn, k-means start": "scikit-learn, 1 start",
            "scikit-learn, 10 k-means starts": "10 starts"}),
        ("Communities", "l1 error of memberships", "communities_recovery", {"world": "one community a node"}, "l1", {
            "default": "MixedMembership\nBlockModel", "scikit-learn SpectralClustering": "spectral",
            "scikit-learn NMF": "NMF", "Leiden": "Leiden"}),
        ("Spectral image", "angle to the reference", "nmf_samson", {}, "angle", {
            "SeparableNMF": "SeparableNMF", "NMF nndsvda, tol 1e-4": "scikit-learn NMF",
            "NMF random, tol 1e-4, seed *": "ten random starts, median"}),
    ]  # fmt: skip
    return [
        (
            title,
            what,
            [(label, *(typical(name, key, **keys, method=m) for key in ("cpu_s", error))) for m, label in by.items()],
        )
        for title, what, name, keys, error, by in found
    ]


def typical(name: str, key: str, *, method: str, **keys: Any) -> float:
    """A value of a result; where the method ends with a star, the median of all that begin so."""
    if not method.endswith("*"):
        return float(row(name, **keys, method=method)[key])
    return float(median(one[key] for one in rows(name) if one["method"].startswith(method[:-1])))


def draw() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    fig, axes = plt.subplots(2, 3, figsize=(10, 5.4), layout="constrained")
    for ax, (title, what, methods) in zip(axes.flat, panels(), strict=True):
        for i, (label, seconds, error) in enumerate(methods):
            colour = THERE if i else HERE
            ax.plot(seconds, error, "o" if i else "s", color=colour, markersize=8, mfc="none" if i else colour, mew=1.6)
            equal = any(abs(math.log(m[2] / error)) < 0.1 for m in methods if m[0] != label)  # names would overlap
            right = seconds < (min(m[1] for m in methods) * max(m[1] for m in methods)) ** 0.5
            place, side = (
                ((0, -14 if i else 20), "center") if equal else ((8, 0), "left") if right else ((-8, 0), "right")
            )
            ax.annotate(
                label, (seconds, error), xytext=place, textcoords="offset points", color=colour, fontsize=9, ha=side,
                va="center", weight="normal" if i else "bold",
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", title=title, ylabel=what)
        times, errors = ([method[k] for method in methods] for k in (1, 2))
        ax.set_xlim(min(times) / 2.5, max(times) * 2.5)
        ax.set_ylim(min(errors) / 2, max(errors) * 2)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 3)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_locator(NullLocator())
            axis.set_minor_formatter(NullFormatter())
        ax.grid(color="#e6eaee")
        ax.set_axisbelow(True)
    for ax in axes[1]:
        ax.set_xlabel("CPU seconds")
    fig.suptitle(
        "Error against time: the lower left corner is best. Squares: latentia, with error bars. Circles: peers."
    )
    fig.savefig(CHART, dpi=110, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="Write nothing; fail where the README says something else."
    )
    text = README.read_text("utf-8")
    before, rest = text.split(START)
    written = f"{before}{START}\n\n{block()}\n\n{END}{rest.partition(END)[2]}"
    if parser.parse_args().check:
        sys.exit(None if written == text else "README.md: run python benchmarks/readme_figures.py")
    README.write_text(written, "utf-8")
    draw()


if __name__ == "__main__":
    main()
