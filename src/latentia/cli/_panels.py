"""Panels of options and placeholders of values in ``--help``."""

from __future__ import annotations

from typing import Any

_PANELS = {
    "Data": "above array background baskets batch bigrams column columns columns_v directed edges empty encoding "
    "forget grey id ignore image label_names "
    "labels_zero_based lines lower max_df metadata min_count min_df missing missing_codes n_patches "
    "names patch positive reference role rows scale "
    "sequence shape sheet split "
    "stop_words tags target test views vocabulary window word_names words zero_based",
    "Output": "as_json ask cluster denoise effects evidence force group_by levels "
    "name near out over period progress quiet row threshold top",
    "Large data": "cache checkpoint jobs keep_moments no_cache scheduler",
}
_PANEL_OF = {option: panel for panel, options in _PANELS.items() for option in options.split()}
_ORDER = "Data", "Model", "Output", "Large data"
_SIZES = "N|FROM:TO:STEP"


def group_options(command: Any) -> Any:
    """Sort the options of a command into four panels for its help; options that are not listed belong to the model."""
    for option in command.params:
        if option.param_type_name == "option":
            option.rich_help_panel = _PANEL_OF.get(option.name, "Model")
            if option.is_flag:
                option.metavar = ""
            elif option.name == "k":
                option.metavar = f"{_SIZES}|auto" if "auto" in option.help else _SIZES
    command.params.sort(key=lambda option: _ORDER.index(getattr(option, "rich_help_panel", None) or "Data"))
    return command
