"""Scoring: runs scored against judgments, two runs compared (the gate), agreement of judges, unjudged documents."""
