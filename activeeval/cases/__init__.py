"""Assembly: the choices of a caller become a pool, rankings, beliefs, targets and designs.

The command line, `activeeval.evaluate` and `activeeval.compare`, the demonstration and the benchmarks put nothing
together themselves. Nothing here prints: what a caller should be told comes back as notes.
"""
