"""What nights.md takes for granted: a run a night of an index that changes, and what the judges would say.

``python nights.py week`` writes the texts, judgments of everything, and the runs of a week, 2026-11-02.run to
2026-11-08.run. Each night three per cent of the results give way to others; on 2026-11-06 something has gone wrong:
three results of four stand where chance has put them. In new-documents.jsonl forty documents have another text.
In segments.csv one query of three is asked at a desk. ``python nights.py judge FROM TO`` fills in a sheet.
"""

from __future__ import annotations

import argparse
import csv
import json

import numpy as np
from week import collection

from activeeval.formats.text.trec import Run, write_run

SEED, DEPTH, NOISE = 11, 20, 1.7
N_NIGHTS, CHANGED, BAD, LOST, N_NEW_TEXTS = 7, 0.03, 5, 0.75, 40
DATES = [f"2026-11-{day:02}" for day in range(2, 2 + N_NIGHTS)]


def write_week() -> None:
    """Write qrels.txt, segments.csv, documents.jsonl, new-documents.jsonl, and a run a night."""
    queries, documents, grades, known = collection()
    with open("qrels.txt", "w") as out:
        for row in zip(queries, documents, grades.tolist(), strict=True):
            out.write("{} 0 {} {}\n".format(*row))
    with open("segments.csv", "w", newline="") as out:
        rows = ((query, "mobile" if int(query[1:]) % 3 else "desktop") for query in dict.fromkeys(queries))
        csv.writer(out).writerows([("query_id", "segment"), *rows])
    rng = np.random.default_rng(SEED)
    scores = known + NOISE * rng.standard_normal(known.size)
    for number, date in enumerate(DATES, 1):  # the order of what is drawn makes the files
        moved = rng.random(scores.size) < CHANGED
        scores = np.where(moved, known + NOISE * rng.standard_normal(scores.size), scores)
        lost = rng.random(scores.size) < LOST
        chance = rng.permutation(scores)
        write_lists(queries, documents, np.where(lost, chance, scores) if number == BAD else scores, date)
    rewritten = set(rng.permutation(documents)[:N_NEW_TEXTS].tolist())
    for file, others in (("documents.jsonl", set()), ("new-documents.jsonl", rewritten)):
        with open(file, "w") as out:
            for doc in documents:
                text = f"What {doc} says{' now' * (doc in others)}."
                out.write(json.dumps({"id": doc, "title": f"Title of {doc}", "text": text}) + "\n")


def write_lists(queries: list[str], documents: list[str], scores: np.ndarray, date: str) -> None:
    """Write a run of the best results of each query."""
    owners = np.array(queries)
    places = (np.flatnonzero(owners == query) for query in np.unique(owners))
    best = [rows[np.argsort(-scores[rows], kind="stable")[:DEPTH]] for rows in places]
    rows = np.concatenate(best)
    ranks = np.concatenate([np.arange(1, each.size + 1) for each in best])
    run = Run(owners[rows], np.array(documents)[rows], scores[rows].round(4), ranks, date)
    write_run(run, f"{date}.run")


def judge(source: str, target: str) -> None:
    """Fill in the grades of a sheet."""
    queries, documents, grades, _ = collection()
    truth = dict(zip(zip(queries, documents, strict=True), grades.tolist(), strict=True))
    with open(source, newline="") as held:
        rows = list(csv.DictReader(held))
    with open(target, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(row | {"grade": str(truth[row["query_id"], row["doc_id"]])} for row in rows)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("week", help="write a run a night, texts and judgments")
    judging = commands.add_parser("judge", help="fill in a sheet")
    judging.add_argument("source", metavar="FROM")
    judging.add_argument("target", metavar="TO")
    args = parser.parse_args()
    if args.command == "week":
        write_week()
    else:
        judge(args.source, args.target)


if __name__ == "__main__":
    main()
