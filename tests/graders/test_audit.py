"""A machine's grades held against people's labels: each figure on another path, and how often intervals hold."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_files import csv_rows, write_csv
from kit import SHARED
from scipy.stats import kendalltau

from activeeval import InputError, audit as audit_sample, sample, score
from activeeval.graders.audit import audit_judged
from activeeval.graders.audit_orders import orders_of
from activeeval.graders.audit_report import audit_headline, audit_table
from activeeval.graders.audit_values import JudgedItems, value_rows
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.report.rendering import render
from activeeval.sampling.draw_case import draw
from activeeval.sampling.estimate import EstimateRequest, estimate
from activeeval.sampling.rounds import judged_rounds

DATA = SHARED / "data" / "dl-passage-llm"
QUERIES, DOCS, TOP = 30, 10, 3
RANDOM = np.random.default_rng(5)
EASE = RANDOM.normal(size=(QUERIES, DOCS)) + 0.7 * RANDOM.normal(size=(QUERIES, 1))
GRADES = np.digitize(EASE, [-0.4, 0.5, 1.3])
MACHINE = np.digitize(EASE + 0.8 * RANDOM.normal(size=EASE.shape), [-1.0, 0.0, 0.8])
SCORES = {name: EASE + sigma * RANDOM.normal(size=EASE.shape) for name, sigma in (("a", 0.6), ("b", 1.2), ("c", 3.0))}


def audit(rounds, graders, policy="refuse", **asked):
    return audit_judged(judged_rounds(rounds, policy), graders, policy=policy, **asked)


def rows_of(table):
    return [(f"q{q}", f"d{d}", table[q, d]) for q in range(QUERIES) for d in range(DOCS)]


def qrels_of(table):
    return {f"q{q}": {f"d{d}": int(table[q, d]) for d in range(DOCS)} for q in range(QUERIES)}


def alone(run, table, measure="DCG@5"):
    """Return what scoring a run by a table of grades as labels comes to."""
    return score(qrels_of(table), run, measure)[run].value


def write_qrels(path, table):
    Path(path).write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows_of(table)))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, scores in SCORES.items():
        lines = [f"{query} Q0 {doc} 1 {value:.6f} {name}\n" for query, doc, value in rows_of(scores)]
        Path(f"{name}.run").write_text("".join(lines))
    write_qrels("llm.qrels", MACHINE)
    write_qrels("people.qrels", GRADES)
    return tmp_path


def drawn(runs=("a.run", "b.run"), share=0.4, measures=("DCG@5",), questions=(), method=None, **more):
    """Draw a sample of runs, and judge its sheet as people do."""
    case = prepare(Choices(runs=runs, max_grade=TOP, seed=1, **more), use_labels=False)
    draw(case, measures, questions, Budget(share, is_share=True), method=method).write("w.sample", "w.csv")
    write_csv("w.csv", [row | {"grade": grade_of(row["query_id"], row["doc_id"])} for row in csv_rows("w.csv")])
    return [("w.sample", ["w.csv"])]


def grade_of(query, doc):
    """Look up the grade of an item by people."""
    return int(GRADES[int(query[1:]), int(doc[1:])])


def answers_of(rounds, **asked):
    """Map the systems that are asked about to the answers of `estimate`."""
    return {(each.system, each.versus): each for each in estimate(rounds, EstimateRequest(**asked)).answers}


def codes_of(grader):
    return {caution.code for caution in grader.cautions}


ALL = ("run", "versus", "difference")


def test_alone_it_says_what_score_makes_of_its_grades_as_labels(folder):
    rounds = drawn(questions=ALL, measures=("DCG@5", "ERR@5", "nDCG@5"))
    audited = audit(rounds, ["llm.qrels"])
    for row in audited.rows:
        measure = "ERR(max_rel=3)@5" if row.measure == "ERR@5" else row.definition
        values = {name: alone(name, MACHINE, measure) for name in ("a.run", "b.run")}
        expected = values[row.system] - (values[row.versus] if row.versus else 0.0)
        assert row.by_grader == pytest.approx(expected, abs=1e-12)
    assert len(audited.rows) == 9


def test_corrected_is_what_estimate_says_and_bias_is_its_interval_shifted(folder):
    """Ends that hold at once are Bonferroni's of runs, and the shared ones of pairs."""
    asked = ("run", "difference")
    rounds = drawn(("a.run", "b.run", "c.run"), questions=asked)
    rows = audit(rounds, ["llm.qrels"], confidence=0.9).rows
    answers = answers_of(rounds, questions=asked, confidence=0.9)
    assert len(rows) == 6
    for row in rows:
        answer = answers[row.system, row.versus]
        assert (row.corrected, row.corrected_low, row.corrected_high) == (answer.estimate.value, *answer.interval)
        assert row.bias == row.by_grader - row.corrected
        assert row.bias_low == row.by_grader - row.corrected_high
        assert row.bias_high == row.by_grader - row.corrected_low
        assert row.labels == answer.estimate.n_items
        wide = answer.shared.interval if row.versus else answer.estimate.interval(1 - 0.1 / 3)
        assert row.bias_low_simultaneous == row.by_grader - wide.high
        assert row.bias_high_simultaneous == row.by_grader - wide.low


