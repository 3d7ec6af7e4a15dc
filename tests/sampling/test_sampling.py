"""`activeeval sample`, the way through the judges' spreadsheet, `activeeval estimate`, and `activeeval design`."""

import re
from itertools import groupby

import numpy as np
import pytest
from cli_cases import CASES, LETOR, RUN, answer, both, campaign_of, files, grade_of, judge_file, judged, one_line
from cli_files import csv_rows, write_csv, write_lines
from each_once import each_once

from activeeval.core.answers import verdict_of
from activeeval.core.estimation import INTERVALS
from activeeval.core.interval_ends import half_widths
from activeeval.core.results import LEVELS
from activeeval.report.numbers import counted

COMPARED = (*RUN, "--versus-run", "b.run")
COLUMNS = ["sample", "block", "query_id", "doc_id", "judge", "grade", "note"]
SPREADSHEETS = {
    "plain": {},
    "semicolons and a mark": {"delimiter": ";", "encoding": "utf-8-sig"},
    "tabs": {"delimiter": "\t"},
}


@pytest.fixture
def estimated(call):
    """Return a function from judged rows, as a spreadsheet saves them, to the estimate's row."""

    def estimate(rows, *options, **spreadsheet):
        write_csv("j.csv", rows, **spreadsheet)
        return call("estimate", "d.csv.sample.npz", "j.csv", "-o", "jsonl", *options).rows[0]

    return estimate


# There and back


THROUGH = [
    ("one run", "plain", "DCG@5", "items"),
    ("one run", "semicolons and a mark", "RR(rel=2)@3", "depth"),
    ("a comparison", "tabs", "RBP", "items_plain"),
    ("a forest", "plain", "P@3", "whole"),
    ("a missing query", "tabs", "ERR(max_rel=3)", "passive"),
]


@pytest.mark.parametrize(("case", "spreadsheet", "measure", "method"), THROUGH)
def test_the_way_through_a_spreadsheet_is_the_campaign(drawn, estimated, case, measure, method, spreadsheet):
    options, given = CASES[case]
    chosen = ("--measure", measure, "--method", method, "--adaptive-depth", "off")
    rows = drawn(*options, *chosen, "--budget", "50%", "--seed", 5)
    row = estimated(judged(rows), **SPREADSHEETS[spreadsheet])
    campaign = campaign_of(measure, method, "50%", seed=5, **given)
    expected = campaign.run(answer)
    assert row["sentence"].startswith(given.get("runs", given.get("scores"))[0])
    assert row["model"] in ("uniform", "forest")
    assert all(caution["level"] in LEVELS for caution in row["cautions"])
    wanted = row_of(campaign, expected, given)
    assert {name: row[name] for name in row.keys() - {"sentence", "model", "cautions"}} == wanted


OF_ESTIMATE = {
    name: f"n_{name}" if name in ("draws", "queries", "items") else name
    for name in ("value", "std_error", "method", "draws", "effective_sample_size", "queries", "items")
}


def row_of(campaign, expected, given):
    """Return the row of a judged campaign about the pool."""
    target, interval, versus = campaign.design.target, expected.interval(), given.get("versus_run")
    system = given.get("runs", given.get("scores"))[0]
    half = float(half_widths(np.array(expected.std_error**2), np.array(expected.degrees_of_freedom), 0.95))
    lists = [ranking for ranking in (target.ranking, target.versus) if ranking is not None]
    missing = [int(np.sum(np.diff(each.offsets) == 0)) for each in lists]
    row = {name: getattr(expected, field) for name, field in OF_ESTIMATE.items()}
    row |= {"measure": target.name, "definition": str(target.measure), "system": system, "scope": "pool"}
    row |= {"question": "run", "direction": system, "missing": missing[0], "p_value": None, "confidence": 0.95}
    row |= {"low": interval.low, "high": interval.high, "half_width_at_end": pytest.approx(half, rel=1e-9)}
    row |= {"interval": "t", "judged": expected.n_items, "waiting": 0, "cannot": 0, "spent": expected.cost}
    if versus is not None:
        wide = campaign.estimate(scope="population").interval()
        row |= {"question": "difference", "versus": versus, "direction": f"{system} − {versus}"}
        row |= {"p_value": expected.p_value, "versus_missing": missing[1]}
        row |= {"other_scope": "population", "other_low": wide.low, "other_high": wide.high}
        for name, each in (("verdict", interval), ("other_verdict", wide)):
            row[name] = verdict_of(expected.value, each.low, each.high)
    return row


