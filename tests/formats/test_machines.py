"""A machine's judgments are no labels: every door that wants labels refuses a file that says it is a machine's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pandas as pd
import pytest

from activeeval import cli, load_sample
from activeeval.core.errors import InputError
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.judgments.from_files import labels_of, read
from activeeval.formats.judgments.table_forms import of_table
from activeeval.formats.tables.read_tables import frame_sheet

QUERIES, DOCS = range(1, 9), range(5)
MADE = ("--run", "a.run", "--max-grade", "3", "--measure", "DCG@5", "--budget", "10", "--seed", "1")


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def grade(query, doc):
    return (query * doc + doc) % 4


def lines_of(path, rows):
    write(path, map(json.dumps, rows))


def write_files(folder):
    """Write two runs, people's judgments, and a machine's in every form that says so; draw a campaign and a sample."""
    for name, turn, queries in (("a", 1, QUERIES), ("b", 3, QUERIES), ("more", 1, range(1, 13))):
        rows = [f"q{q} Q0 d{d} 1 {(d * turn + q) % 5 + d / 10} t" for q in queries for d in DOCS]
        write(folder / f"{name}.run", rows)
    pairs = [(q, d, grade(q, d)) for q in QUERIES for d in DOCS]
    write(folder / "people.qrels", [f"q{q} 0 d{d} {g}" for q, d, g in pairs])
    header = "query_id,doc_id,grade,judge,judge_kind"
    write(folder / "kinds.csv", [header, *(f"q{q},d{d},{g},gpt,machine" for q, d, g in pairs)])
    rows = [f"q{q},d{d},{g},{'gpt,machine' if q == 1 else 'ann,person'}" for q, d, g in pairs]
    write(folder / "mixed.csv", [header, *rows])
    write(folder / "some.csv", (folder / "kinds.csv").read_text().splitlines()[:12])
    write(folder / "status.csv", ["query_id,doc_id,grade,result_status", *(f"q{q},d{d},{g},1" for q, d, g in pairs)])
    write(folder / "book.csv", ["query,docid,AI Judge", *(f"q{q},d{d},{g}" for q, d, g in pairs)])
    keys = [({"query_id": f"q{q}", "doc_id": f"d{d}"}, g) for q, d, g in pairs]
    asked_of = {"model": "gpt", "prompt_version": "v1", "prompt": "Grade it.", "explanation": "as it says"}
    for name, value in asked_of.items():  # a file of each column
        lines_of(folder / f"{name.rpartition('_')[2]}.jsonl", [{**key, "grade": g, name: value} for key, g in keys])
    umbrela = {"result_status": 1, "prediction": "a grade"}
    rows = [{"qid": f"q{q}", "docid": f"d{d}", "judgment": g, **umbrela} for q, d, g in pairs]
    lines_of(folder / "umbrela.jsonl", rows)
    replies = [{"choices": [{"message": {"content": str(g)}}]} for _, g in keys]
    lines_of(folder / "answers.jsonl", [{"custom_id": f"{k}", "response": {"body": b}} for k, b in enumerate(replies)])
    lines_of(folder / "batch.pairs.jsonl", [{"custom_id": f"{k}", **key} for k, (key, _) in enumerate(keys)])
    rated = {q: [{"docId": f"d{d}", "rating": str(grade(q, d))} for d in DOCS] for q in QUERIES}
    ratings = [{"query": f"q{q}", "ratings": of_query} for q, of_query in rated.items()]
    (folder / "search.json").write_text(json.dumps({"type": "LLM_JUDGMENT", "judgmentRatings": ratings}))
    judgements = [{"judgements": [{"rating": g, "user_email": None}]} for _, g in keys]
    book = [{"query_text": f"q{q}", "doc_id": f"d{d}", **j} for (q, d, _), j in zip(pairs, judgements, strict=True)]
    (folder / "book.json").write_text(json.dumps({"name": "b", "query_doc_pairs": book}))
    assert cli.run(["--quiet", "campaign", "create", "w", *MADE]) == 0
    assert cli.run(["--quiet", "sample", *MADE, "--out", "t.sample", "--sheet", "t.csv"]) == 0


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(made := tmp_path_factory.mktemp("machines"))
        write_files(made)
    return made


@pytest.fixture
def folder(once, tmp_path, monkeypatch):
    """Stand in a copy of the folder of all files."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FORMS = ("kinds.csv", "umbrela.jsonl", "answers.jsonl", "search.json", "book.json", "book.csv")
