"""Sentences of the notes on how files are read, see `activeeval.report.message_lookup`."""

from __future__ import annotations

WORDS = {
    "read as": "{source} is read as {form}",
    "outside the sample": "{source}: {n} of {of:judgment} {n:is|are} of items that the sample does not hold",
    "queries without id": "{n} of {of:judged query} {n:has|have} no id in {source} and {n:is|are} left out",
    "columns without numbers": "{source}: columns without numbers are left out: {names}",
    "values alone": "{source}: {n:query} with {metric} {n:is|are} only there and left out",
    "by session": "by session: {value:+.3f} ({low:.3f} to {high:.3f}), {n:session}",
    "impressions": "{source}: {n:impression}: the new system wins {won}, loses {lost}, ties {tied}",
    "collapsed": "{source}: {n:chunk} of {n_documents:document} are collapsed, the first one of each counts",
    "own documents": "{source}: {n:query} {n:has|have} the document of {n:its|their} own id first; "
    "{option[leave_out_self]} leaves it out",
    "own left out": "{source}: {n:document} with the id of {n:its|their} own query {n:is|are} left out",
    "both orders": "{source}: {n} of {of:pair} that the grader saw in both orders {n:has|have} contradictory answers, "
    "which count as ties",
    "index column": "{source}: the first column, of row numbers, is left out",
}
"""Templates by code."""