@pytest.mark.parametrize("method", ["depth", "active"])
def test_the_sheet_says_what_to_judge_and_nothing_that_biases(drawn, method):
    rows = drawn(*COMPARED, "--measure", "DCG@5", "--budget", "40%", "--method", method)
    campaign = campaign_of("DCG@5", method, "40%", runs=("a.run",), versus_run="b.run", max_grade=3)
    planned = [(u.block, u.query_id, doc) for u in campaign.planned for doc in u.item_ids]
    shown = [(int(r["block"]), r["query_id"], r["doc_id"]) for r in rows]
    assert sorted(shown) == sorted(planned)
    assert len(planned) == len(set(planned))
    for of in (shown, planned):
        assert [block for block, *_ in of] == sorted(block for block, *_ in of)
    assert len(list(groupby(shown, key=lambda row: row[:2]))) == len({row[:2] for row in shown})
    assert (list(rows[0]), {row["grade"] for row in rows}, len({row["sample"] for row in rows})) == (COLUMNS, {""}, 1)
    assert {block for block, *_ in planned} == ({1} if method == "active" else {1, 2, 3, 4})


def test_a_query_that_the_run_lacks_counts_as_zero(drawn, estimated):
    rows = drawn(*RUN, "--qrels", "q.qrels", "--budget", 10_000, "--measure", "P@2")
    assert "q5" not in {row["query_id"] for row in rows}
    row = estimated([row | {"grade": 1} for row in rows])
    assert (row["value"], row["queries"], row["items"]) == (pytest.approx(29 / 30), 29, 58)


@each_once(
    ("command", [("sample", "--budget", "33%", *files("x.csv")), ("design", "--out", "x.csv", "--force")]),
    ("options", [(*LETOR, "--cost", "log-length:3"), (*LETOR[:4], "--max-grade", 3), ("--qrels", "q.qrels", *RUN)]),
)
def test_no_label_of_the_pool_is_looked_at(call, folder, command, options):
    assert call(*command, *options).code == 0
    before = (folder / "x.csv").read_bytes()
    lines = (folder / "a.txt").read_text().splitlines()
    write_lines(folder / "a.txt", [f"{(int(line[0]) * 2 + 1) % 4}{line[1:]}" for line in lines])
    lines = (folder / "q.qrels").read_text().splitlines()
    write_lines(folder / "q.qrels", [" ".join([*line.split()[:3], "0"]) for line in lines])
    assert call(*command, *options).code == 0
    assert (folder / "x.csv").read_bytes() == before


def test_with_a_train_fraction_only_the_labels_of_queries_set_aside_count(call, folder, drawn):
    options = ("--qrels", "q.qrels", *RUN, "--train", 0.5)
    call("design", *options, "--out", "x.csv", "--force")
    before = (folder / "x.csv").read_bytes()
    pool = {row["query_id"] for row in csv_rows("x.csv")}
    assert len(pool) == 15
    lines = [line.split() for line in (folder / "q.qrels").read_text().splitlines()]
    write_lines(folder / "q.qrels", [" ".join([*c[:3], "2" if c[0] in pool else c[3]]) for c in lines])
    call("design", *options, "--out", "x.csv", "--force")
    assert (folder / "x.csv").read_bytes() == before
    write_lines(folder / "q.qrels", [" ".join([*c[:3], str(grade_of(c[0], c[2]))]) for c in lines])
    call("design", *options, "--out", "x.csv", "--force")
    assert (folder / "x.csv").read_bytes() != before


