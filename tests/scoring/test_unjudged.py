"""What nobody judged, said in the same words by the command line and in Python, and never counted as judged."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import activeeval as ae

GRADES = {f"q{q}": {f"d{d}": (d + q) % 3 for d in range(6)} for q in range(20)}
OLD = {query: {doc: float(d) for d, doc in enumerate(row)} for query, row in GRADES.items()}
NEW = {query: {doc: -float((d * 7) % 5) for d, doc in enumerate(row)} for query, row in GRADES.items()}
LACKING = [("q1", "d2"), ("q0", "d5")]
SAID = "1 of 80 items asked for is not judged: it counts as grade 0"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, run in (("old.run", OLD), ("new.run", NEW)):
        lines = (f"{query} Q0 {doc} 1 {score} x\n" for query, row in run.items() for doc, score in row.items())
        (tmp_path / name).write_text("".join(lines))
    rows = [f"{q} 0 {d} {g}\n" for q, row in GRADES.items() for d, g in row.items() if (q, d) not in LACKING]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    return tmp_path


COLUMNS = ["query_id", "doc_id", "relevance"]
ROWS = [(q, d, np.nan if (q, d) in LACKING else float(g)) for q, row in GRADES.items() for d, g in row.items()]


def frame_of():
    return pd.DataFrame(ROWS, columns=COLUMNS)


def with_gaps(gap):
    """Judgments in which some items have something else than a grade."""
    return {q: {d: gap if (q, d) in LACKING else g for d, g in row.items()} for q, row in GRADES.items()}


FORMS = {
    "pandas": frame_of,
    "pandas, Int64": lambda: frame_of().astype({"relevance": "Int64"}),
    "polars, NaN": lambda: pl.DataFrame(ROWS, schema=COLUMNS, orient="row"),
    "polars, null": lambda: pl.from_pandas(frame_of()),
    "dict, NaN": lambda: with_gaps(np.nan),
    "dict, None": lambda: with_gaps(None),
    "pandas, NA": lambda: frame_of().astype(object).where(frame_of().notna(), pd.NA),
    "dict, -1": lambda: with_gaps(-1),
    "dict, left out": lambda: {q: {d: g for d, g in r.items() if (q, d) not in LACKING} for q, r in GRADES.items()},
}


@pytest.mark.parametrize("form", FORMS)
def test_no_grade_is_not_judged_in_every_form_and_every_verb(form):
    judged = FORMS[form]()
    scores = ae.score(judged, {"old": OLD}, "DCG@5")
    assert "old: 2 of 100 items down to rank 5 are not judged and earn nothing." in scores.footnotes
    assert scores.value == ae.score(FORMS["dict, left out"](), {"old": OLD}, "DCG@5").value
    with pytest.raises(ae.InputError, match="1 of 80 items asked for are not judged, in 1 queries"):
        ae.compare(OLD, NEW, judgments=judged, measure="DCG@5")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = ae.compare(OLD, NEW, judgments=judged, measure="DCG@5", unjudged="irrelevant")
    assert answer.of("pool").n_items == 79
    assert f"{SAID} (`unjudged` irrelevant)." in answer.footnotes


def test_complete_judgments_are_compared_and_nothing_is_said():
    answer = ae.compare(OLD, NEW, judgments=GRADES, measure="DCG@5", unjudged="irrelevant")
    assert answer.of("pool").n_items == 80
    assert "not judged" not in str(answer)
    assert answer.value == ae.compare(OLD, NEW, judgments=GRADES, measure="DCG@5").value


@pytest.mark.parametrize("more", [(), ("-o", "markdown"), ("--budget", "60")], ids=["text", "comment", "budget"])
def test_the_command_line_says_the_same(call, files, more):
    how = ("--qrels", "qrels.txt", "--measure", "DCG@5", "--unjudged", "irrelevant", *more)
    out = " ".join(call("compare", "old.run", "new.run", *how).out.split())
    expected = {"budget": int(more[1])} if "--budget" in more else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = ae.compare(
            *("old.run", "new.run"), judgments="qrels.txt", measure="DCG@5", unjudged="irrelevant", **expected
        )
    (said,) = [line for line in answer.footnotes if "not judged" in line] or [""]
    assert said.replace("`unjudged`", "--unjudged") in out
    assert f"{answer.of('pool').n_items} judgments" in out
    if not expected:
        assert answer.of("pool").n_items == 79
        assert said == f"{SAID} (`unjudged` irrelevant)."


def test_queries_without_judgments_are_said_in_python_too(call, files):
    cut = "".join(line for line in (files / "qrels.txt").read_text().splitlines(True) if not line.startswith("q7 "))
    (files / "qrels.txt").write_text(cut)
    said = "1 query of old.run has no judgments: ignored"
    assert said in call("score", "qrels.txt", "old.run", "DCG@5").err
    assert f"{said}." in ae.score("qrels.txt", "old.run", "DCG@5").footnotes
