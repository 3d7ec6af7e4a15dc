"""Render the templates of pages; values are escaped unless a template marks them as safe."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt

from activeeval.campaigns import judging_messages
from activeeval.campaigns.report.agreement_messages import sentences_beside
from activeeval.core.errors import visible
from activeeval.report.numbers import agreeing, counted, number

_SENTENCES = ("left_sentence", "pairs_sentence", "pace_sentence", "precision_sentence", "lasting", "controls_sentence")
_BELOW = 2
"""Levels by which headings of guidelines are lowered, below those of the page."""


@cache
def templates() -> Environment:
    """Build the environment of the page templates, once: with the functions and filters that they call.

    Values are escaped, and an unknown variable is an error.
    """
    environment = Environment(
        loader=PackageLoader("activeeval.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # templates do not change while the server runs
    )
    environment.globals |= {name: getattr(judging_messages, name) for name in _SENTENCES}
    environment.globals |= {
        "counted": counted,
        "agreeing": agreeing,
        "number": number,
        "sentences_beside": sentences_beside,
    }
    environment.filters["visible"] = _visible
    return environment


def rendered(template: str, **values: Any) -> str:
    """Render a template (a page, or a part of one) with the given variables."""
    return templates().get_template(template).render(**values)


def safe_markdown(text: str) -> str:
    """Convert markdown to HTML without scripts, raw HTML and images.

    Examples
    --------
    >>> safe_markdown("# Relevance").strip()
    '<h3>Relevance</h3>'
    >>> "<script" in safe_markdown("<script>alert(1)</script>")
    False
    """
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + _BELOW)}"
    return str(reader.renderer.render(tokens, reader.options, {}))


def _visible(text: str) -> str:
    """Make invisible characters of a text visible, line by line, so that direction marks stay within their line."""
    return "\n".join(visible(line) for line in text.splitlines())
