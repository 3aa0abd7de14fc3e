"""Run every benchmark: ``python benchmarks/run_all.py [--quick]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS = [
    ["simplex_and_reanchor.py"],
    ["topics_recover_planted.py"],
    ["topics_real_corpora.py"],
    ["evidence_predicts_error.py"],
    ["evidence_predicts_error.py", "--refine", "3"],
    ["thesis_section_4_3.py"],
    ["topics_at_scale.py"],
]
QUICK = {"topics_recover_planted.py": ["--quick", "--seeds", "1"], "topics_at_scale.py": ["--documents", "10000"]}


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    for name, *options in COMMANDS:
        shorter = QUICK.get(name, ["--quick"] if "evidence" in name or "thesis" in name else []) if quick else []
        print(f"\n== {name} {' '.join(options + shorter)}", flush=True)
        subprocess.run([sys.executable, HERE / name, *options, *shorter], check=True)


if __name__ == "__main__":
    main()