# One sample, early and for other questions


REACH = r"{} is not covered by this sample: item 'd\d+' of query 'q\w+' could not be drawn .*"


OUT_OF_REACH = {
    (): {
        ("--measure", "DCG@6"): REACH.format(r"DCG@6"),
        ("--measure", "ERR@5"): r"item designs are for additive .*, not for ERR.*@5; name this measure when .*",
        ("--question", "versus"): r"the sample was not made for the second ranking: .* 'versus' to it; .*",
        ("--question", "difference"): r"the sample was not made for the second ranking: .* 'difference' .*",
        ("--measure", "Judged@3"): r"Judged@3 can be scored but not sampled for: .*; choose .*",
        ("--measure", "DCG(gains={0:0,1:1})"): r"the scale goes up to grade 3, above the largest of DCG.*, 1",
        ("--measure", "foo"): r"unknown measure 'foo'; known: .*",
    },
    ("--method", "depth"): {("--measure", "nDCG@3"): REACH.format(r"nDCG@3")},
    ("--method", "active"): {("--measure", "RR"): REACH.format(r"RR")},
    ("--versus-run", "b.run"): {("--question", "run", "--measure", "DCG@6"): REACH.format(r"DCG.*@6")},
}
"""By the options of a sample: what is asked of it, and the line that refuses it."""


def test_a_question_out_of_reach_is_one_clear_line(drawn, call):
    for options, refused in OUT_OF_REACH.items():
        drawn(*RUN, "--measure", "DCG@5", "--budget", "40%", *options)
        judge_file("d.csv")
        for asked, expected in refused.items():
            one_line(call("estimate", *both("d.csv"), *asked), expected)


@pytest.mark.parametrize(("measure", "method"), [("ERR@5", "depth"), ("P@3", "active")])
def test_what_cannot_be_judged_is_counted_and_bounded(drawn, call, measure, method):
    rows = judged(drawn(*RUN, "--measure", measure, "--budget", "40%", "--method", method))
    gone = rows[1]["query_id"], rows[1]["doc_id"]
    write_csv("d.csv", changed(rows, 1, grade=" Cannot"))
    done = call("estimate", *both("d.csv"), "-o", "jsonl", "--explain")
    row = done.rows[0]
    assert (row["judged"], row["waiting"], row["cannot"]) == (len(rows) - 1, 0, 1)
    campaign = campaign_of(measure, method, "40%", runs=("a.run",), max_grade=3)
    expected = campaign.run(lambda q, ds: [None if (q, d) == gone else grade_of(q, d) for d in ds])
    assert row["value"] == expected.value
    assert "could not be judged" not in call("estimate", *both("d.csv")).err
    (bounds,) = re.findall(r"1 item could not be judged, .*: between (\S+) and (\S+) at", done.err)
    assert [float(bound) for bound in bounds] == pytest.approx([expected.cannot.low, expected.cannot.high], rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "versus", "scope"), [("t", None, "population"), ("group-sequential", "b.run", "pool")]
)
def test_intervals_and_scopes(drawn, estimated, kind, versus, scope):
    compared = () if versus is None else ("--versus-run", versus)
    rows = judged(drawn(*RUN, *compared, "--measure", "ERR@5", "--budget", "67%", "--seed", 3))
    row = estimated(rows, "--interval", kind, "--scope", scope, "--confidence", 0.9)
    campaign = campaign_of("ERR@5", "depth", "67%", seed=3, runs=("a.run",), versus_run=versus, max_grade=3)
    campaign.run(answer)
    expected, interval = campaign.estimate(scope=scope), campaign.interval(INTERVALS[kind](), 0.9, scope=scope)
    assert (row["interval"], row["scope"], row["confidence"]) == (kind, scope, 0.9)
    assert (row["value"], row["std_error"]) == (expected.value, expected.std_error)
    assert (row["low"], row["high"]) == (interval.low, interval.high)
    assert row["low"] < row["value"] < row["high"]


