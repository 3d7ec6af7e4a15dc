"""Campaigns in the store: made of a sample, judged by a script, read as of any event, written out, verified.

The store knows rows; here they become samples, grades and estimates. Everything is a reading of the log.
"""
