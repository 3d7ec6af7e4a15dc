"""Sheets and tables that go out of a campaign and come back, and what is written of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_cases import campaign_of, judge_file, refused
from cli_files import csv_rows, json_rows, write_csv, write_lines
from command_cases import MADE, OPTIONS, estimate_row, exported

from activeeval.formats.text.trec import read_prels, read_qrels


def test_judgments_of_what_was_never_drawn_are_counted_and_left_out(campaign, folder, oracle):
    """Catches a log of a whole collection, an event each, for a sample of some dozen items."""
    events = campaign("status", "-o", "jsonl").rows[0]
    n, others = events["waiting"], ["nobody 0 x 1", "q1 0 never-drawn 2"]
    told = campaign("import", oracle, "--judge", "ann", "-o", "jsonl")
    (row,) = told.rows
    assert (row["stored"], row["late"], row["foreign"]) == (n, 0, 41 * 30 - n)
    assert f"{n} judgments stored, {41 * 30 - n} of items never drawn left out (--keep-foreign)" in told.err
    assert told.err.count("\n") == 1
    after = campaign("status", "-o", "jsonl").rows[0]
    assert (after["as_of"], after["late"]) == (events["as_of"] + n, 0)
    write_lines(folder / "others.qrels", others)
    take = ("import", "others.qrels", "--judge", "bob", "-o", "jsonl")
    assert campaign(*take).rows[0]["foreign"] == 2
    assert campaign("status", "-o", "jsonl").rows[0] == after
    kept = campaign(*take, "--keep-foreign")
    assert (kept.rows[0]["late"], kept.rows[0]["foreign"]) == (2, 0)
    assert "2 kept without counting (never drawn)" in kept.err
    assert campaign("status", "-o", "jsonl").rows[0]["late"] == 2
    assert campaign(*take, "--keep-foreign").rows[0]["repeated"] == 2
    assert campaign("verify").code == 0


def test_the_sheet_of_another_campaign_is_refused(call, campaign):
    assert call("campaign", "create", "other", *MADE[:-1], 4).code == 0
    assert call("campaign", "next", "other", "--out", "o.csv").code == 0
    judge_file("o.csv")
    refused(campaign("import", "o.csv", "--judge", "ann"), "o.csv: the sheet is of sample")


def test_what_is_written_out(campaign, folder, oracle):
    total = campaign("status", "-o", "jsonl").rows[0]["waiting"]
    assert campaign("export", "--format", "prels").code == 1  # no block is complete
    campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", total // 2 + 1)
    exported(campaign, "qrels", "w.qrels")
    assert read_qrels("w.qrels").grades.size == total // 2 + 1
    exported(campaign, "prels", "w.prels")
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    exported(campaign, "prels", "w.prels")
    prels, row = read_prels("w.prels"), estimate_row(campaign)
    # of a pool of which everything is below the threshold Σ p g d / π is the Horvitz-Thompson estimate
    design = campaign_of("DCG@5", "items", 60, **OPTIONS).design
    ranking = design.target.ranking
    ranks = dict(zip(ranking.items.tolist(), np.concatenate([np.arange(n) for n in ranking.lengths]) + 1, strict=True))
    places, queries = design.pool.item_positions(), list(design.pool.query_texts)
    total = 0.0
    for query, doc, grade, prob in zip(prels.query_ids, prels.doc_ids, prels.grades, prels.probs, strict=True):
        rank = ranks[places[queries.index(query), doc]]
        total += (2.0**grade - 1) / np.log2(rank + 1) / prob / design.pool.n_queries
    assert abs(total - row["value"]) < 5 * row["std_error"]
    for form in ("csv", "weights", "quepid", "rank-eval"):
        exported(campaign, form, f"{form}.csv")
    weights = csv_rows("weights.csv")
    assert len(weights) == prels.grades.size
    shown = {(r["query_id"], r["doc_id"]): float(r["inclusion_prob"]) for r in weights}
    pairs = zip(prels.query_ids, prels.doc_ids, strict=True)
    assert shown == pytest.approx(dict(zip(pairs, prels.probs.tolist(), strict=True)))
    request = json.loads((folder / "rank-eval.csv").read_text())
    assert request["metric"] == {"dcg": {"k": 5, "normalize": False}}
    assert sum(len(one["ratings"]) for one in request["requests"]) == prels.grades.size
    assert csv_rows("quepid.csv")[0].keys() == {"query", "docid", "rating"}


def test_an_id_that_a_spreadsheet_changed_is_never_read_as_another(campaign):
    assert campaign("next", "--out", "b1.csv").code == 0
    rows = judge_file("b1.csv")
    write_csv("b1.csv", [rows[0] | {"doc_id": "d999"}, *rows[1:]])
    assert "did a spreadsheet change an id?" in campaign("import", "b1.csv", "--judge", "ann").err
    assert campaign("status", "-o", "jsonl").rows[0]["judged"] == 0


@pytest.mark.parametrize(("form", "path"), [("csv", "w.csv"), ("jsonl", "w.jsonl")])
def test_what_a_campaign_has_written_out_goes_into_another(call, campaign, oracle, form, path):
    campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", 9)
    got = campaign("claim", "--judge", "bob").rows[0]
    campaign("submit", "--token", got["token"], "--cannot", "gone")
    rows = json_rows(campaign("export", "--format", "jsonl").out)
    first = next(e for e in rows if e["kind"] == "judged")
    write_lines(Path("fix.csv"), ["query_id,doc_id,grade,judge", f"{first['query_id']},{first['doc_id']},0,ann"])
    campaign("import", "fix.csv")
    second = [e for e in rows if e["kind"] == "judged"][1]
    campaign("retract", "--seq", second["seq"], "--judge", "ann")
    exported(campaign, form, path)
    assert call("campaign", "create", "other", *MADE).code == 0
    assert call("campaign", "import", "other", path).err.strip().endswith("8 judgments stored, 1 item cannot be judged")
    for form in ("qrels", "csv"):
        exported(campaign, form, "one")
        assert call("campaign", "export", "other", "--format", form, "--out", "two", "--force").code == 0
        one, two = (Path(name).read_text().splitlines() for name in ("one", "two"))
        if form == "csv":  # the last are note, seq and time
            one, two = ([line.split(",")[:4] for line in lines] for lines in (one, two))
        assert one == two


def test_quepids_ratings_come_by_the_texts_of_queries(call, oracle, folder):
    write_lines(folder / "q.csv", ["query_id,text", *(f"q{q},words of {q % 20}" for q in range(1, 41))])
    assert call("campaign", "create", "w", *MADE, "--queries", "q.csv").code == 0
    call("campaign", "judge", "w", "--judge", "ann", "--oracle", oracle)
    assert "queries have the text of another" in call("campaign", "export", "w", "--format", "quepid").err
    write_lines(folder / "one.csv", ["query_id,text", *(f"q{q},words of {q}" for q in range(1, 41))])
    for name in ("a", "b"):
        assert call("campaign", "create", name, *MADE, "--queries", "one.csv").code == 0
    call("campaign", "judge", "a", "--judge", "ann", "--oracle", oracle)
    assert call("campaign", "export", "a", "--format", "quepid", "--out", "case.csv").code == 0
    assert "60 judgments stored" in call("campaign", "import", "b", "case.csv", "--judge", "ann").err
    values = [call("campaign", "estimate", name, "-o", "jsonl").rows[0]["value"] for name in ("a", "b")]
    assert values[0] == values[1]


def test_a_query_named_by_a_text_of_several_is_refused(call, folder):
    write_lines(folder / "q.csv", ["query_id,text", *(f"q{q},the same" for q in range(1, 41))])
    assert call("campaign", "create", "w", *MADE, "--queries", "q.csv").code == 0
    write_lines(folder / "case.csv", ["query,docid,rating", "the same,d1,2"])
    told = call("campaign", "import", "w", "case.csv", "--judge", "ann")
    refused(told, "case.csv:2: the query 'the same' is the text of several queries (q1, q10, ")


def test_all_files_of_a_call_and_all_their_judges_or_nothing(campaign, folder):
    got = [campaign("claim", "--judge", name).rows[0] for name in ("ann", "bob")]
    pairs = [f"{item['query_id']},{item['doc_id']}" for item in got]
    write_lines(folder / "good.csv", ["query_id,doc_id,grade,judge", f"{pairs[0]},1,cyd"])
    write_lines(folder / "bad.csv", ["query_id,doc_id,grade,judge", f"{pairs[0]},1,ann", f"{pairs[1]},7,bob"])
    before = campaign("status", "-o", "jsonl").rows[0]
    above = "bad.csv:3: the grade 7 is above the largest of the scale, expected 0, 1, 2, 3"
    refused(campaign("import", "good.csv", "bad.csv"), above)
    assert campaign("status", "-o", "jsonl").rows[0] == before
    assert campaign("import", "good.csv").code == 0
    write_lines(folder / "good.csv", ["query_id,doc_id,grade,judge", f"{pairs[0]},2,cyd"])
    assert "1 judgment stored, 1 of them in place of earlier ones" in campaign("import", "good.csv").err
