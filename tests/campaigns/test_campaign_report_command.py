"""``activeeval campaign report``: what it writes, and what it leaves alone."""

import html
import json

import pytest
from command_cases import once

CREATE = (
    *("campaign", "create", "week", "--run", "a.run", "--versus-run", "b.run", "--max-grade", 3),
    *("--measure", "DCG@5", "--budget", 40, "--seed", 1),
)


ORACLE = ("--oracle", "q.qrels", "--unjudged", "irrelevant")
JUDGE = ("campaign", "judge", "week", "--judge", "ann", *ORACLE)


@pytest.fixture
def judged(call, stored):
    once(stored, "week", lambda: [call(*words) for words in (CREATE, JUDGE)])
    return call


def test_the_json_says_what_estimate_says(judged, folder):
    options = ("--scope", "population", "--confidence", "0.9")
    assert judged("campaign", "report", "week", "--out", "week.json", *options).code == 0
    found = json.loads((folder / "week.json").read_text(encoding="utf-8"))
    (row,) = judged("campaign", "estimate", "week", *options, "-o", "jsonl").rows
    (one,) = found["estimates"]
    assert [one[name] for name in ("value", "low", "high")] == [row[name] for name in ("value", "low", "high")]
    assert (found["scope"], found["confidence"], found["head"]["as_of"]) == ("population", 0.9, row["as_of"])


def test_lists_of_queries_that_are_judged_whole_have_the_grades_of_their_top_k(call, folder):
    top_k = ("--measure", "kNDCG(k=3)@5", "--budget", "40%", "--seed", 2)
    assert call("campaign", "create", "w", *CREATE[3:9], *top_k).code == 0
    assert call("campaign", "judge", "w", "--judge", "ann", *ORACLE).code == 0
    assert call("campaign", "report", "w", "--out", "w.json").code == 0
    (losses,) = json.loads((folder / "w.json").read_text(encoding="utf-8"))["losses"]
    assert (losses["label"], losses["depth"]) == ("κ-grade", 5)
    grades = {each["grade"] for query in losses["queries"] for each in query["items"] + query["versus_items"]}
    assert grades == {0, 1, 2, 3}


def test_the_page_begins_with_the_answer_and_what_to_do_next(judged, folder):
    answer = judged("campaign", "report", "week")
    assert (answer.code, answer.out) == (0, "")
    assert "wrote week.html, as of event" in answer.err
    page = (folder / "week.html").read_text(encoding="utf-8")
    assert (page.startswith("<!DOCTYPE html>"), page.endswith("</html>\n")) == (True, True)
    (row,) = judged("campaign", "estimate", "week", "-o", "jsonl").rows
    at_once, _, folded = page.partition("<details")
    assert row["sentence"] in at_once
    assert "40 of 40 judgments, by ann; all 4 blocks are complete." in at_once
    assert "<svg" in at_once
    assert "<table" not in at_once
    assert "activeeval campaign " in at_once
    assert row["definition"] in html.unescape(folded)


def test_status_says_the_answer_how_far_and_what_is_next(call):
    assert call(*CREATE).code == 0
    at_start = call("campaign", "status", "week")
    assert "0 of 40 judgments; no estimate is possible yet: 10 complete block 1 of 4." in at_start.out
    assert "Next: `activeeval campaign next week --out batch.csv`" in at_start.out
    assert call(*JUDGE, "--limit", 13).code == 0
    early = call("campaign", "status", "week")
    assert early.err == ""
    assert "13 of 40 judgments, by ann; block 1 of 4 is complete, 7 more complete the next." in early.out
    assert max(map(len, early.out.splitlines())) <= 100
    (row,) = call("campaign", "status", "week", "-o", "jsonl").rows
    missing = (
        "1 of 31 queries has no list in a.run: it counts as 0. 2 of 31 queries have no list in b.run: they count as 0."
    )
    assert early.out.replace("\n", " ").startswith(f"{missing} {row['sentence']}")
    assert (row["direction"], row["definition"]) == ("a.run − b.run", "DCG(dcg='exp-log2')@5")
    assert call(*JUDGE).code == 0
    assert " waits" not in call("campaign", "status", "week").out
