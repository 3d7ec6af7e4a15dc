"""Small generated inputs for the command line's tests: LETOR with scores, judgments with runs, probabilities, costs."""

import csv
import gzip
import json

import numpy as np

GRADES = 4


def letor(rng, n_queries, first, scale=1.0):
    """Return the lines of a LETOR file and two score files that go with it."""
    lines, scores, second = [], [], []
    for query in range(first, first + n_queries):
        for document in range(int(rng.integers(2, 9))):
            x = rng.normal(size=3)
            grade = int(np.clip(round(x[0] + 1 + 0.5 * rng.normal()), 0, GRADES - 1))
            length = abs(x[2]) * 100
            lines.append(f"{grade} qid:{query} 1:{x[0]:.4f} 2:{x[1]:.4f} 3:{length:.3f} #docid = d{query}-{document}")
            scores.append(f"{x[0] + 0.3 * rng.normal():.4f}")
            second.append(f"{x[0] + scale * rng.normal():.4f}")
    return lines, scores, second


def tables(rng, n_queries=30, missing=(5, 7), n_levels=None):
    """Return the lines of judgments and of two runs; each run lacks a query and the first holds one too many.

    With `n_levels` scores are whole numbers that tie.
    """
    qrels, runs = [], ([], [])
    for query in range(1, n_queries + 1):
        documents = [f"d{j}" for j in range(12)]
        qrels += [f"q{query} 0 {document} {rng.integers(-1, GRADES)}" for document in documents[:9]]
        for run, lacks, tag in zip(runs, missing, "AB", strict=True):
            if query == lacks:
                continue
            for rank, document in enumerate(rng.permutation(documents)[:8].tolist(), 1):
                score = rng.integers(n_levels) if n_levels else rng.normal()
                run.append(f"q{query} Q0 {document} {rank} {score} {tag}")
    runs[0].append("qX Q0 d0 1 1.0 A")
    return qrels, *runs


def probabilities(rng, pairs, n_grades=GRADES):
    """Return the lines of a table with random probabilities of pairs of query and document."""
    rows = rng.dirichlet(np.ones(n_grades), len(pairs))
    cells = [",".join([*pair, *map(repr, row)]) for pair, row in zip(pairs, rows.tolist(), strict=True)]
    return [",".join(["qid", "docid", *(f"p{k}" for k in range(n_grades))]), *cells]


def write_lines(path, lines):
    """Write lines and return the path."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def make_all(folder):
    """Write every input into a folder."""
    rng = np.random.default_rng(20)
    for name, n_queries, first in (("a", 40, 1), ("b", 30, 100), ("t", 30, 1000)):
        lines, scores, second = letor(rng, n_queries, first)
        for suffix, part in (("txt", lines), ("score", scores), ("second", second)):
            write_lines(folder / f"{name}.{suffix}", part)
        pairs = [(line.split()[1][4:], line.split()[-1]) for line in lines]
        write_lines(folder / f"{name}.probs.csv", probabilities(rng, pairs))
    (folder / "a.txt.gz").write_bytes(gzip.compress((folder / "a.txt").read_bytes()))
    qrels, first, second = tables(rng)
    write_lines(folder / "q.qrels", qrels)
    write_lines(folder / "a.run", first)
    write_lines(folder / "b.run", second)
    every = [(f"q{query}", f"d{j}") for query in range(1, 31) for j in range(12)]
    write_lines(folder / "q.probs.csv", probabilities(rng, every))


def json_rows(text):
    """Return JSON lines as dicts."""
    return [json.loads(line) for line in text.splitlines()]


def csv_rows(path, delimiter=","):
    """Return the rows of a CSV file as dicts."""
    with open(path, encoding="utf-8-sig", newline="") as handle:
        return list(csv.DictReader(handle, delimiter=delimiter))


def write_csv(path, rows, delimiter=",", encoding="utf-8"):
    """Write dicts as CSV, as a spreadsheet does."""
    with open(path, "w", encoding=encoding, newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path