def test_a_fully_judged_sample_has_a_plain_crosstab(folder):
    audited = audit(drawn(share=1.0, measures=("DCG",), questions=ALL), ["llm.qrels"])
    (of_machine,) = audited.graders
    assert [row.least for row in of_machine.values] == [0, 1, 2, 3]
    # all ranks count for each of the runs: every item is judged
    for value, row in enumerate(of_machine.values):
        there = GRADES[value == MACHINE]
        assert row.judged == there.size
        assert row.share.value == pytest.approx(there.size / GRADES.size)
        shares = np.bincount(there, minlength=TOP + 1) / there.size
        assert [cell.value for cell in row.by_grade] == pytest.approx(shares.tolist(), abs=1e-12)
    difference = MACHINE - GRADES
    assert of_machine.leniency.value == pytest.approx(difference.mean())
    totals = difference.sum(axis=1)
    without = (difference.sum() - totals) / (difference.size - DOCS)
    error = np.sqrt((QUERIES - 1) / QUERIES * ((without - without.mean()) ** 2).sum())
    assert of_machine.leniency.std_error == pytest.approx(error)
    slope = np.polyfit(MACHINE.ravel(), GRADES.ravel(), 1)[0]
    assert of_machine.slope.value == pytest.approx(slope)


def without_replies(is_missing):
    """Write the machine's grades but for some, shape (QUERIES, DOCS)."""
    kept = [row for row, gone in zip(rows_of(MACHINE), is_missing.flat, strict=True) if not gone]
    Path("part.qrels").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in kept))


def order_of(run):
    """Return the documents of each query as a run ranks them."""
    return np.argsort(-SCORES[run].round(6), axis=1)


def completed_by_hand(is_missing, run, depth, gain):
    """List gains by query and rank: of missing items the mean of the query's others, of a query without any NaN."""
    gains = np.where(is_missing, np.nan, gain(MACHINE.astype(float)))
    top = np.take_along_axis(gains, order_of(run)[:, :depth], axis=1)
    means = [np.nanmean(row) if not np.isnan(row).all() else np.nan for row in top]
    return np.where(np.isnan(top), np.array(means)[:, None], top)


