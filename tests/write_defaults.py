"""Defaults of the parameters that options of commands set.

    python tests/write_defaults.py

writes them to `latentia/cli/defaults.json`, so that help need not import estimators, which takes seconds.
`tests/cli/test_all_commands.py` compares the two.
"""

import inspect
import json
from typing import Any

from latentia.cli import commands
from latentia.cli._run import link_parameters
from latentia.families import FAMILIES


def defaults_of(record: type[Any], estimator: type[Any]) -> dict[str, Any]:
    """Return the defaults of the parameters that fields of a record without a default set."""
    parameters = inspect.signature(estimator).parameters
    return {name: parameters[name].default for name in link_parameters(record).values() if name in parameters}


def defaults() -> dict[str, dict[str, Any]]:
    """Return those of every command, for the estimator that it fits by default."""
    return {family.command: defaults_of(commands.record_of(family.command), family.classes()[0]) for family in FAMILIES}


if __name__ == "__main__":
    commands.DEFAULTS.write_text(json.dumps(defaults(), indent=1) + "\n", "utf-8")
