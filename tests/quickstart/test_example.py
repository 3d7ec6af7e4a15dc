"""The files to try commands with: what they hold, and that nothing of anybody is overwritten."""

import csv

from activeeval.formats.text.trec import read_qrels, read_run
from activeeval.quickstart.example import write_example


def test_runs_and_judgments_belong_together(tmp_path):
    names = ["old.run", "new.run", "qrels.txt", "llm.qrels", "truth.qrels", "judged.csv"]
    assert write_example(tmp_path / "new" / "example") == names
    folder = tmp_path / "new" / "example"
    runs = [read_run(folder / f"{name}.run") for name in ("old", "new")]
    pairs = [set(zip(run.query_ids.tolist(), run.doc_ids.tolist(), strict=True)) for run in runs]
    assert [len(each) for each in pairs] == [3000, 3000]
    truth, machine, judged = (read_qrels(folder / name) for name in ("truth.qrels", "llm.qrels", "qrels.txt"))
    listed = list(zip(truth.query_ids.tolist(), truth.doc_ids.tolist(), strict=True))
    assert set(listed) == pairs[0] | pairs[1]
    assert machine.doc_ids.tolist() == truth.doc_ids.tolist()
    assert 0.4 < (machine.grades == truth.grades).mean() < 0.8
    grades = dict(zip(listed, truth.grades.tolist(), strict=True))
    of_judged = zip(judged.query_ids.tolist(), judged.doc_ids.tolist(), strict=True)
    assert [grades[pair] for pair in of_judged] == judged.grades.tolist()
    assert len(set(judged.query_ids.tolist())) == 60
    with (folder / "judged.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 200
    assert all(grades[row["query_id"], row["doc_id"]] == int(row["grade"]) for row in rows)


def test_what_is_there_stays(tmp_path):
    (tmp_path / "new.run").write_text("mine")
    write_example(tmp_path)
    assert (tmp_path / "new.run").read_text() == "mine"
    assert (tmp_path / "old.run").stat().st_size > 1000
