"""`activeeval campaign`: made, judged in several ways, read as of any event, written out; and what goes wrong."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import unicodedata
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from cli_cases import RUN, answer, campaign_of, files, grade_of, judge_file
from cli_files import csv_rows, json_rows, write_csv, write_lines

from activeeval.campaigns.scripted_judge import script_of
from activeeval.campaigns.seconds import fitted
from activeeval.campaigns.store import open_store
from activeeval.campaigns.top_k_judging import sided
from activeeval.core.errors import InputError
from activeeval.formats.judgments.from_files import read
from activeeval.formats.text.trec import read_prels, read_qrels
from activeeval.sampling.read_samples import unpacked_sample
from activeeval.topk import TopKLabelling

MADE = (*RUN, "--measure", "DCG@5", "--budget", "60", "--seed", 3)
OPTIONS = {"runs": ("a.run",), "max_grade": 3, "seed": 3}


@pytest.fixture
def oracle(folder):
    """Write the grade of everything."""
    names = [(f"q{q}", f"d{j}") for q in [*range(1, 41), "X"] for j in range(30)]
    write_lines(folder / "all.qrels", [f"{q} 0 {d} {grade_of(q, d)}" for q, d in names])
    return "all.qrels"


@pytest.fixture
def campaign(call, oracle):
    """Make a campaign and return a function that calls one of its commands."""
    made = call("campaign", "create", "w", *MADE)
    assert made.code == 0, made.err

    def run(command, *arguments):
        return call("campaign", command, "w", *arguments)

    return run


def estimate_row(campaign, *options):
    return campaign("estimate", *options, "-o", "jsonl").rows[0]


@pytest.mark.parametrize(("measure", "method"), [("DCG@5", "items"), ("ERR@5", "depth"), ("nDCG@5", "random")])
def test_the_estimate_is_that_of_the_library_called_directly(call, oracle, measure, method):
    options = ("--measure", measure, "--method", method, "--budget", 60, "--seed", 3)
    assert call("campaign", "create", "w", *RUN, *options).code == 0
    judged = call("campaign", "judge", "w", "--judge", "ann", "--oracle", oracle)
    direct = campaign_of(measure, method, 60, runs=("a.run",), max_grade=3, seed=3)
    expected = direct.run(answer)
    assert len(judged.rows) == expected.n_items
    row = call("campaign", "estimate", "w", "-o", "jsonl").rows[0]
    assert (row["value"], row["std_error"]) == (expected.value, expected.std_error)
    interval = expected.interval(0.95)
    assert (row["low"], row["high"], row["scope"], row["method"]) == (interval.low, interval.high, "pool", method)
    assert (row["waiting"], row["as_of"]) == (0, judged.rows[-1]["seq"])


def test_events_are_those_that_were_acknowledged(campaign, oracle):
    rows = campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", 7).rows
    assert len(rows) == 7
    for row in rows:
        assert row["grade"] == grade_of(row["query_id"], row["doc_id"])
        assert row["token"]
    events = json_rows(campaign("export", "--format", "jsonl").out)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    names = ("seq", "kind", "judge", "query_id", "doc_id", "grade")
    assert [tuple(e[n] for n in names) for e in events if e["kind"] == "judged"] == [
        tuple(row[n] for n in names) for row in rows
    ]
    assert {event["kind"] for event in events} == {"drawn", "ended", "shown", "judged"}


def test_another_question_of_the_same_sample(campaign, oracle):
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    assert estimate_row(campaign, "--measure", "P@3")["measure"] == "P@3"
    assert "not covered by this sample" in campaign("estimate", "--measure", "DCG@12").err


def test_one_item_at_a_time(campaign):
    item = json.loads(campaign("claim", "--judge", "Ann ").out)
    again = json.loads(campaign("claim", "--judge", "ann").out)
    assert (item["query_id"], item["doc_id"]) == (again["query_id"], again["doc_id"])
    assert item["token"] != again["token"]
    late = json.loads(campaign("submit", "--token", item["token"], "--grade", 1).out)
    assert late["kind"] == "late"
    done = json.loads(campaign("submit", "--token", again["token"], "--grade", 2).out)
    assert (done["kind"], done["grade"], done["judge"]) == ("judged", 2, "ann")
    assert json.loads(campaign("submit", "--token", again["token"], "--grade", 2).out)["repeated"] is True
    assert campaign("submit", "--token", again["token"], "--grade", 3).code == 1
    other = json.loads(campaign("claim", "--judge", "ann").out)
    one, following = campaign("submit", "--token", other["token"], "--cannot", "gone", "--then-claim").out.splitlines()
    assert (json.loads(one)["kind"], json.loads(one)["reason"]) == ("cannot", "gone")
    assert json.loads(following)["doc_id"] != other["doc_id"]
    retracted = json.loads(campaign("retract", "--seq", done["seq"], "--judge", "ann", "--reason", "slip").out)
    assert retracted["kind"] == "retracted"
    assert campaign("status", "-o", "jsonl").rows[0]["cannot"] == 1
    assert campaign("verify").code == 0


def test_a_sheet_goes_out_and_comes_back(campaign):
    done = campaign("next", "--out", "b1.csv")
    assert done.code == 0
    judge_file("b1.csv")
    assert "names no judge" in campaign("import", "b1.csv").err
    n = len(csv_rows("b1.csv"))
    assert f"b1.csv: {n} judgments stored" in campaign("import", "b1.csv", "--judge", "ann").err
    assert f"{n} were there already" in campaign("import", "b1.csv", "--judge", "ann").err
    assert f"{n} kept without counting" in campaign("import", "b1.csv", "--judge", "bob").err
    assert estimate_row(campaign)["block"] == 1
    assert campaign("next", "--out", "b2.csv").code == 0
    assert {row["block"] for row in csv_rows("b2.csv")} == {"2"}
    assert campaign("next", "--out", "b2.csv").code == 1  # is there already


def test_judgments_of_what_was_never_drawn_are_counted_and_left_out(campaign, folder, oracle):
    """Catches a log of a whole collection, an event each, for a sample of some dozen items."""
    events = campaign("status", "-o", "jsonl").rows[0]
    n, others = events["waiting"], ["nobody 0 x 1", "q1 0 never-drawn 2"]
    told = campaign("import", oracle, "--judge", "ann", "-o", "jsonl")
    row = told.rows[0]
    assert (row["stored"], row["late"], row["foreign"]) == (n, 0, 41 * 30 - n)
    assert f"{n} judgments stored, {41 * 30 - n} of items never drawn left out (--keep-foreign)" in told.err
    assert told.err.count("\n") == 1
    after = campaign("status", "-o", "jsonl").rows[0]
    assert (after["as_of"], after["late"]) == (events["as_of"] + n, 0)
    write_lines(folder / "others.qrels", others)
    assert campaign("import", "others.qrels", "--judge", "bob", "-o", "jsonl").rows[0]["foreign"] == 2
    assert campaign("status", "-o", "jsonl").rows[0] == after
    kept = campaign("import", "others.qrels", "--judge", "bob", "--keep-foreign", "-o", "jsonl")
    assert (kept.rows[0]["late"], kept.rows[0]["foreign"]) == (2, 0)
    assert "2 kept without counting (never drawn)" in kept.err
    assert campaign("status", "-o", "jsonl").rows[0]["late"] == 2
    assert (
        campaign("import", "others.qrels", "--judge", "bob", "--keep-foreign", "-o", "jsonl").rows[0]["repeated"] == 2
    )
    assert campaign("verify").code == 0


def test_the_sheet_of_another_campaign_is_refused(call, campaign):
    assert call("campaign", "create", "other", *MADE[:-1], 4).code == 0
    assert call("campaign", "next", "other", "--out", "o.csv").code == 0
    judge_file("o.csv")
    refused = campaign("import", "o.csv", "--judge", "ann")
    assert refused.code == 1
    assert "o.csv: the sheet is of sample" in refused.err


def test_what_is_written_out(campaign, folder, oracle):
    total = campaign("status", "-o", "jsonl").rows[0]["waiting"]
    assert campaign("export", "--format", "prels").code == 1  # no block is complete
    campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", total // 2 + 1)
    assert campaign("export", "--format", "qrels", "--out", "w.qrels").code == 0
    qrels = read_qrels("w.qrels")
    assert qrels.grades.size == total // 2 + 1
    assert campaign("export", "--format", "prels", "--out", "w.prels").code == 0
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    assert campaign("export", "--format", "prels", "--out", "w.prels", "--force").code == 0
    prels, row = read_prels("w.prels"), estimate_row(campaign)
    # of a pool of which everything is below the threshold Σ p g d / π is the Horvitz-Thompson estimate
    design = campaign_of("DCG@5", "items", 60, **OPTIONS).design
    ranks = dict(zip(design.target.ranking.items.tolist(), _ranks(design.target.ranking), strict=True))
    places, queries = design.pool.item_positions(), list(design.pool.query_texts)
    total = 0.0
    for query, doc, grade, prob in zip(prels.query_ids, prels.doc_ids, prels.grades, prels.probs, strict=True):
        rank = ranks[places[queries.index(query), doc]]
        total += (2.0**grade - 1) / np.log2(rank + 1) / prob / design.pool.n_queries
    assert abs(total - row["value"]) < 5 * row["std_error"]
    for form in ("csv", "weights", "quepid", "rank-eval"):
        assert campaign("export", "--format", form, "--out", f"{form}.csv").code == 0, form
    weights = csv_rows("weights.csv")
    assert len(weights) == prels.grades.size
    shown = {(r["query_id"], r["doc_id"]): float(r["inclusion_prob"]) for r in weights}
    assert shown == pytest.approx(
        dict(zip(zip(prels.query_ids, prels.doc_ids, strict=True), prels.probs.tolist(), strict=True))
    )
    request = json.loads((folder / "rank-eval.csv").read_text())
    assert request["metric"] == {"dcg": {"k": 5, "normalize": False}}
    assert sum(len(one["ratings"]) for one in request["requests"]) == prels.grades.size
    assert csv_rows("quepid.csv")[0].keys() == {"query", "docid", "rating"}


def _ranks(ranking):
    return (
        np.arange(ranking.items.size) - ranking.offsets[np.repeat(np.arange(ranking.lengths.size), ranking.lengths)] + 1
    )


def test_a_top_up_is_the_larger_sample(call, campaign, oracle):
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    before = estimate_row(campaign)
    assert campaign("top-up", "--budget", 40).code == 0
    assert estimate_row(campaign)["value"] == before["value"]
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    larger = campaign_of("DCG@5", "items", 100, **OPTIONS)
    expected = larger.run(answer)
    row = estimate_row(campaign)
    assert (row["value"], row["std_error"]) == pytest.approx((expected.value, expected.std_error), abs=1e-12)
    assert estimate_row(campaign, "--as-of", before["as_of"]) == before
    assert campaign("verify").code == 0


def test_rounds_are_read_together_and_ask_nothing_twice(call, campaign, oracle):
    again = ("create", "--redraw", *RUN, "--measure", "DCG@5", "--budget", "40", "--seed", 5)
    assert "a round is drawn once the previous rounds are completely judged" in campaign(*again).err
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    assert campaign(*again).code == 0
    rows = campaign("judge", "--judge", "bob", "--oracle", oracle).rows
    pairs = [(e["query_id"], e["doc_id"]) for e in json_rows(campaign("export", "--format", "jsonl").out)]
    judged = [
        pair
        for pair, e in zip(pairs, json_rows(campaign("export", "--format", "jsonl").out), strict=True)
        if e["kind"] == "judged"
    ]
    assert len(judged) == len(set(judged))
    assert rows
    told = campaign("estimate", "-o", "jsonl")
    assert "2 rounds, planned weights" in told.err
    assert campaign("verify").code == 0
    assert "draw a further round" in campaign("top-up", "--budget", 10).err


def test_known_grades_of_another_campaign_cost_nothing(call, campaign, oracle):
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    judged = {(e["query_id"], e["doc_id"]) for e in json_rows(campaign("export", "--format", "jsonl").out)}
    assert call("campaign", "create", "next", *MADE, "--judged-from", "w").code == 0
    rows = call("campaign", "judge", "next", "--judge", "ann", "--oracle", oracle).rows
    assert not {(r["query_id"], r["doc_id"]) for r in rows} & judged
    assert call("campaign", "create", "third", *MADE, "--judged-from", "nobody").code == 1


def test_the_gate_reads_a_campaign(call, oracle):
    both = ("--run", "b.run", "--versus-run", "a.run", "--max-grade", 3, "--measure", "DCG@5")
    assert call("campaign", "create", "g", *both, "--budget", 40, "--seed", 1).code == 0
    call("campaign", "judge", "g", "--judge", "ann", "--oracle", oracle)
    done = call("compare", "a.run", "b.run", "--campaign", "g", "-o", "jsonl")
    assert done.code == 11
    row = json.loads(done.out)
    assert (row["campaign"], row["as_of"]) == ("g", call("campaign", "status", "g", "-o", "jsonl").rows[0]["as_of"])
    assert re.fullmatch(
        r"b.run and a.run cannot be told apart: DCG@5 \S+ \(.*\), 27 queries, 40 judgments; all judgments that are "
        r"left give ± [\d.]+: these queries cannot decide it; about [\d,]+ more queries like these should decide; for "
        r"these queries about \d+ more judgments \(\d+ to \d+\) should decide, 19 times in 20\.",
        row["sentence"],
    ), row["sentence"]


def test_labels_of_the_pool_are_not_used_unless_asked_for(call):
    letor = ("--letor", "a.txt", "--scores", "a.score", "--train", "t.txt", "--measure", "DCG@5", "--budget", "20")
    assert call("campaign", "create", "l", *letor, "--max-grade", 3).code == 0
    used = call("campaign", "create", "m", *letor, "--max-grade", 3, "--judged", "a.txt")
    assert "no judgments are needed" in used.err
    row = call("campaign", "estimate", "m", "-o", "jsonl").rows[0]
    assert row["std_error"] == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("claim nobody --judge ann", "there is no such file"),
        ("claim v --db w.activeeval --judge ann", "'w'"),
        ("create w {made}", "'w'"),
        ("create a/b {made}", "a campaign's name"),
        ("submit w --token nonsense --grade 1", "token"),
        ("submit w --token x --grade 1 --later", "give one of --grade, --cannot and --later"),
        ("judge w --judge ann --oracle b.qrels", "b.qrels: no such file"),
        ("judge w --judge ann --oracle few.qrels", "has no grade"),
        ("retract w --seq 1 --judge ann", "1"),
        ("estimate w --db mysql://x/y", "mysql"),
        ("status w --db text.activeeval", "text.activeeval"),
        ("import w missing.csv --judge ann", "missing.csv: no such file"),
        ("export w --format qrels --out all.qrels", "all.qrels: is there already"),
        ("claim w --judge ' '", "--judge must be a name"),
    ],
)
def test_a_broken_call_is_one_line_and_changes_nothing(call, campaign, folder, line, said):
    write_lines(folder / "few.qrels", ["q1 0 d1 1"])
    (folder / "text.activeeval").write_text("hello " * 300)
    before = campaign("export", "--format", "jsonl").out
    words = (
        [word for part in line.split("' '") for word in part.split()]
        if "' '" not in line
        else [*line.split("' '")[0].split(), " "]
    )
    given = [str(one) for word in words for one in (MADE if word == "{made}" else (word,))]
    done = call("campaign", *given)
    assert done.code == (2 if said.startswith(("give one of", "--judge")) else 1)
    assert said in done.err
    assert done.code == 2 or done.err.count("\n") == 1
    after = json_rows(campaign("export", "--format", "jsonl").out)
    assert [e for e in after if e["kind"] != "shown"] == [e for e in json_rows(before) if e["kind"] != "shown"]


@pytest.mark.parametrize(
    ("table", "change", "says"),
    [
        ("event", "UPDATE event SET grade = 0 WHERE kind = 'judged'", "event {first} was altered"),
        ("event", "DELETE FROM event WHERE seq = 60", "event 60 is missing: after 59 comes 61"),
        (
            "campaign",
            "UPDATE campaign SET config = replace(config, 'majority', 'median')",
            "the campaign's set-up was altered",
        ),
        ("sample", "UPDATE sample SET digest = 'x'", "version 1 of the sample is not the one that was drawn"),
    ],
)
def test_no_number_is_read_from_a_log_that_was_tampered_with(call, campaign, folder, oracle, table, change, says):
    """Catches a number, and exit code 0, of what nobody has said."""
    assert call("campaign", "create", "v", *RUN, "--versus-run", "b.run", *MADE[len(RUN) :]).code == 0
    call("campaign", "judge", "v", "--judge", "ann", "--oracle", oracle)
    with sqlite3.connect(folder / "v.activeeval") as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE tbl_name = ? AND type = 'trigger'", [table]):
            raw.execute(f"DROP TRIGGER {name}")
        first = raw.execute("SELECT min(seq) FROM event WHERE grade > 0").fetchone()[0]
        raw.execute(change)
    raw.close()
    asked = (
        *(("campaign", command, "v") for command in ("estimate", "status", "report")),
        ("campaign", "export", "v", "--format", "qrels"),
        ("compare", "b.run", "a.run", "--campaign", "v"),
    )
    for arguments in asked:
        said = call(*arguments)
        assert (said.code, said.out) == (1, ""), (arguments, said)
        assert said.err.count("\n") == 1
        assert says.format(first=first) in said.err
        assert "campaign verify" in said.err
    assert not (folder / "v.html").exists()
    assert call("campaign", "verify", "v").code == 1


RANKED = (*RUN, "--measure", "kNDCG(k=3)@5", "--budget", "40%", "--seed", 2)


def test_comparisons_are_in_the_log_with_the_order_of_arrival(call, oracle):
    assert call("campaign", "create", "t", *RANKED).code == 0
    call("campaign", "judge", "t", "--judge", "ann", "--oracle", oracle, "--limit", 200)
    events = json_rows(call("campaign", "export", "t", "--format", "jsonl").out)
    drawn = {event["unit"]: event["body"]["members"][0] for event in events if event["kind"] == "drawn"}
    settled = [event for event in events if event["kind"] == "judged"]
    assert settled
    n_shown = n_turned = 0
    for end in settled:
        docs = drawn[end["unit"]]
        told = [e["body"] for e in events if e["kind"] == "preferred" and e["unit"] == end["unit"]]
        labelling = TopKLabelling(len(docs), min(3, len(docs)), order="given")
        for body in told:
            asked = [docs[item] for item in labelling.ask()]
            assert (body["first"], body["second"]) == sided(end["query_id"], *asked)
            n_shown += 1
            n_turned += body["first"] != asked[0]
            labelling.tell(None if body["preferred"] is None else docs.index(body["preferred"]))
        groups = [sorted(docs[item] for item in group) for group in labelling.groups()]
        assert list(chain.from_iterable(groups)) == end["body"]["top"]
        n_above = np.cumsum([0, *map(len, groups)])
        ranks = [int(n) + 1 for n, group in zip(n_above[:-1], groups, strict=True) for _ in group]
        assert end["body"]["ranks"] == (ranks if len(set(ranks)) < len(ranks) else [])
    assert abs(n_turned - n_shown / 2) < 4 * np.sqrt(n_shown) / 2  # a fair coin is further off once in 15,000 times


def test_which_side_a_document_is_shown_on_is_as_the_throw_of_a_coin():
    """Symmetric, so that a pair that is asked again stands the other way round; 2,000 pairs, |z| < 4."""
    pairs = [(f"q{k % 40}", f"a{k}", f"b{7 * k}") for k in range(2000)]
    turned = [sided(*pair) != pair[1:] for pair in pairs]
    assert abs(sum(turned) - 1000) < 4 * np.sqrt(2000) / 2
    for query, first, second in pairs[:50]:
        assert sided(query, second, first) == sided(query, first, second)[::-1]


def test_a_judge_at_a_terminal_resumes_and_takes_back(start, call, oracle):
    assert call("campaign", "create", "t", *RANKED).code == 0

    def typed(text):
        return start("campaign", "label", "t", "--judge", "ann", stdin=-1).communicate(text)

    assert "2 comparisons" in typed("1\n2\nq\n")[1]
    assert "0 of 11 queries settled by 2 comparisons" in typed("u\n1\nq\n")[1]
    events = json_rows(call("campaign", "export", "t", "--format", "jsonl").out)
    assert [e["body"]["what"] for e in events if e["kind"] == "preferred"] == ["compared"] * 2 + ["undone", "compared"]
    told = typed("=\n" * 100)[1]
    assert re.search(r"11 of 11 queries settled by \d+ comparisons; documents of \d+ ties share a rank\n", told)
    assert "11 of 11 queries settled by" in typed("u\n=\n")[1]
    assert call("campaign", "create", "v", *RANKED, "--judges-per-item", 2).code == 1


def test_comparisons_are_claimed_and_submitted_from_the_command_line(call, oracle):
    """As a web page of one's own would: the truth is that of the scripted judge."""
    grades = script_of(oracle).grades
    for name in ("t", "u"):
        assert call("campaign", "create", name, *RANKED, "--budget", "15%").code == 0
    asked, n = call("campaign", "claim", "t", "--judge", "ann").rows[0], 0
    assert list(asked) == [
        "token", "query_id", "doc_id", "unit", "block", "k", "lease_until", "was_put_off", "query_text", "text"
    ]  # fmt: skip
    while asked["token"] is not None:
        docs = [document["doc_id"] for document in asked["text"]["documents"]]
        values = [grades[asked["query_id"], doc] for doc in docs]
        answer = ("--tie",) if values[0] == values[1] else ("--preferred", docs[values.index(max(values))])
        told = ("campaign", "submit", "t", "--token", asked["token"], *answer, "--active-ms", 900, "--then-claim")
        done, asked = call(*told).rows
        n += 1
    assert (done["kind"], done["said"]["what"]) == ("preferred", "compared")
    again = call(*told).rows[0]
    assert again == done | {"repeated": True}
    scripted = call("campaign", "judge", "u", "--judge", "ann", "--oracle", oracle).rows
    assert len(scripted) == n
    estimates = [call("campaign", "estimate", name, "-o", "jsonl").rows[0]["value"] for name in ("t", "u")]
    assert estimates[0] == estimates[1]
    assert call("campaign", "verify", "t").code == 0
    for wrong in ([], ["--tie", "--grade", 1], ["--preferred", "d1", "--discard", "d2"]):
        assert "give one of --grade" in call("campaign", "submit", "t", "--token", "x", *wrong).err


