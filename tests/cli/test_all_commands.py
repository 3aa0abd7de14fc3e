"""One language for all commands: an option has the same names, the same help and the same default wherever it occurs."""

import inspect
import json
import re
import subprocess
import sys
from dataclasses import fields

import pytest
import write_defaults

from latentia.cli import commands
from latentia.cli._panels import _PANEL_OF
from latentia.families import FAMILIES

COMMANDS = {name: commands.command_of(name) for name in commands.COMMANDS}
LEARN = {family.command: family.classes()[0] for family in FAMILIES}
"""Commands that learn, and the estimator that each of them fits by default."""
COMMON = {
    "--cache", "--checkpoint", "--encoding", "--evidence", "--force", "--jobs", "--json", "--no-cache", "--out", "--quiet",
    "--scheduler", "--seed",
}  # fmt: skip
"""Options of all commands that learn."""
OWN = {
    "--method",
    "--kind",
    "--alpha0",
    "--min-count",
    "--order",
    "--threshold",
    "--covariance",
    "--communities",
    "--split",
    "--name",
    "--names",
}
"""Options whose meaning is that of the command, though two commands have one of the name."""
SAYS = {
    "--missing": r"Cells without a value: .*(drop leaves their rows out|keep takes them as not known)",
    "--columns": r".*[Cc]olumns.*, separated by commas",
    "--column": r"(Text column|Column of symbols) of a (CSV file|table)",
    "--ignore": r"Columns (of either table )?not to use, such as an id, separated by commas\.",
    "--scale": r"Bring .*columns .*\(default: yes\)\.",
    "--refine": r"(Steps of refinement|Rounds of polish).* auto",
    "--min-df": r".*(documents|baskets)",
}
"""Options whose help says what they do to the data of the command, and how it begins."""
NUMBER = r"(Number of|Rank, or number of) .* FROM:TO:STEP compares a range(, auto as many as it takes)?\."
OLDER = set()  # names that are kept for those who use them


def options(command):
    """Long name of each option, the first that it has, and the option."""
    found = [each for each in COMMANDS[command].params if any(name.startswith("-") for name in each.opts)]
    return {next((name for name in each.opts if name.startswith("--")), each.opts[0]): each for each in found}


def everywhere():
    """For each option of several commands, those commands."""
    found = {}
    for command in COMMANDS:
        for name, option in options(command).items():
            found.setdefault(name, {})[command] = option
    return {name: of for name, of in found.items() if len(of) > 1}


def test_every_command_is_walked():
    assert set(COMMANDS) == {*LEARN, "look", "apply", "update", "merge", "compare", "news", "demo", "app"}


@pytest.mark.parametrize("command", LEARN)
def test_what_all_commands_that_learn_have(command):
    assert set(options(command)) >= COMMON
    number = next((option for option in options(command).values() if "-k" in option.opts), None)
    if command == "network":  # which has layers, and as many units as the data shows
        assert number is None
        return
    assert number.opts[0] == "-k"
    assert re.fullmatch(NUMBER, number.help)


@pytest.mark.parametrize("name", sorted(set(everywhere()) - OWN))
def test_an_option_is_the_same_in_all_commands(name):
    found = everywhere()[name]
    numbers = all("-k" in option.opts for option in found.values())
    if not numbers:
        names = {
            tuple(name for name in (*each.opts, *each.secondary_opts) if name not in OLDER) for each in found.values()
        }
        assert len(names) == 1
    if name in SAYS:
        for command, option in found.items():
            assert re.match(SAYS[name], option.help), command
    elif not numbers:
        assert len({option.help for option in found.values()}) == 1
    if name == "--out":
        own = {
            "apply": "applied",
            "compare": "compared",
            "demo": "out/demo",
            "merge": "merged",
            "news": "news",
            "update": "None",
        }
        folders = {command: own.get(command, command) for command in found}
        assert {command: str(option.default) for command, option in found.items()} == folders
    elif not numbers and name not in ("--refine", "--splits", "--missing", "--min-df"):  # see below
        assert len({str(option.default) for option in found.values()}) == 1


@pytest.mark.parametrize("command", [command for command in LEARN if command != "contrast"])
def test_defaults_are_those_of_the_estimator(command):
    parameters = inspect.signature(LEARN[command]).parameters
    found = options(command)
    number = next((option for option in found.values() if "-k" in option.opts), None)
    given = {"refine": found.get("--refine"), "n_splits": found.get("--splits"), "n_components": number}
    for parameter, option in given.items():
        if option is not None and option.default is not None:
            assert str(option.default) == str(parameters[parameter].default), parameter


def test_defaults_are_those_of_the_estimators():
    written = json.loads(commands.DEFAULTS.read_text("utf-8"))
    assert written == write_defaults.defaults(), "run: python tests/write_defaults.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_of_commands_says_what_the_command_says(command):
    assert " ".join(COMMANDS[command].help.partition("\n\n")[0].split()) == commands.COMMANDS[command]
    assert COMMANDS[command].name == command


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_sentences(command):
    assert COMMANDS[command].help.strip().endswith(".")
    for option in COMMANDS[command].params:
        if option.name != "help":
            assert option.help, option.name
            assert option.help.endswith("."), option.name
            assert not option.help[0].isspace()


@pytest.mark.parametrize("command", LEARN)
def test_help_has_its_options_in_panels(command):
    found = options(command)
    panels = {name: option.rich_help_panel for name, option in found.items()}
    assert set(panels.values()) == {"Data", "Model", "Output", "Large data"}
    assert (panels["--out"], panels["--cache"], panels["--seed"]) == ("Output", "Large data", "Model")
    number = next((option for option in found.values() if "-k" in option.opts), None)
    assert number is None or number.metavar.startswith("N|FROM:TO:STEP")


def test_panels_list_no_option_that_no_command_has():
    assert set(_PANEL_OF) <= {option.name for command in COMMANDS for option in options(command).values()}


@pytest.mark.parametrize("command", COMMANDS)
def test_docstrings_describe_fields(command):
    record = commands.record_of(command)
    described = set(re.findall(r"^(\w+)\n +", inspect.getdoc(record), re.MULTILINE)) - {"Parameters"}
    assert described <= {field.name for field in fields(record)}


def test_help_needs_neither_heavy_modules_nor_docstrings():
    """Without docstrings help has no sentences, and options are checked as ever."""
    code = f"""
import sys
from latentia.cli.commands import command_of
for name in {list(COMMANDS)!r}:
    command_of(name)
print([name for name in ("numpy", "scipy", "sklearn", "numba") if name in sys.modules])
command_of("hmm")(["x.txt", "--min-count", "0"], standalone_mode=False)
"""
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]"
    assert "BadParameter" in done.stderr