OF_REPLIES = ("model.jsonl", "version.jsonl", "prompt.jsonl", "explanation.jsonl", "status.csv")
FORMS += OF_REPLIES
OUT = (*MADE[2:], "--out", "s.sample", "--sheet", "s.csv")
DOORS = {
    "score": ("score", "FILE", "a.run", "DCG@5"),
    "compare": ("compare", "a.run", "b.run", "--qrels", "FILE", "--measure", "DCG@5"),
    "simulate": ("simulate", "--qrels", "FILE", "--run", "a.run", "--measure", "DCG@5", "--budget", "10"),
    "judged": ("sample", "--run", "a.run", "--judged", "FILE", *OUT),
    "train": ("sample", "--run", "more.run", "--train", "FILE", *OUT),
    "import": ("campaign", "import", "w", "FILE", "--judge", "ann"),
    "oracle": ("campaign", "judge", "w", "--oracle", "FILE", "--judge", "ann"),
    "estimate": ("estimate", "t.sample", "FILE"),
}


@pytest.fixture
def call(folder, capsys):
    """Return a function from arguments to exit code, output and messages; there are a campaign w and a sample."""

    def run(*arguments):
        capsys.readouterr()
        code = cli.run(list(arguments))
        captured = capsys.readouterr()
        lines = captured.err.replace("\n  ", " ")  # a note goes on where its line is full
        return code, captured.out, lines

    return run


JSON = ("-o", "jsonl")


@pytest.fixture
def done(call):
    """Return a function from arguments to the messages of a command that succeeds."""

    def run(*words):
        code, _, err = call(*words)
        assert code == 0, err
        return err

    return run


@pytest.fixture
def tells(call):
    """Return what checks that all rows and one message say how many grades of a grader are used as labels."""

    def check(source, n, *words, code=0, out=JSON):
        ended, printed, err = call(*words, *out)
        assert ended == code, err
        assert all(json.loads(line)["machine_is_truth"] for line in printed.splitlines())
        assert err.count(f"{source}: {n} grades of a grader are used as labels") == 1, err

    return check


def words_of(door, form):
    """Replace the file in the arguments of a door."""
    return [form if word == "FILE" else word for word in DOORS[door]]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_every_form_in_a_line_that_names_where_it_belongs(call, folder, door):
    for form in ("kinds.csv", "umbrela.jsonl"):
        before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".sample", ".csv")}
        code, out, err = call(*words_of(door, form))
        assert (code, out) == (1, ""), (form, err)
        line = err.splitlines()[-1]
        assert f"{form}: these are a grader's grades" in line
        assert "pass them with --grader" in line
        after = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".sample", ".csv")}
        assert after == before


@pytest.mark.parametrize("form", FORMS)
def test_what_is_refused_as_labels_is_read_as_a_grader_s(folder, form):
    grades = Grades.read(form)
    assert len(grades) == len(QUERIES) * len(DOCS)
    assert grades.values.sum() == sum(grade(q, d) for q in QUERIES for d in DOCS)
    labels = read(form, kind="machine").model_grades()
    assert labels.grades.sum() == grades.values.sum()
    with pytest.raises(InputError, match=f"{form}: these are a grader's grades"):
        labels_of(form)


@pytest.mark.parametrize("form", ["kinds.csv", "answers.jsonl"])
def test_a_machine_may_be_taken_for_truth_and_every_output_says_so(call, form, tells):
    for door in ("score", "simulate", "judged", "train"):
        arguments = words_of(door, form)
        code, _, err = call(*arguments, "--machine-is-truth", *(["--force"] if "--out" in arguments else []))
        assert code == 0, err
        assert f"{form}: 40 grades of a grader are used as labels" in err
    tells(form, 40, *words_of("score", form), "--machine-is-truth")
    tells(form, 40, *words_of("compare", form), "--machine-is-truth", code=11)