def test_a_scripted_judge_reads_what_the_other_readers_read_and_starts_without_them(folder, oracle, tmp_path):
    (tmp_path / "l.txt").write_text("2 qid:q1 1:0.5 #docid = a b\n0 qid:q1 1:0.1 # docid=c\n1 qid:q2 2:3 #docid = d\n")
    for path in (oracle, str(tmp_path / "l.txt"), "a.txt"):
        assert script_of(path).grades == read(path).graded_pairs()
    write_lines(tmp_path / "twice.qrels", ["q1 0 d1 1", "q1 0 d1 1"])
    with pytest.raises(InputError, match=r"twice\.qrels:2"):
        script_of(str(tmp_path / "twice.qrels"))
    asked = "import sys; from activeeval.campaigns import scripted_judge as judge; "
    asked += "judge.script_of('all.qrels'); "
    asked += "print([name for name in ('numba', 'polars', 'scipy', 'sklearn', 'alembic') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_round_that_could_not_be_read_is_refused_before_anyone_judges_it(call, campaign, oracle):
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    other = campaign("create", "--redraw", *RUN, "--measure", "P@3", "--budget", "40", "--seed", 5)
    assert "must have the campaign's own questions and measures" in other.err
    for options, problem in (
        (("--budget", "40", "--lease", "9"), "--redraw takes a --budget and the rules of the campaign: no --lease"),
        (("--half-width", "1"), "--half-width: a further round has a --budget"),
        ((), "a further round needs a --budget"),
    ):
        assert problem in campaign("create", "--redraw", *RUN, "--measure", "DCG@5", *options).err
    assert "rankings" in campaign(
        "create", "--redraw", "--run", "b.run", "--max-grade", 3, "--measure", "DCG@5", "--budget", "40", "--seed", 5
    ).err.replace("pool", "rankings")
    assert campaign("create", "--redraw", *RUN, "--measure", "DCG@5", "--budget", "40", "--seed", 5).code == 0
    campaign("judge", "--judge", "bob", "--oracle", oracle)
    assert campaign("verify").code == 0


