"""How Sphinx builds the site: `make docs`, or `python docs/build.py`. Offline, from what the repository holds."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from _ext import writing  # noqa: E402

project = "activeeval"
release = installed_version("activeeval-ir")
html_title = "activeeval"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "_ext.formulas",
]
exclude_patterns = ["_build", "made", "_ext", "_templates", "_inventories"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # stored outputs: `make notebooks` executes them
suppress_warnings = ["mystnb.unknown_mime_type"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
nitpick_ignore = [
    # attributes of a class with a value by default: numpydoc makes links of them, and autodoc has no entry to link to
    ("py:obj", "frame_kind"),
    ("py:obj", "n_iter_"),
]

intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "_inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable", "_inventories/numpy.inv"),
    "scipy": ("https://docs.scipy.org/doc/scipy", "_inventories/scipy.inv"),
    "pandas": ("https://pandas.pydata.org/docs", "_inventories/pandas.inv"),
    "sklearn": ("https://scikit-learn.org/stable", "_inventories/scikit-learn.inv"),
}

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css", "calculator.css"]
html_js_files = [(f"calculator{part}.js", {"defer": "defer"}) for part in ("-data", "")]
templates_path = ["_templates"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_favicon = "_static/icon.svg"
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
copybutton_exclude = ".linenos, .gp, .go"


OF_PAGES_WITH = {"sd-": ("sphinx-design", "design-tabs"), "cell": ("mystnb",), "calculator": ("calculator",)}
"""What a page's text holds where it needs these styles and scripts: others load without them, in half the time."""


def finish(_: Any, __: str, ___: str, context: dict[str, Any], ____: Any) -> None:
    """Let wide parts be scrolled, and leave out styles and scripts that only other pages need; called for each page."""
    body = context.get("body", "")
    if body:
        for wide in ("<pre>", '<div class="table-wrapper'):  # who has no mouse scrolls them by the keyboard
            body = body.replace(wide, wide.replace("<pre", '<pre tabindex="0"').replace("<div", '<div tabindex="0"'))
        context["body"] = body
    unused = tuple(name for sign, names in OF_PAGES_WITH.items() if f'class="{sign}' not in body for name in names)
    for kind in ("css_files", "script_files"):
        context[kind] = [file for file in context[kind] if not Path(str(file.filename)).name.startswith(unused)]


def leave_out_metadata(_: Any, __: str, name: str, *___: Any) -> bool | None:
    """Skip the methods that scikit-learn adds to each estimator for its metadata; called by Sphinx for each member."""
    return True if (name.startswith("set_") and name.endswith("_request")) or name == "get_metadata_routing" else None


def setup(app: Any) -> None:
    """Have made pages written before Sphinx looks for pages; called by Sphinx."""
    app.connect("config-inited", lambda *_: writing.write_pages(HERE))
    app.connect("autodoc-skip-member", leave_out_metadata)
    app.connect("html-page-context", finish)
