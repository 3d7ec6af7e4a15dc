"""What docs/traffic.md takes for granted: the logs of two months, two rankers, and somebody who judges.

``python traffic.py logs`` writes may.csv and june.csv, which share nine tenths of their traffic. ``python traffic.py
runs QUERIES`` has two rankers answer the queries of a file: old.run and new.run. ``python traffic.py judge SHEET``
fills in a sheet.
"""

from __future__ import annotations

import argparse
import csv
import zlib

import numpy as np

N_QUERIES, N_DOCUMENTS, DEPTH = 2000, 14, 10
GRADES = (0, 0, 0, 0, 1, 1, 2, 3)
NOISE = {"old": 1.6, "new": 1.3}


def write_logs() -> None:
    """Write the log of a month and of the next, in which one query in ten is new."""
    random = np.random.default_rng(5)
    counts = np.ceil(4000 / np.arange(1, N_QUERIES + 1))
    leaves = random.random(N_QUERIES) < 0.1
    for month, of_month in (("may", np.zeros(N_QUERIES, dtype=bool)), ("june", leaves)):
        names = [f"{'new thing' if is_new else 'thing'} {k}" for k, is_new in enumerate(of_month.tolist())]
        with open(f"{month}.csv", "w", newline="") as out:
            csv.writer(out).writerows([("query", "count"), *zip(names, counts.astype(int).tolist(), strict=True)])


def noise_of(*words: str) -> float:
    """Return a number about 0 that belongs to some words."""
    seeds = (zlib.crc32(" ".join((*words, str(k))).encode()) / 2**32 for k in range(3))
    return float(sum(seeds)) - 1.5


def grade_of(query: str, document: str) -> int:
    """Return how relevant a document is to a query."""
    return GRADES[zlib.crc32(f"{query} {document}".encode()) % len(GRADES)]


def write_runs(path: str) -> None:
    """Write what the two rankers find for the queries of a file."""
    with open(path, newline="") as held:
        queries = [row["query_id"] for row in csv.DictReader(held)]
    for name, noise in NOISE.items():
        with open(f"{name}.run", "w") as out:
            for query in queries:
                scores = {
                    doc: grade_of(query, doc) + noise * noise_of(name, query, doc)
                    for doc in (f"D{number:02d}" for number in range(N_DOCUMENTS))
                }
                best = sorted(scores, key=lambda doc: -scores[doc])[:DEPTH]
                out.writelines(f"{query} Q0 {doc} {k} {scores[doc]:.4f} {name}\n" for k, doc in enumerate(best, 1))


def judge(path: str) -> None:
    """Fill in a sheet."""
    with open(path, newline="") as held:
        rows = list(csv.DictReader(held))
    for row in rows:
        row["grade"] = str(grade_of(row["query_id"], row["doc_id"]))
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("logs", help="write the logs of two months")
    commands.add_parser("runs", help="have two rankers answer queries").add_argument("path", metavar="QUERIES")
    commands.add_parser("judge", help="fill in a sheet").add_argument("path", metavar="SHEET")
    asked = parser.parse_args()
    if asked.command == "logs":
        write_logs()
    elif asked.command == "runs":
        write_runs(asked.path)
    else:
        judge(asked.path)


if __name__ == "__main__":
    main()
