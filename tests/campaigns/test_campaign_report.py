"""The report of a campaign: its numbers against plain loops, what is not defined, what is escaped, who is named."""

import json
import math
import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from campaign_cases import Case
from report_cases import NASTY, SMALL, finished, report_of, wavering
from scipy import stats

from activeeval.campaigns.create_and_grow import top_up
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.report.page import campaign_text
from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import JudgeAnswer
from activeeval.core.errors import InputError
from activeeval.core.results import Interval
from activeeval.inputs.budgets import Budget

KEYS = [
    *("format", "headline", "footnotes", "next", "head", "scope", "confidence", "estimates", "notes", "readings"),
    *("losses", "queries", "cost", "calibration", "agreement", "checked", "skipped", "design", "log", "audit"),
]


# What is there


@pytest.mark.parametrize(
    ("options", "judges"),
    [
        ({"method": "passive", "budget": 20.0}, ("ann",)),
        ({"method": "random", "judges_per_item": 2, "policy": "mean-gain"}, ("ann", "bob")),
    ],
)
def test_everything_is_plain_and_every_form_is_written(options, judges):
    case = Case(**SMALL | options)
    for upto in (0, 5, 10**9):  # before the first, soon after, at the end
        case.judge(*judges, upto=upto, says=lambda judge, item: wavering(case, judge, item))
        found = report_of(case)
        row = json.loads(campaign_text(found, ".json"))
        assert list(row) == KEYS
        assert ("n_queries" in row["agreement"]) is (row["agreement"]["n_items"] > 0)
        assert repr(row) == repr(found.record())  # plain numbers and texts, all of them finite
        assert not re.search("NaN|Infinity", campaign_text(found, ".json"))
        if upto != 5:
            assert campaign_text(found, ".html").startswith("<!DOCTYPE html>")
        assert campaign_text(found, ".md").startswith("# Campaign week\n")


def test_the_same_log_gives_the_same_bytes_whenever_it_is_asked():
    case = finished(method="items", judges_per_item=2, says=None)
    before = [campaign_text(report_of(case), suffix) for suffix in (".html", ".json")]
    case.clock.now += 10**15
    assert [campaign_text(report_of(case), suffix) for suffix in (".html", ".json")] == before


def test_a_report_as_of_an_event_is_the_one_that_was_written_then():
    case = Case(**SMALL)
    case.judge("ann", upto=20)
    then = report_of(case)
    case.judge("ann")
    assert report_of(case, as_of=then.head.as_of) == then


# Head, estimates and readings


def test_readings_are_at_the_events_at_which_blocks_became_complete():
    case = finished("ann", "bob", "cyd", judges_per_item=2)
    found, blocks = report_of(case), {}
    for event in case.store.events("week"):
        if event.kind == "judged":
            block = state_of(case.store, "week", event.seq).block
            blocks.setdefault(block, event.seq)
    blocks.pop(0, None)
    assert {row.block: row.as_of for row in found.readings} == blocks
    assert [row.complete_as_of for row in found.design.blocks] == list(blocks.values())
    assert [row.spent for row in found.design.blocks] == [row.cost for row in found.design.blocks]


def test_values_over_time_are_those_of_the_library_called_directly():
    case = finished()
    found, direct, read = report_of(case), case.drawn(24.0).campaign, 0
    ends = iter(found.readings)
    while (unit := direct.ask()) is not None:
        direct.tell(unit, case.labels[list(unit.items)].tolist())
        if direct.complete_block[0] > read:
            read, estimate, one = direct.complete_block[0], direct.estimate(), next(ends).ends(0)
            ends_now = estimate.bounds(estimate.interval(0.95))
            assert (one["value"], one["low"], one["high"]) == pytest.approx((estimate.value, *ends_now), abs=1e-12)
            half = stats.t.ppf(0.975, estimate.degrees_of_freedom) * estimate.std_error
            low, high = estimate.bounds(Interval(estimate.value - half, estimate.value + half, 0.95))
            # as those of looks are on both sides of the value
            assert one["low_every_look"] <= max(low, estimate.limits[0]) + 1e-12
            assert one["high_every_look"] >= min(high, estimate.limits[1]) - 1e-12
    assert next(ends, None) is None
    assert found.estimates[0].value == found.readings[-1].ends(0)["value"]


