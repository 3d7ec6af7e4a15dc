"""Files and tables in and out; what is wrong with a file is said as ``path:line: problem``.

`text` reads lines, `tables` named columns; `loading` is the door to both for judgments, runs, probabilities and costs.
files, writing, arrays and keys serve them.
"""
