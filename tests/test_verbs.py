"""The verbs in Python: the numbers of the command line, frames in and out, results that print, plot and warn."""

import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import activeeval as ae
from activeeval import cli

RNG = np.random.default_rng(5)
QUERIES = [f"q{q}" for q in range(30)]
DOCS = [f"d{d}" for d in range(8)]
QRELS = {query: {doc: int(grade) for doc, grade in zip(DOCS, RNG.integers(0, 4, 8), strict=True)} for query in QUERIES}
RUNS = {
    name: {query: {doc: float(QRELS[query][doc] + noise * RNG.normal()) for doc in DOCS} for query in QUERIES}
    for name, noise in (("new.run", 1.0), ("old.run", 4.0))
}
ASKED = {"measure": "DCG@5", "budget": 90, "max_grade": 3, "seed": 7}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the runs and judgments as files, the working one."""
    monkeypatch.chdir(tmp_path)
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} 1 {s!r} {name}\n" for q, docs in run.items() for d, s in docs.items()]
        Path(name).write_text("".join(lines))
    Path("qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()))
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    """Return a function from arguments to the JSON rows of the command line."""

    def run(*arguments):
        assert cli.run(list(arguments)) == 0
        out = capsys.readouterr().out
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    return run


def run_frame(name, library="polars"):
    """Return a run as a data frame."""
    rows = [(q, d, s) for q, docs in RUNS[name].items() for d, s in docs.items()]
    return made(library, dict(zip(("query_id", "doc_id", "score"), zip(*rows, strict=True), strict=True)))


def qrels_frame(library="polars"):
    rows = [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    return made(library, dict(zip(("query_id", "doc_id", "relevance"), zip(*rows, strict=True), strict=True)))


def told_probs():
    """Return a table of grade probabilities: 0.7 for the grade that an item has, 0.1 for each other."""
    rows = [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    probs = [{f"p{k}": 0.7 if k == g else 0.1 for k in range(4)} for _, _, g in rows]
    return pl.DataFrame([{"query_id": q, "doc_id": d, **p} for (q, d, _), p in zip(rows, probs, strict=True)])


def made(library, columns):
    return pytest.importorskip(library).DataFrame({name: list(cells) for name, cells in columns.items()})


def graded(sheet, blocks=99):
    """Return a sheet with the grades of its first blocks."""
    grades = [
        QRELS[query][doc] if block <= blocks else None
        for query, doc, block in zip(*(list(sheet[name]) for name in ("query_id", "doc_id", "block")), strict=True)
    ]
    return sheet.with_columns(grade=pl.Series(grades, dtype=pl.Int64)) if hasattr(sheet, "with_columns") else (
        sheet.assign(grade=grades)
    )  # fmt: skip


def drawn(**asked):
    return ae.sample(RUNS, **ASKED | asked)


def test_a_sample_is_that_of_the_command_line(call):
    asked = ("--measure", "DCG@5", "--budget", "90", "--max-grade", "3", "--seed", "7")
    call("sample", "--run", "new.run", "--run", "old.run", *asked, "--out", "cli.sample", "--sheet", "cli.csv")
    sample = ae.sample(["new.run", "old.run"], **ASKED)
    assert sample.save("py.sample", sheet="py.csv") is sample
    assert Path("py.sample").read_bytes() == Path("cli.sample").read_bytes()
    assert Path("py.csv").read_bytes() == Path("cli.csv").read_bytes()
    judged = graded(pl.read_csv("py.csv"))
    judged.write_csv("judged.csv")
    (row,) = call("estimate", "py.sample", "judged.csv", "-o", "jsonl")
    results = [sample.estimate("judged.csv"), sample.estimate(Path("judged.csv")), sample.estimate(judged)]
    results += [ae.load_sample("cli.sample").estimate([judged]), sample.estimate(QRELS)]
    results += [ae.sample([run_frame("new.run"), run_frame("old.run")], **ASKED).estimate(qrels_frame())]
    for result in results:
        assert {name: result.rows()[0][name] for name in ("value", "std_error", "low", "high", "p_value")} == {
            name: row[name] for name in ("value", "std_error", "low", "high", "p_value")
        }
    (answer,) = (result.rows() for result in results[:1])
    del row["cautions"]
    assert answer == [row]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_out_as_they_came_in(library):
    frames = [run_frame(name, library) for name in RUNS]
    sample = ae.sample(frames, names=["new", "old"], **ASKED)
    sheet = sample.sheet()
    assert type(sheet).__module__.startswith(library)
    assert list(sheet.columns) == ["sample", "block", "query_id", "doc_id", "judge", "grade", "note"]
    result = sample.estimate(graded(sheet))
    assert (result.system, result.versus, sample.names) == ("new", "old", ("new", "old"))
    assert type(result.to_frame()).__module__.startswith(library)
    assert type(result.to_frame("pyarrow")).__module__.startswith("pyarrow")
    scores = ae.score(qrels_frame(library), frames, "nDCG@5")
    assert type(scores.to_frame(by_query=True)).__module__.startswith(library)
    assert len(scores.to_frame(by_query=True)) == 2 * len(QUERIES)
    answer = ae.compare(frames[1], frames[0], judgments=qrels_frame(library), measure="P@3")
    assert type(answer.to_frame()).__module__.startswith(library)
    assert answer.value == ae.compare(RUNS["old.run"], RUNS["new.run"], judgments=QRELS, measure="P@3").value


def test_a_sheet_may_be_judged_in_part_and_by_several():
    sample = drawn()
    half = sample.estimate(graded(sample.sheet("polars"), blocks=2))
    assert half.progress.waiting > 0
    assert "This is early" in str(half)
    with pytest.raises(ae.StateError):
        sample.estimate(graded(sample.sheet("polars"), blocks=0))
    whole = graded(sample.sheet("polars"))
    both = [whole.with_columns(judge=pl.lit(name)) for name in ("ann", "bob")]
    assert sample.estimate(both, policy="median").value == sample.estimate(whole).value
    pandas = pytest.importorskip("pandas")
    table = sample.sheet("pandas").assign(grade=[QRELS[q][d] for q, d in whole.select("query_id", "doc_id").rows()])
    table["grade"] = table["grade"].astype(object)
    table.loc[0, "grade"] = "cannot"
    assert isinstance(table, pandas.DataFrame)
    assert sample.estimate(table).progress.cannot == 1


def test_what_is_no_judgment_of_the_sample_is_refused():
    sample = drawn()
    with pytest.raises(ae.InputError, match="none of its 1 judgment is of an item of the sample"):
        sample.estimate({"q1": {"nowhere": 1}})
    with pytest.raises(ae.InputError, match="judged 1: the sheet is of sample"):
        sample.estimate(graded(drawn(seed=8).sheet("polars")))
    with pytest.raises(ae.InputError, match="got int"):
        sample.estimate(3)
    with pytest.raises(ae.InputError, match="got none"):
        sample.estimate([])


def test_files_are_not_overwritten_unawares(folder):
    sample = drawn().save("a.sample", sheet="a.csv")
    sample.save("a.sample")
    with pytest.raises(ae.InputError, match=r"a\.csv is there already"):
        sample.save("a.sample", sheet="a.csv")
    with pytest.raises(ae.InputError, match=r"a\.sample is there already"):
        drawn(seed=9).save("a.sample")
    drawn(seed=9).save("a.sample", force=True)
    assert ae.load_sample("a.sample").seed == 9


def test_measures_are_text_objects_of_any_library_and_lists():
    ndcg = ae.parse_measure("nDCG@5")
    assert ae.evaluate(RUNS["new.run"], judgments=QRELS, measure=ae.NDCG() @ 5).value == pytest.approx(
        ae.score(QRELS, [RUNS["new.run"]], ndcg).value, rel=1e-12
    )
    both = drawn(measure=["DCG@5", ae.Precision(3)], budget="50%")
    results = both.estimate(graded(both.sheet("polars")))
    assert [result.measure for result in results] == ["DCG@5", "P@3"]
    assert isinstance(results, list)
    assert repr(results) == str(results)
    assert results.to_frame("polars")["measure"].to_list() == ["DCG@5", "P@3"]
    alone = both.estimate(graded(both.sheet("polars")), measure=ae.DCG() @ 5)
    assert alone.value == results[0].value
    answers = ae.evaluate(RUNS["new.run"], judgments=QRELS, measure=["DCG@5", "P@3"])
    assert [answer.measure for answer in answers] == ["DCG@5", "P@3"]
    assert str(answers).startswith("the run: DCG@5")
    with pytest.raises(ae.InputError, match="already"):
        ae.DCG(cutoff=5) @ 10


def test_measures_of_ir_measures_are_read():
    ir_measures = pytest.importorskip("ir_measures")
    scores = ae.score(QRELS, RUNS, [ir_measures.nDCG @ 5, ir_measures.RR])
    assert scores["new.run", "nDCG@5"].value > scores["old.run", "nDCG@5"].value
    asked = {"judgments": QRELS, "measure": ir_measures.nDCG @ 5}
    assert ae.evaluate(RUNS["new.run"], **asked).value == pytest.approx(scores["new.run", "nDCG@5"].value, rel=1e-12)
    assert drawn(measure=ir_measures.P @ 3).drawn.made_for[0].target.name == "P@3"


def test_scores_are_those_of_the_command_line(call):
    asked = ("nDCG@5", "RR", "--run", "old.run", "--baseline", "old.run", "-o", "jsonl")
    rows = call("score", "qrels", "new.run", *asked)
    scores = ae.score("qrels", ["new.run", "old.run"], ["nDCG@5", "RR"], baseline="old.run")
    assert scores.rows() == rows
    score = scores["new.run", "nDCG@5"]
    low, high = score.difference_interval
    assert low < score.difference < high
    assert scores["old.run", "RR"].difference is None
    assert score.by_query.mean() == pytest.approx(score.value)
    shown = f"{score.difference:.3f} ({low:.3f} to {high:.3f})"
    assert scores.sentences[0] == f"new.run is better than old.run by {shown}: nDCG@5, 30 queries."
    alone = ae.score(QRELS, RUNS["new.run"], "P@3")
    assert alone.low < alone.value < alone.high
    assert tuple(alone.interval) == (alone.low, alone.high)
    assert alone.std_error > 0
    with pytest.raises(ae.InputError, match="index them"):
        _ = scores.value
    with pytest.raises(ae.InputError, match=r"did you mean new\.run"):
        ae.score(QRELS, RUNS, "P@3", baseline="nwe.run")
    with pytest.raises(KeyError):
        scores["new.run", "AP"]


def test_a_plan_is_that_of_the_command_line(call):
    asked = ("--measure", "DCG@5", "--half-width", "0.5", "--max-grade", "3", "-o", "jsonl")
    rows = call("plan", "--run", "new.run", "--run", "old.run", *asked)
    plan = ae.plan(["new.run", "old.run"], measure="DCG@5", half_width=0.5, max_grade=3)
    assert json.loads(json.dumps(plan.rows())) == rows
    assert (plan.low, plan.high) == (None, None)  # no label has been held against what it expects
    assert (rows[0]["half_width_low"], rows[0]["half_width_high"]) == (None, None)
    known = ae.plan(RUNS, measure="DCG@5", half_width=0.5, max_grade=3, grade_probs=told_probs())
    assert known.low < known.half_width < known.high
    assert plan.budget in [math.ceil(row["budget"]) for row in rows]
    assert "half-width" in str(plan)
    assert ae.plan(RUNS, measure="DCG@5", budget=["20%", 100], max_grade=3).budget == 100
    with pytest.raises(ae.InputError, match="asks which budget"):
        ae.plan(RUNS, half_width=0.1, budget=10, max_grade=3)


def test_what_is_known_and_what_a_model_says_may_be_frames():
    known = qrels_frame().head(40)
    sample = drawn(judged=known, budget="30%")
    pairs = {*sample.sheet("polars").select("query_id", "doc_id").rows()}
    assert not pairs & {*known.select("query_id", "doc_id").rows()}
    by_frame = drawn(grade_probs=told_probs())

    def of_pool(pool):
        queries, docs = pool.query_texts[pool.item_queries].tolist(), pool.item_texts.tolist()
        grades = [QRELS[q][d] for q, d in zip(queries, docs, strict=True)]
        return 0.1 + 0.6 * np.eye(4)[grades]

    assert drawn(grade_probs=of_pool).sheet("polars").drop("sample").equals(by_frame.sheet("polars").drop("sample"))
    assert "grade_probs" in by_frame.drawn.model
    with pytest.raises(TypeError, match="unexpected keyword argument 'bugdet'"):
        drawn(bugdet=3)
    with pytest.raises(ae.InputError, match="`budget`"):
        ae.sample(RUNS, max_grade=3)


def test_results_print_plot_and_unpack():
    sample = drawn()
    result = sample.estimate(QRELS)
    low, high = result.interval
    assert (low, high) == (result.low, result.high)
    assert low < result.value < high
    assert str(result).startswith("new.run")
    assert max(map(len, str(result).splitlines()[2:4])) <= 100
    assert str(sample).splitlines()[0].startswith(f"{sample.n_items} items of ")
    assert sample.n_items in (89, 90)  # of a pair, all or none
    evil = ae.sample({"<b>new</b>": RUNS["new.run"], "old": RUNS["old.run"]}, **ASKED).estimate(QRELS)
    assert "<b>" not in evil._repr_html_()
    assert "&lt;b&gt;new&lt;/b&gt;" in evil._repr_html_()
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    plan = ae.plan(RUNS, measure="DCG@5", half_width=0.5, max_grade=3)
    scores, answer = ae.score(QRELS, RUNS), ae.compare(RUNS["old.run"], RUNS["new.run"], judgments=QRELS)
    for each in (result, plan, scores, answer, sample.estimate(QRELS, measure=["DCG@5", "P@3"])):
        axes = each.plot()
        assert axes.has_data()
        plt.close(axes.figure)
    figure, axes = plt.subplots()
    assert result.plot(ax=axes) is axes
    assert len(axes.lines) > 4  # a block each, the values, and 0
    plt.close(figure)


def test_a_grave_caution_is_a_warning_of_its_own_and_comes_once():
    alike = {query: dict.fromkeys(DOCS, 1) for query in QUERIES}
    sample = ae.sample([RUNS["new.run"]], measure="P@3", budget=40, max_grade=3, seed=1, method="random")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = sample.estimate(alike)
    assert {caution.level for caution in result.cautions} & {"warning", "severe warning"}
    assert [warning.category for warning in caught] == [ae.CautionWarning]
    assert str(caught[0].message).startswith(("warning: ", "severe warning: "))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ae.CautionWarning)
        with pytest.raises(ae.CautionWarning):
            sample.estimate(alike)


def test_a_frame_of_several_measures_has_the_numbers_that_are_printed():
    results = ae.compare(*RUNS.values(), judgments=QRELS, measure=["DCG@3", "P@1"])
    for row, result in zip(results.rows(), results, strict=True):
        assert (row["low"], row["high"]) == (result.low, result.high)
        assert row["p_holm"] == result.p_value >= row["p_value"]


def test_a_campaign_is_judged_and_says_what_the_command_line_says(call):
    sample = drawn(budget=24)
    with ae.create_campaign(sample, "week1.activeeval", "week1") as campaign:
        first = campaign.claim("Ann")
        campaign.submit(first.token, cannot="a login page")
        while (item := campaign.claim("Ann")) is not None:
            event = campaign.submit(item, QRELS[item.query_id][item.doc_id])
            assert event.kind == "judged"
        assert campaign.status()["judged"] == sample.n_items - 1
        assert "0 wait" in str(campaign.status())
    (row,) = call("campaign", "estimate", "week1", "-o", "jsonl")
    with ae.open_campaign("week1.activeeval", "week1") as campaign:
        result = campaign.estimate()
        assert (result.value, result.low, result.high) == (row["value"], row["low"], row["high"])
        assert len(result.readings()) == 4
        assert campaign.estimate(measure="P@3").measure == "P@3"
        assert len(campaign.log()) > sample.n_items
        assert campaign.report("week1.html") == "week1.html"
        assert "new.run" in Path("week1.html").read_text("utf-8")
        with pytest.raises(ae.InputError, match="there already"):
            campaign.report("week1.html")
        with pytest.raises(ae.InputError, match="ends in"):
            campaign.report("week1.txt")
        with pytest.raises(ae.InputError, match="give one of"):
            campaign.submit("token")
    with pytest.raises(ae.InputError):
        ae.open_campaign("week1.activeeval", "week2")
    with pytest.raises(ae.InputError):
        ae.open_campaign("nowhere.activeeval", "week1")


def test_the_package_shows_its_public_names_alone():
    script = "import activeeval, activeeval.scale; print([n for n in dir(activeeval) if n not in activeeval.__all__])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert {"score", "compare", "evaluate", "plan", "sample", "load_sample", "open_campaign"} <= set(dir(ae))
    assert (Path(ae.__file__).parent / "py.typed").is_file()


def test_differences_that_hold_at_once_have_room_for_what_cannot_be_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    third = {query: {doc: float(k) for k, doc in enumerate(DOCS)} for query in QUERIES}
    sample = ae.sample(RUNS | {"flat.run": third}, measure="DCG@5", budget=120, max_grade=3, seed=1)
    with ae.create_campaign(sample, "week1.activeeval", "week1") as campaign:
        campaign.submit(campaign.claim("Ann").token, cannot="a login page")
        while (item := campaign.claim("Ann")) is not None:
            campaign.submit(item, QRELS[item.query_id][item.doc_id])
        results = campaign.estimate()
    pairs = [("new.run", "old.run"), ("new.run", "flat.run"), ("old.run", "flat.run")]
    assert [(result.system, result.versus) for result in results] == pairs
    assert results.ranks["DCG@5", "new.run"][0] == 1
    assert "of 3" in results.sentences[0]
    for result in results:
        row = result.rows()[0]
        assert (row["low_simultaneous"], row["high_simultaneous"]) == (result.answer.low, result.answer.high)
    assert any(result.estimate.cannot is not None for result in results)


def test_graders_in_memory_have_the_names_of_a_dict_or_numbers(folder):
    rng = np.random.default_rng(2)
    cells = [(query, doc, grade) for query in QUERIES for doc, grade in QRELS[query].items()]
    rows = [(query, doc, int(np.clip(grade + rng.integers(-1, 2), 0, 3))) for query, doc, grade in cells]
    frames = [pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row") for _ in range(2)]
    sample = ae.sample(["new.run", "old.run"], **ASKED)
    sheet = graded(sample.sheet("polars"))
    named = ae.audit(sample, sheet, {"umbrela": frames[0], "mine": frames[1]})
    assert {row["grader"] for row in named.rows()} == {"umbrela", "mine"}
    assert {row["grader"] for row in ae.audit(sample, sheet, frames).rows()} == {"grader 1", "grader 2"}
    (name,) = {row["grader"] for row in ae.audit(sample, sheet, frames[0]).rows()}
    assert name == "grader"


def test_judgments_of_which_none_is_above_0_are_warned_of():
    zero = {query: dict.fromkeys(grades, 0) for query, grades in QRELS.items()}
    with pytest.warns(ae.CautionWarning, match="no document is relevant"):
        ae.score(zero, RUNS["new.run"], "DCG@5")
