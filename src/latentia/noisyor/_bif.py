"""Files of noisy-or networks for other programs for Bayes nets: the Interchange Format for Bayesian Networks (BIF).

Causes are roots. A finding has a full table over the states of its parents, the causes with a strength
1 - exp(-W_ki) of at least a threshold:

    P[s_i = absent | d] = (1 - leak_i) exp(-sum_k W_ki d_k).

Weaker links are left out and change nothing else: with a threshold below all links the file is the network itself.
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
from ..system.scratch import atomic_file, path_of
from .inference import Network

_MAX_PARENTS = 12  # causes of a finding: its table has 2^12 columns
# Keywords of the format. Readers look for them anywhere, some without regard to case.
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

    Every variable has the states ``absent`` and ``present``. Names keep their ASCII letters, digits and underscores;
    other characters become underscores, and names that are then equal get a number.

    Parameters
    ----------
    path : path
    network : Network
    cause_names : sequence of m str
    finding_names : sequence of n str
    threshold : float
        Smallest strength, a probability, of the links to write. Links of strength 0 are never written.

    Returns
    -------
    Path of the file
    """
    for kind, names, size in (("cause", cause_names, network.m), ("finding", finding_names, network.n)):
        if len(names) != size:
            raise LatentiaError(
                f"{kind}_names has {len(names)} names; expected {size}, one for each {kind} of the network."
            )
    check_parameter("threshold", threshold, Number(0, 1, "both"))
    strengths = -np.expm1(-network.weights)
    linked = (strengths >= threshold) & (strengths > 0)
    _check_parents(linked, strengths, finding_names, threshold)
    target = path_of(path)
    with atomic_file(target, "w", encoding="ascii", newline="\n") as file:
        _write(file, network, linked, _make_names_safe([*cause_names, *finding_names]))
    return target


def _check_parents(linked: np.ndarray, strengths: np.ndarray, names: Sequence[str], threshold: float) -> None:
    """Raise if the table of a finding would be too large; the message says which threshold avoids that."""
    parents = linked.sum(axis=0)
    largest = int(parents.argmax())
    if parents[largest] > _MAX_PARENTS:
        min_threshold = np.sort(strengths, axis=0)[-_MAX_PARENTS - 1].max()
        raise LatentiaError(
            f"Finding {str(names[largest])!r} has {parents[largest]} causes of strength {threshold:g} or more, and its table "
            f"2^{parents[largest]} columns; at most {_MAX_PARENTS} causes can be written. Use a threshold "
            f"above {min_threshold:.4g}.",
            parameter="threshold", value=threshold,
        )  # fmt: skip


def _write(file: IO[str], network: Network, linked: np.ndarray, names: list[str]) -> None:
    causes, findings = names[: network.m], names[network.m :]
    file.write("network noisy_or {\n}\n")
    for name in names:
        file.write(f"variable {name} {{\n  type discrete [ 2 ] {{ {', '.join(_STATES)} }};\n}}\n")
    for name, prior in zip(causes, network.priors, strict=True):
        file.write(f"probability ( {name} ) {{\n  table {_format_probabilities(1 - prior, prior)};\n}}\n")
    for i, name in enumerate(findings):
        parents = np.flatnonzero(linked[:, i])
        parents_text = f" | {', '.join(causes[k] for k in parents)}" if len(parents) else ""
        file.write(f"probability ( {name}{parents_text} ) {{\n")
        file.writelines(_table_lines(network.weights[parents, i], network.leak[i]))
        file.write("}\n")


def _table_lines(weights: np.ndarray, leak: float) -> Iterator[str]:
    """Yield the lines of a finding's table; the state of the last parent (of ``weights``, shape (p,)) changes first."""
    if not len(weights):
        yield f"  table {_format_probabilities(1 - leak, leak)};\n"
        return
    p = len(weights)
    on = np.arange(1 << p)[:, None] >> np.arange(p)[::-1] & 1
    load = on @ weights
    absent = (1 - leak) * np.exp(-load)
    present = leak - (1 - leak) * np.expm1(-load)
    for states, p_absent, p_present in zip(on, absent, present, strict=True):
        yield f"  ({', '.join(_STATES[s] for s in states)}) {_format_probabilities(p_absent, p_present)};\n"


def _format_probabilities(absent: float, present: float) -> str:
    """Format two probabilities with all their digits, so that readers get the same numbers."""
    return f"{float(absent)!r}, {float(present)!r}"


def _make_names_safe(names: Sequence[str]) -> list[str]:
    """Return names that every reader accepts, no two equal up to case."""
    safe, used_names = [], set(_KEYWORDS)
    for name in names:
        text = re.sub(r"[^A-Za-z0-9_]+", "_", str(name)).strip("_")
        if not text or not text[0].isalpha():
            text = f"x_{text}" if text else "x"
        # A reader that looks for keywords anywhere would take "portable5" for the beginning of a table.
        text = re.sub(r"(table|default)(?=[0-9e])", r"\1_", text, flags=re.IGNORECASE)
        unique, number = text, 2
        while unique.lower() in used_names:
            unique, number = f"{text}_{number}", number + 1
        used_names.add(unique.lower())
        safe.append(unique)
    return safe
