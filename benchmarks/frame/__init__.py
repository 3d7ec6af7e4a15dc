"""The frame of all experiments: how one is run and stored, and how its claims, tables and pictures are made.

An experiment is a module with an `experiment.Experiment`: its question is the docstring, `main` reads the options,
measures, prints and stores. `report` writes tables, `claims` holds the tests of a paper's claims, `pictures` draws, and
`processes` runs a function or a command in a process of its own.
"""
