"""Samples of queries from a search log that represent the traffic of the whole log."""
