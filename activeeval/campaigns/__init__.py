"""Judging campaigns in a durable store: creation, claims and answers, imports, exports, estimates, verification.

The ``store`` subpackage reads and writes rows; the modules here turn rows into samples, grades and estimates. Every
result is computed from the event log, as of any event.
"""