# Sheets that went wrong


def changed(rows, place, **cells):
    return [row | cells if i == place else row for i, row in enumerate(rows)]


LOST = r"d\.csv: item 'd\d+' of query '\w+' is in the sample, but not in the sheet \(\d+ such items\): .*"
FOREIGN = r"d\.csv:\d+: item '.*' of query '.*' is in the sheet, but not in the sample"
CHANGED = FOREIGN + r"; did a spreadsheet change it\? expected '[dq]\w+'"
SLIPS = {
    "a row lost": (lambda rows: rows[1:], LOST),
    "the last block lost": (lambda rows: [row for row in rows if row["block"] != "4"][: len(rows) - 1], LOST),
    "all but one row lost": (lambda rows: rows[:1], LOST),
    "a document renamed": (lambda rows: changed(rows, 2, doc_id="dX"), CHANGED),
    "a query renamed": (lambda rows: changed(rows, 2, query_id="qZ"), CHANGED),
    "ids as a spreadsheet takes them": (lambda rows: changed(rows, 2, doc_id="0" + rows[2]["doc_id"]), CHANGED),
    "a row of another query": (lambda rows: [*rows, rows[0] | {"query_id": "q99"}], FOREIGN),
    "a row doubled with another grade": (
        lambda rows: [*rows, rows[0] | {"grade": (rows[0]["grade"] + 1) % 4}],
        r"d\.csv:\d+: item 'd\d+' of query 'q\d+' has two grades, \d and \d",
    ),
    "a row doubled that cannot be judged": (
        lambda rows: [*rows, rows[0] | {"grade": "cannot"}],
        r"d\.csv:\d+: item 'd\d+' of query 'q\d+' has two grades, \d and cannot",
    ),
    "a grade above the scale": (
        lambda rows: changed(rows, 1, grade=4),
        r"d\.csv:3: column grade: holds '4', expected 0, 1, 2, 3, empty or cannot",
    ),
    "a grade of NaN": (lambda rows: changed(rows, 1, grade="nan"), r"d\.csv:3: column grade: .*nan.*"),
    "half a grade": (lambda rows: changed(rows, 1, grade=1.5), r"d\.csv:3: column grade: .*1\.5', .*"),
    "another sample": (
        lambda rows: [row | {"sample": "f0"} for row in rows],
        r"d\.csv: the sheet is of sample 'f0', expected one of sample '\w{32}'",
    ),
    "two samples": (lambda rows: changed(rows, 1, sample="f0"), r"d\.csv:3: column sample: holds 'f0', the first .*"),
}  # fmt: skip


def test_a_sheet_that_was_spoilt_is_one_clear_line(call, drawn):
    drawn(*RUN, "--measure", "DCG@5", "--budget", "27%")
    rows = judge_file("d.csv")
    for spoil, expected in SLIPS.values():
        write_csv("d.csv", spoil(rows))
        one_line(call("estimate", *both("d.csv")), expected)


# Budgets, seeds, what is said


def test_expected_is_for_draws_with_replacement(call, folder):
    asked = ("sample", *RUN, "--budget", "40%", "--expected", *files("d.csv"))
    done = call(*asked, "--method", "random")
    assert (done.code, "--expected is for draws with replacement: passive, active, " in done.err) == (2, True)
    assert not (folder / "d.csv").exists()
    assert re.search(r"[\d.]+ of \d+\.\d+ judgments \(met on average\)", call(*asked, "--method", "active").err)


SHUFFLED = {
    "runs": (*RUN, "--versus-run", "b.run"),
    "probabilities": ("--run", "a.run", "--model", "probs=q.all.csv"),
    "a forest": ("--qrels", "q.qrels", *RUN, "--train", 0.4),
}
WAYS = [("DCG@5", "active"), ("ERR@5", "depth"), ("DCG@5", "items")]


