"""The verbs of the command line as functions: frames in and out, results that print, plot and unpack.

Like the command line this is a face: a function turns its arguments into choices, calls one task and shows what comes
of it. All numbers are the tasks'.
"""
