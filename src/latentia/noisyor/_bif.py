"""A noisy-or network as a file that other programs for Bayes nets read: the Interchange Format for Bayesian Networks (BIF).

Causes are roots. A finding has a full table over the states of its parents, the causes with a strength
1 - exp(-W_ki) of at least a threshold:

    P[s_i = absent | d] = (1 - leak_i) exp(-sum_k W_ki d_k).

Weaker links are left out and change nothing else, so that the file is the network itself when the threshold is below all of
them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from .._parameters import Number, check_parameter
from ..exceptions import LatentiaError
from ..system.scratch import atomic_file
from .inference import Network

_MOST_PARENTS = 12
# Words of the format itself; readers look for them anywhere, some without regard to case.
_KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}
_STATES = ("absent", "present")


def write_bif(
    path: str | os.PathLike[str],
    network: Network,
    cause_names: Sequence[str],
    finding_names: Sequence[str],
    threshold: float = 0.0,
) -> Path:
    """Write a network as a BIF file, complete or not at all.

    Every variable has the states ``absent`` and ``present``. Names keep their ASCII letters, digits and underscores; what
    else they hold becomes an underscore, and names that are then equal get a number.

    Parameters
    ----------
    path : path
    network : Network
    cause_names : sequence of m str
    finding_names : sequence of n str
    threshold : float
        Least strength, a probability, of a link that is written. Links of strength 0 never are.

    Returns
    -------
    Path of the file
    """
    for kind, given, size in (("cause", cause_names, network.m), ("finding", finding_names, network.n)):
        if len(given) != size:
            raise LatentiaError(f"{kind}_names has {len(given)} names and the network {size} {kind}s: they must agree.")
    check_parameter("threshold", threshold, Number(0, 1, "both"))
    strengths = -np.expm1(-network.weights)
    linked = (strengths >= threshold) & (strengths > 0)
    _check_parents(linked, strengths, finding_names, threshold)
    target = Path(path)
    with atomic_file(target, "w", encoding="ascii", newline="\n") as file:
        _write(file, network, linked, _safe_names([*cause_names, *finding_names]))
    return target


def _check_parents(linked: np.ndarray, strengths: np.ndarray, names: Sequence[str], threshold: float) -> None:
    """Raise where a table would be too large, with the threshold at which none is."""
    parents = linked.sum(axis=0)
    largest = int(parents.argmax())
    if parents[largest] > _MOST_PARENTS:
        enough = np.sort(strengths, axis=0)[-_MOST_PARENTS - 1].max()
        raise LatentiaError(
            f"Finding {str(names[largest])!r} has {parents[largest]} causes of strength {threshold:g} or more, and its table "
            f"2^{parents[largest]} columns; at most {_MOST_PARENTS} causes can be written. The threshold must be "
            f"above {enough:.4g}.",
            parameter="threshold", value=threshold,
        )  # fmt: skip


def _write(file: IO[str], network: Network, linked: np.ndarray, names: list[str]) -> None:
    causes, findings = names[: network.m], names[network.m :]
    file.write("network noisy_or {\n}\n")
    for name in names:
        file.write(f"variable {name} {{\n  type discrete [ 2 ] {{ {', '.join(_STATES)} }};\n}}\n")
    for name, prior in zip(causes, network.priors, strict=True):
        file.write(f"probability ( {name} ) {{\n  table {_pair(1 - prior, prior)};\n}}\n")
    for i, name in enumerate(findings):
        parents = np.flatnonzero(linked[:, i])
        given = f" | {', '.join(causes[k] for k in parents)}" if len(parents) else ""
        file.write(f"probability ( {name}{given} ) {{\n")
        file.writelines(_table(network.weights[parents, i], network.leak[i]))
        file.write("}\n")


def _table(weights: np.ndarray, leak: float) -> Iterator[str]:
    """The lines of a finding's table; the state of the last parent (of ``weights``, shape (p,)) changes first."""
    if not len(weights):
        yield f"  table {_pair(1 - leak, leak)};\n"
        return
    p = len(weights)
    on = np.arange(1 << p)[:, None] >> np.arange(p)[::-1] & 1
    load = on @ weights
    absent = (1 - leak) * np.exp(-load)
    present = leak - (1 - leak) * np.expm1(-load)
    for states, off, fires in zip(on, absent, present, strict=True):
        yield f"  ({', '.join(_STATES[s] for s in states)}) {_pair(off, fires)};\n"


def _pair(absent: float, present: float) -> str:
    """Two probabilities with all their digits: the file gives back the same numbers."""
    return f"{float(absent)!r}, {float(present)!r}"


def _safe_names(names: Sequence[str]) -> list[str]:
    """Names that every reader takes, no two equal up to case."""
    safe, seen = [], set(_KEYWORDS)
    for name in names:
        text = re.sub(r"[^A-Za-z0-9_]+", "_", str(name)).strip("_")
        if not text or not text[0].isalpha():
            text = f"x_{text}" if text else "x"
        # A reader that looks for keywords anywhere would take "portable5" for the beginning of a table.
        text = re.sub(r"(table|default)(?=[0-9e])", r"\1_", text, flags=re.IGNORECASE)
        unique, number = text, 2
        while unique.lower() in seen:
            unique, number = f"{text}_{number}", number + 1
        seen.add(unique.lower())
        safe.append(unique)
    return safe
