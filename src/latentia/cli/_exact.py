"""``latentia nmf --exact``: a small table of whole numbers and fractions, factored exactly, with a certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..nmf.exact import Factorization, Impossible, RankBounds, Undecided, exact_nmf, nonnegative_rank
from ..report.parts import count
from ..system.terminal import say
from ._json import plain
from ._results import Results
from ._shared import ReadOptions, named, write_csv
from ._tables import ColumnChoice, check_columns, read_table, split_names

FILES = ("A.csv", "W.csv", "certificate.json")
_MOST_CELLS = 10_000
_AUTO = "auto"


def factor_exactly(
    results: Results,
    k: str,
    budget: float,
    how: ReadOptions,
    *,
    columns: str | None = None,
    ignore: str | None = None,
    names: str | None = None,
) -> dict[str, Any]:
    """Read a table, look for an exact factorization of ``k`` components, or of the fewest, and write what was found."""
    source = results.source
    if k != _AUTO and not (k.isdecimal() and int(k) > 0):
        raise LatentiaError(f"-k {k!r}: with --exact give one number of components, or auto for the fewest.")
    table = read_table(source, lambda kinds: _wanted(source, kinds, columns, ignore, names), how)
    cells = [name for name in table.texts if name != names]
    rows = [str(name) for name in table.texts[names]] if names else [str(number) for number in table.rows]
    if len(rows) * len(cells) > _MOST_CELLS:
        raise LatentiaError(
            f"{len(rows):,} rows of {len(cells):,} columns; up to {_MOST_CELLS:,} cells can be factored exactly.",
            source=source,
        )
    M = [[str(table.texts[name][i]).strip() for name in cells] for i in range(len(rows))]
    say(f"{table.source}: {count(len(rows), 'row')} of {count(len(cells), 'column')} of exact numbers.")
    if all(_is_number(name) for name in cells):
        say(
            f"The first line was taken for names of columns: {', '.join(cells[:5])}. If it has numbers, put names above it.",
        )
    with named(table.source):
        found = nonnegative_rank(M, budget) if k == _AUTO else exact_nmf(M, int(k), budget)
    certificate = _certificate(found)
    certificate |= {"matrix": M, "rows": rows, "columns": cells}
    factors = found.factorization if isinstance(found, RankBounds) else found

    def write(folder: Path) -> None:
        if isinstance(factors, Factorization):
            components = [f"component {i}" for i in range(factors.r)]
            write_csv(folder / "A.csv", ["row", *components], _lines(rows, factors.A))
            write_csv(folder / "W.csv", ["component", *cells], _lines(range(factors.r), factors.W))
        text = json.dumps(certificate, indent=1, ensure_ascii=False)
        (folder / "certificate.json").write_text(text + "\n", encoding="utf-8")

    files = results.write(write)
    say(certificate["says"])
    say(f"Wrote {', '.join(files)} to {results.out}")
    return {
        "source": str(source), "out": str(results.out), "files": files,
        **{key: value for key, value in certificate.items() if key not in ("matrix", "rows", "columns", "proof")},
    }  # fmt: skip


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def _wanted(
    source: Path, kinds: Mapping[str, str], columns: str | None, ignore: str | None, names: str | None
) -> ColumnChoice:
    """All cells as they stand in the file: numbers of a table would be rounded."""
    chosen, left_out = split_names(columns), split_names(ignore) or []
    check_columns(source, kinds, "--columns", chosen or ())
    check_columns(source, kinds, "--ignore", left_out)
    check_columns(source, kinds, "--names", [] if names is None else [names])
    used = [name for name in (chosen or kinds) if name not in left_out and name != names]
    if not used:
        raise LatentiaError("no columns are left to factor.", source=source)
    return ColumnChoice([], [*used, *([] if names is None else [names])])


def _lines(heads: Any, values: np.ndarray) -> list[list[str]]:
    return [[str(head), *map(str, row)] for head, row in zip(heads, values, strict=True)]


def _certificate(found: Factorization | Impossible | Undecided | RankBounds) -> dict[str, Any]:
    """What was found, as plain values."""
    if isinstance(found, RankBounds):
        verified = found.verify()
        exactly = f"The nonnegative rank is {found.lower}"
        between = f"The nonnegative rank is between {found.lower} and {found.upper}"
        proof = found.proof
        says = f"{exactly if found.exact else between}: both bounds {_checked(verified, 'were')}."
        says += f" Fewer than {found.lower} are impossible: {proof.reason}" if proof else ""
        return {
            "result": "rank" if found.exact else "bounds", "lower": found.lower, "upper": found.upper, "verified": verified,
            "says": says, "reason": proof.reason if proof else "", "proof": plain(proof.proof) if proof else None,
        }  # fmt: skip
    if isinstance(found, Factorization):
        verified = found.verify()
        return {
            "result": "factorization", "r": found.r, "verified": verified,
            "says": f"M = A W exactly, with {count(found.r, 'component')}: the product {_checked(verified)}.",
        }  # fmt: skip
    if isinstance(found, Impossible):
        verified = found.verify()
        return {
            "result": "impossible", "r": found.r, "verified": verified, "reason": found.reason,
            "says": f"Impossible with {count(found.r, 'component')}, and the proof {_checked(verified)}. {found.reason}",
            "proof": plain(found.proof),
        }  # fmt: skip
    return {
        "result": "undecided", "r": found.r, "lower": found.lower, "upper": found.upper, "residual": found.residual,
        "reason": found.reason,
        "says": f"Undecided with {count(found.r, 'component')}: the nonnegative rank is between {found.lower} and "
        f"{found.upper}. {found.reason}",
    }  # fmt: skip


def _checked(verified: bool, was: str = "was") -> str:
    return f"{was} checked in exact numbers" if verified else "failed its check: please report this"
