"""Defaults of estimators that options of commands have, for help without the seconds that importing estimators takes.

    python tests/cli/write_defaults.py

writes them; `tests/cli/test_all_commands.py` compares.
"""

import inspect
import json
from pathlib import Path

from latentia.cli import commands
from latentia.cli._run import parameters_of
from latentia.families import FAMILIES


def defaults() -> dict[str, dict[str, object]]:
    """Default of each parameter that an option of a command sets, by command."""
    found = {}
    for family in FAMILIES:
        parameters = inspect.signature(family.classes()[0]).parameters
        given = parameters_of(commands.record_of(family.command)).values()
        found[family.command] = {name: parameters[name].default for name in given if name in parameters}
    return found


if __name__ == "__main__":
    Path(commands.__file__).with_name("defaults.json").write_text(json.dumps(defaults(), indent=1) + "\n")