def test_what_could_not_be_judged_may_be_asked_again_by_a_later_round(campaign, oracle):
    """Another judge may know; whatever he says, the first round keeps what was said in it."""
    dead = []
    for _ in range(3):
        got = campaign("claim", "--judge", "ann").rows[0]
        dead.append((got["query_id"], got["doc_id"]))
        campaign("submit", "--token", got["token"], "--cannot", "a dead link")
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    first = estimate_row(campaign)
    assert campaign("create", "--redraw", *RUN, "--measure", "DCG@5", "--budget", "140", "--seed", 5).code == 0
    sheets, blocks = [], []
    while (told := campaign("next", "--out", "r2.csv", "--force")).code == 0:
        blocks.append({row["block"] for row in csv_rows("r2.csv")})
        rows = judge_file("r2.csv")
        sheets += [(row["query_id"], row["doc_id"]) for row in rows]
        blocks.append({row["block"] for row in rows})
        # the very judge who could not judge them then can now
        assert campaign("import", "r2.csv", "--judge", "ann").code == 0
    assert blocks[0] == {"5"}
    assert "no item waits" in told.err
    assert blocks[0] == {"5"}
    assert set(dead) < set(sheets)
    row = estimate_row(campaign)
    assert row["waiting"] == 0
    truth = campaign_of("DCG@5", "items", 200, **OPTIONS).run(answer)
    assert len(sheets) == len(set(sheets)) == truth.n_items - 57
    assert row["value"] == pytest.approx(truth.value, abs=1e-12)
    assert estimate_row(campaign, "--as-of", first["as_of"]) == first
    assert campaign("verify").code == 0


