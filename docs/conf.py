"""The documentation site: ``make docs`` builds it into docs/_build/html, where it needs no network to be read."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

# Examples and pages read real data where it lies; examples fall back on bundled or planted data.
os.environ.setdefault("LATENTIA_DATA", str(HERE.parents[1] / "shared" / "data"))

project = "latentia"
author = "The latentia developers"
copyright = author
version = release = installed_version("latentia")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "docstrings",
    "links",
]
scripts = {script.stem for script in (HERE.parent / "examples").rglob("plot_*.py")}
for page in (HERE / "auto_examples").rglob("plot_*.rst"):
    if page.stem not in scripts:  # of a script that an earlier build had
        page.unlink()
root_doc = "index"
exclude_patterns = ["_build", "auto_examples/backreferences", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]

# Pages are Markdown that reads well on code hosts too: ```math blocks, $dollar$ math, and links between files.
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

# One page per public name: what a module's __all__ lists, wherever it is written.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

FAMILIES = ["texts", "groups", "causes", "sequences", "links", "parts", "contrasts"]
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"[/\\]_",
    "abort_on_example_error": False,  # each failing example is a warning, and warnings are errors
    "subsection_order": ["../examples/" + name for name in FAMILIES],
    "within_subsection_order": "ExampleTitleSortKey",
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "doc_module": ("latentia",),
    "backreferences_dir": "auto_examples/backreferences",
}

html_theme = "pydata_sphinx_theme"
html_title = "latentia"
html_static_path = ["_static"]
html_css_files = ["latentia.css"]
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
toc_object_entries_show_parents = "hide"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "install": [], "get-started": [], "how-to-choose": []}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
