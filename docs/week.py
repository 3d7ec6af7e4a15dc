"""What the pages beside it take for granted: three runs, texts, segments, and two people who judge.

``python week.py files`` writes the runs and texts of a small generated collection, ``python week.py qrels`` judgments
of all of it. ``python week.py judge ann FROM TO`` fills in what Ann (odd rows) or Bob (even rows) would have graded, up
to a block with ``--until``; the first twenty rows of a sheet are judged by both. One row in six that both judge they
see differently.
"""

from __future__ import annotations

import argparse
import csv
import json
import zlib

import numpy as np

from activeeval.core.pool.generated import WEIGHTS, generate_pool
from activeeval.formats.text.trec import Run, write_run

SEED, N_QUERIES, DEPTH = 7, 150, 20
RUNS = {"old": 2.2, "new": 1.7, "next": 1.5}
SHARED_ROWS = 20


def collection() -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Return query and document of every item, its grade, and what a ranker can know of it."""
    made = generate_pool(N_QUERIES, SEED)
    queries = [f"q{number + 101}" for number in made.pool.item_queries.tolist()]
    documents = [f"D{number:05d}" for number in range(made.pool.n_items)]
    return queries, documents, made.grades, made.features[:, : WEIGHTS.size] @ WEIGHTS


def write_files() -> None:
    """Write old.run, new.run, next.run, queries.csv, documents.jsonl and segments.csv."""
    queries, documents, _, known = collection()
    owners, rng = np.array(queries), np.random.default_rng(SEED)
    names = np.unique(owners)
    for name, noise in RUNS.items():
        scores = (known + noise * rng.standard_normal(known.size)).round(4)
        best = [places[np.argsort(-scores[places])[:DEPTH]] for places in (np.flatnonzero(owners == q) for q in names)]
        rows = np.concatenate(best)
        ranks = np.concatenate([np.arange(1, places.size + 1) for places in best])
        write_run(Run(owners[rows], np.array(documents)[rows], scores[rows], ranks, name), f"{name}.run")
    with open("documents.jsonl", "w") as out:
        for document in documents:
            out.write(json.dumps({"id": document, "title": f"Title of {document}"}) + "\n")
    for file, header, texts in (
        ("queries.csv", ("id", "text"), [f"what people ask with {query}" for query in names]),
        ("segments.csv", ("query_id", "segment"), ["long" if int(q[1:]) % 3 else "short" for q in names]),
    ):
        with open(file, "w", newline="") as out:
            csv.writer(out).writerows([header, *zip(names.tolist(), texts, strict=True)])


def write_qrels() -> None:
    """Write qrels.txt: the grade of every document."""
    queries, documents, grades, _ = collection()
    with open("qrels.txt", "w") as out:
        for query, document, grade in zip(queries, documents, grades.tolist(), strict=True):
            out.write(f"{query} 0 {document} {grade}\n")


def judge(name: str, source: str, target: str, until: int) -> None:
    """Fill in what one of the two would grade."""
    queries, documents, grades, _ = collection()
    truth = dict(zip(zip(queries, documents, strict=True), grades.tolist(), strict=True))
    with open(source, newline="") as held:
        rows = list(csv.DictReader(held))
    for number, row in enumerate(rows):
        is_own = number % 2 == (name == "bob") or number < SHARED_ROWS
        if is_own and not row["grade"] and int(row["block"]) <= until:
            grade = truth[row["query_id"], row["doc_id"]]
            doubts = zlib.crc32(f"{name} {row['doc_id']}".encode()) % 12 == 0
            row |= {"judge": name, "grade": str(max(grade - 1, 0) if doubts else grade)}
    with open(target, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("files", help="write runs, texts and segments")
    commands.add_parser("qrels", help="write judgments of everything")
    judging = commands.add_parser("judge", help="fill in a sheet")
    judging.add_argument("name", choices=("ann", "bob"))
    judging.add_argument("source", metavar="FROM")
    judging.add_argument("target", metavar="TO")
    judging.add_argument("--until", type=int, default=99, help="the last block that is judged")
    args = parser.parse_args()
    if args.command == "files":
        write_files()
    elif args.command == "qrels":
        write_qrels()
    else:
        judge(args.name, args.source, args.target, args.until)


if __name__ == "__main__":
    main()
