"""Results in MLflow, in a local store of files; what MLflow is not needed for is tested without it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import activeeval as ae
from activeeval.cli import run as command_line
from activeeval.core.errors import InputError
from activeeval.formats import mlflow as ours

ROW = {"measure": "DCG@10", "direction": "new.run − old.run", "value": 1.5, "low": -0.5, "high": float("inf"),
       "p_value": None, "queries": 7}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


def lists(names, first):
    return {f"q{q}": {name: float((first + q * k) % 7) for k, name in enumerate(names)} for q in range(1, 13)}


RUNS = {"a.run": lists("abcdef", 1), "b.run": lists("cdefgh", 2)}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Return MLflow with an empty store."""
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/runs")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    return mlflow


def artefact(mlflow, run, name):
    folder = mlflow.get_run(run).info.artifact_uri.removeprefix("file://")
    return Path(folder, "activeeval", name).read_text()


def test_names_are_what_mlflow_takes():
    named = dict(ours._metrics(ROW | {"segment": "a/b, é"}))
    assert named == {"DCG_10/new.run minus old.run/a_b_ é/value": 1.5, "DCG_10/new.run minus old.run/a_b_ é/low": -0.5}
    assert dict(ours._metrics({"measure": "P@5", "run": "a", "value": 1, "query_id": "q7"})) == {}
    assert dict(ours._metrics({"measure": "P@5", "run": "a", "value": 1, "query_id": "all"})) == {"P_5/a/value": 1.0}


@pytest.mark.parametrize(
    ("rows", "artifacts", "problem"),
    [([], (), "nothing to log: no row has a value"), ([ROW], ("gone.sample",), "gone.sample: no such file")],
)
def test_what_cannot_be_logged_is_refused(rows, artifacts, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        ours.log(rows, artifacts=artifacts)


def test_without_mlflow_a_line_says_what_is_needed(monkeypatch):
    monkeypatch.setattr(ours, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"mlflow is not installed: pip install 'activeeval-ir\[mlflow\]'"):
        ours.log([ROW])


def test_a_result_goes_to_a_run_of_its_own_with_its_rows(store):
    answer = ae.compare(RUNS["a.run"], RUNS["b.run"], judgments={"q1": {"a": 1}} | truth(), measure="P@3")
    run = ours.log(answer, prefix="gate/", step=3)
    metrics = store.get_run(run).data.metrics
    (name,) = [name for name in metrics if name.endswith("/value")]
    assert name.startswith("gate/P_3/")
    assert metrics[name] == pytest.approx(answer.value)
    rows = [json.loads(line) for line in artefact(store, run, "estimates.jsonl").splitlines()]
    assert rows[0]["measure"] == "P@3"
    assert store.active_run() is None


def truth():
    return {query: {doc: (ord(doc) + len(query)) % 3 for doc in "abcdefgh"} for query in RUNS["a.run"]}


def test_it_goes_to_the_run_that_is_active(store):
    with store.start_run() as active:
        assert ours.log([ROW]) == active.info.run_id
        ours.log([ROW | {"direction": "other"}])
    assert len(store.get_run(active.info.run_id).data.metrics) == 4


def test_the_command_line_logs_the_sample_and_its_sheets(store, tmp_path, capsys):
    for name, run in RUNS.items():
        rows = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
        Path(name).write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for q, d, s in rows))
    asked = ["sample", "--run", "a.run", "--max-grade", "2", "--measure", "P@3", "--budget", "12", "--seed", "1"]
    assert command_line([*asked, "--out", "w.sample", "--sheet", "w.csv"]) == 0
    header, *rows = Path("w.csv").read_text().splitlines()
    place = header.split(",").index("grade")
    graded = [row.split(",") for row in rows]
    lines = [header, *(",".join([*row[:place], "1", *row[place + 1 :]]) for row in graded)]
    Path("w.csv").write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    assert command_line(["estimate", "w.sample", "w.csv", "-o", "mlflow"]) == 0
    said = capsys.readouterr()
    (run,) = re.findall(r"logged to run (\w+) of MLflow", said.err)
    assert said.out == ""
    metrics = store.get_run(run).data.metrics
    assert {name.rpartition("/")[2] for name in metrics} >= {"value", "low", "high", "std_error"}
    assert artefact(store, run, "w.csv") == Path("w.csv").read_text()
