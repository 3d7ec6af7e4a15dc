"""Measurements of the package; each module prints a table and stores it as JSON under results/."""