@pytest.mark.parametrize("missing", ["one rank", "at random", "whole queries"])
def test_alone_counts_a_failed_reply_as_the_answered_ones_of_its_query(folder, missing):
    is_missing = np.zeros((QUERIES, DOCS), dtype=bool)
    if missing == "one rank":
        is_missing[:, 3] = True
    elif missing == "at random":
        is_missing[:] = np.random.default_rng(1).random(is_missing.shape) < 0.4
    else:
        is_missing[:4] = True
    without_replies(is_missing)
    audited = audit(drawn(questions=("run",), measures=("P@5",)), ["part.qrels"])
    for row in audited.rows:
        top = completed_by_hand(is_missing, row.system[0], 5, lambda grades: grades >= 1)
        assert row.by_grader == pytest.approx(np.nanmean(top), abs=1e-12)
        table = np.where(is_missing, 0, MACHINE)
        assert row.by_grader_missing_as_0 == pytest.approx(alone(row.system, table, "P@5"), abs=1e-12)
        order = order_of(row.system[0])[:, :5]
        assert row.answered == pytest.approx(1 - np.take_along_axis(is_missing, order, axis=1).mean())
    (of_machine,) = audited.graders
    assert 0 < of_machine.missing < of_machine.items
    assert [caution.code for caution in of_machine.cautions if "missing" in caution.code] == ["grader replies missing"]
    table = audit_table(audited.rows)
    assert all(cells["answered"].endswith(" %") for cells in table)
    assert "of items that it answered" in audit_headline(audited.graders)[0]


@pytest.mark.parametrize("measure", ["AP", "ERR@5", "DCG@5"])
def test_queries_without_any_reply_are_left_out_of_what_it_says_alone(folder, measure):
    is_missing = np.zeros((QUERIES, DOCS), dtype=bool)
    is_missing[15:] = True
    without_replies(is_missing)
    (row, *_) = audit(drawn(questions=("run",), measures=(measure,)), ["part.qrels"]).rows
    half = {query: grades for query, grades in qrels_of(MACHINE).items() if int(query[1:]) < 15}
    wanted = "ERR(max_rel=3)@5" if measure == "ERR@5" else measure
    assert row.by_grader == pytest.approx(score(half, "a.run", wanted)["a.run"].value, abs=1e-12)


def test_of_a_run_of_which_nothing_is_answered_nothing_is_said(folder):
    rounds = drawn(questions=("run",), measures=("P@1",))
    is_missing = np.zeros((QUERIES, DOCS), dtype=bool)
    first = order_of("a")[:, 0]
    is_missing[np.arange(QUERIES), first] = True
    without_replies(is_missing)
    audited = audit(rounds, ["part.qrels"])
    row = next(row for row in audited.rows if row.system == "a.run")
    assert (row.by_grader, row.bias, row.answered) == (None, None, 0.0)
    assert "n/a" in {cells["alone"] for cells in audit_table(audited.rows)}
    assert "alone says n/a" in " ".join(audit_headline(audited.graders))


def test_a_measure_without_gains_between_grades_is_of_the_answered_items_alone(folder):
    is_missing = np.random.default_rng(1).random((QUERIES, DOCS)) < 0.4
    is_missing[:9] = True
    without_replies(is_missing)
    (row, *_) = audit(drawn(questions=("run",), measures=("AP",)), ["part.qrels"]).rows
    order = order_of("a")
    values = []
    for query in range(9, QUERIES):
        relevant = [MACHINE[query, doc] >= 1 for doc in order[query] if not is_missing[query, doc]]
        hits = np.cumsum(relevant)
        values.append(sum(hits[k] / (k + 1) for k, is_hit in enumerate(relevant) if is_hit) / max(sum(relevant), 1))
    assert row.by_grader == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("turn", [lambda table: TOP - table, lambda table: np.array([1, 0, 2, 3])[table]])
def test_labels_saved_are_not_credited_to_the_same_kinds_in_another_order(folder, turn):
    """Catches grades that part the items as the drawing machine's do, and say the opposite of each part."""
    rounds = drawn(questions=("run",), graders=("llm.qrels",))
    write_qrels("turned.qrels", turn(MACHINE))
    assert audit(rounds, ["llm.qrels"]).rows[0].labels_saved is not None
    assert audit(rounds, ["turned.qrels:name=llm"]).rows[0].labels_saved is None


