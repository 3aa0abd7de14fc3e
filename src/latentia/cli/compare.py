"""``latentia compare``: components of two folders of results, matched."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import persistence
from ..comparing import Match
from ..comparing import match as match_models
from ..exceptions import LatentiaError
from ..report.page import write_match
from ..system.scratch import atomic_file
from ..system.terminal import Terminal, say
from ._json import plain
from ._results import MODEL_FILE, RESULT_FILE, Results
from ._shared import print_listing


def compare(
    model: Path,
    reference: Path,
    out: Path = Path("compared"),
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Match the components of two models: which are the same within their errors, changed, new, gone, split or merged.

    Parameters
    ----------
    model
        A folder of results, or its model.npz: the earlier model, a.
    reference : B
        Results of the same command on other rows: the later model, b.
    """
    paths = [path / MODEL_FILE if path.is_dir() else path for path in (model, reference)]
    for path in paths:
        if not path.exists():
            raise LatentiaError(f"no model found. Give a folder of results, or its {MODEL_FILE}.", source=path)
    results = Results(out, paths[0], ("matches.csv", "report.html", RESULT_FILE), force, not quiet, model=paths[1])
    results.check()
    a, b = map(persistence.load, paths)
    match = match_models(a, b)
    record = {
        "a": str(model), "b": str(reference), "estimator": type(a).__name__, "statuses": _count_statuses(match),
        "pairs": [{**row, "moved": pair.moved} for row, pair in zip(match.rows(), match.pairs, strict=True)],
        "messages": match.messages,
    }  # fmt: skip
    table = replace(match.table(), file="matches.csv", caption=f"Components of {model} (a) and {reference} (b)")

    def write(folder: Path) -> None:
        table.write(folder / table.file)
        write_match(folder / "report.html", table, f"a is {model}, b is {reference}.", match.messages)
        with atomic_file(folder / RESULT_FILE, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(plain(record), file, indent=1, ensure_ascii=False)

    files = results.write(write)
    console = Terminal()
    print_listing(table, console)
    for line in (match.headline, *match.messages, f"Wrote {', '.join(files)} to {out}"):
        say(line, console)
    return {"out": str(out), "files": files, **record}


def _count_statuses(match: Match) -> dict[str, int]:
    return dict(Counter(pair.status for pair in match.pairs))