def test_what_is_no_grade_is_not_known_elsewhere(call, oracle):
    assert call("campaign", "create", "t", *RANKED).code == 0
    assert "holds ranks" in call("campaign", "create", "x", *MADE, "--judged-from", "t").err
    assert "campaign label" in call("campaign", "next", "t", "--out", "t.csv").err


@pytest.mark.parametrize(
    "db", ["sqlite://", "sqlite:///", "sqlite+pysqlite://", "sqlite:///%3Amemory%3A", ":memory:", ""]
)
def test_a_campaign_that_would_be_gone_is_not_made(call, folder, db):
    """Catches a campaign that is reported and that nobody finds again."""
    before = sorted(folder.iterdir())
    made = call("campaign", "create", "x", *MADE, "--db", db)
    assert (made.code, made.out) == (1, "")
    assert "a database in memory is lost when the command ends" in made.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", ["n?", "n%20m", "n?mode=ro", "file:n?mode=memory", "a:b@c", "n#m", "ñ & m"])
def test_a_campaign_is_in_the_file_of_exactly_its_name(call, folder, name):
    """Catches a name that is read as a URL: another file, or none."""
    for options, file in (((), f"{name}.activeeval"), (("--db", f"sub/{name}"), f"sub/{name}")):
        (folder / "sub").mkdir(exist_ok=True)
        made = call("campaign", "create", name, *MADE, *options, "-o", "jsonl")
        if ":" in name and "@" in name and options:
            assert "a server is named as postgresql://USER@HOST/DATABASE" in made.err
            continue
        row = made.rows[0]
        assert (folder / file).read_bytes().startswith(b"SQLite format 3")
        assert call("campaign", "status", name, "--db", row["db"], "-o", "jsonl").rows[0]["campaign"] == name
        assert call("campaign", "status", name, *options, "-o", "jsonl").rows[0]["as_of"] == row["as_of"]
    assert not [path.name for path in folder.iterdir() if path.name in ("n", "n m", "file:n", "n.activeeval")]


