"""Judgments of any file: one door, which finds the form by the name and the columns of the file."""
