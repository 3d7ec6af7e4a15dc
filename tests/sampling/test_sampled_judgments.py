"""Judgments of a sample that are scored plainly: the note beside an export, and who says so."""

import ir_measures
import pytest
from cli_cases import RUN, files, judge_file
from cli_files import csv_rows, write_csv

MADE = (*RUN, "--measure", "DCG@5", "--budget", "20", "--seed", 3)
SAYS = "these are judgments of a sample: scores without"


@pytest.fixture
def exported(call, folder):
    """Return a function from a form to the export of a campaign that is judged."""
    oracle = ("--oracle", "q.qrels", "--unjudged", "irrelevant")
    assert call("campaign", "create", "w", *MADE).code == 0
    assert call("campaign", "judge", "w", "--judge", "ann", *oracle).code == 0
    return lambda form, path: call("campaign", "export", "w", "--format", form, "--out", path, "--force")


@pytest.mark.parametrize(("form", "path"), [("qrels", "w.qrels"), ("csv", "w.csv")])
def test_an_export_says_beside_it_that_it_is_of_a_sample(call, folder, exported, form, path):
    done = exported(form, path)
    assert (done.code, SAYS in done.err) == (0, True)
    first, instead = (folder / f"{path}.note").read_text().splitlines()
    assert first.startswith("# judgments of a sample (campaign w, as of event ")
    assert instead == "activeeval campaign estimate w"
    scored = call("score", path, "a.run", "DCG@5")
    assert scored.code == 0
    assert f"{path}: {SAYS} their weights are misleading; use `activeeval campaign estimate w`" in scored.err
    compared = call("compare", "b.run", "a.run", "--qrels", path, "--measure", "DCG@5", "--unjudged", "irrelevant")
    assert SAYS in compared.err
    (folder / f"{path}.note").unlink()
    assert SAYS not in call("score", path, "a.run", "DCG@5").err


def test_other_readers_take_what_is_exported_and_with_weights_nothing_misleads(folder, exported):
    exported("qrels", "w.qrels")
    assert len(list(ir_measures.read_trec_qrels("w.qrels"))) > 0
    assert SAYS not in exported("prels", "w.prels").err
    assert not (folder / "w.prels.note").exists()
    (folder / "w.prels.note").write_text("mine")  # a note of something else stays
    exported("prels", "w.prels")
    assert (folder / "w.prels.note").read_text() == "mine"


def test_a_judged_sheet_is_known_for_one_of_a_sample(call):
    assert call("sample", *MADE, *files("d.csv")).code == 0
    rows = judge_file("d.csv")
    rows[0]["grade"], rows[1]["grade"], rows[2]["grade"] = "Cannot", " CANNOT ", ""
    write_csv("d.csv", rows)
    for done in (
        call("score", "d.csv", "a.run", "DCG@5"),
        call("compare", "b.run", "a.run", "--qrels", "d.csv", "--measure", "DCG@5", "--unjudged", "irrelevant"),
    ):
        assert "use `activeeval estimate SAMPLE d.csv`" in done.err
        assert "d.csv: 2 items could not be judged: they count as not judged" in done.err
    assert len(csv_rows("d.csv")) == len(rows)