def test_an_id_that_a_spreadsheet_changed_is_never_read_as_another(campaign):
    assert campaign("next", "--out", "b1.csv").code == 0
    rows = judge_file("b1.csv")
    write_csv("b1.csv", [rows[0] | {"doc_id": "d999"}, *rows[1:]])
    assert "did a spreadsheet change an id?" in campaign("import", "b1.csv", "--judge", "ann").err
    assert campaign("status", "-o", "jsonl").rows[0]["judged"] == 0


# Clocks, levels, sheets of one judge, other tools' tables


def timed(call, oracle, name="w", seconds=lambda letters, grade: 20.0 + 2.0 * grade):
    """Judge all that is left with a clock."""
    grades = script_of(oracle).grades
    item = call("campaign", "claim", name, "--judge", "ann").rows[0]
    while item["token"]:
        grade = grades[item["query_id"], item["doc_id"]]
        ms = round(1000 * seconds(sum(map(len, item["text"].values())), grade))
        said = ("--token", item["token"], "--grade", grade, "--active-ms", ms, "--then-claim")
        item = call("campaign", "submit", name, *said).rows[1]


def test_a_further_round_costs_what_the_judges_clocks_say(call, oracle):
    call("campaign", "create", "w", *RUN, "--measure", "DCG@5", "--budget", "30", "--seed", 3)
    timed(call, oracle)
    again = ("create", "w", "--redraw", *RUN, "--measure", "DCG@5", "--budget", "20", "--seed", 5)
    told = call("campaign", *again)
    assert "costs by the judges' clocks: " in told.err
    assert "of 30 timed judgments; --cost uniform leaves them out" in told.err
    assert call("campaign", "cost", "w", "--out", "s.csv").code == 0
    with open_store("sqlite:///w.activeeval") as store:
        first, second = (unpacked_sample(row.payload, "w")[0].campaign.design for row in store.samples("w"))
        model = fitted(store.units("w"), store.events("w"))
    assert set(first.pool.item_costs) == {1.0}
    means = first.beliefs.expected_grades()[0]
    assert second.pool.item_costs == pytest.approx(model.item + model.grade * means)
    assert second.pool.query_costs == pytest.approx(np.full(second.pool.n_queries, model.query))
    assert [float(row["cost"]) for row in csv_rows("s.csv")] == pytest.approx(
        model.item + model.grade * second.beliefs.expected_grades()[0]
    )
    call("campaign", "judge", "w", "--judge", "ann", "--oracle", oracle)
    assert "2 rounds, planned weights" in call("campaign", "estimate", "w").err
    assert call("campaign", "verify", "w").code == 0


