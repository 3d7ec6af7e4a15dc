"""Queries drawn from a log of searches, so that a sample of them stands for the whole log."""
