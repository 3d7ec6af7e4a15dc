"""What is missing is said first, which queries lose most, and what queries without a relevant document are."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
import polars as pl
import pytest
from cli_files import csv_rows, json_rows, write_csv, write_lines

import activeeval as ae
from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target
from activeeval.core.campaign.reading import judged_queries
from activeeval.core.errors import InputError

RNG = np.random.default_rng(11)
QUERIES, DOCS = [f"q{q}" for q in range(24)], [f"d{d}" for d in range(6)]
QRELS = {q: dict(zip(DOCS, map(int, RNG.integers(0, 4, 6)), strict=True)) for q in QUERIES}
OLD = {q: {d: QRELS[q][d] + float(RNG.normal()) for d in DOCS} for q in QUERIES}
NEW = {q: {d: float(RNG.normal()) for d in DOCS} for q in QUERIES}
HALF = {q: docs for q, docs in NEW.items() if int(q[1:]) % 4}
SAID = "6 of 24 queries have no list in half.run: they count as 0."
BARREN = {q: (dict.fromkeys(DOCS, 0) if q in ("q3", "q7", "q8") else docs) for q, docs in QRELS.items()}
"""Three queries have no relevant document."""


@pytest.fixture
def files(folder):
    """Return the folder with the runs and judgments above."""
    for name, run in (("old.run", OLD), ("new.run", NEW), ("half.run", HALF)):
        write_lines(folder / name, [f"{q} Q0 {d} 1 {s!r} t" for q, docs in run.items() for d, s in docs.items()])
    for name, qrels in (("q.txt", QRELS), ("barren.txt", BARREN)):
        write_lines(folder / name, [f"{q} 0 {d} {g}" for q, docs in qrels.items() for d, g in docs.items()])
    return folder


def judged_sample(call, *options, budget=144):
    """Draw a sample of half.run and old.run, and judge all of it."""
    sample = ("--run", "half.run", "--versus-run", "old.run", "--max-grade", 3, "--budget", budget, "--seed", 2)
    drawn = call("sample", *sample, "--adaptive-depth", "off", *options, "--out", "s.sample", "--sheet", "s.csv")
    assert drawn.code == 0, drawn.err
    rows = csv_rows("s.csv")
    write_csv("s.csv", [row | {"grade": QRELS[row["query_id"]][row["doc_id"]]} for row in rows])
    return "--sample", "s.sample", "--sheet", "s.csv"


def first(text):
    """Return the first line that says anything; a title of markdown says nothing."""
    return next(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


@pytest.mark.parametrize("form", ["text", "md", "markdown"])
def test_compare_says_first_which_lists_are_missing(call, files, form):
    for source in (("--qrels", "q.txt"), judged_sample(call, "--measure", "DCG@5")):
        for runs in (("old.run", "half.run"), ("half.run", "old.run")):
            done = call("compare", *runs, *source, "-o", form)
            assert first(done.out) == SAID
            assert "no list" not in done.err


@pytest.mark.parametrize("form", ["text", "md", "latex"])
def test_score_and_estimate_say_first_which_lists_are_missing(call, files, form):
    source = judged_sample(call, "--measure", "DCG@5")
    of_two = ("score", "q.txt", "half.run", "DCG@5", "--versus", "old.run"), ("estimate", "s.sample", "s.csv")
    commands = [("score", "q.txt", "half.run", "DCG@5"), ("score", "q.txt", "half.run", "DCG@5", "--run", "old.run")]
    for command in (*commands, *of_two, (*of_two[0], "-q")):
        done = call(*command, "-o", form)
        assert first(done.out).removeprefix("\\par ") == SAID, command
        assert "no list" not in done.err
    assert first(call("score", "q.txt", "half.run", "DCG@5", "--unjudged-bounds").out) == SAID
    assert first(call("estimate", "s.sample", "s.csv", "-o", "wide").out) == SAID
    compared = [("compare", "old.run", "half.run", *way) for way in (("--qrels", "q.txt"), source)]
    for command in (*of_two, *compared):
        rows = json_rows(call(*command, "-o", "jsonl").out)
        assert [(row["missing"], row["versus_missing"]) for row in rows] == [(6, 0)]


def test_python_says_the_same(files):
    runs = {"half.run": HALF, "old.run": OLD}
    assert ae.score(QRELS, runs, "DCG@5").sentences[0] == SAID
    for measure in ("DCG@5", ["DCG@5", "P@1"]):
        compared = ae.compare(OLD, HALF, judgments=QRELS, measure=measure, names=["old.run", "half.run"])
        assert compared.sentences[0] == SAID
        assert Counter(compared.sentences)[SAID] == 1
        assert str(compared).startswith(SAID)
        assert (compared.rows()[0]["missing"], compared.rows()[0]["versus_missing"]) == (6, 0)
    drawn = ae.sample(runs, measure="DCG@5", budget=144, max_grade=3, seed=1)
    sheet = drawn.sheet("pandas")
    sheet["grade"] = [QRELS[row.query_id][row.doc_id] for row in sheet.itertuples()]
    assert drawn.estimate(sheet).sentences[0] == SAID


def test_one_list_and_none(call, files):
    write_lines(files / "one.run", [f"{q} Q0 {d} 1 {s!r} t" for q in QUERIES[1:] for d, s in NEW[q].items()])
    one = "1 of 24 queries has no list in one.run: it counts as 0."
    assert first(call("score", "q.txt", "one.run", "P@1").out) == one
    assert first(call("score", "q.txt", "new.run", "P@1").out).startswith("new.run: P@1")
    better = call("compare", "new.run", "old.run", "--qrels", "q.txt", "--measure", "nDCG@5")
    assert (better.code, "lose" in better.out) == (0, False)
    assert "relevant" not in call("score", "barren.txt", "new.run", "Judged@5").out


def losses_by_score(call, new="half.run"):
    """Return what each query loses by `score -q`, the largest first, and its share."""
    rows = call("score", "q.txt", new, "nDCG@5", "--versus", "old.run", "-q", "-n", "-o", "jsonl").rows
    lost = sorted((row for row in rows if row["difference"] < 0), key=lambda row: row["difference"])
    total = sum(row["difference"] for row in lost)
    return [(row["query_id"], row["versus_value"], row["value"], row["difference"] / total) for row in lost]


@pytest.mark.parametrize("new", ["half.run", "new.run"])
def test_compare_lists_the_queries_that_lose_most(call, files, new):
    done = call("compare", "old.run", new, "--qrels", "q.txt", "--measure", "nDCG@5")
    assert done.code == 10
    lost = losses_by_score(call, new)
    *_, title, header, last = (*done.out.strip().rsplit("\n\n", 1)[1].split("\n", 2),)
    assert title == f"{len(lost)} of 24 judged queries lose by nDCG@5, the 10 that lose most:"
    assert header.split() == ["query", "old.run", new, "share", "of", "the", "loss"]
    shown = [line.split() for line in last.splitlines()]
    assert shown == [[q, f"{old:.4f}", f"{now:.4f}", f"{share:.1%}"] for q, old, now, share in lost[:10]]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_all_queries_are_written_as_score_has_them(call, files, suffix):
    name, of_score = f"each.{suffix}", ("score", "q.txt", "half.run", "nDCG@5", "--versus", "old.run")
    scored = call(*of_score, "-q", "-n", "-o", "jsonl").rows
    read = {"jsonl": pl.read_ndjson, "parquet": pl.read_parquet}.get(suffix) or (
        lambda path: pl.read_csv(path, separator={"csv": ",", "tsv": "\t"}[suffix])
    )
    done = call("compare", "old.run", "half.run", "--qrels", "q.txt", "--measure", "nDCG@5", "--per-query", name)
    assert f"wrote {name}: 24 queries" in done.err
    rows = read(name).to_dicts()
    by_query = {row["query_id"]: row for row in rows}
    assert [{key: by_query[row["query_id"]][key] for key in row} for row in scored] == scored
    assert [row["share_of_loss"] for row in rows] == sorted((row["share_of_loss"] for row in rows), reverse=True)
    assert {row["weight"] for row in rows} == {1 / 24}
    shares = {q: share for q, *_, share in losses_by_score(call)}
    assert {row["query_id"]: row["share_of_loss"] for row in rows if row["share_of_loss"]} == pytest.approx(shares)
    refused = call(*of_score, "--per-query", name)
    assert (refused.code, f"{name}: is there already, --force overwrites it" in refused.err) == (1, True)
    assert call(*of_score, "--per-query", name, "--force").code == 0
    assert read(name).to_dicts() == scored


def test_a_file_of_queries_replaces_no_input_and_has_a_known_suffix(call, files):
    for name, problem in (("q.txt", "would replace"), ("each.png", "expected a name that ends in .csv")):
        done = call("compare", "old.run", "half.run", "--qrels", "q.txt", "--per-query", name, "--force")
        assert (done.code, problem in done.err) == (1, True)


@pytest.mark.parametrize("measure", ["DCG@5", "nDCG@5"])
def test_of_a_sample_of_everything_the_queries_are_those_of_all_judgments(call, files, measure):
    source = judged_sample(call, "--measure", measure, budget=10_000)
    for way in (("--qrels", "q.txt", "--measure", measure), source):
        done = call("compare", "old.run", "half.run", *way, "--per-query", f"{way[0][2:]}.jsonl")
        assert done.code == 10, done.err
        assert "that lose most" in done.out
    by_query, sampled = (
        {row["query_id"]: row for row in pl.read_ndjson(f"{name}.jsonl").to_dicts()} for name in ("qrels", "sample")
    )
    assert sampled.keys() >= {q for q, row in by_query.items() if row["difference"]}
    for query, row in sampled.items():
        assert row["weight"] == pytest.approx(1 / 24)
        assert row["value"] - row["versus_value"] == pytest.approx(by_query[query]["difference"])
        assert row["share_of_loss"] == pytest.approx(by_query[query]["share_of_loss"])


def test_a_sample_says_how_much_each_query_weighs(call, files):
    source = judged_sample(call, "--measure", "nDCG@5", budget=60)
    done = call("compare", "old.run", "half.run", *source, "--per-query", "each.jsonl")
    rows = pl.read_ndjson("each.jsonl").to_dicts()
    assert 0 < len(rows) < 24
    losses = [row["weight"] * max(row["versus_value"] - row["value"], 0) for row in rows]
    assert [row["share_of_loss"] * sum(losses) for row in rows] == pytest.approx(losses)
    assert "weight" in done.out
    assert "by the judged documents alone" in " ".join(done.out.split())


@lru_cache(maxsize=1)
def designed(method, budget):
    """Return a design for the difference of two rankings, and the true grades."""
    random = np.random.default_rng(3)
    pool = QueryPool([f"q{q}" for q in range(12)], np.arange(0, 49, 4))
    new, old = (Rankings.from_scores(pool, random.normal(size=48)) for _ in range(2))
    target, labels = Target(DCG("linear"), new, versus=old), random.integers(0, 3, 48)
    beliefs = {} if method in ("passive", "random") else {"grade_probs": random.dirichlet(np.ones(3), 48)}
    return METHODS[method].design(target, **beliefs, budget=budget, max_grade=2), labels


def drawn(method, seed, budget):
    """Return a judged campaign of two rankings, its target and labels."""
    design, labels = designed(method, budget)
    pool = design.target.pool
    campaign = Campaign(design, rng=seed)
    ids = {(q, i): z for z, (q, i) in enumerate(pool.pairs_of(np.arange(48)))}
    campaign.run(lambda query, items: [int(labels[ids[query, item]]) for item in items])
    return campaign, design.target, labels


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", ["passive", "active"])
def test_of_draws_with_replacement_weights_give_the_estimate(method, seed):
    """The ratio estimator is Σ w L of the drawn queries."""
    campaign, target, labels = drawn(method, seed, 24.0)
    queries, weights, _ = judged_queries(campaign.design, campaign.selection, campaign.labels)
    assert weights.sum() == pytest.approx(1)
    assert weights @ target.values(labels)[queries] == pytest.approx(campaign.estimate().value)


@pytest.mark.parametrize("method", ["random", "whole", "depth"])
def test_weights_are_unbiased_for_the_share_of_each_query(method):
    """The mean weight of each query over 150 seeds is p within 4.5 of its errors: false alarms in 12 queries < 1e-4."""
    total, squares = np.zeros((2, 12))
    for seed in range(150):
        campaign, *_ = drawn(method, seed, 20.0)
        queries, weights, _ = judged_queries(campaign.design, campaign.selection, campaign.labels)
        total[queries] += weights
        squares[queries] += weights**2
    mean = total / 150
    error = np.sqrt((squares / 150 - mean**2) / 150)
    assert np.all(np.abs(mean - 1 / 12) <= 4.5 * error + 1e-12)


ZERO = "3 of 24 queries have no relevant document: they count as 0 (--no-relevant skip leaves them out)."
SKIP = "3 of 24 queries have no relevant document: they are left out (--no-relevant zero counts them as 0)."


def test_queries_without_a_relevant_document_are_counted_and_may_be_left_out(call, files):
    kept = [f"{q} 0 {d} {g}" for q, docs in BARREN.items() if any(docs.values()) for d, g in docs.items()]
    write_lines(files / "kept.txt", kept)
    for command, qrels in ((("score",), ()), (("compare", "old.run", "half.run"), ("--qrels",))):
        more = ("half.run", "nDCG@5") if not qrels else ("--measure", "nDCG@5")
        asked = {name: (*command, *qrels, name, *more) for name in ("barren.txt", "kept.txt")}
        for rule, says in (("zero", ZERO), ("skip", SKIP)):
            done = call(*asked["barren.txt"], "--no-relevant", rule)
            assert says in " ".join(done.out.split())
            (row,) = json_rows(call(*asked["barren.txt"], "--no-relevant", rule, "-o", "jsonl").out)
            assert (row["no_relevant"], row["without_relevant"]) == (rule, 3)
        (plain,) = json_rows(call(*asked["kept.txt"], "-o", "jsonl").out)
        assert "no relevant" not in call(*asked["kept.txt"]).out
        own = {"cautions", "files", "ignored", "no_relevant", "without_relevant"}
        assert {key: row[key] for key in row.keys() - own} == {key: plain[key] for key in plain.keys() - own}


def test_python_leaves_the_same_queries_out():
    few = {q: docs for q, docs in BARREN.items() if any(docs.values())}
    for ask in (
        lambda qrels, **rule: ae.score(qrels, {"a": NEW}, "nDCG@5", **rule),
        lambda qrels, **rule: ae.evaluate(NEW, judgments=qrels, measure="nDCG@5", **rule),
        lambda qrels, **rule: ae.compare(OLD, NEW, judgments=qrels, measure="nDCG@5", **rule),
    ):
        skipped, plain = ask(BARREN, no_relevant="skip"), ask(few)
        assert (skipped.value, skipped.low, skipped.high) == (plain.value, plain.low, plain.high)
        assert any("(`no_relevant` zero counts them as 0)" in note for note in skipped.footnotes)
        assert not any("relevant" in note for note in plain.footnotes)


def test_where_not_all_judgments_are_known_nothing_is_left_out(call, files):
    done = call("compare", "old.run", "new.run", "--qrels", "barren.txt", "--budget", 100, "--no-relevant", "skip")
    assert (done.code, "--no-relevant skip needs all judgments" in done.err) == (1, True)
    plain = call("compare", "old.run", "new.run", "--qrels", "barren.txt", "--budget", 100)
    assert "relevant document" not in plain.out + plain.err
    with pytest.raises(InputError, match="needs all judgments"):
        ae.evaluate(NEW, judgments=lambda query, items: [0] * len(items), max_grade=3, no_relevant="skip")
    nothing = {q: dict.fromkeys(DOCS, 0) for q in QUERIES}
    with pytest.raises(InputError, match="none of the 24 judged queries has a relevant document"):
        ae.score(nothing, {"a": NEW}, "P@1", no_relevant="skip")
    with pytest.raises(InputError, match="must be one of zero, skip, got 'drop'"):
        ae.score(QRELS, {"a": NEW}, "P@1", no_relevant="drop")


def test_a_headline_keeps_the_value_of_few_queries(call, folder):
    write_lines(folder / "two.run", ["q1 Q0 a 1 2 t", "q1 Q0 b 2 1 t", "q2 Q0 a 1 2 t", "q2 Q0 b 2 1 t"])
    write_lines(folder / "none.txt", ["q1 0 a 1", "q1 0 b 0", "q2 0 a 0", "q2 0 b 0"])
    write_lines(folder / "late.txt", ["q1 0 a 1", "q1 0 b 0", "q2 0 a 0", "q2 0 b 1"])
    none = call("score", "none.txt", "two.run", "nDCG@10").out
    assert none.startswith("two.run: nDCG@10 0.50 (")
    assert "1 of 2 queries has no relevant document: it counts as 0" in " ".join(none.split())
    assert call("score", "late.txt", "two.run", "RR@10").out.startswith("two.run: RR@10 0.75 (")


def test_the_table_of_queries_begins_with_those_that_lose_and_says_what_moved(call, folder):
    for name, lists in (("o.run", ("ab", "abc")), ("n.run", ("ab", "cba"))):
        rows = [f"q{q} Q0 {d} {k} {9 - k} r" for q, docs in enumerate(lists, 1) for k, d in enumerate(docs)]
        write_lines(folder / name, rows)
    write_lines(folder / "x.txt", ["q1 0 a 1", "q1 0 b 0", "q2 0 a 2", "q2 0 b 0", "q2 0 c 0"])
    call("compare", "o.run", "n.run", "--qrels", "x.txt", "--measure", "DCG@2", "--per-query", "x.jsonl")
    rows = json_rows((folder / "x.jsonl").read_text())
    assert [(row["query_id"], row["moved"]) for row in rows] == [("q2", "a 1→out"), ("q1", "")]