@pytest.mark.parametrize(("name", "way"), list(zip(SHUFFLED, WAYS, strict=True)))
@pytest.mark.usefixtures("grown_anew")
def test_one_seed_one_sample_whatever_the_order_of_rows(drawn, estimated, folder, name, way):
    chosen = (*SHUFFLED[name], "--measure", way[0], "--method", way[1], "--budget", "30%")
    lines = (folder / "q.probs.csv").read_text().splitlines()
    write_lines(folder / "q.all.csv", [*lines, "qX,d0,0.25,0.25,0.25,0.25"])
    found, values = [], []
    for order, seed in ((0, 4), (1, 4), (1, 5)):
        for file in ("a.run", "b.run", "q.qrels"):
            rows = (folder / file).read_text().splitlines()
            np.random.default_rng(order).shuffle(rows)
            write_lines(folder / file, rows if order else sorted(rows))
        rows = drawn(*chosen, "--seed", seed)
        values.append(estimated(judged(rows))["value"])
        found.append([(r["block"], r["query_id"], r["doc_id"]) for r in rows])
    assert found[0] == found[1] != found[2]
    assert values[0] == values[1]


def test_the_talk_says_what_was_drawn(call):
    done = call("sample", *RUN, "--measure", "P@4", "--budget", 23, "--seed", 2, *files("x.csv"))
    rows = csv_rows("x.csv")
    n_queries, sizes = len({row["query_id"] for row in rows}), [0] * 4
    for row in rows:
        sizes[int(row["block"]) - 1] += 1
    told = f"seed 2, sample {rows[0]['sample']}: wrote x.csv.sample.npz, and x.csv for the judges"
    blocks = f"{', '.join(map(str, sizes[:3]))} and {counted(sizes[3], 'item')}"
    expected = (
        "no training data: .*uniform grade model.*",
        r"expected from about \d+ queries: P@4, .* ± [\d.]+",
        ".*see the half-width after the first block.*",
        f"{len(rows)} items of {n_queries} queries, {len(rows)} of 23 judgments",
        f"4 blocks of {blocks}: the sample can be read when a block is complete",
        f"{n_queries} judged queries give a rough interval; with 30 or more it is reliable",
        "for P@4, judges give grades 0 … 3",
        re.escape(told),
        "`activeeval estimate x.csv.sample.npz x.csv` reads both",
    )
    for line, text in zip(done.err.splitlines(), expected, strict=True):
        assert re.fullmatch(f"activeeval: {text}", line), line
    assert done.out == ""
    said = call("sample", *RUN, "--measure", "nDCG@5", "--budget", 1000, *files("d.csv")).err
    n = len(csv_rows("d.csv"))
    assert f"activeeval: everything will be judged, {n} items of 30 queries, {n} of 1000 judgments\n" in said
    assert "rough" not in said
    ideal = r"compare with the best order of all \d+ items of the pool, .*: relevant documents outside are not counted"
    assert re.search(ideal, said)
    assert call("--quiet", "sample", *RUN, "--budget", "27%", *files("y.csv")).err == ""


def test_costs_are_said_only_where_they_differ(call, folder):
    """With an overhead, or with items that cost more than others, a budget is no number of judgments."""
    plain = call("sample", *RUN, "--budget", "40%", *files("d.csv")).err
    assert re.search(r"items of \d+ queries, \d+ of [\d.]+ judgments\n", plain)
    assert not re.search(r"\bcost|mean item|dearest", plain)
    n_items = len((folder / "a.txt").read_text().splitlines())
    write_lines(folder / "x.costs", [f"{1 + k % 2}" for k in range(n_items)])
    for pool in ((*RUN, "--overhead", 1), (*LETOR, "--cost", "x.costs")):
        said = call("sample", *pool, "--budget", "40%", *files("e.csv"), "--force").err
        assert re.search(r"queries, cost [\d.]+ of [\d.]+; 1 is the judging of one mean item\n", said), said
