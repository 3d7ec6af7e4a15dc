"""`activeeval campaign`: made, judged in several ways, read as of any event; and what goes wrong."""

import io
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from cli_cases import RUN, answer, campaign_of, grade_of, refused
from cli_files import json_rows, write_lines
from command_cases import MADE, RANKED, estimate_row, once

from activeeval.campaigns.scripted_judge import script_of
from activeeval.campaigns.top_k_judging import sided
from activeeval.core.errors import InputError
from activeeval.formats.judgments.from_files import read
from activeeval.topk import TopKLabelling


def test_the_estimate_is_that_of_the_library_called_directly(call, oracle):
    measure, method = "ERR@5", "depth"
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
    assert all(row["grade"] == grade_of(row["query_id"], row["doc_id"]) and row["token"] for row in rows)
    events = json_rows(campaign("export", "--format", "jsonl").out)
    names = ("seq", "kind", "judge", "query_id", "doc_id", "grade")
    said = [event for event in events if event["kind"] == "judged"]
    assert [[event[name] for name in names] for event in said] == [[row[name] for name in names] for row in rows]
    assert {event["kind"] for event in events} == {"drawn", "ended", "shown", "judged"}


def test_another_question_of_the_same_sample(judged):
    assert estimate_row(judged, "--measure", "P@3")["measure"] == "P@3"
    assert "not covered by this sample" in judged("estimate", "--measure", "DCG@12").err


def test_one_item_at_a_time(campaign):
    (item,) = campaign("claim", "--judge", "Ann ").rows
    said = ("submit", "--token", item["token"], "--grade")
    (done,) = campaign(*said, 2).rows
    assert (done["kind"], done["grade"], done["judge"]) == ("judged", 2, "ann")
    assert campaign(*said, 2).rows[0]["repeated"] is True
    refused(campaign(*said, 3), "is a different answer")
    (other,) = campaign("claim", "--judge", "ann").rows
    one, following = campaign("submit", "--token", other["token"], "--cannot", "gone", "--then-claim").rows
    assert (one["kind"], one["reason"]) == ("cannot", "gone")
    assert following["doc_id"] != other["doc_id"]
    (retracted,) = campaign("retract", "--seq", done["seq"], "--judge", "ann", "--reason", "slip").rows
    assert retracted["kind"] == "retracted"
    assert campaign("status", "-o", "jsonl").rows[0]["cannot"] == 1
    assert campaign("verify").code == 0


def test_the_gate_reads_a_campaign(call, oracle):
    both = ("--run", "b.run", "--versus-run", "a.run", "--max-grade", 3, "--measure", "DCG@5")
    assert call("campaign", "create", "g", *both, "--budget", 40, "--seed", 1).code == 0
    call("campaign", "judge", "g", "--judge", "ann", "--oracle", oracle)
    done = call("compare", "a.run", "b.run", "--campaign", "g", "-o", "jsonl")
    assert done.code == 11
    row = json.loads(done.out)
    assert (row["campaign"], row["as_of"]) == ("g", call("campaign", "status", "g", "-o", "jsonl").rows[0]["as_of"])
    assert re.fullmatch(
        r"b.run and a.run cannot be told apart: DCG@5 \S+ \(.*\), \d+ queries, 40 judgments; all judgments that are "
        r"left give ± [\d.]+: these queries cannot decide it; about [\d,]+ more queries like these should decide; for "
        r"these queries about \d+ more judgments( \(\d+ to \d+\))? should decide, 19 times in 20\.",
        row["sentence"],
    ), row["sentence"]


def test_a_broken_call_is_one_line_and_changes_nothing(call, campaign, folder):
    write_lines(folder / "few.qrels", ["q1 0 d1 1"])
    for name in ("text.activeeval", "text.md"):
        (folder / name).write_text("hello " * 300)
    before = campaign("export", "--format", "jsonl").out
    for row in Path(__file__).with_name("broken-calls.tsv").read_text().splitlines()[1:]:
        line, said = row.split("\t")
        given = [str(one) for word in shlex.split(line) for one in (MADE if word == "{made}" else (word,))]
        done = call("campaign", *given)
        assert done.code == (2 if said.startswith(("give one of", "--judge")) else 1), line
        assert said in done.err
        assert done.code == 2 or done.err.count("\n") == 1, line
    after = json_rows(campaign("export", "--format", "jsonl").out)
    assert [e for e in after if e["kind"] != "shown"] == [e for e in json_rows(before) if e["kind"] != "shown"]


COMPARED = (*RUN, "--versus-run", "b.run", *MADE[len(RUN) :])
CONFIG = "UPDATE campaign SET config ="
NUMBERS = (
    *(("campaign", command, "v") for command in ("estimate", "status", "report")),
    ("campaign", "export", "v", "--format", "qrels"),
    ("compare", "b.run", "a.run", "--campaign", "v"),
)


