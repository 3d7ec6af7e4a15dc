"""Files and tables in and out; what is wrong with a file is said as ``path:line: problem``.

`text` reads lines, `tables` named columns; `loading` takes judgments, runs, probabilities and costs out of both.
files, writing, arrays and keys serve them.
"""