def test_a_round_that_is_told_its_costs_asks_no_clock(call, oracle):
    call("campaign", "create", "w", *RUN, "--measure", "DCG@5", "--budget", "30", "--seed", 3)
    timed(call, oracle)
    again = ("create", "w", "--redraw", *RUN, "--measure", "DCG@5", "--budget", "20", "--seed", 5, "--cost", "uniform")
    assert "clocks" not in call("campaign", *again).err
    with open_store("sqlite:///w.activeeval") as store:
        assert set(unpacked_sample(store.samples("w")[-1].payload, "w")[0].campaign.design.pool.item_costs) == {1.0}


def test_strictly_by_level_the_sample_is_read_at_any_time(call, oracle):
    assert call("campaign", "create", "w", *MADE, "--strict-order").code == 0
    judged = call("campaign", "judge", "w", "--judge", "ann", "--oracle", oracle, "--limit", 20).rows
    direct = campaign_of("DCG@5", "items", 60, **OPTIONS)
    units = [direct.ask() for _ in range(60)]
    assert [(row["query_id"], row["doc_id"]) for row in judged] == [(u.query_id, u.item_ids[0]) for u in units[:20]]
    for unit in units[:20]:
        direct.tell(unit, answer(unit.query_id, unit.item_ids))
    expected = direct.in_strict_order().estimate()
    told = call("campaign", "estimate", "w", "--strict-order", "-o", "jsonl")
    row = told.rows[0]
    assert (row["value"], row["std_error"], row["items"]) == (expected.value, expected.std_error, 20)
    assert row["threshold"] == direct.in_strict_order().selection.level
    interval = expected.interval(0.95)
    assert (row["low"], row["high"]) == (interval.low, interval.high)
    assert call("campaign", "estimate", "w", "-o", "jsonl").rows[0]["items"] == 15
    refused = call("campaign", "estimate", "w", "--strict-order", "--interval", "group-sequential").err
    assert "planned for the ends of blocks" in refused


def test_strictly_by_level_nothing_is_passed_over(call, oracle, folder):
    call("campaign", "create", "w", *MADE, "--strict-order")
    got = call("campaign", "claim", "w", "--judge", "ann").rows[0]
    assert "items cannot be deferred" in call("campaign", "submit", "w", "--token", got["token"], "--later").err
    assert "not by sheets" in call("campaign", "next", "w", "--out", "b.csv").err
    assert "by claim and submit" in call("campaign", "import", "w", oracle, "--judge", "bob").err
    assert call("campaign", "create", "v", *MADE).code == 0
    assert "create it with --strict-order" in call("campaign", "estimate", "v", "--strict-order").err
    levels = ("--measure", "DCG@5", "--budget", "60", "--method", "active")
    assert "items have no order" in call("campaign", "create", "u", *RUN, *levels, "--strict-order").err
    assert not Path("u.activeeval").exists()