def test_a_sample_that_knew_a_machine_s_grades_says_so_in_every_estimate(call, folder, done):
    done(*words_of("judged", "some.csv"), "--machine-is-truth")
    filled(folder, "s.csv", "s.csv", ("person",))
    assert warns(*call("estimate", "s.sample", "s.csv", "-o", "jsonl"))
    shutil.copy(folder / "s.sample", folder / "copy.sample")
    assert "are used as labels" in call("estimate", "copy.sample", "s.csv")[2]


def test_of_a_mixed_file_people_s_count_and_the_others_are_counted(call):
    labels = labels_of("mixed.csv")
    assert (labels.grades.size, [note.code for note in labels.notes]) == (35, ["machines left out"])
    code, out, err = call("campaign", "import", "w", "mixed.csv", "-o", "jsonl")
    assert (code, json.loads(out)["of_machines"]) == (0, 5)
    assert "5 of graders left out" in err
    code, _, err = call(*words_of("judged", "mixed.csv"))
    assert code == 0
    assert "mixed.csv: 5 judgments of graders are left out" in err


def test_judgments_that_leave_nothing_to_judge_are_asked_whose_they_are(call):
    code, _, err = call(*words_of("judged", "people.qrels"))
    assert code == 0
    assert "40 of 40 items are judged already by people.qrels: are these people's grades?" in err
    assert "give a grader's with --grader" in err


def test_grades_between_two_are_no_truth(folder):
    write(folder / "half.csv", ["query,docid,AI Judge", "q1,d1,0.5"])
    with pytest.raises(InputError, match="a rating between two grades"):
        read("half.csv", machine_is_truth=True)


def test_a_campaign_that_knew_a_machine_s_grades_says_so_too(call, folder, done):
    done("campaign", "create", "m", *MADE, "--judged", "some.csv", "--machine-is-truth")
    done("campaign", "judge", "m", "--oracle", "people.qrels", "--judge", "ann")
    assert warns(*call("campaign", "estimate", "m", "-o", "jsonl"))


def filled(folder, name, out, kinds=("machine",)):
    """Write the sheet of a sample with a grade in each row, by judges of these kinds in turn."""
    header, *rows = (folder / name).read_text().splitlines()
    place = header.split(",").index("grade")
    lines = [f"{header},judge_kind"]
    for k, row in enumerate(rows):
        cells = row.split(",")
        cells[place] = str(k % 3)
        lines.append(",".join([*cells, kinds[k % len(kinds)]]))
    write(folder / out, lines)
    return len(rows)


def warns(code, out, err):
    """Tell whether an estimate carries the warning that a machine is taken for truth."""
    assert code == 0, err
    cautions = json.loads(out.splitlines()[0])["cautions"]
    return [c["level"] for c in cautions if c["code"] == "machine is truth"] == ["warning"]


def test_a_sheet_that_a_machine_filled_in_is_read_where_that_is_said(call, folder, tells):
    n = filled(folder, "t.csv", "filled.csv")
    for arguments in (
        ("estimate", "t.sample", "filled.csv"),
        ("compare", "b.run", "a.run", "--sample", "t.sample", "--sheet", "filled.csv"),
        ("audit", "t.sample", "filled.csv", "--grader", "kinds.csv"),
    ):
        code, out, err = call(*arguments)
        assert (code, out) == (1, "")
        assert "filled.csv: these are a grader's grades, not labels: pass them with --grader" in err
    estimate = ("estimate", "t.sample", "filled.csv", "--machine-is-truth")
    tells("filled.csv", n, *estimate)
    assert warns(*call(*estimate, "-o", "jsonl"))
    assert f"warning: filled.csv: {n} grades of a grader are used as labels" in call(*estimate)[2]


