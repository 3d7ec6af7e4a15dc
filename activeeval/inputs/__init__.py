"""Inputs of the public functions: turn paths, frames, dicts and objects into pools, rankings, grade models, targets.

The command line and the library functions share this code. Nothing here prints; notes for the caller are returned.
"""
