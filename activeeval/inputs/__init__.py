"""One door for inputs: paths, frames, dicts and objects become a pool, rankings, beliefs, targets.

The command line and the functions of the library put nothing together themselves. Nothing here prints: what a caller
should know comes back as notes.
"""
