"""Top-k judging from end to end: a sample of whole queries, a judge who compares, a truth, an estimate, a score."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from cli_cases import refused
from hypothesis import given, strategies as st
from patience import until

from activeeval import QueryPool, Rankings, kNDCG, top_k_grades
from activeeval.campaigns.label import labelling
from activeeval.campaigns.store import open_store
from activeeval.campaigns.top_k_judging import truth_of
from activeeval.core.errors import InputError, StateError
from activeeval.formats.judgments.from_files import read
from activeeval.topk import TopKLabelling, expected_comparisons

MEASURE = "kNDCG(k=3)@5"
SIZES = (9, 4, 7, 2, 6, 8, 5, 3, 7, 9, 4, 6)


def relevance(query, doc):
    """What the judge goes by: one number for each document, no two alike."""
    return np.random.default_rng([int(query[1:]), int(doc[1:])]).random()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in "ab":
        lines = []
        for q, n in enumerate(SIZES):
            for rank, doc in enumerate(rng.permutation(n)):
                lines.append(f"q{q} Q0 d{doc} {rank + 1} {100 - rank} {name}")
        (tmp_path / f"{name}.run").write_text("\n".join(lines))
    return tmp_path


ASKED = ("--run", "a.run", "--versus-run", "b.run", "--max-grade", 2, "--measure", MEASURE)


@pytest.fixture
def drawn(folder, call, stored):
    """A sample of about half of the queries, with its sheet; drawn once."""
    if "top k" not in stored:
        told = call("sample", *ASKED, "--budget", "60%", "--seed", 3, "--out", "s.sample", "--sheet", "s.csv")
        assert told.code == 0
        stored["top k"] = told, (folder / "s.sample").read_bytes(), (folder / "s.csv").read_bytes()
    told, sample, sheet = stored["top k"]
    (folder / "s.sample").write_bytes(sample)
    (folder / "s.csv").write_bytes(sheet)
    return told


@pytest.fixture
def logged(drawn, stored):
    """The log of a judge of the sample, ann.log, judged once; return what it comes to."""
    if "ann.log" not in stored:
        done = compare_all("ann.log")
        stored["ann.log"] = done, Path("ann.log").read_bytes()
    done, log = stored["ann.log"]
    Path("ann.log").write_bytes(log)
    return done


def compare_all(log, turn=relevance, sheet="s.csv", margin=0):
    """Answer by numbers, a tie where they differ by no more than a margin; return what it comes to."""
    with labelling(sheet, 3, log) as work:
        while (question := work.ask()) is not None:
            first, second = (turn(question.query, doc) for doc in (question.first, question.second))
            is_tie = abs(first - second) <= margin
            work.prefer(None if is_tie else question.first if first > second else question.second)
        return work.compared


@pytest.fixture
def label(call):
    """Return a function that writes what a log of comparisons comes to."""
    return lambda log, out, *options, sheet="s.csv", k=3: call(
        "label", sheet, "--k", k, "--log", log, "--out", out, *options
    )


def told_to(log):
    """Return the bodies of all answers in a log, in order."""
    with open_store(f"sqlite:///{log}") as store:
        (name,) = store.campaigns()
        assert store.verify(name) == []
        return [event.body for event in store.events(name) if event.kind == "preferred"]


def test_a_sample_says_what_its_queries_cost(drawn):
    sizes = [min(n, 100) for n in SIZES]
    mean = np.mean([expected_comparisons(n, min(3, n)).mean for n in sizes])
    assert f"the top 3 of a query take {mean:.3g} comparisons on average" in drawn.err
    assert "judges find the 3 best of every query, two items at a time" in drawn.err


def test_an_oracles_truth_gives_the_estimate_that_its_ranks_give(logged, call, folder, label):
    told = label("ann.log", "ann.csv", "--preferences", "ann.jsonl")
    assert told.code == 0
    # the log is its own again, and writes what it wrote
    whole = (folder / "ann.csv").read_bytes()
    assert label("ann.log", "ann.csv").code == 0
    assert (folder / "ann.csv").read_bytes() == whole
    queries = {row.split(",")[0] for row in (folder / "ann.csv").read_text().splitlines()[1:]}
    (row,) = call("estimate", "s.sample", "ann.csv", "-o", "jsonl").rows
    assert (row["measure"], row["waiting"]) == (MEASURE, 0)
    assert row["queries"] == len(queries)
    compared = [json.loads(line) for line in (folder / "ann.jsonl").read_text().splitlines()]
    assert all(relevance(c["query"], c["preferred"]) > relevance(c["query"], c["other"]) for c in compared)


def test_judging_all_queries_gives_the_true_difference(folder, call, label):
    call("--quiet", "sample", *ASKED, "--budget", "100%", "--seed", 1, "--out", "s.sample", "--sheet", "s.csv")
    compare_all("ann.log")
    label("ann.log", "ann.jsonl")
    (row,) = call("estimate", "s.sample", "ann.jsonl", "-o", "jsonl").rows
    ids = [(f"q{q}", f"d{z}") for q, n in enumerate(SIZES) for z in range(n)]
    pool = QueryPool([f"q{q}" for q in range(len(SIZES))], np.cumsum([0, *SIZES]), [doc for _, doc in ids])
    truth = top_k_grades(pool, [relevance(*pair) for pair in ids], 3)
    runs = [[line.split() for line in (folder / f"{name}.run").read_text().splitlines()] for name in "ab"]
    lists = [
        Rankings.from_ids(pool, {q: [row[2] for row in run if row[0] == q] for q in pool.query_texts}) for run in runs
    ]
    assert row["value"] == pytest.approx(kNDCG(3, 5).score(pool, truth, *lists).mean(), abs=1e-12)
    scored = call("score", "ann.jsonl", "a.run", MEASURE, "--versus", "b.run", "-o", "jsonl").rows[0]
    assert scored["difference"] == pytest.approx(row["value"], abs=1e-12)


def test_a_terminal_asks_resumes_and_undoes(drawn, monkeypatch, label):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\nnothing\n2\n=\nu\nx1\nq\n"))
    told = label("bob.log", "bob.csv")
    assert (told.code, told.out) == (0, ""), told.err
    said = told_to("bob.log")
    assert [body["what"] for body in said] == ["compared", "compared", "compared", "undone", "discarded"]
    assert [body["preferred"] for body in said[:3]] == [said[0]["first"], said[1]["second"], None]
    assert "1 or 2: this one is better" in told.err
    with open_store("sqlite:///bob.log") as store:
        log = store.events("bob")
    answers, asked = ([event for event in log if event.kind == kind] for kind in ("preferred", "shown"))
    assert [event.shown_at for event in answers[:3]] == [event.at for event in asked[:3]]
    assert all(0 <= event.active_ms <= (event.at - event.shown_at) / 1000 + 1 for event in answers[:3])
    with labelling("s.csv", 3, "bob.log") as work:
        assert work.compared.n_comparisons == 2
        query, thrown = work.ask().query, said[-1]["document"]
    truth = compare_all("bob.log").truths[query]
    assert truth.bad == (thrown,)
    assert thrown not in truth.top


def test_a_log_is_a_campaign_that_is_exported_and_read(drawn, call, folder):
    done = compare_all("ann.log", coarse)
    assert call("campaign", "export", "ann", "--db", "ann.log", "--format", "jsonl", "--out", "ann.jsonl").code == 0
    judgments = read("ann.jsonl")
    assert judgments.truths() == done.truths
    assert {judgment.judge.name for judgment in judgments} == {"ann"}
    assert call("campaign", "export", "ann", "--db", "ann.log", "--format", "csv", "--out", "truth.csv").code == 0
    assert read("truth.csv").truths() == done.truths
    assert call("campaign", "verify", "ann", "--db", "ann.log").code == 0
    told = call("campaign", "estimate", "ann", "--db", "ann.log")
    refused(told, "campaign ann: is a log of comparisons without a sample")
    with pytest.raises(InputError, match=r"ann\.log: is a store of campaigns, expected the log that"):
        read("ann.log")


def test_nothing_that_was_said_is_lost_with_the_process(logged, folder, start):
    process = start("label", "s.csv", "--k", 3, "--log", "b.log", "--out", "b.csv", stdin=-1)
    first = told_to("ann.log")[:3]
    for body in first:
        process.stdin.write("1\n" if body["preferred"] == body["first"] else "2\n")
    process.stdin.flush()
    until(lambda: (folder / "b.log").exists() and len(stored("b.log")) >= 3)
    process.kill()
    process.communicate()
    assert told_to("b.log") == first
    assert compare_all("b.log").truths == logged.truths
    assert told_to("b.log") == told_to("ann.log")


def stored(log):
    """Return the answers that another process has stored so far."""
    try:
        return told_to(log)
    except (InputError, StateError, ValueError):
        return []


def test_a_file_of_something_else_is_no_log(drawn, folder, label):
    """Neither is what is no file: whatever is cut or grown must be what was read, and zeros have no end."""
    expected = "x.log: is not a log of comparisons, expected a new file or one made by `activeeval label`"
    log = folder / "x.log"
    for content in (b'{"query": "q0", "kind": "undone"}\n', b"SQLite", b"\0" * 100, "/dev/zero", "."):
        log.write_bytes(content) if isinstance(content, bytes) else log.symlink_to(content)
        told = label("x.log", "x.csv")
        refused(told, expected)
        assert not isinstance(content, bytes) or log.read_bytes() == content
        assert not (folder / "x.csv").exists()
        log.unlink()


@pytest.mark.parametrize(("k", "change"), [(2, str), (3, lambda text: text.replace(",d1,", ",d77,"))])
def test_the_log_of_other_documents_or_of_another_k_is_refused(logged, folder, k, change, label):
    (folder / "t.csv").write_text(change((folder / "s.csv").read_text()))
    told = label("ann.log", "x.csv", sheet="t.csv", k=k)
    refused(told, f"ann.log: is not the log of the documents of t.csv for the top {k}")
    assert not (folder / "x.csv").exists()


TRUTHS = {
    "query,rank,doc_id\nq99,1,d0\n": "query 'q99' is not in the sample",
    "query,rank,doc_id\n{q},1,zz\n": "document 'zz' of query '{q}' is not in the sample; did you mean",
    "query,rank,doc_id\n{q},1,{d}\n": "documents of the sample are not named for query '{q}'",
    "query,rank,doc_id\n{q},2,{d}\n": "has a rank 2, but none of 1",
    "query,rank,doc_id\n{q},1,{d}\n{q},1,{e}\n{q},2,zz\n": "query '{q}' has a rank 2, but none of 3, as 2 documents",
    "query,rank,doc_id\n{q},1,{d}\n{q},1,{e}\n": "documents of the sample are not named for query '{q}'",
    "query,rank,doc_id\n{q},best,{d}\n": "column rank",
}


@pytest.mark.parametrize("text", TRUTHS)
def test_a_truth_that_the_sample_does_not_support_is_refused(drawn, call, folder, text):
    lines = [line.split(",") for line in (folder / "s.csv").read_text().splitlines()[1:]]
    query = next(line[2] for line in lines if sum(other[2] == line[2] for other in lines) > 3)
    d, e = [line[3] for line in lines if line[2] == query][:2]
    fill = {"{q}": query, "{d}": d, "{e}": e}
    problem = TRUTHS[text]
    for mark, word in fill.items():
        text, problem = text.replace(mark, word), problem.replace(mark, word)
    (folder / "t.csv").write_text(text)
    told = call("estimate", "s.sample", "t.csv")
    refused(told, problem)


@pytest.mark.parametrize("grade", ["3", "cannot"])
def test_a_sheet_of_grades_says_nothing_of_ranks(drawn, call, folder, grade):
    lines = [line.split(",") for line in (folder / "s.csv").read_text().splitlines()]
    lines[2][5] = grade
    (folder / "g.csv").write_text("\n".join(map(",".join, lines)))
    told = call("estimate", "s.sample", "g.csv")
    refused(told, "g.csv:3: holds a grade, but the 3 best documents get ranks")


def test_two_judges_truths_are_not_mixed(logged, call, folder, label):
    compare_all("bob.log", turn=lambda query, doc: -relevance(query, doc))
    for name in ("ann", "bob"):
        label(f"{name}.log", f"{name}.csv")
    told = call("estimate", "s.sample", "ann.csv", "bob.csv")
    refused(told, "ann.csv and bob.csv have different truths of query")
    told = call("estimate", "s.sample", "ann.csv", "--policy", "majority")
    refused(told, "--policy majority is for grades")
    told = label("ann.log", "bob.csv")
    refused(told, "bob.csv: is there already, --force overwrites it")


def coarse(query, doc):
    """What a judge goes by who sees three kinds of documents."""
    return int(3 * relevance(query, doc))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
def test_a_truth_of_more_ranks_serves_for_fewer(values, data):
    """A group that goes on beyond the smaller k shares its κ-grade there, too."""
    n, docs = len(values), [f"d{z:02}" for z in range(len(values))]
    k = data.draw(st.integers(1, n))
    work = TopKLabelling(n, k, order=data.draw(st.permutations(range(n))))
    while (pair := work.ask()) is not None:
        first, second = (values[z] for z in pair)
        work.tell(None if first == second else pair[first < second])
    truth, fewer = truth_of(work, docs), data.draw(st.integers(1, k))
    expected = [max(fewer - sum(other > value for other in values), 0) for value in values]
    assert [truth.grades(fewer)[doc] for doc in docs] == expected


def test_ties_of_no_ranking_are_counted(drawn, label):
    """A judge who sees no difference below a margin; in such ties the order of asking has a say, which is told."""
    done = compare_all("m.log", margin=0.4)
    assert 0 < done.n_overruled < done.n_ties
    told = label("m.log", "m.csv")
    said = f"documents of {done.n_ties} ties share a rank, except {done.n_overruled} that other answers separate"
    assert said in told.err


def test_undo_takes_back_the_last_answer_of_the_query_at_hand(drawn):
    """And those of queries that were settled before, back to the first; the log stays whole."""
    asked = []
    with labelling("s.csv", 3, "u.log") as work:
        for _ in range(20):
            question = work.ask()
            asked.append((question.query, question.first, question.second))
            work.prefer(question.first)
        assert len({query for query, *_ in asked}) > 2
        for expected in reversed(asked):
            assert work.undo().event.body == {"what": "undone"}
            question = work.ask()
            assert (question.query, question.first, question.second) == expected
        assert work.undo() is None
        assert work.compared.n_comparisons == 0
    assert len(told_to("u.log")) == 40
    assert compare_all("u.log").truths == compare_all("v.log").truths


def test_a_pilot_may_be_told_by_ranks(logged, call, label):
    label("ann.log", "ann.csv")
    told = call("plan", *ASKED, "--budget", "80%", "--pilot", "s.sample", "--sheet", "ann.csv")
    assert told.code == 0, told.err
    assert "the pilot's variance around" in told.err


def test_score_takes_documents_thrown_out(folder, call):
    (folder / "one.run").write_text("".join(f"q Q0 d{z} {z + 1} {9 - z} one\n" for z in range(4)))
    (folder / "bad.csv").write_text("query,rank,doc_id\nq,1,d1\nq,2,d0\nq,bad,d2\nq,bad,d3\n")
    (row,) = call("score", "bad.csv", "one.run", "kNDCG(k=3)", "-o", "jsonl").rows
    gains = [2**2 - 1, 2**3 - 1]
    best = gains[1] + gains[0] / np.log2(3)
    assert row["value"] == pytest.approx((gains[0] + gains[1] / np.log2(3)) / best)
    assert row["judged"] == 1


def test_the_text_of_a_query_may_stand_in_any_of_its_rows(tmp_path):
    rows = ["q1,a,,A", "q1,b,what is it,B", "q1,c,,", "q2,a,,A", "q2,b,,B", "q3,a,first,A", "q3,b,last,B"]
    lines = ["sample,block,query_id,doc_id,query,title,grade", *(f"s,1,{row}," for row in rows)]
    (tmp_path / "s.csv").write_text("\n".join(lines))
    with labelling(str(tmp_path / "s.csv"), 1, str(tmp_path / "ann.log")):
        pass
    with open_store(f"sqlite:///{tmp_path / 'ann.log'}") as store:
        units = {unit.query_id: unit for unit in store.units("ann")}
    assert {query: unit.query_text for query, unit in units.items()} == {"q1": "what is it", "q2": "", "q3": "last"}
    documents = units["q1"].places[0].text["documents"]
    assert sorted((one["doc_id"], one.get("title")) for one in documents) == [("a", "A"), ("b", "B"), ("c", None)]
