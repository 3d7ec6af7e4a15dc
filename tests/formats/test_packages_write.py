"""Judgments written by other tools' own packages; those that are not installed are skipped."""

import json

import pytest

from activeeval import score

TRIPLES = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d3", 2)]
RUN = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d3": 1.0}}
CONFIGS = {
    "choices": '<Choices name="grade" toName="text"><Choice value="0"/><Choice value="1"/></Choices>',
    "rating": '<Rating name="grade" toName="text"/>',
}


def value_of(path):
    return score(path, RUN, "nDCG@10").value


@pytest.fixture(scope="module")
def expected():
    return score({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}, RUN, "nDCG@10").value


@pytest.mark.parametrize("number", [int, float])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet"])
def test_datasets_of_hugging_face(tmp_path, expected, suffix, number):
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    columns = ("query-id", "corpus-id", "score")
    data = {name: [row[k] if k < 2 else number(row[2]) for row in TRIPLES] for k, name in enumerate(columns)}
    path, made = tmp_path / f"q{suffix}", datasets.Dataset.from_dict(data)
    if suffix == ".parquet":
        made.to_parquet(path)
    elif suffix == ".csv":
        made.to_csv(path)
    else:
        made.to_json(path, lines=suffix == ".jsonl")
    assert value_of(path) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("form", ["JSON", "JSON_MIN", "CSV", "TSV"])
@pytest.mark.parametrize("control", CONFIGS)
def test_exports_of_label_studio(tmp_path, expected, control, form):
    missing = "the package label-studio-sdk is not installed"
    converter = pytest.importorskip("label_studio_sdk.converter", reason=missing)
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for k, (query, doc, grade) in enumerate(TRIPLES):
        value = {"choices": [str(grade)]} if control == "choices" else {"rating": grade}
        result = {"id": f"x{k}", "from_name": "grade", "to_name": "text", "type": control, "value": value}
        times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "lead_time": 4.25}
        done = {"id": 10 + k, "completed_by": 1, "result": [result], "was_cancelled": False, **times}
        task = {"id": k, "data": {"text": "…", "query_id": query, "doc_id": doc}, "annotations": [done]}
        (tasks / f"{k}.json").write_text(json.dumps(task))
    config = f'<View><Text name="text" value="$text"/>{CONFIGS[control]}</View>'
    converter.Converter(config, project_dir=None).convert(str(tasks), str(tmp_path / "out"), form, is_dir=True)
    (path,) = (tmp_path / "out").iterdir()
    assert value_of(path) == pytest.approx(expected, abs=1e-12)
