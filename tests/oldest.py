"""The lowest versions that pyproject.toml allows: ``python tests/oldest.py`` prints them as requirements of pip, one a line.

Of the package itself, of its extras, and of the group ``test``. Of a package that is named twice the higher bound holds.
"""

import re
import sys
import tomllib
from pathlib import Path

_BOUND = re.compile(r"(?P<package>[A-Za-z0-9._-]+)(?P<extras>\[[^]]*])?>=(?P<version>[0-9.]+)")


def lowest_requirements(project):
    """Return a requirement with ``==`` for every one of pyproject.toml with ``>=``."""
    groups = [project["project"]["dependencies"], project["dependency-groups"]["test"]]
    groups += [extra for name, extra in project["project"]["optional-dependencies"].items() if name != "all"]
    bounds = {}
    for requirement in (requirement for group in groups for requirement in group):
        match = _BOUND.match(requirement)
        if match is None:
            raise SystemExit(
                f"Expected a lower bound in pyproject.toml; found {requirement!r}. Write {requirement}>=VERSION."
            )
        name = match["package"] + (match["extras"] or "")
        version = tuple(map(int, match["version"].split(".")))
        bounds[name] = max(bounds.get(name, ()), version)
    return [f"{name}=={'.'.join(map(str, version))}" for name, version in sorted(bounds.items())]


if __name__ == "__main__":
    path = Path(__file__).parent.parent / "pyproject.toml"
    sys.stdout.write("\n".join(lowest_requirements(tomllib.loads(path.read_text()))) + "\n")
