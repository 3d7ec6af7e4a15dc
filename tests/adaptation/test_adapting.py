"""`activeeval adapt` and `rank`: from judged documents and preferences or clicks to a ranker and its scores."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from activeeval.adaptation import commands, read_ranker
from activeeval.adaptation.choice import RegularizationChoice, RegularizationRow
from activeeval.core.results import Figure
from activeeval.formats.text.scores import read_scores

N_QUERIES, N_DOCS = 12, 8
PATH = ("--regularization", 0.1, "--regularization", 1000)
SMALL = ("--trees", 10, "--leaves", 4, *PATH)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines, pairs, clicks = [], [], ["query_id,doc_id,position,impressions,clicks"]
    for q in range(N_QUERIES):
        features = rng.random((N_DOCS, 2))
        for z, (one, other) in enumerate(features):
            lines.append(f"{int(1.5 * (one + other))} qid:q{q} 1:{one:.4f} 2:{other:.4f} #docid = d{z}")
            clicks.append(f"q{q},d{z},{z + 1},2000,{int(2000 * other / (z + 1))}")
        order = np.argsort(-features[:, 1])
        pairs += [{"query": f"q{q}", "preferred": f"d{order[k]}", "other": f"d{order[k + 3]}"} for k in range(4)]
    (tmp_path / "judged.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "clicks.csv").write_text("\n".join(clicks) + "\n")
    return tmp_path


def features_of(folder):
    lines = (folder / "judged.txt").read_text().splitlines()
    return [[float(part.split(":")[1]) for part in line.split()[2:4]] for line in lines]


def test_a_path_over_regularizations_and_a_ranker_that_scores(folder, call):
    told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--plot", "p.svg", "--out", "t.ranker", "-o", "jsonl")
    assert told.code == 0, told.err
    base, little, much = told.rows
    assert base["regularization"] is None
    assert [row["regularization"] for row in (little, much)] == [0.1, 1000]
    assert little["precision"] > base["precision"]
    assert much["precision"] == pytest.approx(base["precision"], abs=0.05)
    assert sum(row["is_chosen"] for row in told.rows) == 1
    for row in told.rows:
        assert 0 < row["b"] <= 1
    assert (folder / "p.svg").stat().st_size > 1000
    assert call("rank", "judged.txt", "--ranker", "t.ranker", "--out", "s.txt").code == 0
    assert read_scores("s.txt").tolist() == read_ranker("t.ranker").predict(features_of(folder)).tolist()
    scored = ("--letor", "judged.txt", "--scores", "s.txt", "--measure", "DCG@5", "--budget", "50%")
    assert call("--quiet", "simulate", *scored, "--repetitions", 5, "-o", "jsonl").code == 0


def test_clicks_become_pairs_and_it_is_said_how(folder, call):
    told = call("adapt", "judged.txt", "clicks.csv", *SMALL, "--out", "t.ranker")
    assert told.code == 0
    assert f"clicks.csv: {N_QUERIES * N_DOCS} rows of {N_QUERIES} queries" in told.err
    assert "stands above (Skip-Above)" in told.err


def test_a_seed_gives_the_same_bytes_and_a_ranker_is_a_base(folder, call):
    for name in ("one", "two"):
        assert call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--seed", 3, "--out", name).code == 0
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()
    again = call("adapt", "judged.txt", "pairs.jsonl", *PATH, "--base", "one", "--out", "three", "-o", "jsonl")
    assert again.code == 0
    assert len(again.rows) == 3
    assert f"one was tuned on {N_QUERIES} of these queries before: for them the figures are not held out" in again.err
    for option in (("--trees", 5), ("--leaves", 4)):
        told = call("adapt", "judged.txt", "pairs.jsonl", *PATH, "--base", "one", *option, "--out", "four")
        assert told.code == 2
        assert f"{option[0]} is for the default base" in told.err


SHOWN = {"query_id": "q0", "doc_id": "d0", "position": 1}
PAIR = {"query": "q0", "preferred": "d0", "other": "d1"}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([PAIR | {"query": "q99"}], "'q99', which judged.txt does not hold; --pairs-letor adds documents"),
        ([PAIR | {"other": "zz"}], "x.jsonl:1 names document 'zz' of query 'q0'"),
        ([PAIR, PAIR | {"preferred": "d1", "other": "d0"}], "x.jsonl:2 prefers 'd1' to 'd0' for query 'q0', x.jsonl:1"),
        ([PAIR | {"other": "d0"}], "x.jsonl:1: column other: holds 'd0' as preferred does"),
        ([PAIR | {"tie": True}], "x.jsonl: no document is preferred to another"),
        ([PAIR], "n_folds must be from 2 to the number of queries in pairs, 1, got 5"),
        ([SHOWN | {"impressions": 0, "clicks": 0}], "x.jsonl:1: column impressions"),
        ([SHOWN | {"impressions": 5, "clicks": 6}], "at most the 5 impressions"),
        ([SHOWN | {"impression": 5, "clicks": 2}], "no impressions column in: query_id, doc_id, position, impression"),
        ([SHOWN | {"impressions": 5, "clicks": 2, "weight": 2}], "x.jsonl:1: column weight is not supported"),
        ([PAIR | {"weight": 2}], "x.jsonl:1: column weight is not supported"),
    ],
)
def test_what_is_wrong_is_one_line(folder, call, rows, problem):
    (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = call("adapt", "judged.txt", "x.jsonl", *SMALL, "--out", "t.ranker")
    assert told.code == 1
    assert problem in told.err.splitlines()[-1]
    assert not (folder / "t.ranker").exists()


@pytest.mark.parametrize("option", [("--regularization", 0), ("--alpha", 0), ("--trees", 0)])
def test_an_option_out_of_range_is_wrong_usage(folder, call, option):
    assert call("adapt", "judged.txt", "pairs.jsonl", *option, "--out", "t.ranker").code == 2


def test_a_ranker_of_other_features_or_none_is_refused(folder, call):
    call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "t.ranker")
    (folder / "wide.txt").write_text("1 qid:q0 1:0.5 2:0.1 3:0.2 #docid = d0\n")
    told = call("rank", "wide.txt", "--ranker", "t.ranker", "--out", "s.txt")
    assert told.code == 1
    assert told.err == "activeeval: wide.txt has 3 features, t.ranker learned from 2\n"
    again = call("adapt", "wide.txt", "pairs.jsonl", "--base", "t.ranker", "--out", "u.ranker")
    assert "wide.txt names query" in again.err or "which wide.txt does not hold" in again.err
    (folder / "junk").write_bytes(b"junk")
    told = call("rank", "judged.txt", "--ranker", "junk", "--out", "s.txt")
    assert told.code == 1
    assert told.err.splitlines()[-1].startswith("activeeval: junk: ")
    call("rank", "judged.txt", "--ranker", "t.ranker", "--out", "s.txt")
    assert "--force overwrites it" in call("rank", "judged.txt", "--ranker", "t.ranker", "--out", "s.txt").err


@pytest.mark.parametrize(("se", "is_said"), [(0.02, True), (0.005, False)])
def test_a_lead_within_its_error_is_said(capsys, se, is_said):
    figures = {"measure": Figure(0.5, 0.1), "precision": Figure(0.6, 0.1), "b": Figure(0.51, 0.1)}
    row = RegularizationRow(regularization=1.0, **figures)
    base = replace(row, regularization=float("inf"), b=Figure(0.5, 0.1))
    counts = {"n_queries": 20, "n_irrelevant": 0, "n_seen": 0}
    lead = Figure(0.01, se)
    choice = RegularizationChoice(ranker=None, regularization=1.0, table=(row,), base=base, lead=lead, **counts)
    commands._say_cautions(choice, None)
    said = "the chosen λ is above the base by 0.0100 ± 0.0200 of B over the folds, within its standard error"
    assert (said in " ".join(capsys.readouterr().err.split())) == is_said


def test_queries_without_relevant_documents_an_end_and_no_gain_are_told(folder, call):
    text = (folder / "judged.txt").read_text().splitlines()
    zero = ["0" + line[1:] if " qid:q1 " in line else line for line in text]
    (folder / "zero.txt").write_text("\n".join(zero) + "\n")
    backwards = (folder / "pairs.jsonl").read_text().replace("preferred", "x").replace("other", "preferred")
    (folder / "back.jsonl").write_text(backwards.replace('"x"', '"other"'))
    told = call("adapt", "zero.txt", "back.jsonl", *SMALL, "--out", "t.ranker", "-o", "jsonl")
    assert f"1 of {N_QUERIES} judged queries have no relevant document: their nDCG@5 counts as 0" in told.err
    base, *rows = told.rows
    chosen = next(row for row in rows if row["is_chosen"])
    assert "is the " in told.err  # one of two is an end
    assert " of the path, the best one may lie beyond it" in told.err
    assert ("no λ is better than the base" in told.err) == (chosen["b"] <= base["b"])
    far = ("--trees", 10, "--regularization", 1e30)
    alone = call("adapt", "judged.txt", "pairs.jsonl", *far, "--out", "same", "-o", "jsonl")
    value = f"{alone.rows[0]['b']:.4f}"
    assert f"no λ is better than the base: B {value} against {value}; the ranker is written anyway" in alone.err
    assert "of the path" not in alone.err
    assert "better than its base" not in call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "good").err


def test_files_of_different_features_are_refused(folder, call):
    (folder / "wide.txt").write_text("1 qid:z 1:0.5 2:0.1 3:0.2 #docid = d0\n")
    for option in ("--letor", "--pairs-letor"):
        told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, option, "wide.txt", "--out", "t.ranker")
        assert told.err == "activeeval: wide.txt has 3 features, judged.txt 2: expected as many in every file\n"


def test_features_that_trees_cannot_take_are_told_by_line(folder, call):
    call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "t.ranker")
    text = (folder / "judged.txt").read_text()
    for value, problem in (("NULL", "is NULL"), ("1e39", "is 1e+39, too large for single precision")):
        first, *rest = text.splitlines()
        (folder / "bad.txt").write_text(
            "\n".join(["# a comment", first, rest[0].split(" 2:")[0] + f" 2:{value} #docid = d1", *rest[1:]])
        )
        told = call("adapt", "bad.txt", "pairs.jsonl", *SMALL, "--out", "u.ranker")
        assert told.err == f"activeeval: bad.txt:3: feature 2 {problem}, which the default base cannot handle\n"
        told = call("rank", "bad.txt", "--ranker", "t.ranker", "--out", "s.txt")
        assert told.err == f"activeeval: bad.txt:3: feature 2 {problem}, which t.ranker cannot handle\n"


def test_weeks_of_clicks_add_up(folder, call):
    text = (folder / "clicks.csv").read_text().splitlines()
    rows = [line.split(",") for line in text[1:]]
    halves = ([], [])
    for q, d, at, shown, clicked in rows:
        halves[0].append(f"{q},{d},{at},{int(shown) // 4},{int(clicked) // 4}")
        halves[1].append(f"{q},{d},{at},{int(shown) - int(shown) // 4},{int(clicked) - int(clicked) // 4}")
    for name, lines in zip(("one.csv", "two.csv"), halves, strict=True):
        (folder / name).write_text("\n".join([text[0], *lines]) + "\n")
    whole = call("adapt", "judged.txt", "clicks.csv", *SMALL, "--out", "whole", "-o", "jsonl")
    parts = call("adapt", "judged.txt", "one.csv", "two.csv", *SMALL, "--out", "parts", "-o", "jsonl")
    assert parts.rows == whole.rows
    assert (folder / "whole").read_bytes() == (folder / "parts").read_bytes()
    assert f"one.csv + two.csv: {N_QUERIES * N_DOCS} rows of {N_QUERIES} queries" in parts.err


def test_clicks_and_pairs_that_contradict_each_other_are_named(folder, call):
    call("adapt", "judged.txt", "clicks.csv", *SMALL, "--out", "t.ranker")
    pairs = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    text = "preferred,other,query\n" + "".join(f"{p['other']},{p['preferred']},{p['query']}\n" for p in pairs)
    (folder / "back.csv").write_text(text)
    told = call("adapt", "judged.txt", "back.csv", "clicks.csv", *SMALL, "--out", "u.ranker")
    assert told.code == 1
    assert re.search(r"clicks.csv: the clicks prefers .* back.csv:\d+ the other way round", told.err)


def test_the_report_of_clicks_comes_also_where_no_pair_is_left(folder, call):
    rows = "".join(f"q{q},d{z},{z + 1},5,1\n" for q in range(3) for z in range(3))
    (folder / "few.csv").write_text("query_id,doc_id,position,impressions,clicks\n" + rows)
    told = call("adapt", "judged.txt", "few.csv", *SMALL, "--out", "t.ranker")
    assert told.code == 1
    assert "few.csv:   9 fewer than 20 impressions" in told.err
    text = "few.csv: no document is preferred to another, so there is nothing to adapt to"
    assert told.err.splitlines()[-1].endswith(text)


def test_no_output_replaces_another_or_an_input(folder, call):
    before = (folder / "judged.txt").read_bytes()
    for option, name, problem in (
        (("--plot", "t.svg"), "t.svg", "t.svg: --plot would replace t.svg, which this command reads or writes too"),
        ((), "judged.txt", "judged.txt: --out would replace judged.txt, which this command reads or writes too"),
        ((), "./pairs.jsonl", "./pairs.jsonl: --out would replace pairs.jsonl"),
        ((), "t.gz", "t.gz: expected a name that does not end in .gz, --out is not compressed"),
    ):
        told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, *option, "--force", "--out", name)
        assert told.code == 1
        assert problem in told.err
    call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "t.ranker")
    for name in ("judged.txt", "t.ranker"):
        told = call("rank", "judged.txt", "--ranker", "t.ranker", "--force", "--out", name)
        assert f"{name}: --out would replace {name}" in told.err
    assert (folder / "judged.txt").read_bytes() == before
    (folder / "p.svg").write_text("mine")
    told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--plot", "p.svg", "--out", "u.ranker")
    assert "p.svg: is there already, --force overwrites it" in told.err
    assert not (folder / "u.ranker").exists()


def test_no_ranker_is_left_where_the_plot_cannot_be_written(folder, call, monkeypatch):
    from activeeval.core.errors import InputError

    def fail(*_given):
        raise InputError("p.svg: cannot write: No space left on device")

    monkeypatch.setattr("activeeval.adaptation.choice_picture.plot_regularization", fail)
    told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--plot", "p.svg", "--out", "t.ranker", "-o", "jsonl")
    assert told.code == 1
    assert len(told.out.splitlines()) == 3
    assert not (folder / "t.ranker").exists()


def test_the_hint_at_a_large_closed_form_is_the_command_lines(folder, call, monkeypatch):
    monkeypatch.setattr("activeeval.adaptation.weights.MOST_SIDE", 5)
    told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "t.ranker")
    assert told.err.splitlines()[-1].endswith(": --method sgd has no such limit")


def test_a_hinge_that_has_not_converged_is_one_note(folder, call, recwarn):
    small = ("--trees", 10, "--leaves", 8, "--regularization", 1e-9, "--regularization", 1000)
    told = call("adapt", "judged.txt", "pairs.jsonl", *small, "--method", "hinge", "--out", "t.ranker")
    assert told.code == 0
    assert told.err.count("has not converged") == 1
    assert "the hinge has not converged at λ = 1e-09: these figures are not final" in told.err
    assert not recwarn.list


def test_a_base_can_be_ranked_against_what_it_became(folder, call):
    call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "t.ranker")
    for option, name in (((), "tuned.txt"), (("--base",), "base.txt")):
        assert call("rank", "judged.txt", "--ranker", "t.ranker", *option, "--out", name).code == 0
    expected = read_ranker("t.ranker").base.predict(features_of(folder))
    assert read_scores("base.txt").tolist() == expected.tolist()
    assert read_scores("base.txt").tolist() != read_scores("tuned.txt").tolist()


def test_pairs_letor_adds_documents(folder, call):
    """Pairs of judged queries and of others; of a query in both files the documents of --pairs-letor are taken."""
    text = (folder / "judged.txt").read_text()
    (folder / "more.txt").write_text(text.replace("qid:q", "qid:r"))
    rows = (folder / "pairs.jsonl").read_text()
    (folder / "both.jsonl").write_text(rows + rows.replace('"q', '"r').replace('"ruery', '"query'))
    told = call("adapt", "judged.txt", "both.jsonl", *SMALL, "--pairs-letor", "more.txt", "--out", "t.ranker")
    assert told.code == 0, told.err
    first = "".join(line + "\n" for line in text.splitlines() if " qid:q0 " in line)
    (folder / "again.txt").write_text(first.replace("#docid = d", "#docid = e"))
    pair = json.dumps({"query": "q0", "preferred": "e0", "other": "e1"}) + "\n"
    (folder / "new.jsonl").write_text("".join(line + "\n" for line in rows.splitlines() if '"q0"' not in line) + pair)
    told = call("adapt", "judged.txt", "new.jsonl", *SMALL, "--pairs-letor", "again.txt", "--out", "u.ranker")
    assert told.code == 0, told.err
