"""Templates of pages: what they show is escaped, unless a template says that it is safe."""

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
"""Headings of guidelines stand below those of the page."""


@cache
def templates() -> Environment:
    """Return the templates."""
    environment = Environment(
        loader=PackageLoader("activeeval.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # templates do not change under a server that runs
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
    """Return a page, or a part of one."""
    return templates().get_template(template).render(**values)


def safe_markdown(text: str) -> str:
    """Return markdown as HTML in which nothing runs and nothing is loaded.

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
    """Return a text line by line with what nobody would see spelt out; what turns the writing stays within its line."""
    return "\n".join(visible(line) for line in text.splitlines())