def test_the_head_counts_what_plain_loops_count():
    case = Case(**SMALL, judges_per_item=2)
    case.judge("ann", "bob", upto=41, says=lambda judge, item: wavering(case, judge, item))
    head, events = report_of(case).head, case.store.events("week")
    said = Counter((event.query_id, event.doc_id) for event in events if event.kind == "judged")
    done = sum(n == 2 for n in said.values())
    assert (head.judged, head.spent, head.budget) == (done, float(done), 24.0)
    assert head.waiting == sum(one.items for one in head.waiting_by_block) == 24 - done
    assert head.hours == pytest.approx(sum(e.active_ms or 0 for e in events) / 3.6e6)
    assert head.as_of == events[-1].seq


def test_nothing_is_read_before_a_block_is_complete():
    case = Case(**SMALL)
    case.judge("ann", upto=3)
    found = report_of(case)
    assert (found.estimates, found.readings, found.queries, found.calibration) == ([], [], [], [])
    assert "no estimate is possible yet" in campaign_text(found, ".html")


def test_a_judgment_taken_back_opens_a_block_and_its_first_end_stays():
    case = finished()
    before = report_of(case)
    event = next(event for event in case.store.events("week") if event.kind == "judged")
    case.store.retract("week", event.seq, "ann", "wrong tab")
    assert report_of(case).estimates == []
    case.judge("bob", says=lambda *_: JudgeAnswer(kind="judged", grade=2 - min(event.grade, 1)))
    after = report_of(case)
    first = [row.as_of for row in before.readings]
    assert [row.as_of for row in after.readings] == [*first, case.store.last_seq("week")]


def test_a_topped_up_campaign_has_one_more_block():
    case = finished()
    before = report_of(case)
    top_up(case.store, "week", Budget.parse("20"))
    case.judge("ann", upto=2)
    between = report_of(case)
    assert [row.answers for row in between.readings] == [row.answers for row in before.readings]
    case.judge("ann")
    found = report_of(case)
    assert len(found.readings) == len(before.readings) + 1
    assert found.readings[-1].ends(0)["low_every_look"] is None
    assert [one.version for one in found.design.versions] == [1, 2]
    assert found.head.budget == 44.0
    assert len(found.design.blocks) == found.head.block


def test_rounds_are_read_together():
    case = finished()
    case.redraw(20.0)
    case.judge("ann", upto=4)
    between = report_of(case)
    assert (between.head.rounds, between.head.rounds_read) == (2, 1)
    waits = r"estimated from the first round alone: \d+ more items? waits? for grades"
    assert re.fullmatch(waits, "".join(note.text for note in between.notes))
    case.judge("ann")
    found = report_of(case)
    assert [row.rounds for row in found.readings][-2:] == [1, 2]
    assert [one.round for one in found.calibration] == [1, 2]
    assert len(found.design.blocks) == found.head.blocks == found.head.block
    shares = [row.share for row in found.queries[0].queries]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-12
    assert len(shares) <= 15
    campaign_text(found, ".html")


# Queries that matter


def test_shares_of_draws_with_replacement_are_those_of_a_plain_loop():
    case = finished(method="passive", budget=30.0)
    found, direct = report_of(case), case.drawn(30.0).campaign
    direct.run(lambda query, docs: [case.grade(query, doc) for doc in docs])
    values = direct.design.target.values(direct.grades)
    draws = direct.whole_selection.queries.tolist()
    mean = sum(values[q] for q in draws) / len(draws)
    squares, shifts = Counter(), Counter()
    for q in draws:
        squares[case.pool.query_texts[q]] += ((values[q] - mean) / len(draws)) ** 2
        shifts[case.pool.query_texts[q]] += (values[q] - mean) / len(draws)
    total = sum(squares.values())
    rows = {row.query_id: row for row in found.queries[0].queries}
    assert rows.keys() == {q for q in squares if squares[q] > 0}
    for q, row in rows.items():
        assert (row.share, row.shift, row.items) == pytest.approx((squares[q] / total, shifts[q], 4))


# Cost


def test_cost_by_judge_and_day_is_that_of_plain_loops():
    case = Case(**SMALL, judges_per_item=2)
    case.judge("ann", "bob", says=lambda judge, item: wavering(case, judge, item))
    found, events = report_of(case).cost, [e for e in case.store.events("week") if e.kind == "judged"]
    for row in found.judges:
        own = [e.active_ms / 1000 for e in events if e.judge == row.judge]
        assert (row.judged, row.timed) == (len(own), len(own))
        assert row.seconds_mean == pytest.approx(sum(own) / len(own))
        assert row.seconds_median == pytest.approx(float(np.median(own)))
    assert sum(one.answers for one in found.days) == len(events)
    assert found.model.items == len(events)


