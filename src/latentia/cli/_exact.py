"""``latentia nmf --exact``: factor a small table of whole numbers and fractions exactly, with a certificate."""

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
from ._records import NmfOptions
from ._results import Results
from ._shared import name_source, write_csv
from ._tables import ColumnChoice, check_columns, read_table, split_names

FILES = ("A.csv", "W.csv", "certificate.json")
_MAX_CELLS = 10_000
_AUTO = "auto"


def factor_exactly(run: NmfOptions, results: Results, budget: float) -> dict[str, Any]:
    """Read a table, search an exact factorization with ``k`` components, or with the fewest, and write the result."""
    source, k, names = run.source, run.k, run.names
    if k != _AUTO and not (k.isdecimal() and int(k) > 0):
        raise LatentiaError(f"-k {k!r}: with --exact give one number of components, or auto for the fewest.")
    table = read_table(
        source, lambda kinds: _choose_columns(source, kinds, run.columns, run.ignore, names), run.reading()
    )
    cells = [name for name in table.texts if name != names]
    rows = [str(name) for name in table.texts[names]] if names else [str(number) for number in table.rows]
    if len(rows) * len(cells) > _MAX_CELLS:
        raise LatentiaError(
            f"expected at most {_MAX_CELLS:,} cells for an exact factorization; found {len(rows):,} rows of {len(cells):,} "
            "columns.",
            source=source,
        )
    M = [[str(table.texts[name][i]).strip() for name in cells] for i in range(len(rows))]
    say(f"{table.source}: {count(len(rows), 'row')} of {count(len(cells), 'column')} of exact numbers.")
    if all(_is_number(name) for name in cells):
        say(
            f"The first line was read as names of columns: {', '.join(cells[:5])}. If it holds data, put names above it.",
        )
    with name_source(table.source):
        result = nonnegative_rank(M, budget) if k == _AUTO else exact_nmf(M, int(k), budget)
    certificate = _build_certificate(result)
    certificate |= {"matrix": M, "rows": rows, "columns": cells}
    factors = result.factorization if isinstance(result, RankBounds) else result

    def write(folder: Path) -> None:
        if isinstance(factors, Factorization):
            components = [f"component {i}" for i in range(factors.r)]
            write_csv(folder / "A.csv", ["row", *components], _format_rows(rows, factors.A))
            write_csv(folder / "W.csv", ["component", *cells], _format_rows(range(factors.r), factors.W))
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


def _choose_columns(
    source: Path, kinds: Mapping[str, str], columns: str | None, ignore: str | None, names: str | None
) -> ColumnChoice:
    """Choose columns and read their cells as text, since numbers would be rounded."""
    chosen, left_out = split_names(columns), split_names(ignore) or []
    check_columns(source, kinds, "--columns", chosen or ())
    check_columns(source, kinds, "--ignore", left_out)
    check_columns(source, kinds, "--names", [] if names is None else [names])
    chosen_columns = [name for name in (chosen or kinds) if name not in left_out and name != names]
    if not chosen_columns:
        raise LatentiaError("no columns remain to be factored.", source=source)
    return ColumnChoice([], [*chosen_columns, *([] if names is None else [names])])


def _format_rows(heads: Any, values: np.ndarray) -> list[list[str]]:
    return [[str(head), *map(str, row)] for head, row in zip(heads, values, strict=True)]


def _build_certificate(result: Factorization | Impossible | Undecided | RankBounds) -> dict[str, Any]:
    """Build the certificate of a result from plain values."""
    if isinstance(result, RankBounds):
        verified = result.verify()
        rank_text = f"The nonnegative rank is {result.lower}"
        bounds_text = f"The nonnegative rank is between {result.lower} and {result.upper}"
        proof = result.proof
        sentence = f"{rank_text if result.exact else bounds_text}: both bounds {_describe_check(verified, 'were')}."
        sentence += f" Fewer than {result.lower} are impossible: {proof.reason}" if proof else ""
        return {
            "result": "rank" if result.exact else "bounds", "lower": result.lower, "upper": result.upper, "verified": verified,
            "says": sentence, "reason": proof.reason if proof else "", "proof": plain(proof.proof) if proof else None,
        }  # fmt: skip
    if isinstance(result, Factorization):
        verified = result.verify()
        return {
            "result": "factorization", "r": result.r, "verified": verified,
            "says": f"M = A W exactly, with {count(result.r, 'component')}: the product {_describe_check(verified)}.",
        }  # fmt: skip
    if isinstance(result, Impossible):
        verified = result.verify()
        return {
            "result": "impossible", "r": result.r, "verified": verified, "reason": result.reason,
            "says": f"Impossible with {count(result.r, 'component')}, and the proof {_describe_check(verified)}. "
            f"{result.reason}",
            "proof": plain(result.proof),
        }  # fmt: skip
    return {
        "result": "undecided", "r": result.r, "lower": result.lower, "upper": result.upper, "residual": result.residual,
        "reason": result.reason,
        "says": f"Undecided with {count(result.r, 'component')}: the nonnegative rank is between {result.lower} and "
        f"{result.upper}. {result.reason}",
    }  # fmt: skip


def _describe_check(verified: bool, verb: str = "was") -> str:
    return f"{verb} checked in exact numbers" if verified else "failed its check: please report this"
