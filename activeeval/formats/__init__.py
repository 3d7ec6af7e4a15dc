"""Read and write files and tables; errors name their place as ``path:line: problem``.

`text` reads line formats, `tables` reads named columns; `loading` reads judgments, runs, probabilities and costs from
both. `files`, `writing` and `arrays` are shared by all readers and writers.
"""
