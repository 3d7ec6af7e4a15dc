"""Cases and campaigns as the command line makes them of its options, and a judge that always says the same."""

import re

from cli_files import csv_rows, write_csv, write_lines

from activeeval import Campaign
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare

RUN = ("--run", "a.run", "--max-grade", 3)
LETOR = ("--letor", "a.txt", "--scores", "a.score", "--train", "t.txt")
CASES = {
    "one run": (RUN, {"runs": ("a.run",), "max_grade": 3}),
    "a comparison": ((*RUN, "--versus-run", "b.run"), {"runs": ("a.run",), "versus_run": "b.run", "max_grade": 3}),
    "a forest": (LETOR, {"letor": ("a.txt",), "scores": ("a.score",), "train": ("t.txt",)}),
    "a missing query": (
        (*RUN, "--qrels", "q.qrels", "--overhead", 1.5),
        {"runs": ("a.run",), "qrels": "q.qrels", "max_grade": 3, "overhead": 1.5},
    ),
}


def case_of(*, use_labels=False, **given):
    """Return the case of some options, the others as the command line has them by default."""
    return prepare(Choices(**given), use_labels=use_labels)


def campaign_of(measure, method, budget, *, seed=0, expected=False, looks="off", **given):
    """Return the campaign that the command line's options mean."""
    case = case_of(seed=seed, **given)
    target = case.target(measure)
    paid = Budget.parse(str(budget)).of(target)
    design = case.design(method, target, budget=paid, expected=expected, adaptive_depth=looks)
    return Campaign(design, rng=case.seed, by_batches=True)


def grade_of(query, document):
    """Return the same grade for the same item, always."""
    return sum(map(ord, f"{query} {document}")) % 4


def write_oracle(folder):
    """Write the grade of everything; return the file's name."""
    pairs = [(f"q{q}", f"d{j}") for q in [*range(1, 41), "X"] for j in range(30)]
    write_lines(folder / "all.qrels", [f"{q} 0 {d} {grade_of(q, d)}" for q, d in pairs])
    return "all.qrels"


def answer(query, documents):
    """Judge as a function of `Campaign.run`."""
    return [grade_of(query, document) for document in documents]


def judged(rows, upto=99):
    """Return the rows of a sheet with the grades of all blocks up to one."""
    return [r | {"grade": grade_of(r["query_id"], r["doc_id"])} if int(r["block"]) <= upto else r for r in rows]


def judge_file(name, upto=99):
    """Fill in the grades of a sheet and return its rows."""
    rows = judged(csv_rows(name), upto)
    write_csv(name, rows)
    return rows


def new_files(sheet):
    """Return the options that name a sheet, and its sample beside it."""
    return "--out", f"{sheet}.sample.npz", "--sheet", sheet


def files(sheet):
    """Return the options that name a sheet and its sample, whatever is there."""
    return *new_files(sheet), "--force"


def both(sheet):
    """Return the arguments that name a sample and its sheet."""
    return f"{sheet}.sample.npz", sheet


def one_line(done, expected):
    """Check that a call ended with one line that matches."""
    assert (done.code, done.out) == (1, ""), done
    assert re.fullmatch(f"activeeval: (?:{expected})\n", done.err), done.err


def refused(done, *texts, code=1):
    """Check that a call printed nothing and ended with a code, and that its lines say some texts."""
    assert (done.code, done.out) == (code, ""), done
    for text in texts:
        assert text in done.err
