"""Runs every command on small files, with the latentia of the interpreter that runs this: ``python tests/try_package.py``.

`make dist` does so with the wheel in an environment that has nothing else, `test_package.py` without the optional packages.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COMMANDS = {
    "topics": ["topics", "texts", "-k", "2"],
    "labels": ["labels", "tagged.csv", "-k", "2", "--column", "text", "--tags", "tags"],
    "hmm": ["hmm", "steps.txt", "-k", "2"],
    "mixture": ["mixture", "points.csv", "-k", "3"],
    "ica": ["ica", "signals.csv"],
    "noisy-or": ["noisy-or", "findings.csv"],
    "matrix": ["matrix", "edges.txt", "-k", "3"],
    "communities": ["communities", "edges.txt", "-k", "3"],
    "dictionary": ["dictionary", "signals.csv", "-k", "3"],
    "network": ["network", "findings.csv"],
    "nmf": ["nmf", "shares.csv", "-k", "3"],
    "contrast": ["contrast", "points.csv", "signals.csv", "-k", "1"],
    "apply": ["apply", "out/mixture", "points.csv"],
}
"""What is run of each command, in this order, in the folder of the files."""


def write_files(folder):
    """Small files for all commands, from a seed."""
    rng = np.random.default_rng(0)
    fruit, metal = (
        ["apple", "pear", "plum", "cherry", "grape", "lemon", "peach", "melon"],
        ["iron", "copper", "silver", "tin", "gold", "zinc", "lead", "steel"],
    )
    themes = rng.integers(2, size=200)
    texts = [" ".join(rng.choice([fruit, metal][theme], 40)) for theme in themes]
    (folder / "texts").mkdir()
    for number, text in enumerate(texts):
        (folder / "texts" / f"{number}.txt").write_text(text)
    tags = ("fruit", "metal")
    tagged = [f"{text},{tags[theme]}" for text, theme in zip(texts, themes, strict=True)]
    (folder / "tagged.csv").write_text("\n".join(["text,tags", *tagged]))
    states = np.cumsum(rng.random((40, 50)) < 0.1, axis=1) % 2
    symbols = np.where(rng.random(states.shape) < 0.9, states, 2 + states)
    (folder / "steps.txt").write_text("\n".join(" ".join("abcd"[s] for s in row) for row in symbols))
    sides = np.arange(90) % 3
    pairs = [(i, j) for i in range(90) for j in range(i) if rng.random() < (0.4 if sides[i] == sides[j] else 0.03)]
    (folder / "edges.txt").write_text("\n".join(f"n{i} n{j}" for i, j in pairs))
    causes = rng.random((3000, 3)) < 0.2
    _write_table(
        folder / "findings.csv", (rng.random((3000, 12)) < 0.02 + 0.68 * np.repeat(causes, 4, axis=1)).astype(int)
    )
    centres = 6 * np.eye(4)[rng.integers(3, size=1000)]
    _write_table(folder / "points.csv", centres + rng.normal(size=(1000, 4)))
    _write_table(folder / "signals.csv", rng.laplace(size=(1000, 3)) @ rng.normal(size=(3, 3)))
    shares = np.vstack([np.eye(3).repeat(3, axis=0), rng.dirichlet(np.ones(3), 200)])
    _write_table(folder / "shares.csv", shares @ rng.random((3, 8)))


def _write_table(path, rows):
    names = ",".join(f"c{i}" for i in range(rows.shape[1]))
    np.savetxt(path, rows, fmt="%.6g", delimiter=",", header=names, comments="")


def main():
    command = [sys.executable, "-m", "latentia"]
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        for name, arguments in {**COMMANDS, "demo": ["demo"]}.items():
            arguments = [*arguments, "--out", f"out/{name}", "--json"]
            done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"latentia {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
            said = json.loads(done.stdout)
            if name != "apply" and not list((Path(folder) / "out" / name).rglob("*.html")):
                sys.exit(f"latentia {name}: no report")
            print(f"{name:<12} {said.get('grade', 'done')}")


if __name__ == "__main__":
    main()
