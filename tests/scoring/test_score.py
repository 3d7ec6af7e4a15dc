"""`activeeval score` against ir_measures and against small cases by hand."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from cli_files import write_lines

import activeeval as ae
from activeeval.report.rendering import format_cell

DEFINITIONS = {"Judged@10": "Judged@10", "ERR@10": "ERR(max_rel=3)@10", "ndcg_cut_10": "nDCG(dcg='log2')@10"}


def of_ir_measures(name, qrels, run):
    ir_measures = pytest.importorskip("ir_measures")
    provider = "judged" if name.startswith("Judged") else "pytrec_eval"
    measure = ir_measures.parse_measure(name)
    read = list(ir_measures.read_trec_qrels(str(qrels))), list(ir_measures.read_trec_run(str(run)))
    return {m.query_id: m.value for m in ir_measures.providers.registry[provider].iter_calc([measure], *read)}


def test_judged_is_that_of_ir_measures_once_negative_grades_are_gone(call, folder):
    judged = [line for line in (folder / "q.qrels").read_text().splitlines() if not line.endswith("-1")]
    expected = of_ir_measures("Judged@10", write_lines(folder / "x.qrels", judged), folder / "a.run")
    rows = call("score", "q.qrels", "a.run", "Judged@10", "-q", "-n", "-o", "jsonl").rows
    held = [row for row in rows if row["query_id"] != "q5"]
    assert len(held) == 29
    for row in held:
        assert row["value"] == pytest.approx(expected[row["query_id"]]), row
    summary = call("score", "q.qrels", "a.run", "nDCG@10", "-o", "jsonl").rows[0]
    assert summary["judged"] == pytest.approx(np.mean([row["value"] for row in held]))


@pytest.mark.parametrize(("typed", "definition"), DEFINITIONS.items())
def test_the_measure_is_printed_as_typed_beside_its_definition(call, typed, definition):
    rows, in_full = (call("score", "q.qrels", "a.run", m, "-q", "-o", "jsonl").rows for m in (typed, definition))
    assert {row["measure"] for row in rows} == {typed}
    assert rows[-1]["definition"] == definition
    named = {"measure": "", "sentence": ""}
    assert [row | named for row in in_full] == [row | named for row in rows]
    assert {row["measure"] for row in in_full} == {definition}


QRELS = ["1 0 a 2", "1 0 b 0", "1 0 c -1", "2 0 a 1", "3 0 a 1"]
RUN = ["1 Q0 c 1 9 r", "1 Q0 b 2 9 r", "1 Q0 a 3 9 r", "1 Q0 z 4 9 r", "2 Q0 a 1 2 r", "2 Q0 z 2 1 r", "8 Q0 a 1 1 r"]


@pytest.fixture
def by_hand(folder):
    write_lines(folder / "h.run", RUN)
    return str(write_lines(folder / "h.qrels", QRELS))


@pytest.mark.parametrize(
    ("ties", "first_two", "judged"),
    # the two first of query 1: z c, c b (rank), c b (input)
    [("id", 0.0, (0 / 2 + 1 / 2) / 2), ("rank", 0.0, (1 / 2 + 1 / 2) / 2), ("input", 0.0, (1 / 2 + 1 / 2) / 2)],
)
def test_missing_ignored_tied_and_judged_by_hand(call, by_hand, ties, first_two, judged):
    answer = call("score", by_hand, "h.run", "P@2", "--ties", ties, "-o", "jsonl")
    row = answer.rows[0]
    assert (row["missing"], row["ignored"], row["tied_at_cutoff"], row["queries"]) == (1, 1, 1, 3)
    assert (row["value"], row["judged"]) == pytest.approx(((first_two + 1 / 2 + 0) / 3, judged))
    n = {"id": 3, "rank": 2, "input": 2}[ties]  # of query 1 z and c, or c alone; z of query 2
    ignored, unjudged, *few = answer.err.splitlines()
    assert ignored == "activeeval: 1 query of h.run has no judgments: ignored"
    assert unjudged == f"activeeval: h.run: {n} of 4 items down to rank 2 are not judged and earn nothing"
    assert ["in most queries less than half" in line for line in few] == [True] * (judged < 0.5)
    for form in ("text", "md"):
        read = call("--quiet", "score", by_hand, "h.run", "P@2", "-o", form)
        assert (read.out.splitlines()[0], read.err) == ("1 of 3 queries has no list in h.run: it counts as 0.", "")


def test_unjudged_items_are_counted_once_for_each_run_and_cutoff(call, by_hand, folder):
    write_lines(folder / "all.run", ["1 Q0 a 1 3 r", "1 Q0 b 2 2 r", "2 Q0 a 1 1 r", "3 Q0 a 1 1 r"])
    measures = ("P@1", "DCG@1", "nDCG", "AP", "P@3")
    answer = call("score", by_hand, "h.run", *measures, "--versus", "all.run", "-o", "jsonl")
    told = [
        "h.run: 1 of 2 items down to rank 1 is not judged and earns nothing",
        "h.run: 3 of 6 ranked items are not judged and earn nothing",
        "h.run: 3 of 5 items down to rank 3 are not judged and earn nothing",
    ]
    assert [line for line in answer.err.splitlines() if "not judged" in line] == [f"activeeval: {x}" for x in told]
    footnotes = ae.score(by_hand, ["h.run", "all.run"], list(measures)).footnotes
    assert [note for note in footnotes if "not judged" in note] == [f"{x}." for x in told]


def test_no_query_is_tied_at_a_cutoff_that_no_list_reaches(call, by_hand):
    for cutoff in ("@4", "@1000", ""):
        assert call("score", by_hand, "h.run", f"DCG{cutoff}", "-o", "jsonl").rows[0]["tied_at_cutoff"] == 0


def test_options_q_and_n(call):
    asked = ("score", "q.qrels", "a.run", "P@5", "RR", "-o", "jsonl")
    assert len(call(*asked).rows) == 2
    queries = call(*asked, "-q", "-n").rows
    assert len(queries) == 60
    assert all(set(row) == {"query_id", "run", "measure", "value"} for row in queries)
    both = call(*asked, "-q").rows
    assert (len(both), [row["query_id"] for row in both].count("all")) == (62, 2)


def test_machines_read_all_digits_and_people_four(call, by_hand):
    shown = {form: call("score", by_hand, "h.run", "RR@1", "-o", form).out for form in ("tsv", "jsonl", "wide", "md")}
    assert [repr(1 / 3) in out for out in shown.values()] == [True, True, False, False]
    assert [shown[form].count("0.3333") > 0 for form in ("wide", "md")] == [True, True]


def test_two_runs_are_a_sentence_a_table_and_what_its_words_mean(call):
    command = ("score", "q.qrels", "a.run", "P@5", "DCG@3", "--versus", "b.run")
    expected = call(*command, "-o", "jsonl").rows
    missing, said, table, note = call(*command).out.strip().split("\n\n")
    assert missing.splitlines() == [f"1 of 30 queries has no list in {name}.run: it counts as 0." for name in "ab"]
    assert said.replace("\n", " ") == " ".join(row["sentence"] for row in expected)
    assert [row["sentence"].split(" (")[0] for row in expected] == [
        "a.run and b.run cannot be told apart: P@5 −0.0067",
        "a.run and b.run cannot be told apart: DCG@3 −0.65",
    ]
    header, *lines = [re.split(r" {2,}", line.strip()) for line in table.splitlines()]
    for row, line in zip(expected, lines, strict=True):
        cells = dict(zip(header, line, strict=True))
        counts = f"{row['wins']}/{row['ties']}/{row['losses']}"
        shown = [row["measure"], f"{row['value']:.4f}", f"{row['versus_value']:.4f}", counts]
        assert [cells[name] for name in ("measure", "a.run", "b.run", "w/t/l")] == shown
        assert float(cells["difference"].replace("−", "-")) == round(row["difference"], 4)
        assert cells["p"] == f"{row['p_value']:.2f}".lstrip("0")
    assert "P@5 is P(rel=1)@5. DCG@3 is DCG(dcg='exp-log2')@3." in note
    wide = call(*command, "-o", "wide").out
    assert all(name in wide and format_cell(value) in wide for row in expected for name, value in row.items())


def test_latex_escapes_what_latex_reads_and_an_id_with_a_tab_stays_in_its_cell(call, folder):
    write_lines(folder / "x.qrels", ["a_1%$&{} 0 d 1"])
    write_lines(folder / "x.run", ["a_1%$&{} Q0 d 1 1 r"])
    out = call("score", "x.qrels", "x.run", "DCG(gains={0:0,1:1})", "-q", "-n", "-o", "latex").out
    assert "a\\_1\\%\\$\\&\\{\\} & x.run & DCG(gains=\\{0:0,1:1\\})" in out
    pl.DataFrame({"qid": ["a\tb"], "docno": ["d"], "label": [1], "score": [1.0]}).write_parquet("x.parquet")
    out = call("score", "x.parquet", "x.parquet", "P@1", "-q", "-n", "-o", "tsv").out
    assert out.splitlines()[1] == "a b\tx.parquet\tP@1\t1.0"


def test_a_run_does_not_differ_from_itself(call):
    row = call("score", "q.qrels", "a.run", "DCG@5", "--versus", "a.run", "-o", "jsonl").rows[0]
    assert row["difference"] == row["difference_low"] == row["difference_high"] == 0
    assert (row["wins"], row["ties"], row["losses"]) == (0, 30, 0)


def test_the_first_run_is_the_baseline_unless_another_is_named():
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}
    runs = {name: {query: {"a": a, "b": 1.0} for query in qrels} for name, a in (("old", 0.0), ("new", 2.0))}
    assert [score.baseline for score in ae.score(qrels, runs, "RR")] == ["old", "old"]
    assert [score.baseline for score in ae.score(qrels, runs, "RR", baseline="new")] == ["new", "new"]
