"""Runs scored against judgments, two runs compared (the gate), judges compared with each other, unjudged documents."""