def test_labels_saved_follow_the_grades_and_not_their_name(folder):
    """Catches next month's grades in a file of the same name, which would be credited with what others saved."""
    rounds = drawn(graders=("llm.qrels:name=gpt, v2",))
    for name in ("gpt, v2", "another"):
        assert audit(rounds, [f"llm.qrels:name={name}"]).rows[0].labels_saved > 0
    write_qrels("one.qrels", MACHINE * 0 + 2)
    for others in ("people.qrels:name=gpt, v2", "one.qrels:name=gpt, v2"):
        assert audit(rounds, [others]).rows[0].labels_saved is None
    both = drawn(graders=("llm.qrels", "people.qrels"))
    assert audit(both, ["llm.qrels"]).rows[0].labels_saved is None


@pytest.mark.parametrize(
    ("stated", "table", "expected"),
    [
        ("", MACHINE, MACHINE),
        (":scale=0-6", MACHINE, np.floor(MACHINE / 2 + 0.5)),
        ("", MACHINE * 2, MACHINE),
        (":scale=0-1", np.minimum(MACHINE, 1), 3 * np.minimum(MACHINE, 1)),
    ],
)
def test_values_are_mapped_to_peoples_scale(folder, stated, table, expected):
    write_qrels("odd.qrels", table)
    (row, *_) = audit(drawn(questions=ALL), [f"odd.qrels{stated}"]).rows
    assert row.by_grader == pytest.approx(alone("a.run", expected), abs=1e-12)


def test_scores_are_mapped_from_the_least_to_the_largest(folder):
    frame = [f"{q},{d},{value:.9f}" for q, d, value in rows_of(EASE)]
    Path("scores.csv").write_text("\n".join(["query_id,doc_id,score", *frame]) + "\n")
    rounds = drawn(questions=ALL)
    shares = (EASE - EASE.min()) / (EASE.max() - EASE.min())
    (row, *_) = audit(rounds, ["scores.csv"]).rows
    labels = np.floor(TOP * shares + 0.5)
    assert row.by_grader == pytest.approx(alone("a.run", labels), abs=1e-12)
    (of_machine,) = audit(rounds, ["scores.csv"]).graders
    assert len(of_machine.values) <= 10


def test_a_machine_that_is_turned_round_and_another_that_knows_nothing_are_told(folder):
    """And one that says what people say is perfect: a correlation of two scales of one thing would be below 1."""
    write_qrels("turned.qrels", TOP - GRADES)
    write_qrels("noise.qrels", np.random.default_rng(0).integers(0, 4, GRADES.shape))
    write_qrels("flat.qrels", np.full_like(MACHINE, 2))
    names = ("turned", "noise", "llm", "people", "flat")
    graders = audit(drawn(share=0.7, questions=ALL), [f"{name}.qrels" for name in names]).graders
    turned, noise, good, perfect, flat = graders
    assert "grader turned" in codes_of(turned)
    assert (turned.orders[0].tau, turned.slope.value, turned.slope.std_error) == (-1, pytest.approx(-1), 0)
    assert "grader says little" in codes_of(noise)
    assert not {"grader turned", "grader says little"} & codes_of(good)
    assert good.correlation.value > 0.4
    figures = (perfect.correlation, perfect.slope, perfect.leniency)
    assert [figure.value for figure in figures] == pytest.approx([1, 1, 0])
    assert (flat.slope.value, flat.correlation.value, len(flat.values)) == (None, None, 1)
    assert "grader one value" in {note.code for note in flat.notes}
    assert "grader low scale" not in codes_of(flat)


def test_a_machine_that_made_a_run_is_held_against_the_others(folder):
    best = MACHINE + RANDOM.normal(size=MACHINE.shape) * 0.01
    lines = [f"{query} Q0 {doc} 1 {value:.6f} own\n" for query, doc, value in rows_of(best)]
    Path("own.run").write_text("".join(lines))
    rounds = drawn(("own.run", "b.run", "c.run"), share=0.8, questions=("run", "difference"))
    (of_machine,) = audit(rounds, ["llm.qrels:made=own.run"]).graders
    (circle,) = of_machine.circular
    bias = {row.system: row.bias for row in of_machine.rows if not row.versus}
    assert circle.bias == bias["own.run"]
    assert circle.others == pytest.approx((bias["b.run"] + bias["c.run"]) / 2)
    assert circle.excess > 0
    assert circle.is_sure
    (elsewhere,) = audit(rounds, ["llm.qrels:made=x.run"]).graders
    assert "grader made another" in {caution.code for caution in elsewhere.cautions}


