"""What is said of queries that were drawn from a log of searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NOTES: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "drawn queries left out": "{n} of {of} queries drawn from {log} are not in the pool, with {share:.1%} of the "
    "traffic: the estimate is about the rest",
    "queries drawn": lambda numbers: (
        "{n} queries drawn from {log} (sha256 {digest}; {n_events:,.0f} events, {n_queries:,} distinct queries), seed "
        "{seed}: " + ("all of them" if numbers["n"] == numbers["n_queries"] else "{n_certain} were certain")
    ),
    "queries of a stratum": "{name}: {traffic:.1%} of the traffic, {n_drawn} of {n_queries:,} queries drawn, "
    "{n_certain} certain",
    "fewer queries": "{n_wanted} queries were asked for, the log has {n}: all are taken",
    "queries kept": "{n_kept} of the {n_last} queries of {source} are kept",
}
"""Templates by codes, as `activeeval.report.words` has them."""
