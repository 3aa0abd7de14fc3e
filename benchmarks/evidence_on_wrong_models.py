"""Claim: evidence tells fits that can be used from fits that cannot, also where the data is not what the model says.

    python benchmarks/evidence_on_wrong_models.py --seeds 401-403 [--family SpectralHMM TensorICA] [--kind wrong empty]
        [--refine 0|auto|both] [--jobs 2] [--quick] [--each] [--time] [--save FILE] [--load FILE ...] [--report]

Worlds (``_worlds``): *right* ones follow the model, from plenty of data to hopeless; *wrong* ones do not; *empty* ones have
nothing to find. None comes from `latentia.datasets.planted`. Limits of the evidence were set on seeds below 400, most of them
on 1 to 49, and which checks count on 301; the figures in docs/guarantees.md are of seed 401.

The true error of a fit is what its expected error estimates: the mean over the fitted components of the distance to the
nearest true one. *Good*: it is at most the limit that the evidence names. *Bad*: it is not. *Dangerous*: bad, or more than
twice the expected error. *First grade* is "supported", *second* "with care". A fit that raises a LatentiaError is refused,
which counts as not supported. *Behind*: in the first two grades, and less likely on new rows than the trivial model.

``--time`` fits a second time with ``n_splits=0``, for the share of the evidence in the time. ``--save`` writes every fit with
its checks and its components as JSON, from which ``--load`` prints the tables again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from _common import report
from _worlds import FAMILIES, one_world, worlds_of
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from latentia.evidence import Check, Evidence, again, at_most
from latentia.evidence.checks import EXPECTED_ERROR
from latentia.exceptions import LatentiaError

GRADES = ("supported", "with care", "partly", "not supported")
Fit = dict[str, Any]


# --- one fit ------------------------------------------------------------------------------------------------------


def one_fit(family: str, name: str, seed: int, refine: int | str, timed: bool) -> Fit:
    """Everything there is to say of one fit."""
    warnings.simplefilter("ignore")
    world = one_world(family, name)
    row: Fit = {"family": family, "world": name, "kind": world.kind, "seed": seed, "refine": refine}
    with threadpool_limits(1):
        case = world.make(seed)
        start = time.perf_counter()
        try:
            fitted = case.fit(case.estimator(refine))
        except LatentiaError as error:
            return row | {"grade": GRADES[-1], "refused": str(error), "seconds": time.perf_counter() - start}
        except Exception as error:  # listed apart, so that one bug does not end an audit of an hour
            return row | {"grade": GRADES[-1], "crashed": f"{type(error).__name__}: {error}"}
        row["seconds"] = time.perf_counter() - start
        if timed:
            start = time.perf_counter()
            case.fit(case.estimator(refine).set_params(n_splits=0))
            row["without"] = time.perf_counter() - start
        return row | judged(case, fitted)


def judged(case: Any, fitted: Any) -> Fit:
    evidence = getattr(fitted.evidence_, "topics", None) or fitted.evidence_  # the truth is of the topics
    errors = case.errors_by_component(fitted)
    new, trivial = case.new_score(fitted) if case.new_score else (None, None)
    return {
        "true": float(errors.mean()),
        "matched": case.matched(fitted),
        "expected": evidence.expected_error,
        "limit": evidence.limit,
        "grade": getattr(evidence, "grade", GRADES[0] if evidence.holds else GRADES[-1]),
        "checks": [[check.name, check.measured, check.holds, check.role] for check in evidence.checks],
        "components": components(evidence, errors),
        "new score": new,
        "trivial score": trivial,
    }


def components(evidence: Any, errors: np.ndarray) -> list[Fit]:
    """Share, expected and true error, and grade of each component, as far as they are known."""
    of_evidence = list(getattr(evidence, "components", None) or [{}] * len(errors))
    records = [c if isinstance(c, dict) else {name: getattr(c, name, None) for name in _RECORD} for c in of_evidence]
    expected = evidence.component_errors
    expected = [None] * len(errors) if expected is None else [float(e) for e in expected]
    known = zip(records, errors, expected, strict=False)
    return [{**{name: r.get(name) for name in _RECORD}, "expected": e, "true": float(true)} for r, true, e in known]


_RECORD = ("share", "grade", "found_again")


# --- what a fit is ------------------------------------------------------------------------------------------------


def trusted(fit: Fit, grades: int = 1) -> bool:
    return fit["grade"] in GRADES[:grades]


def measured(fit: Fit) -> bool:
    return fit.get("expected") is not None and np.isfinite(fit["true"])


def good(fit: Fit) -> bool:
    return fit.get("limit") is not None and fit["true"] <= fit["limit"]


def ratio(fit: Fit) -> float:
    """True over expected error."""
    return fit["true"] / max(fit["expected"], 1e-9) if fit["true"] > 1e-9 else 1.0


def dangerous(fit: Fit) -> bool:
    """To whoever trusts it."""
    return "refused" not in fit and (not good(fit) or (measured(fit) and ratio(fit) > 2))


def behind(fit: Fit) -> bool:
    """In the first two grades and worse than the trivial model."""
    new, trivial = fit.get("new score"), fit.get("trivial score")
    return trusted(fit, 2) and new is not None and new < trivial


def within(fits: Iterable[Fit], factor: float) -> float:
    return percent(fits, lambda fit: abs(np.log(ratio(fit))) <= np.log(factor))


def percent(fits: Iterable[Fit], holds: Callable[[Fit], bool]) -> float:
    fits = list(fits)
    return 100 * sum(holds(fit) for fit in fits) / len(fits) if fits else np.nan


# --- tables -------------------------------------------------------------------------------------------------------


def of_right(family: str, fits: list[Fit]) -> Fit:
    known = [fit for fit in fits if measured(fit)]
    sound = [fit for fit in fits if "refused" not in fit and good(fit)]
    true, expected = np.array([[fit["true"], fit["expected"]] for fit in known]).reshape(-1, 2).T
    return {
        "right": family,
        "fits": len(fits),
        "refused": sum("refused" in fit for fit in fits),
        "unmeasured": len(fits) - len(known) - sum("refused" in fit for fit in fits),
        "spearman": spearmanr(true, expected)[0] if len(known) > 2 else np.nan,
        "median true/expected": float(np.median(true / expected)) if len(known) else np.nan,
        "% in 1.3": within(known, 1.3),
        "% in 2": within(known, 2),
        "good": len(sound),
        "% of them 1st": percent(sound, trusted),
        "% of them 1st, 2nd": percent(sound, lambda fit: trusted(fit, 2)),
        "% trusted": percent(fits, trusted),
        "% trusted, bad": percent(fits, lambda fit: trusted(fit) and not good(fit)),
        "behind": sum(map(behind, fits)),
    }


def of_wrong(family: str, fits: list[Fit]) -> Fit:
    known = [fit for fit in fits if measured(fit)]
    return {
        "wrong": family,
        "fits": len(fits),
        "refused": sum("refused" in fit for fit in fits),
        "unmeasured": len(fits) - len(known) - sum("refused" in fit for fit in fits),
        "good": sum("refused" not in fit and good(fit) and not dangerous(fit) for fit in fits),
        "% 1st": percent(fits, trusted),
        "% 1st, dangerous": percent(fits, lambda fit: trusted(fit) and dangerous(fit)),
        "% 2nd, dangerous": percent(fits, lambda fit: trusted(fit, 2) and not trusted(fit) and dangerous(fit)),
        "% in 2": within(known, 2),
        "% too hopeful by 2": percent(known, lambda fit: ratio(fit) > 2),
        "% too careful by 2": percent(known, lambda fit: ratio(fit) < 0.5),
        "behind": sum(map(behind, fits)),
    }


def of_empty(family: str, fits: list[Fit]) -> Fit:
    every = [one for fit in fits for one in fit.get("components", [])]
    return {
        "empty": family,
        "fits": len(fits),
        "1st": sum(map(trusted, fits)),
        "2nd": sum(trusted(fit, 2) and not trusted(fit) for fit in fits),
        "partly": sum(fit["grade"] == GRADES[2] for fit in fits),
        "% found again": percent(every, lambda one: again(one.get("found_again")) == "yes"),
    }


TABLES: dict[str, Callable[[str, list[Fit]], Fit]] = {"right": of_right, "wrong": of_wrong, "empty": of_empty}


def summaries(fits: list[Fit], kind: str) -> list[Fit]:
    """A line for each family, and one for all."""
    mine = [fit for fit in fits if fit["kind"] == kind]
    families = [name for name in FAMILIES if any(fit["family"] == name for fit in mine)]
    lines = [TABLES[kind](name, [fit for fit in mine if fit["family"] == name]) for name in families]
    return lines + ([TABLES[kind]("ALL", mine)] if len(families) > 1 else [])


def offenders(fits: list[Fit], most: int = 40) -> list[Fit]:
    """Trusted and dangerous or with nothing to find, or behind; then right ones that are far off. The worst first."""
    lines = []
    for fit in fits:
        if fit["kind"] == "empty":
            why = "nothing there" if trusted(fit, 2) else ""
        elif trusted(fit, 2) and dangerous(fit):
            why = "too hopeful" if measured(fit) and ratio(fit) > 2 else "bad"
        else:
            far = fit["kind"] == "right" and measured(fit) and abs(np.log(ratio(fit))) > np.log(2)
            why = "far off" if far else "behind" if behind(fit) else ""
        if why:
            keys = ("family", "world", "kind", "seed", "refine", "grade", "true", "expected", "limit")
            lines.append({key: fit.get(key) for key in keys} | {"why": why})
    order = {"supported": 0, "with care": 1}
    return sorted(lines, key=lambda line: (order.get(line["grade"], 2), -_factor(line)))[:most]


def _factor(fit: Fit) -> float:
    return ratio(fit) if measured(fit) else 0.0


def of_dependent(fits: list[Fit]) -> list[Fit]:
    """Wrong worlds whose rows are copied, or like their neighbours."""
    mine = [
        fit for fit in fits if fit["kind"] == "wrong" and measured(fit) and any(w in fit["world"] for w in DEPENDENT)
    ]
    return [
        {
            "family": family, "fits": len(group), "median true/expected": float(np.median([ratio(fit) for fit in group])),
            "% in 1.5": within(group, 1.5), "% in 2": within(group, 2),
        }
        for family in FAMILIES if (group := [fit for fit in mine if fit["family"] == family])
    ]  # fmt: skip


DEPENDENT = ("copied", "time series", "memory", "signals", "threads", "pairs of documents", "baskets")


def of_components(fits: list[Fit]) -> list[Fit]:
    """What the grades of components, or of fits without such, are worth."""
    groups: dict[tuple[str, str], list[Fit]] = {}
    for fit in fits:
        for one in fit.get("components", []):
            if one["expected"] is not None and np.isfinite(one["true"]) and fit.get("limit"):
                groups.setdefault((fit["kind"], one["grade"] or fit["grade"]), []).append(one | {"limit": fit["limit"]})
    return [
        {
            "kind": kind, "grade": grade, "components": len(group),
            "median true": float(np.median([one["true"] for one in group])),
            "% true <= limit": percent(group, lambda one: one["true"] <= one["limit"]),
            "% true > 2 limit": percent(group, lambda one: one["true"] > 2 * one["limit"]),
            "% true > 2 expected": percent(group, lambda one: one["true"] > 2 * max(one["expected"], 1e-9)),
        }
        for (kind, grade), group in sorted(groups.items(), key=lambda item: (item[0][0], GRADES.index(item[0][1])))
    ]  # fmt: skip


def of_checks(fits: list[Fit]) -> list[Fit]:
    """What each check of a family adds: the fits whose grade is better without it.

    *Caught alone*: dangerous fits, or such of empty worlds, of which one with a better grade is left if the check is a note.
    *False alarms*: the same of other fits, and of these the ones of right worlds.
    """
    lines: dict[tuple[str, str], Fit] = {}
    for fit in fits:
        roles = {name: (role, holds) for name, _, holds, role in fit.get("checks", [])}
        for name, (role, holds) in roles.items():
            if role == "note" or name == "expected error":
                continue
            key = (fit["family"], name)
            line = lines.setdefault(
                key, {"family": fit["family"], "check": name, "role": role} | dict.fromkeys(_COUNTS, 0)
            )
            bad = fit["kind"] == "empty" or dangerous(fit)
            line["measured"] += holds is not None
            line["fails, dangerous"] += bad and holds is False
            line["fails, good"] += not bad and holds is False
            if holds is False and GRADES.index(grade_without(fit, name)) < GRADES.index(fit["grade"]):
                line["caught alone"] += bad
                line["false alarms"] += not bad
                line["of right worlds"] += not bad and fit["kind"] == "right"
    order = {family: i for i, family in enumerate(FAMILIES)}
    return sorted(lines.values(), key=lambda line: (order[line["family"]], line["check"]))


_COUNTS = ("measured", "fails, dangerous", "fails, good", "caught alone", "false alarms", "of right worlds")


def grade_without(fit: Fit, name: str = "") -> str:
    """The grade of a fit if a check were a note."""
    checks = [
        Check(check, "", measured, at_most(fit["limit"]), "", "", role) if check == EXPECTED_ERROR else
        Check(check, "", None if holds is None else float(not holds), at_most(0.0), "", "", "note" if check == name else role)
        for check, measured, holds, role in fit["checks"]
    ]  # fmt: skip
    errors, repeats = ([one[key] for one in fit["components"]] for key in ("expected", "found_again"))
    known = {
        key: None if None in values or not values else np.array(values, dtype=float)
        for key, values in (("component_errors", errors), ("found_again", repeats))
    }
    return Evidence(checks, **known).grade


def of_worlds(fits: list[Fit]) -> list[Fit]:
    """Medians over the seeds."""
    groups: dict[tuple, list[Fit]] = {}
    for fit in fits:
        groups.setdefault((fit["family"], fit["kind"], fit["world"], str(fit["refine"])), []).append(fit)
    lines = []
    for (family, kind, world, refine), group in groups.items():
        line = {"family": family, "kind": kind, "world": world, "refine": refine}
        for key in ("true", "matched", "expected", "limit", "new score", "trivial score", "seconds", "without"):
            values = [fit[key] for fit in group if fit.get(key) is not None]
            line[key] = float(np.median(values)) if values else None
        line["grades"] = "/".join(str(sum(fit["grade"] == grade for fit in group)) for grade in GRADES)
        lines.append(line)
    return lines


def print_tables(fits: list[Fit], each_world: bool) -> list[Fit]:
    """Print them all, and return the lines of those that sum up."""
    crashed = [fit for fit in fits if "crashed" in fit]
    fits = [fit for fit in fits if "crashed" not in fit]
    if each_world:
        show("worlds; grades: supported/with care/partly/not", of_worlds(fits))
    kept = []
    for refine in dict.fromkeys(fit["refine"] for fit in fits):
        same = [fit for fit in fits if fit["refine"] == refine]
        for kind in TABLES:
            lines = summaries(same, kind)
            show(f"{kind} worlds, refine={refine!r}", lines)
            kept += [{"refine": refine} | line for line in lines]
        show(f"copied rows and time series, refine={refine!r}", of_dependent(same))
        show(f"components, refine={refine!r}", of_components(same))
        show(f"checks: what each adds, refine={refine!r}", of_checks(same))
    show("offenders", offenders(fits))
    show("crashed", [{key: fit[key] for key in ("family", "world", "seed", "refine", "crashed")} for fit in crashed])
    show("seconds", list(seconds([fit for fit in fits if "without" in fit])))
    return kept


def show(title: str, lines: list[Fit]) -> None:
    if not lines:
        return
    texts = [list(lines[0]), *([_short(value) for value in line.values()] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    print(f"\n--- {title}")
    for text in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(text, widths, strict=True)).rstrip())


def _short(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def seconds(fits: list[Fit]) -> Iterable[Fit]:
    for family, refine in dict.fromkeys((fit["family"], fit["refine"]) for fit in fits):
        mine = [fit for fit in fits if (fit["family"], fit["refine"]) == (family, refine)]
        with_, without = (sum(fit[key] for fit in mine) for key in ("seconds", "without"))
        yield {
            "family": family,
            "refine": refine,
            "with": with_,
            "without": without,
            "% more": 100 * (with_ / without - 1),
        }


# --- command line -------------------------------------------------------------------------------------------------


def numbers(text: str) -> list[int]:
    """'1,3,201-203' as a list."""
    parts = [part.split("-") for part in text.split(",")]
    return [seed for part in parts for seed in range(int(part[0]), int(part[-1]) + 1)]


def tasks(options: argparse.Namespace) -> list[tuple[str, str, int, int | str, bool]]:
    refines = {"0": [0], "auto": ["auto"], "both": [0, "auto"]}[options.refine]
    seeds = options.seeds[:1] if options.quick else options.seeds
    found = []
    for family in options.family:
        for kind in options.kind:
            chosen = [world for world in worlds_of(family) if world.kind == kind]
            chosen = [w for w in chosen if not options.world or w.name in options.world]
            for world in chosen[:: 3 if options.quick else 1]:
                found += [(family, world.name, s, r, options.time) for s in seeds for r in refines]
    return found


def run_all(jobs: list[tuple], n_jobs: int) -> list[Fit]:
    if n_jobs == 1:
        return [_progress(one_fit(*job)) for job in jobs]
    with ProcessPoolExecutor(n_jobs) as pool:
        return [_progress(fit) for fit in pool.map(one_fit, *zip(*jobs, strict=True))]


def _progress(fit: Fit) -> Fit:
    print("x" if "crashed" in fit else "." if trusted(fit) else "-", end="", flush=True)
    return fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--world", nargs="+", help="worlds of these names alone")
    parser.add_argument("--kind", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--seeds", type=numbers, default=[401, 402, 403], help="such as 1,2 or 401-403")
    parser.add_argument("--refine", choices=["0", "auto", "both"], default="both")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one seed and every third world")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--each", action="store_true", help="a line for each world as well")
    parser.add_argument("--save", type=Path, help="all fits, as JSON")
    parser.add_argument("--load", type=Path, nargs="+", help="fits that were saved: print their tables, fit nothing")
    parser.add_argument("--report", action="store_true", help="write the tables that sum up to results/")
    options = parser.parse_args()
    if options.load:
        fits = [fit for path in options.load for fit in json.loads(path.read_text())]
        chosen = set(options.family), set(options.kind)
        fits = [fit for fit in fits if fit["family"] in chosen[0] and fit["kind"] in chosen[1]]
    else:
        fits = run_all(tasks(options), options.jobs)
        print()
    if options.save:
        options.save.write_text(json.dumps(fits, default=_plain) + "\n")
    lines = print_tables(fits, options.each)
    if options.report:
        print("\n--- written to results")
        report("evidence_on_wrong_models", lines, seeds=sorted({fit["seed"] for fit in fits}))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    main()
