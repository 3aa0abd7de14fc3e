"""Runs README and every command on small files, with the latentia of the interpreter that runs this.

``python tests/try_package.py`` does what a newcomer does: all Python of README.md, and all its commands as they stand there.
`make dist` runs it with the wheel in an environment that has nothing else. `test_package.py` and `test_readme_figures.py` use
its files.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"
COMMANDS = {
    "topics": ["topics", "texts", "-k", "2"],
    "labels": ["labels", "posts.csv", "-k", "2", "--column", "text", "--tags", "tags"],
    "hmm": ["hmm", "sequences.txt", "-k", "2"],
    "mixture": ["mixture", "table.csv", "-k", "3"],
    "ica": ["ica", "signals.csv"],
    "noisy-or": ["noisy-or", "patients.csv"],
    "matrix": ["matrix", "links.csv", "-k", "3"],
    "communities": ["communities", "links.csv", "-k", "3"],
    "dictionary": ["dictionary", "signals.csv", "-k", "3"],
    "network": ["network", "patients.csv"],
    "nmf": ["nmf", "shares.csv", "-k", "3"],
    "contrast": ["contrast", "table.csv", "signals.csv", "-k", "1"],
    "apply": ["apply", "out/mixture", "table.csv"],
}
"""What is run of each command, in this order, in the folder of the files."""


# --- README ---------------------------------------------------------------------------------------------------------


def readme_code():
    """All blocks of Python, one after the other: each goes on from the one before."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert blocks
    return "\n".join(blocks)


def readme_commands():
    """What follows ``latentia`` in all commands, in their order."""
    text = re.sub(r"```.*?```", "", README.read_text("utf-8"), flags=re.DOTALL)
    found = re.findall(r"^    latentia ([^#\n]*)|`latentia ([^`]*)`", text, re.MULTILINE)
    return [(block or inline).split() for block, inline in found]


# --- files ----------------------------------------------------------------------------------------------------------


def write_files(folder):
    """Small files for all commands, from a seed, under the names that README gives them."""
    rng = np.random.default_rng(0)
    pools = [_words("ship sail wave harbour captain anchor storm"), _words("field plough cattle barn seed wheat hay")]
    shares = rng.dirichlet([0.3, 0.3], 400)
    texts = [" ".join(rng.choice(pools[k]) for k in rng.choice(2, 40, p=row)) for row in shares]
    (folder / "texts").mkdir()
    for number, text in enumerate(texts):
        (folder / "texts" / f"{number}.txt").write_text(text)
    tags = [";".join(np.array(["sea", "farm"])[row > 0.3]) for row in shares]
    _write_lines(folder / "posts.csv", ["text,tags", *map(",".join, zip(texts, tags, strict=True))])
    states = np.cumsum(rng.random((40, 50)) < 0.1, axis=1) % 2
    symbols = np.where(rng.random(states.shape) < 0.9, states, 2 + states)
    _write_lines(folder / "sequences.txt", [" ".join("abcd"[s] for s in row) for row in symbols])
    sides = np.arange(90) % 3
    pairs = [(i, j) for i in range(90) for j in range(i) if rng.random() < (0.4 if sides[i] == sides[j] else 0.03)]
    _write_lines(folder / "links.csv", ["from,to", *(f"node {i},node {j}" for i, j in pairs)])
    _write_table(folder / "patients.csv", findings(rng, 3).astype(int))
    baskets = findings(rng, 15)[:1000]  # with so many causes each takes its time
    _write_lines(folder / "receipts.txt", [",".join(f"item {j}" for j in np.flatnonzero(row)) for row in baskets])
    for name in ("table.csv", "new.csv"):
        _write_table(folder / name, 6 * np.eye(4)[rng.integers(3, size=1000)] + rng.normal(size=(1000, 4)))
    _write_table(folder / "signals.csv", rng.laplace(size=(1000, 3)) @ rng.normal(size=(3, 3)))
    mixed = np.vstack([np.eye(3).repeat(3, axis=0), rng.dirichlet(np.ones(3), 200)])
    _write_table(folder / "shares.csv", mixed @ rng.random((3, 8)))


def _words(stems):
    return [stem + end for stem in stems.split() for end in "abcdefghijkl"]


def findings(rng, n_causes):
    """Four findings a cause, in 3,000 rows."""
    return rng.random((3000, 4 * n_causes)) < 0.02 + 0.68 * np.repeat(rng.random((3000, n_causes)) < 0.2, 4, axis=1)


def _write_lines(path, lines):
    path.write_text("\n".join(lines))


def _write_table(path, rows):
    names = ",".join(f"c{i}" for i in range(rows.shape[1]))
    np.savetxt(path, rows, fmt="%.6g", delimiter=",", header=names, comments="")


# --- runs -----------------------------------------------------------------------------------------------------------


def run(arguments, folder, *more):
    """What ``latentia`` prints."""
    command = [sys.executable, "-m", "latentia", *arguments, *more]
    return _run(command, folder, f"latentia {' '.join(arguments)}")


def try_readme(folder):
    """All Python and all commands of README, as they stand, in a folder with `write_files`."""
    print(_run([sys.executable, "-c", readme_code()], folder, "Python of README.md"))
    for arguments in readme_commands():
        if arguments[0] == "apply":  # to the results of the table before it
            run(next(one for one in readme_commands() if one[0] == "mixture"), folder, "--force")
        for name in COMMANDS if arguments[0] == "COMMAND" else arguments[:1]:
            run([name, *arguments[1:]], folder, *(["--force"] if "results" in arguments[2:] else []))
        print("latentia", *arguments)


def try_commands(folder):
    """Every command there is, in a folder with `write_files`."""
    for name, arguments in COMMANDS.items():
        said = json.loads(run(arguments, folder, "--out", f"out/{name}", "--json"))
        if name != "apply" and not (folder / "out" / name / "report.html").exists():
            sys.exit(f"latentia {name}: no report")
        print(f"{name:<12} {said.get('grade', 'done')}")


def _run(command, folder, what):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{what}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        try_readme(folder)
        try_commands(folder)


if __name__ == "__main__":
    main()