def exported(campaign, form, path):
    assert campaign("export", "--format", form, "--out", path, "--force").code == 0


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
    assert "case.csv:2: the query 'the same' is the text of several queries (q1, q10, " in told.err
    assert told.code == 1


def test_cells_of_a_table_are_read_as_judges_write_them(campaign, folder):
    got = [campaign("claim", "--judge", name).rows[0] for name in ("ann", "bob", "cyd")]
    lines = [
        f"{item['query_id']},{item['doc_id']},{cell}" for item, cell in zip(got, ("2.0", "", "Cannot"), strict=True)
    ]
    write_lines(folder / "t.csv", ["qid,docid,label", *lines])
    assert "1 judgment stored, 1 item cannot be judged" in campaign("import", "t.csv", "--judge", "dan").err
    row = campaign("status", "-o", "jsonl").rows[0]
    assert (row["judged"], row["cannot"]) == (1, 1)
    write_lines(folder / "t.csv", ["qid,docid,label", lines[0].replace("2.0", "2,5")])
    assert campaign("import", "t.csv", "--judge", "dan").code == 1


def test_whoever_takes_back_anothers_judgment_says_why(campaign, oracle):
    seq = campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", 1).rows[0]["seq"]
    assert "retracting another judge's answer needs a reason" in campaign("retract", "--seq", seq, "--judge", "bob").err
    assert campaign("retract", "--seq", seq, "--judge", "bob", "--reason", "wrong query").code == 0


def test_the_head_of_a_log_shows_that_its_end_was_cut_off(campaign, oracle):
    campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", 5)
    head = campaign("verify").out.strip()
    campaign("judge", "--judge", "ann", "--oracle", oracle, "--limit", 1)
    assert campaign("verify", "--head", head).code == 0
    assert "is not the earlier head" in campaign("verify", "--head", head[:-1] + "x").err
    assert "SEQ:DIGEST" in campaign("verify", "--head", "x").err
    with sqlite3.connect("w.activeeval") as file:
        (guard,) = file.execute("SELECT sql FROM sqlite_master WHERE name = 'event_no_delete'").fetchone()
        file.execute("DROP TRIGGER event_no_delete")
        file.execute("DELETE FROM event WHERE seq > 61")
        file.execute("UPDATE assignment SET state = 'free', judge = NULL, token_hash = NULL, lease_until = NULL")
        file.execute(guard)
    file.close()
    assert campaign("verify").code == 0
    assert f"event {head.split(':')[0]}, its head earlier, is missing" in campaign("verify", "--head", head).err


def test_sheets_and_agreement_know_a_judge_by_either_writing_of_the_accent(call):
    """Catches a judge who is said to disagree with himself, or to agree."""
    apart = unicodedata.normalize("NFD", "josé")
    assert call("sample", *RUN, "--measure", "DCG@5", "--budget", 20, *files("s.csv")).code == 0
    rows = judge_file("s.csv")
    write_csv("a.csv", [row | {"judge": "José"} for row in rows])
    write_csv("b.csv", [row | {"judge": apart, "grade": (row["grade"] + 1) % 4} for row in rows])
    estimate = ("estimate", "s.csv.sample.npz", "a.csv", "b.csv", "--policy", "median")
    for command in (estimate, ("agreement", "a.csv", "b.csv")):
        said = call(*command)
        assert said.code == 1
        assert "has two grades" in said.err


def test_of_top_k_judging_what_is_free_are_queries(call, oracle):
    assert call("campaign", "create", "t", *RANKED).code == 0
    row = call("campaign", "status", "t", "-o", "jsonl").rows[0]
    assert list(row)[10:14] == ["cannot", "queries_free", "queries_in_hand", "late"]
    assert row["queries_free"] < row["waiting"]


def test_where_nothing_can_be_stored_is_said_before_anything_is_drawn(call):
    said = call("campaign", "create", "w", *MADE, "--db", "nowhere/w.activeeval")
    assert said.code == 1
    assert "there is no folder" in said.err
    assert "judgments" not in said.err


# Rounds that ask again for what could not be judged

AGAIN = ("create", "--redraw", *RUN, "--measure", "DCG@5", "--seed", 5)


def three_dead(campaign, oracle, budget):
    """Judge a first round but for three dead links, and draw a second."""
    for _ in range(3):
        got = campaign("claim", "--judge", "ann").rows[0]
        campaign("submit", "--token", got["token"], "--cannot", "a dead link")
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    assert campaign(*AGAIN, "--budget", budget).code == 0


def test_a_third_round_after_what_could_not_be_judged_in_the_first(campaign, oracle):
    three_dead(campaign, oracle, 70)
    campaign("judge", "--judge", "bob", "--oracle", oracle)
    again = [*AGAIN[:-1], 6]
    assert campaign(*again, "--budget", "20").code == 0
    campaign("judge", "--judge", "bob", "--oracle", oracle)
    assert "3 rounds, planned weights" in campaign("estimate").err
    assert campaign("verify").code == 0


