"""``latentia compare``: components of two folders of results, matched."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import persistence
from ..comparing import match as match_models
from ..report.page import write_tables
from ..system.scratch import atomic_file
from ..system.terminal import Terminal, say
from ._json import plain
from ._records import CompareOptions
from ._results import RESULT_FILE, Results, find_model
from ._shared import print_listing


def compare(options: CompareOptions) -> dict[str, Any]:
    """Match the components of two models: which are the same within their errors, changed, new, gone, split or merged."""
    paths = [find_model(path) for path in (options.earlier, options.later)]
    out, earlier, later = options.out, options.earlier, options.later
    results = Results(
        out,
        paths[0],
        ("matches.csv", "report.html", RESULT_FILE),
        options.force,
        progress=not options.quiet,
        model=paths[1],
    )
    results.check()
    a, b = map(persistence.load, paths)
    match = match_models(a, b)
    record = {
        "a": str(earlier), "b": str(later), "estimator": type(a).__name__,
        "statuses": Counter(pair.status for pair in match.pairs),
        "pairs": [{**row, "largest_moves": pair.largest_moves} for row, pair in zip(match.rows(), match.pairs, strict=True)],
        "messages": match.messages,
    }  # fmt: skip
    lines = [match.headline, *match.messages]
    table = replace(match.table(), file="matches.csv", caption=f"Components of {earlier} (a) and {later} (b)")

    def write(folder: Path) -> None:
        table.write(folder / table.file)
        write_tables(folder / "report.html", "What changed", [table], f"a is {earlier}, b is {later}.", lines)
        with atomic_file(folder / RESULT_FILE, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(plain(record), file, indent=1, ensure_ascii=False)

    files = results.write(write)
    console = Terminal()
    print_listing(table, console)
    for line in (*lines, f"Wrote {', '.join(files)} to {out}"):
        say(line, console)
    return {"out": str(out), "files": files, **record}
