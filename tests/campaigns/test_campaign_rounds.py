"""More of a campaign: top-ups, further rounds and what they cost, samples in strict order."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_cases import RUN, answer, campaign_of, grade_of, judge_file, refused
from cli_files import csv_rows, json_rows, write_csv
from command_cases import AGAIN, MADE, OPTIONS, estimate_row, exported

from activeeval.campaigns.seconds import fitted
from activeeval.campaigns.store import open_store
from activeeval.sampling.read_samples import unpacked_sample


def test_a_top_up_is_the_larger_sample(judged, oracle):
    before = estimate_row(judged)
    assert judged("top-up", "--budget", 40).code == 0
    assert estimate_row(judged)["value"] == before["value"]
    judged("judge", "--judge", "ann", "--oracle", oracle)
    expected = campaign_of("DCG@5", "items", 100, **OPTIONS).run(answer)
    row = estimate_row(judged)
    assert (row["value"], row["std_error"]) == pytest.approx((expected.value, expected.std_error), abs=1e-12)
    assert estimate_row(judged, "--as-of", before["as_of"]) == before
    assert judged("verify").code == 0


def test_rounds_are_read_together_and_ask_nothing_twice(judged, oracle):
    assert judged(*AGAIN, "--budget", "40").code == 0
    assert judged("judge", "--judge", "bob", "--oracle", oracle).rows
    events = json_rows(judged("export", "--format", "jsonl").out)
    pairs = [(event["query_id"], event["doc_id"]) for event in events if event["kind"] == "judged"]
    assert len(pairs) == len(set(pairs)) == 100
    assert "2 rounds, planned weights" in judged("estimate", "-o", "jsonl").err
    assert judged("verify").code == 0
    assert "draw a further round" in judged("top-up", "--budget", 10).err


def test_known_grades_of_another_campaign_cost_nothing(call, judged, oracle):
    pairs = {(e["query_id"], e["doc_id"]) for e in json_rows(judged("export", "--format", "jsonl").out)}
    assert call("campaign", "create", "next", *MADE, "--judged-from", "w").code == 0
    rows = call("campaign", "judge", "next", "--judge", "ann", "--oracle", oracle, "--limit", 9).rows
    assert not {(r["query_id"], r["doc_id"]) for r in rows} & pairs
    assert call("campaign", "create", "third", *MADE, "--judged-from", "nobody").code == 1


def test_a_round_that_could_not_be_read_is_refused_before_anyone_judges_it(campaign, judged):
    measured = (*RUN, "--measure", "DCG@5")
    for options, problem in (
        ((*measured, "--budget", 40, "--lease", "9"), "--redraw takes a --budget and the rules of the campaign: no "),
        ((*measured, "--half-width", "1"), "--half-width: a further round has a --budget"),
        (measured, "a further round needs a --budget"),
        ((*measured, "--budget", 40, "--run", "b.run", "--max-grade", 1), "--max-grade: the scale of campaign"),
        ((*RUN, "--measure", "P@3", "--budget", 40), "must have the campaign's own questions and measures"),
        (("--run", "b.run", *measured[2:], "--budget", 40), "pool"),
    ):
        assert problem in judged("create", "--redraw", *options).err


def three_dead(campaign, oracle):
    """Judge a first round but for three dead links; return them."""
    dead = []
    for _ in range(3):
        got = campaign("claim", "--judge", "ann").rows[0]
        dead.append((got["query_id"], got["doc_id"]))
        campaign("submit", "--token", got["token"], "--cannot", "a dead link")
    campaign("judge", "--judge", "ann", "--oracle", oracle)
    return dead


def test_what_could_not_be_judged_may_be_asked_again_by_a_later_round(campaign, oracle):
    """Another judge may know; whatever he says, the first round keeps what was said in it."""
    dead = three_dead(campaign, oracle)
    first = estimate_row(campaign)
    assert campaign(*AGAIN, "--budget", "140").code == 0
    sheets, blocks = [], []
    while (told := campaign("next", "--out", "r2.csv", "--force")).code == 0:
        rows = judge_file("r2.csv")
        sheets += [(row["query_id"], row["doc_id"]) for row in rows]
        blocks.append({row["block"] for row in rows})
        # the very judge who could not judge them then can now
        assert campaign("import", "r2.csv", "--judge", "ann").code == 0
    refused(told, "no item waits")
    assert blocks[0] == {"5"}
    assert set(dead) < set(sheets)
    row = estimate_row(campaign)
    assert row["waiting"] == 0
    truth = campaign_of("DCG@5", "items", 200, **OPTIONS).run(answer)
    assert len(sheets) == len(set(sheets)) == truth.n_items - 57
    assert row["value"] == pytest.approx(truth.value, abs=1e-12)
    assert estimate_row(campaign, "--as-of", first["as_of"]) == first
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
    assert "0 judgments stored, 15 were there already" in campaign("import", "b1.csv", "--judge", "ann").err
    exported(campaign, "csv", "w.csv")
    assert "0 judgments stored, 60 were there already" in campaign("import", "w.csv").err
    after = campaign("status", "-o", "jsonl").rows[0]
    assert (after["waiting"], after["cannot"], after["as_of"]) == (before["waiting"], before["cannot"], before["as_of"])
    write_csv("b1.csv", [row | ({"grade": "2"} if k == 0 else {}) for k, row in enumerate(cells)])
    assert "1 of them in place of earlier ones" in campaign("import", "b1.csv", "--judge", "ann").err
    last = json_rows(campaign("export", "--format", "jsonl").out)[-1]
    assert (last["unit"] <= 60, last["supersedes"] is not None) == (True, True)
    assert campaign("status", "-o", "jsonl").rows[0]["waiting"] == before["waiting"]


def timed(call):
    """Judge all that is left with a clock."""
    item = call("campaign", "claim", "w", "--judge", "ann").rows[0]
    while item["token"]:
        grade = grade_of(item["query_id"], item["doc_id"])
        said = ("--token", item["token"], "--grade", grade, "--active-ms", 20_000 + 2000 * grade, "--then-claim")
        item = call("campaign", "submit", "w", *said).rows[1]


def test_a_further_round_costs_what_the_judges_clocks_say(call, oracle):
    call("campaign", "create", "w", *RUN, "--measure", "DCG@5", "--budget", "30", "--seed", 3)
    timed(call)
    shutil.copy("w.activeeval", "u.activeeval")
    again = ("create", "w", "--redraw", *RUN, "--measure", "DCG@5", "--budget", "20", "--seed", 5)
    assert "clocks" not in call("campaign", *again, "--cost", "uniform", "--db", "u.activeeval").err
    with open_store("sqlite:///u.activeeval") as store:
        assert set(unpacked_sample(store.samples("w")[-1].payload, "w")[0].campaign.design.pool.item_costs) == {1.0}
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
    costs = [float(row["cost"]) for row in csv_rows("s.csv")]
    assert costs == pytest.approx(model.item + model.grade * second.beliefs.expected_grades()[0])
    call("campaign", "judge", "w", "--judge", "ann", "--oracle", oracle)
    assert "2 rounds, planned weights" in call("campaign", "estimate", "w").err
    assert call("campaign", "verify", "w").code == 0


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