def test_drift_between_models_is_their_leniency_apart(folder):
    model = ["new" if int(q[1:]) % 2 else "old" for q, _, _ in rows_of(MACHINE)]
    grades = [min(grade + (name == "new"), TOP) for (_, _, grade), name in zip(rows_of(GRADES), model, strict=True)]
    lines = [f"{q},{d},{g},{m}" for (q, d, _), g, m in zip(rows_of(GRADES), grades, model, strict=True)]
    Path("two.csv").write_text("\n".join(["query_id,doc_id,grade,model", *lines]) + "\n")
    (of_machine,) = audit(drawn(share=1.0, questions=ALL, measures=("DCG",)), ["two.csv"]).graders
    assert [(drift.kind, drift.name) for drift in of_machine.drift] == [("model", "new"), ("model", "old")]
    lifted = np.minimum(GRADES + 1, TOP) - GRADES
    assert of_machine.drift[0].leniency.value == pytest.approx(lifted[1::2].mean())
    assert of_machine.drift[1].leniency.value == 0
    assert "grader drift" in {caution.code for caution in of_machine.cautions}


def test_labels_saved_are_told_of_a_sample_that_was_drawn_with_the_machine(folder):
    with_it = audit(drawn(graders=("llm.qrels",), questions=ALL), ["llm.qrels", "people.qrels"]).rows
    for row in with_it[:3]:
        assert row.half_width_without > 0
        expected = row.labels * ((row.half_width_without / row.half_width) ** 2 - 1)
        assert row.labels_saved == pytest.approx(expected)
    assert {row.half_width_without for row in with_it[3:]} == {None}
    assert {row.half_width_without for row in audit(drawn(questions=ALL), ["llm.qrels"]).rows} == {None}


def test_a_sample_of_differences_leaves_out_what_it_does_not_reach(folder):
    first, second = (Path(f"{name}.run").read_text().splitlines(keepends=True) for name in "ab")
    Path("twin.run").write_text("".join([*first[: -DOCS * 20], *second[-DOCS * 20 :]]))
    rounds = drawn(("a.run", "twin.run"))
    audited = audit(rounds, ["llm.qrels"])
    assert [row.question for row in audited.rows] == ["difference"]
    assert "audit out of reach" in {note.code for note in audited.notes}
    with pytest.raises(InputError, match="not covered by this sample"):
        audit(rounds, ["llm.qrels"], questions=["run"])


def test_orders_are_kendalls_tau_of_both(folder):
    rows = audit(drawn(("a.run", "b.run", "c.run"), questions=("run", "difference")), ["llm.qrels"]).rows
    runs = [row for row in rows if not row.versus]
    (order,) = orders_of(rows)
    assert order.tau == pytest.approx(kendalltau([r.by_grader for r in runs], [r.corrected for r in runs]).statistic)
    assert order.winner == max(runs, key=lambda row: row.corrected).system
    assert order.winner_by_grader == max(runs, key=lambda row: row.by_grader).system
    assert order.differ + order.open + order.agree == 3


def test_tables_fit_on_a_terminal(folder):
    runs = [f"a-very-long-name-of-a-run-with-parameters-k1-0.9-b-0.4-{name}.run" for name in "ab"]
    for name in runs:
        Path(name).write_bytes(Path(name[-5:]).read_bytes())
    rounds = drawn((*runs, "c.run"), measures=("DCG@5", "ERR@5"), questions=("run", "difference"))
    audited = audit(rounds, ["llm.qrels", "people.qrels"])
    assert max(map(len, render(audit_table(audited.rows), "text").split("\n"))) <= 100
    assert any("alone says" in line for line in audit_headline(audited.graders))


