"""Files and tables in and out; what is wrong with a file is said as ``path:line: problem``.

letor, scores, trec, tables and draws are the doors; files, columns, sheets and keys serve them.
"""