def test_of_a_sheet_of_both_the_machine_s_rows_are_counted(call, folder, tells):
    n = filled(folder, "t.csv", "filled.csv", ("machine", "person"))
    tells("filled.csv", n // 2, "estimate", "t.sample", "filled.csv", "--machine-is-truth")
    filled(folder, "t.csv", "people.csv", ("person",))
    code, out, err = call("estimate", "t.sample", "people.csv", "--machine-is-truth", "-o", "jsonl")
    assert code == 0
    assert "machine" not in out + err


def test_rounds_say_it_together(folder, done, tells):
    n = filled(folder, "t.csv", "filled.csv")
    filled(folder, "t.csv", "first.csv", ("person",))
    done("sample", *MADE, "--judged", "first.csv", "--out", "u.sample", "--sheet", "u.csv")
    filled(folder, "u.csv", "second.csv", ("person",))
    rounds = ("t.sample", "filled.csv", "u.sample", "second.csv")
    tells("filled.csv", n, "estimate", *rounds, "--machine-is-truth")


def test_a_pilot_that_a_machine_judged_is_one_where_that_is_said(call, folder, tells):
    n = filled(folder, "t.csv", "filled.csv")
    plan = ("plan", *MADE, "--pilot", "t.sample", "--sheet", "filled.csv")
    assert "filled.csv: these are a grader's grades" in call(*plan)[2]
    tells("filled.csv", n, *plan, "--machine-is-truth")


@pytest.mark.parametrize(("door", "form"), [("import", "kinds.csv"), ("oracle", "search.json")])
def test_a_campaign_keeps_that_a_machine_is_taken_for_truth(call, folder, door, form, done, tells):
    n, out = (10, JSON) if door == "import" else (40, ())
    tells(form, n, *words_of(door, form), "--machine-is-truth", out=out)
    done("campaign", "verify", "w")
    for command in ("status", "estimate"):
        tells(form, 10, "campaign", command, "w")
        assert f"{form}: 10 grades of a grader are used as labels" in call("campaign", command, "w")[2]
    for suffix in ("html", "json"):
        done("campaign", "report", "w", "--out", f"w.{suffix}", "--force")
        assert f"{form}: 10 grades of a grader are used as labels" in (folder / f"w.{suffix}").read_text()
    for kind in ("qrels", "prels", "csv", "jsonl", "weights"):
        tells(form, 10, "campaign", "export", "w", "--format", kind, "--out", f"w.{kind}", "--force")
    for kind in ("csv", "jsonl"):
        assert "pass them with --grader" in call("score", f"w.{kind}", "a.run", "DCG@5")[2]
        assert len(Grades.read(f"w.{kind}")) == 10


def test_what_a_person_says_in_a_machine_s_place_counts_and_the_caution_goes(call, folder, done):
    done("campaign", "import", "w", "kinds.csv", "--judge", "ann", "--machine-is-truth")
    rows = (folder / "kinds.csv").read_text().replace(",machine", ",person").splitlines()
    write(folder / "same.csv", rows)
    code, out, _ = call("campaign", "import", "w", "same.csv", "-o", "jsonl")
    assert (code, json.loads(out)["replaced"]) == (0, 10)
    _, out, err = call("campaign", "estimate", "w", "-o", "jsonl")
    assert "machine" not in out + err
    _, out, err = call("campaign", "estimate", "w", "--as-of", "20", "-o", "jsonl")
    assert "are used as labels" in err


def test_what_is_taken_back_is_no_longer_counted(call, folder, done):
    _, out, _ = call("campaign", "judge", "w", "--oracle", "kinds.csv", "--judge", "ann", "--machine-is-truth")
    first = json.loads(out.splitlines()[0])["seq"]
    done("campaign", "retract", "w", "--seq", str(first), "--judge", "ann")
    assert "kinds.csv: 9 grades of a grader are used as labels" in call("campaign", "status", "w")[2]


def test_a_campaign_of_the_best_keeps_it_with_what_comparisons_settle(call, folder, done, tells):
    made = ("--run", "a.run", "--max-grade", "3", "--measure", "kNDCG(k=3)@3", "--budget", "50%")
    done("campaign", "create", "k", *made, "--seed", "1")
    oracle = ("campaign", "judge", "k", "--oracle", "kinds.csv", "--judge", "ann")
    assert "pass them with --grader" in call(*oracle)[2]
    tells("kinds.csv", 40, *oracle, "--machine-is-truth", out=())
    done("campaign", "verify", "k")
    tells("kinds.csv", 4, "campaign", "estimate", "k")


def test_a_campaign_says_it_before_a_block_is_complete(call, folder, done):
    oracle = ("campaign", "judge", "w", "--oracle", "kinds.csv", "--judge", "ann", "--limit", "1")
    done(*oracle, "--machine-is-truth")
    assert "kinds.csv: 1 grade of a grader is used" in call("campaign", "status", "w")[2]
    done("campaign", "report", "w", "--out", "w.html")
    assert "kinds.csv: 1 grade of a grader is used" in (folder / "w.html").read_text()


def test_a_further_round_and_a_sample_that_knows_another_keep_it(call, folder, done, tells):
    done(*words_of("judged", "some.csv"), "--machine-is-truth")
    out = ["v.sample" if word == "s.sample" else word for word in OUT]
    err = done("sample", "--run", "a.run", "--judged", "s.sample", *out, "--force")
    assert "some.csv: 11 grades of a grader are used as labels" in err
    done("campaign", "import", "w", "kinds.csv", "--judge", "ann", "--machine-is-truth")
    asked = ("--run", "a.run", "--budget", "5", "--max-grade", "3", "--measure", "DCG@5")
    code, _, err = call("campaign", "create", "w", "--redraw", *asked)
    assert code == 0, err
    assert err.count("kinds.csv: 10 grades of a grader are used as labels") == 1
    tells("kinds.csv", 10, "campaign", "status", "w")


def test_a_machine_is_not_held_against_a_machine(call, folder, done):
    done("campaign", "import", "w", "kinds.csv", "--judge", "ann", "--machine-is-truth")
    report = ("campaign", "report", "w", "--grader", "umbrela.jsonl", "--out", "r.html")
    for arguments in (("campaign", "audit", "w", "--grader", "umbrela.jsonl"), report):
        code, _, err = call(*arguments)
        assert code == 1
        assert "kinds.csv: 10 of the labels are a grader's" in err
    assert not (folder / "r.html").exists()


def test_in_python_a_frame_of_a_machine_is_no_sheet(folder):
    drawn = load_sample("t.sample")
    filled(folder, "t.csv", "filled.csv")
    frame = pd.read_csv("filled.csv", dtype=str)
    with pytest.raises(InputError, match="these are a grader's grades"):
        drawn.estimate(frame)
    with pytest.raises(InputError, match="these are a grader's grades"):
        drawn.estimate(read("umbrela.jsonl", kind="machine"))
    with pytest.warns(UserWarning, match="are used as labels"):
        estimate = drawn.estimate(read("umbrela.jsonl", machine_is_truth=True))
    assert estimate.interval


def test_a_frame_of_umbrela_s_is_a_grader_s_and_no_labels(folder):
    frame = pd.read_json(folder / "umbrela.jsonl", lines=True)
    assert len(Grades.read(frame)) == 40
    with pytest.raises(InputError, match="these are a grader's grades"):
        of_table(frame_sheet(frame, "the frame"))


def test_plain_text_is_read_before_compiled_readers_are_there(folder):
    code = "import sys; from activeeval.formats.judgments.from_files import read; "
    code += "read('people.qrels', is_plain=True); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numba" not in loaded


def test_a_campaign_s_log_that_a_machine_filled_in_is_a_grader_s(folder, done):
    done("campaign", "judge", "w", "--oracle", "people.qrels", "--judge", "gpt")
    done("campaign", "export", "w", "--format", "jsonl", "--out", "w.jsonl")
    grades = Grades.read("w.jsonl")
    assert len(grades) == 10
    assert grades.values.sum() == read("w.jsonl").labels().grades.sum()
    assert set(grades.models) == {"gpt"}


def test_a_column_of_replies_is_no_bar_where_a_column_says_that_people_judged(folder):
    rows = [
        {"query_id": f"q{q}", "doc_id": f"d{d}", "grade": grade(q, d), "explanation": "x", "judge_kind": "person"}
        for q in QUERIES
        for d in DOCS
    ]
    write(folder / "people.jsonl", map(json.dumps, rows))
    assert len(labels_of("people.jsonl").grades) == len(rows)
    with pytest.raises(InputError, match="as its column explanation says; where people judged, add a column"):
        labels_of("explanation.jsonl")