def test_rounds_are_audited_together(folder):
    drawn(("a.run",), share=0.3)
    for name in ("w.sample", "w.csv"):
        Path(name).rename(f"first-{name}")
    rounds = [("first-w.sample", ["first-w.csv"]), *drawn(("a.run",), share=0.3, judged=("first-w.csv",))]
    audited = audit(rounds, ["llm.qrels"])
    ((row,), (of_machine,)) = audited.rows, audited.graders
    assert row.corrected == estimate(rounds).answers[0].estimate.value
    assert row.half_width_without is None
    assert sum(value.share.value for value in of_machine.values) == pytest.approx(1)
    n_judged = sum(len(csv_rows(name)) for name in ("first-w.csv", "w.csv"))
    assert sum(value.judged for value in of_machine.values) == n_judged


def test_what_judges_differ_on_counts_by_its_mean(folder):
    rounds = drawn(("a.run",), share=1.0, measures=("DCG",))
    rows = [row | {"judge": "ann"} for row in csv_rows("w.csv")]
    other = [row | {"judge": "bob", "grade": min(int(row["grade"]) + 1, TOP)} for row in rows]
    write_csv("w.csv", [*rows, *other])
    (of_machine,) = audit(rounds, ["llm.qrels"], policy="mean-gain").graders
    people = (GRADES + np.minimum(GRADES + 1, TOP)) / 2
    assert of_machine.leniency.value == pytest.approx((MACHINE - people).mean())


@pytest.mark.parametrize("method", ["depth", "active"])
def test_any_sample_of_grades_is_audited(folder, method):
    rounds = drawn(("a.run",), share=0.6, measures=("DCG@5",), method=method)
    (of_machine,) = audit(rounds, ["llm.qrels"]).graders
    (row,) = of_machine.rows
    assert row.by_grader == pytest.approx(alone("a.run", MACHINE), abs=1e-12)
    assert row.corrected == estimate(rounds).answers[0].estimate.value
    assert sum(value.share.value for value in of_machine.values) == pytest.approx(1)


def test_shares_by_value_are_those_of_the_pool_in_the_mean(folder):
    """Of 25 samples of half the places of a run, within four standard errors of the mean, once in 16,000 runs not."""
    case, shares = prepare(Choices(runs=("a.run",), max_grade=TOP, seed=1), use_labels=False), []
    for seed in range(25):
        own = replace(case, seed=np.random.SeedSequence(seed))
        made = draw(own, ["DCG"], (), Budget(0.5, is_share=True), method="items")
        pool = made.campaign.design.pool
        made.campaign.run(lambda query, docs: [grade_of(query, doc) for doc in docs])
        values = [float(MACHINE[int(q[1:]), int(d[1:])]) for q, d in pool.pairs_of(np.arange(pool.n_items))]
        rows = value_rows(np.array(values), JudgedItems.of([made], TOP))
        shares.append([cell.value for cell in rows[2].by_grade])
    truth = np.bincount(GRADES[MACHINE == 2], minlength=TOP + 1) / (MACHINE == 2).sum()
    errors = np.std(shares, axis=0) / np.sqrt(len(shares))
    assert (np.abs(np.mean(shares, axis=0) - truth) < 4 * errors + 0.005).all()


def test_a_machine_that_says_nothing_of_the_sample_is_refused(folder):
    rounds = drawn()
    for content, says in (
        ("x1 0 d1 2\nx2 0 d1 1\n", "none of its 2 grades is of an item of the pool"),
        ("q1 0 d1 -1\nq2 0 d1 -1\n", "replies are missing"),
    ):
        Path("bad.qrels").write_text(content)
        with pytest.raises(InputError, match=says):
            audit(rounds, ["bad.qrels"])


def test_python_and_the_task_say_the_same(folder):
    runs = {name: {f"q{q}": {f"d{d}": float(SCORES[name][q, d]) for d in range(DOCS)} for q in range(QUERIES)}
            for name in "ab"}  # fmt: skip
    made = sample(runs, measure="DCG@5", questions=ALL, budget="40%", max_grade=TOP, seed=3)
    audited = audit_sample(made, qrels_of(GRADES), "llm.qrels")
    frame = audited.to_frame()
    estimated = made.estimate(qrels_of(GRADES))
    assert sorted(frame["corrected"]) == pytest.approx(sorted(result.value for result in estimated))
    assert "llm alone says" in str(audited)