def test_without_times_there_is_no_cost_model(plain_report):
    assert plain_report.cost.model is None
    assert plain_report.head.hours is None
    assert "No judgment has a time" in campaign_text(plain_report, ".md")


# Calibration


@pytest.mark.parametrize(
    ("rules", "judges"), [({}, ("ann",)), ({"judges_per_item": 2, "policy": "mean-gain"}, ("ann", "bob"))]
)
def test_calibration_is_that_of_a_plain_loop(rules, judges):
    probs = np.random.default_rng(3).dirichlet([3, 1, 1], 96)
    case = Case(budget=60.0, probs=probs, **rules)
    case.judge(*judges, says=lambda judge, item: wavering(case, judge, item))
    (found,) = report_of(case).calibration
    rows = []
    grades = defaultdict(list)
    for event in case.store.events("week"):
        if event.kind == "judged":
            grades[event.query_id, event.doc_id].append(event.grade)
    events = {pair: sum(several) / len(several) for pair, several in grades.items()}
    assert any(grade % 1 for grade in events.values()) is bool(rules)
    positions, stored = case.pool.item_positions(), probs.astype(np.float32).astype(float)
    means, queries = stored @ np.arange(3) / stored.sum(axis=1), list(case.pool.query_texts)
    for unit in case.store.units("week"):
        for place in unit.places:
            expected = means[positions[queries.index(unit.query_id), place.doc_id]]
            rows.append((expected, events[unit.query_id, place.doc_id], 1 / place.probability, unit.query_id))
    assert sum(one.items for one in found.bins) == len(rows) == 60
    for one in [*found.bins, found.all]:
        own = [row for row in rows if one.lowest - 1e-9 <= row[0] <= one.highest + 1e-9]
        assert one.items == len(own)
        total = sum(w for *_, w, _ in own)
        mean = sum(y * w for _, y, w, _ in own) / total
        assert one.expected == pytest.approx(sum(m * w for m, _, w, _ in own) / total)
        assert one.observed == pytest.approx(mean)
        left = Counter()
        for _, y, w, query in own:
            left[query] += w * (y - mean)
        spread = math.sqrt(len(left) / (len(left) - 1) * sum(e * e for e in left.values()))
        assert one.std_error == pytest.approx(spread / total)


@pytest.mark.parametrize(("probs", "is_off"), [((0.05, 0.05, 0.9), True), (None, False)])
def test_a_model_that_is_off_is_told_and_one_that_is_right_is_not(probs, is_off):
    labels = Case(n=80).labels
    right = np.bincount(labels, minlength=3) / labels.size
    case = finished(n=80, budget=120.0, probs=right if probs is None else probs)
    (found,) = report_of(case).calibration
    assert found.is_off is is_off
    assert ("The grade model is off: it expects too much" in campaign_text(report_of(case), ".html")) is is_off


def test_without_a_model_nothing_is_said_of_one():
    found = report_of(finished(method="random"))
    assert (found.calibration, found.design.has_model) == ([], False)
    assert "grade model right" not in campaign_text(found, ".html")


# Text of others


def test_ids_and_texts_of_others_are_escaped_everywhere():
    def texts(pairs):
        return {"query": [f"{NASTY} {query}" for query, _ in pairs]}

    case = Case(**SMALL, judges_per_item=2, texts=texts)
    case.judge(NASTY, "bob", says=lambda *_: None)
    found = report_of(case)
    page, text = (campaign_text(found, suffix) for suffix in (".html", ".md"))
    assert NASTY in [one.judge for one in found.cost.judges]
    assert "<script" not in page.lower()
    assert "<script" not in text.lower()
    assert page.count("&lt;script&gt;") >= 10
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


def test_a_page_needs_nothing_but_itself(plain_report):
    page = campaign_text(plain_report, ".html")
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"|@import|<link', page)
    assert re.sub(r'xmlns(:xlink)?="[^"]*"', "", page).count("http") == 0
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)


# What is refused


def test_what_is_not_there_is_said():
    case = Case(**SMALL)
    with pytest.raises(InputError, match="there is no campaign"):
        summary(case.store, "other")
    with pytest.raises(InputError, match="the last event is"):
        report_of(case, as_of=10**6)