def test_the_sheet_of_an_earlier_round_is_about_that_round(campaign, oracle):
    campaign("next", "--out", "b1.csv")
    rows = judge_file("b1.csv")
    cells = [row | ({"grade": "cannot", "note": f"dead {k}"} if k < 5 else {}) for k, row in enumerate(rows)]
    write_csv("b1.csv", cells)
    assert "10 judgments stored, 5 items cannot be judged" in campaign("import", "b1.csv", "--judge", "ann").err
    reasons = {e["reason"] for e in json_rows(campaign("export", "--format", "jsonl").out) if e["kind"] == "cannot"}
    assert reasons == {f"dead {k}" for k in range(5)}
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    assert campaign(*AGAIN, "--budget", 140).code == 0
    before = campaign("status", "-o", "jsonl").rows[0]
    assert (
        campaign("import", "b1.csv", "--judge", "ann").err.strip().endswith("0 judgments stored, 15 were there already")
    )
    exported(campaign, "csv", "w.csv")
    assert "0 judgments stored, 60 were there already" in campaign("import", "w.csv").err
    after = campaign("status", "-o", "jsonl").rows[0]
    assert (after["waiting"], after["cannot"], after["as_of"]) == (before["waiting"], before["cannot"], before["as_of"])
    write_csv("b1.csv", [row | ({"grade": "2"} if k == 0 else {}) for k, row in enumerate(cells)])
    assert "1 of them in place of earlier ones" in campaign("import", "b1.csv", "--judge", "ann").err
    last = json_rows(campaign("export", "--format", "jsonl").out)[-1]
    assert (last["unit"] <= 60, last["supersedes"] is not None) == (True, True)
    assert campaign("status", "-o", "jsonl").rows[0]["waiting"] == before["waiting"]


def test_a_log_in_which_items_were_asked_for_twice_goes_into_another_campaign(call, campaign, oracle):
    three_dead(campaign, oracle, 140)
    assert campaign("status", "-o", "jsonl").rows[0]["cannot"] == 0
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    table = campaign("export", "--format", "weights").out.splitlines()
    rows = [dict(zip(table[0].split(","), line.split(","), strict=True)) for line in table[1:]]
    assert [row["grade"] for row in rows if row["round"] == "1"].count("cannot") == 3
    exported(campaign, "jsonl", "w.jsonl")
    big = (*RUN, "--measure", "DCG@5", "--budget", "200", "--seed", 3)
    assert call("campaign", "create", "all", *big).code == 0
    assert call("campaign", "import", "all", "w.jsonl").code == 0
    assert call("campaign", "status", "all", "-o", "jsonl").rows[0]["waiting"] == 0
    values = [call("campaign", "estimate", name, "-o", "jsonl").rows[0]["value"] for name in ("w", "all")]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_all_files_of_a_call_and_all_their_judges_or_nothing(campaign, folder):
    got = [campaign("claim", "--judge", name).rows[0] for name in ("ann", "bob")]
    pairs = [f"{item['query_id']},{item['doc_id']}" for item in got]
    write_lines(folder / "good.csv", ["query_id,doc_id,grade,judge", f"{pairs[0]},1,cyd"])
    write_lines(folder / "bad.csv", ["query_id,doc_id,grade,judge", f"{pairs[0]},1,ann", f"{pairs[1]},7,bob"])
    before = campaign("status", "-o", "jsonl").rows[0]
    assert (
        "bad.csv:3: the grade 7 is above the largest of the scale, expected 0, 1, 2, 3"
        in campaign("import", "good.csv", "bad.csv").err
    )
    assert campaign("status", "-o", "jsonl").rows[0] == before
    assert campaign("import", "good.csv").code == 0
    write_lines(folder / "good.csv", ["query_id,doc_id,grade,judge", f"{pairs[0]},2,cyd"])
    assert "1 judgment stored, 1 of them in place of earlier ones" in campaign("import", "good.csv").err


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("query_id,doc_id,grade,rating", "columns rating and grade all hold the grade"),
        ("query_id,qid,doc_id,grade", "columns query_id and qid all hold the query"),
    ],
)
def test_of_two_columns_of_one_meaning_none_is_taken(campaign, folder, header, says):
    write_lines(folder / "t.csv", [header, "q1,1,1,1"])
    assert says in campaign("import", "t.csv", "--judge", "ann").err


def test_a_sample_that_nobody_drew_is_found_by_verify(campaign, oracle):
    """No trigger refuses to add a row; the log names no such version."""
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    with sqlite3.connect("w.activeeval") as file:
        file.execute("INSERT INTO sample SELECT campaign_id, 2, digest || 'x', payload, seq, 'topped up' FROM sample")
    file.close()
    assert "version 2 of the sample belongs to no event" in campaign("verify").err


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (
            ("create", "v", *MADE),
            {"campaign", "db", "as_of", "version", "seed", "items", "queries", "budget", "blocks"},
        ),
        (("next", "w", "--out", "n.csv"), {"sheet", "items", "block", "as_of"}),
        (("top-up", "w", "--budget", 9), {"campaign", "as_of", "version", "items"}),
        (("import", "w", "all.qrels", "--judge", "bob"), {"file", "stored", "replaced", "repeated", "late"}),
        (("report", "w"), {"report", "as_of"}),
        (("export", "w", "--format", "qrels", "--out", "new.qrels"), {"out", "format", "as_of"}),
        (("verify", "w"), {"campaign", "is_whole", "head", "problems"}),
    ],
)
def test_every_step_says_what_it_did_as_json(call, campaign, oracle, command, names):
    told = call("campaign", *command, "-o", "jsonl")
    assert told.code == 0, told.err
    assert set(told.rows[0]) >= names


def test_a_round_has_the_scale_of_its_campaign(call, campaign, oracle):
    """A round of the scale of the grades so far could not be read once a higher one came."""
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    asked = ("--run", "a.run", "--run", "b.run", "--measure", "DCG@5", "--budget", "40", "--seed", 5)
    refused = campaign("create", "--redraw", *asked, "--max-grade", 1)
    assert refused.code == 1
    assert "--max-grade: the scale of campaign" in refused.err