def test_of_real_judges(tmp_path, monkeypatch):
    """Of DL 2021: three runs, people's grades for the sheet, binary grades of a language model."""
    if not DATA.exists():
        pytest.skip(f"needs {DATA}; set ACTIVEEVAL_SHARED to the folder that holds data/")
    monkeypatch.chdir(tmp_path)
    people = {}
    with gzip.open(DATA / "human.dl21.qrels.gz", "rt") as handle:
        for query, _, doc, grade in map(str.split, handle):
            people.setdefault(query, {})[doc] = int(grade)
    runs = sorted(map(str, (DATA / "runs-dl21").glob("*.run.gz")))[:3]
    made = sample(runs, measure="DCG@10", questions=("run", "difference"), budget=400, max_grade=3, seed=1)
    audited = audit_sample(made, people, str(DATA / "binary-gpt4.dl21.qrels.gz") + ":scale=0-1:name=gpt4")
    alone = [row for row in audited.audited.rows if row.question == "run"]
    # a binary judge on the ends of the scale is far above people, and surely so
    assert all(row.bias_low > 0 for row in alone)
    assert len(audited.audited.rows) == 6


def test_few_grades_off_the_scale_are_slips_and_many_are_its_scale(folder):
    """Catches one reply of 9 that moves every other value of the machine."""
    rounds = drawn(questions=("run", "versus"))
    table = MACHINE.copy()
    table[0, 0] = 9
    slip = audit(rounds, [write_qrels("slip.qrels", table)]).graders[0]
    table[0, 0] = 0
    plain = {"a": alone("a.run", table), "b": alone("b.run", table)}
    assert [row.by_grader for row in slip.rows[:2]] == pytest.approx(list(plain.values()))
    (caution,) = [each for each in slip.cautions if each.code == "grader stray"]
    assert (caution.level, caution.numbers["n"]) == ("warning", 1)
    wide = audit(rounds, [write_qrels("wide.qrels", MACHINE * 2)]).graders[0]
    assert [each.code for each in wide.cautions if "stray" in each.code or "mapped" in each.code] == ["grader mapped"]


def test_of_few_queries_nothing_is_told(folder):
    table = [row for row in rows_of(3 - GRADES) if row[0] in ("q0", "q1")]
    Path("few.qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in table))
    few = audit(drawn(share=1.0), ["few.qrels"]).graders[0]
    assert few.slope.value is None
    assert "grader turned" not in {caution.code for caution in few.cautions}


def test_the_bias_of_all_queries_has_no_interval(folder):
    """Catches people's interval about all queries, shifted: the machine's own mean is as uncertain there."""
    rounds = drawn(questions=("run",))
    (row,), (of_pool,) = (audit(rounds, ["llm.qrels"], scope=scope).rows for scope in ("population", "pool"))
    assert (row.bias_low, row.bias_high) == (None, None)
    assert row.bias == of_pool.bias
    assert row.corrected_high - row.corrected_low > of_pool.corrected_high - of_pool.corrected_low


@pytest.mark.parametrize(
    ("pairs", "winner"),
    [
        ([("base", "x", 12.78), ("base", "y", -2.23)], "y"),
        ([("a", "b", 1.0), ("b", "c", -3.0), ("a", "c", -2.0)], "c"),
        ([("a", "b", 1.0), ("c", "d", 5.0)], ""),
    ],
)
def test_the_winner_is_the_highest_level_of_the_pairs_that_are_told(folder, pairs, winner):
    """Catches a sum over a system's pairs, by which the one that all others are compared with wins."""
    row = audit(drawn(), ["llm.qrels"]).rows[-1]
    rows = [replace(row, system=a, versus=b, by_grader=value, corrected=value) for a, b, value in pairs]
    (order,) = orders_of(rows)
    assert (order.winner, order.winner_by_grader) == (winner, winner)