@pytest.mark.parametrize(
    ("table", "change", "says", "asked"),
    [
        ("event", "UPDATE event SET grade = 0 WHERE kind = 'judged'", "event {first} was altered", NUMBERS),
        ("event", "DELETE FROM event WHERE seq = 60", "event 60 is missing: after 59 comes 61", NUMBERS[:1]),
        (
            "campaign",
            f"{CONFIG} replace(config, 'majority', 'median')",
            "the campaign's set-up was altered",
            NUMBERS[1:2],
        ),
        ("sample", "UPDATE sample SET digest = 'x'", "version 1 of the sample is not the one that", NUMBERS[2:]),
    ],
)
def test_no_number_is_read_from_a_log_that_was_tampered_with(call, folder, oracle, stored, table, change, says, asked):
    """Catches a number, and exit code 0, of what nobody has said."""

    def make():
        assert call("campaign", "create", "v", *COMPARED).code == 0
        call("campaign", "judge", "v", "--judge", "ann", "--oracle", oracle)

    once(stored, "v", make)
    with sqlite3.connect(folder / "v.activeeval") as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE tbl_name = ? AND type = 'trigger'", [table]):
            raw.execute(f"DROP TRIGGER {name}")
        first = raw.execute("SELECT min(seq) FROM event WHERE grade > 0").fetchone()[0]
        raw.execute(change)
    raw.close()
    for arguments in asked:
        said = call(*arguments)
        refused(said, says.format(first=first), "campaign verify")
        assert said.err.count("\n") == 1
    assert not (folder / "v.html").exists()
    assert call("campaign", "verify", "v").code == 1


def test_comparisons_are_in_the_log_with_the_order_of_arrival(call, ranked, oracle):
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


def test_a_judge_at_a_terminal_resumes_and_takes_back(call, ranked, monkeypatch):
    def typed(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return call("campaign", "label", "t", "--judge", "ann").err

    assert "2 comparisons" in typed("1\n2\nq\n")
    assert "0 of 11 queries settled by 2 comparisons" in typed("u\n1\nq\n")
    events = json_rows(call("campaign", "export", "t", "--format", "jsonl").out)
    assert [e["body"]["what"] for e in events if e["kind"] == "preferred"] == ["compared"] * 2 + ["undone", "compared"]
    told = typed("=\n" * 100)
    assert re.search(r"11 of 11 queries settled by \d+ comparisons; documents of \d+ ties share a rank\n", told)
    assert "11 of 11 queries settled by" in typed("u\n=\n")
    assert call("campaign", "create", "v", *RANKED, "--judges-per-item", 2).code == 1


def test_comparisons_are_claimed_and_submitted_from_the_command_line(call, oracle):
    """As a web page of one's own would: the truth is that of the scripted judge."""
    grades = script_of(oracle).grades
    for name in ("t", "u"):
        assert call("campaign", "create", name, *RANKED, "--budget", "9%").code == 0
    asked, n = call("campaign", "claim", "t", "--judge", "ann").rows[0], 0
    assert set(asked) >= {"token", "query_id", "unit", "block", "lease_until", "was_put_off", "query_text", "text"}
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


def test_of_top_k_judging_queries_are_free_and_no_grade_is_known_elsewhere(call, ranked):
    row = call("campaign", "status", "t", "-o", "jsonl").rows[0]
    assert list(row)[10:14] == ["cannot", "queries_free", "queries_in_hand", "late"]
    assert row["queries_free"] < row["waiting"]
    assert "holds ranks" in call("campaign", "create", "x", *MADE, "--judged-from", "t").err
    assert "campaign label" in call("campaign", "next", "t", "--out", "t.csv").err


@pytest.mark.parametrize("name", ["n%20m", "n?mode=ro", "file:n?mode=memory", "a:b@c", "ñ & m#"])
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


def test_a_sample_that_nobody_drew_is_found_by_verify(campaign):
    """No trigger refuses to add a row; the log names no such version."""
    with sqlite3.connect("w.activeeval") as file:
        file.execute("INSERT INTO sample SELECT campaign_id, 2, digest || 'x', payload, seq, 'topped up' FROM sample")
    file.close()
    assert "version 2 of the sample belongs to no event" in campaign("verify").err


def test_every_step_says_what_it_did_as_json(judged, call):
    for command, names in (
        (("create", "v", *MADE), {"db", "as_of", "version", "seed", "items", "queries", "budget", "blocks"}),
        (("next", "v", "--out", "n.csv"), {"sheet", "items", "block", "as_of"}),
        (("top-up", "w", "--budget", 9), {"campaign", "as_of", "version", "items"}),
        (("import", "w", "all.qrels", "--judge", "bob"), {"file", "stored", "replaced", "repeated", "late"}),
        (("report", "w"), {"report", "as_of"}),
        (("export", "w", "--format", "qrels", "--out", "new.qrels"), {"out", "format", "as_of"}),
        (("verify", "w"), {"campaign", "is_whole", "head", "problems"}),
    ):
        assert set(call("campaign", *command, "-o", "jsonl").rows[0]) >= names
