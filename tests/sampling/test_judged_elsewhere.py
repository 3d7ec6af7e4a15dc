"""Judgments of a sample that come back without its id: from Label Studio, from a judgments file, from a bare table."""

import json

import pytest
from cli_files import csv_rows, write_csv

from activeeval.cli import run as run_command
from activeeval.core.errors import InputError
from activeeval.sampling.judged_samples import judged

RUN = {f"q{q}": {f"d{q}{k}": float(9 - k) for k in range(6)} for q in range(8)}


def grade_of(doc):
    return int(doc[-1]) % 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A sample, and its judgments as four tools write them; the last two hold a row that the sample does not."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "a.run").write_text("".join(f"{q} Q0 {d} 1 {s} r\n" for q, docs in RUN.items() for d, s in docs.items()))
    words = {"--run": "a.run", "--out": "s.sample", "--sheet": "s.csv"}
    named = [word for option, name in words.items() for word in (option, str(folder / name))]
    options = ["--max-grade", "2", "--measure", "DCG@5", "--budget", "20", "--seed", "1"]
    assert run_command(["sample", *named, *options]) == 0
    rows = [row | {"grade": grade_of(row["doc_id"])} for row in csv_rows(folder / "s.csv")]
    write_csv(folder / "full.csv", rows)
    pairs = [(row["query_id"], row["doc_id"], row["grade"]) for row in rows]
    judge = {"completed_by": {"email": "ann@x.org"}, "lead_time": 3.0, "was_cancelled": False}
    results = [[{"type": "choices", "value": {"choices": [f"{grade}"]}}] for *_, grade in pairs]
    tasks = [
        {"data": {"query_id": query, "doc_id": doc}, "annotations": [judge | {"result": result}]}
        for (query, doc, _), result in zip(pairs, results, strict=True)
    ]
    (folder / "studio.json").write_text(json.dumps(tasks))
    more = [*pairs, ("q0", "elsewhere", 1)]
    (folder / "bare.csv").write_text("query_id,doc_id,grade\n" + "".join(f"{q},{d},{g}\n" for q, d, g in more))
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in more))
    return folder


def estimate_from(files, name):
    drawn, progress, _ = judged(str(files / "s.sample"), [str(files / name)])
    return drawn.campaign.estimate(), progress, drawn.read_notes


@pytest.mark.parametrize("name", ["studio.json", "bare.csv", "qrels.txt"])
def test_judgments_without_the_samples_id_give_the_same_estimate(files, name):
    estimate, progress, notes = estimate_from(files, name)
    expected, of_sheet, _ = estimate_from(files, "full.csv")
    assert (estimate.value, estimate.std_error, progress) == (expected.value, expected.std_error, of_sheet)
    outside = [note.numbers["n"] for note in notes if note.code == "outside the sample"]
    assert outside == ([] if name == "studio.json" else [1])


def test_the_command_says_what_it_read_and_left_out(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert run_command(["estimate", "s.sample", "studio.json"]) == 0
    assert "studio.json is read as Label Studio's JSON" in capsys.readouterr().err
    assert run_command(["estimate", "s.sample", "bare.csv"]) == 0
    assert "bare.csv: 1 of 21 judgments is of items that the sample does not hold" in capsys.readouterr().err


def test_judgments_of_other_items_alone_are_refused(files, tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("query_id,doc_id,grade\nq0,elsewhere,1\n")
    with pytest.raises(InputError, match="none of its 1 judgment is of an item of the sample"):
        judged(str(files / "s.sample"), [str(path)])
