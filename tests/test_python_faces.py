"""What Python's faces of commands say is what the commands say; results pickle, frames come in wherever files do."""

import json
import pickle

import pandas as pd
import pytest
from test_one_verb import write_texts
from verb_calls import ASKED, GRADES, NEW, OLD, judged

import activeeval as ae
from activeeval import cli

pytestmark = pytest.mark.filterwarnings("ignore::activeeval.CautionWarning")
SEGMENTS = {query: "even" if int(query[1:]) % 2 == 0 else "odd" for query in GRADES}
FRAME = pd.DataFrame({"query_id": list(SEGMENTS), "segment": list(SEGMENTS.values())})


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Return a function from words to the JSON rows of the command line, in a folder with small files."""
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path)

    def run(words):
        code = cli.run(words.split())
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
        return code, rows

    return run


def plain(rows):
    """Return rows as JSON has them."""
    return json.loads(json.dumps(rows))


def table_of(grades, **more):
    rows = [(query, doc, grade) for query, docs in grades.items() for doc, grade in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "grade"]).assign(**more)


def drawn(**more):
    return ae.sample({"new.run": NEW, "old.run": OLD}, **ASKED | {"seed": 1} | more)


def test_sheets_for_several_judges_are_those_of_the_command_line(call, tmp_path):
    words = "sample --run new.run --run old.run --measure DCG@3 --budget 40 --max-grade 3 --seed 1"
    assert call(f"{words} --out c.sample --sheet c.csv --judge ann --judge bob --overlap 5")[0] == 0
    people = {"judges": ["ann", "bob"], "overlap": 5}
    sample = ae.sample(["new.run", "old.run"], **ASKED, seed=1).save("p.sample", "p.csv", **people)
    assert sample.write_sheet("q.csv", **people) == ["q-ann.csv", "q-bob.csv"]
    frames = sample.sheet("pandas", **people)
    for judge in people["judges"]:
        expected = (tmp_path / f"c-{judge}.csv").read_bytes()
        assert (tmp_path / f"p-{judge}.csv").read_bytes() == (tmp_path / f"q-{judge}.csv").read_bytes() == expected
        assert frames[judge]["doc_id"].tolist() == pd.read_csv(f"c-{judge}.csv")["doc_id"].tolist()
    assert sum(map(len, frames.values())) == sample.n_items + 5
    assert set(sample.sheet("pandas", judges="ann")["judge"]) == {"ann"}
    result = sample.estimate([judged(frame) for frame in frames.values()], policy="median")
    assert result.value == sample.estimate(judged(sample.sheet("pandas"))).value
    sample.write_sheet("q.xlsx", grade_names={0: "bad", 3: "perfect"})
    with pytest.raises(ae.InputError, match="is there already"):
        sample.write_sheet("q.csv", **people)
    with pytest.raises(ae.InputError, match="`overlap` needs several judges"):
        sample.sheet(overlap=3)


def test_a_campaign_is_worked_on_with_frames(call):
    sample = drawn()
    with ae.create_campaign(sample, "w.activeeval", "w") as campaign:
        (sheet,) = campaign.next_batch("batch.csv", judges="ann", items=4)
        assert (sheet.items, sheet.judge) == (4, "ann")
        taken = campaign.import_judgments(judged(pd.read_csv("batch.csv")))
        assert taken.rows()[0]["stored"] == 4
        assert campaign.judge("bob", table_of(GRADES)) == sample.n_items - 4
        assert campaign.verify().is_whole
        weights = campaign.export("weights").to_frame("pandas")
        assert campaign.export("weights", "w.csv").text == ""
        pd.testing.assert_frame_equal(weights, pd.read_csv("w.csv"), check_dtype=False)
        first = campaign.log("pandas").query("kind == 'judged'").iloc[0]
        assert campaign.retract(int(first.seq), first.judge).kind == "retracted"
        campaign.judge("ann", GRADES)
        more = campaign.top_up(10).items
        assert abs(more - 10) <= 1  # of a pair, all or none
        assert campaign.stop() == campaign.reopen() == more
        campaign.judge("ann", GRADES)
        assert campaign.redraw({"new.run": NEW, "old.run": OLD}, "DCG@3", budget=20, max_grade=3, seed=2).items in (
            19,
            20,
        )
    assert ae.list_campaigns("w.activeeval") == ["w"]
    assert call("campaign verify w")[0] == 0


def test_a_watch_is_that_of_the_command_line(call):
    call("watch init c --measure DCG@3 --budget-per-night 30 --max-grade 3 --seed 1")
    code, rows = call("watch night c --run new.run --date 2026-01-01 -o jsonl --oracle qrels")
    with ae.create_watch("p.activeeval", "p", measure="DCG@3", budget=30, max_grade=3, seed=1) as watch:
        night = watch.night(NEW, "2026-01-01", oracle=table_of(GRADES))
        assert (night.exit_code, plain(night.rows())) == (code, rows)
        assert watch.night(OLD, "2026-01-02").exit_code == 11
        watch.campaign.next_batch("n.csv")
        done = watch.submit(judged(pd.read_csv("n.csv")), "ann")
        assert done.says.waiting == 0
        assert str(done) == str(watch.status())
        assert pickle.loads(pickle.dumps(done)).rows() == done.rows()


def test_samples_and_results_pickle():
    sample = drawn()
    again = pickle.loads(pickle.dumps(sample))
    assert again.id == sample.id
    sheet = judged(sample.sheet("pandas"))
    made = [
        sample.estimate(sheet),
        ae.plan(NEW, budget=20, max_grade=3),
        ae.score(GRADES, [NEW, OLD]),
        ae.compare(OLD, NEW, judgments=GRADES),
        ae.audit(sample, sheet, {"llm": GRADES}),
        ae.agreement([GRADES, OLD_GRADES], resamples=20),
        ae.simulate(NEW, GRADES, measure="DCG@3", budget=40, repetitions=10),
        ae.design(NEW, max_grade=3),
        ae.calibration(NEW, GRADES),
    ]
    for result in made:
        assert str(pickle.loads(pickle.dumps(result))) == str(result)
    assert again.estimate(sheet).value == made[0].value


OLD_GRADES = {query: docs | {"d1": 0} for query, docs in GRADES.items()}


def test_segments_may_be_frames_and_dicts(tmp_path):
    FRAME.to_csv(tmp_path / "segments.csv", index=False)
    sample = drawn(budget=60, seed=2)
    sheet = judged(sample.sheet("pandas"))
    given = [tmp_path / "segments.csv", FRAME, SEGMENTS]
    results = [sample.estimate(sheet, segments=segments).to_frame("pandas") for segments in given]
    for result in results[1:]:
        pd.testing.assert_frame_equal(result, results[0])
    assert set(results[0]["segment"]) == {"even", "odd"}
    asked = {"measure": "DCG@3", "max_grade": 3, "half_width": {"even": 2.0, "odd": 2.5}}
    budgets = [ae.plan([NEW, OLD], segments=segments, **asked).budget for segments in given]
    assert budgets == [budgets[0]] * 3
    with pytest.raises(ae.FormatError, match="no segment column"):
        sample.estimate(sheet, segments=FRAME.rename(columns={"segment": "x"}))


def test_a_pool_in_files_is_sampled_and_planned_for_by_its_name(call):
    ae.write_pool(["new.run", "old.run"], "in-files", max_grade=3, partitions=2)
    asked = {"measure": "DCG@3", "budget": 40, "seed": 1}
    of_files = ae.sample(["new", "old"], pool_parquet="in-files/*.parquet", **asked)
    assert of_files.drawn.pairs == ae.sample(["new.run", "old.run"], max_grade=3, **asked).drawn.pairs
    planned = ae.plan(["new", "old"], pool_parquet="in-files/*.parquet", measure="DCG@3", budget=40)
    assert planned.to_frame("polars").height


def test_a_further_round_asks_what_the_campaign_asks_on_its_scale(tmp_path):
    with ae.create_campaign(drawn(measure="P@3"), str(tmp_path / "c.activeeval"), "c") as campaign:
        campaign.judge("ann", table_of(GRADES))
        campaign.redraw({"new.run": NEW, "old.run": OLD}, budget=20)
        campaign.judge("ann", table_of(GRADES))
        assert campaign.estimate().measure == "P@3"
        with pytest.raises(ae.InputError, match="the scale of campaign c goes up to 3, got 2"):
            campaign.redraw({"new.run": NEW, "old.run": OLD}, budget=20, max_grade=2)
        with pytest.raises(ae.ActiveEvalError, match="`half_width`: a further round has a `budget`"):
            campaign.redraw({"new.run": NEW, "old.run": OLD}, half_width=1.0)
