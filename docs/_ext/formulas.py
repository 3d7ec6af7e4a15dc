"""Formulas as MathML, which browsers draw themselves: no script, no request to another place."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer; called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(writer: Any, node: Any) -> None:
    """Write a formula inside a sentence."""
    _write(writer, node, "inline")


def block(writer: Any, node: Any) -> None:
    """Write a formula that stands alone."""
    _write(writer, node, "block")


def _write(writer: Any, node: Any, display: str) -> None:
    from docutils import nodes

    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode
