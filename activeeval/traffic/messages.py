"""Message texts of queries drawn from a search log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

WORDS: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "drawn queries left out": "{n:,} of {of:query} drawn from {log} {n:is|are} not in the pool, with {share:.1%} of "
    "the "
    "traffic: the estimate is about the rest",
    "queries drawn": lambda numbers: (
        "{n:query} drawn from {log} (sha256 {digest}; {n_events:,.0f event}, {n_queries:distinct query}), seed "
        "{seed}: "
        + ("all of them" if numbers["n"] == numbers["n_queries"] else "{n_certain} {n_certain:was|were} certain")
    ),
    "queries of a stratum": "{name}: {traffic:.1%} of the traffic, {n_drawn} of {n_queries:query} drawn, "
    "{n_certain} certain",
    "fewer queries": "the log has {n} of the {n_wanted:query} to draw: all are taken",
    "queries kept": "{n_kept:,} of the {n_last:query} of {source} {n_kept:is|are} kept",
}
"""Message code -> template, as in `activeeval.report.message_lookup`."""
