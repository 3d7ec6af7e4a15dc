"""Judgments and runs as other tools write them: each is read without an edit, and says as what."""

import bz2
import gzip
import io
import json
import lzma

import ir_measures
import polars as pl
import pytest
import ranx
import zstandard

from activeeval import score
from activeeval.cli import run as run_command
from activeeval.core.errors import InputError
from activeeval.formats.judgments.from_files import read as read_judgments
from activeeval.formats.loading import load_run

GRADES = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
SCORES = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d9": 2.0, "d3": 1.0}}
TRIPLES = [(query, doc, grade) for query, docs in GRADES.items() for doc, grade in docs.items()]
BY_IR_MEASURES = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], GRADES, SCORES)[ir_measures.nDCG @ 10]


def lines(rows, separator="\t"):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def label_studio(query, doc, grade):
    choice = {"from_name": "grade", "to_name": "text", "type": "choices", "value": {"choices": [str(grade)]}}
    skipped = {"id": 8, "completed_by": 1, "result": [], "was_cancelled": True, "lead_time": 1.0}
    done = {"id": 7, "completed_by": {"id": 1, "email": "ann@x.org"}, "result": [choice], "lead_time": 4.25}
    data = {"query_id": query, "doc_id": doc, "text": "…"}
    return {"id": 3, "data": data, "annotations": [skipped, {**done, "was_cancelled": False}], "predictions": []}


def json_min(query, doc, grade):
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "lead_time": 4.25}
    task = {"id": 3, "query_id": query, "doc_id": doc, "text": "…"}
    return {**task, "choice": str(grade), "annotator": 1, "annotation_id": 7, **times}


def argilla(query, doc, grade):
    answer = {"value": str(grade), "user_id": "8c2", "status": "submitted"}
    fields = {"id": "r1", "fields": {"text": "…"}, "metadata": {"query_id": query, "doc_id": doc}, "suggestions": {}}
    return {**fields, "responses": {"relevance": [answer]}, "vectors": {}, "status": "completed", "_server_id": "5f"}


def relevance_studio(query, doc, grade):
    source = {"workspace_id": "w", "scenario_id": query, "index": "products", "doc_id": doc, "rating": grade}
    return {"_index": "esrs-judgements", "_id": f"{query}~{doc}", "_source": source}


def ratings_of(key, of_query):
    return [of_query(query, [{key: doc, "rating": g} for doc, g in docs.items()]) for query, docs in GRADES.items()]


def rows_as(make):
    return [make(*triple) for triple in TRIPLES]


OPENSEARCH = {
    "name": "imported",
    "type": "IMPORT_JUDGMENT",
    "judgmentRatings": ratings_of("docId", lambda query, ratings: {"query": query, "ratings": ratings}),
}
RANK_EVAL = {
    "requests": ratings_of("_id", lambda query, ratings: {"id": query, "request": {"query": {}}, "ratings": ratings}),
    "metric": {"dcg": {"k": 20}},
}
BOOK = {
    "query_doc_pairs": [
        {"query_text": q, "doc_id": d, "judgements": [{"rating": g, "user_name": "Ann", "user_email": "a@x.org"}]}
        for q, d, g in TRIPLES
    ]
}
BEIR = [("query-id", "corpus-id", "score"), *TRIPLES]
JUDGMENTS = {
    "beir/test.tsv": lines(BEIR),
    "hub.csv": lines(BEIR, ","),
    "hub.jsonl": lines([[json.dumps({"query-id": q, "corpus-id": d, "score": g})] for q, d, g in TRIPLES]),
    "qrels.json": json.dumps(GRADES),
    "pretty.json": json.dumps(GRADES, indent=2),
    "relevant_docs.txt": json.dumps(GRADES),
    "qrels.dev.small.tsv": lines((q, 0, d, g) for q, d, g in TRIPLES),
    "trec.qrels": lines((q, 0, d, g) for q, d, g in TRIPLES),
    "beir.qrels": lines(BEIR),
    "frame.csv": lines([("", "query_id", "doc_id", "grade"), *((k, *row) for k, row in enumerate(TRIPLES))], ","),
    "records.json": json.dumps([{"query_id": q, "doc_id": d, "grade": g} for q, d, g in TRIPLES]),
    "label-studio.json": json.dumps(rows_as(label_studio)),
    "label-studio-min.json": json.dumps(rows_as(json_min), indent=2),
    "doccano.jsonl": lines(
        [[json.dumps({"id": k, "query_id": q, "doc_id": d, "text": "…", "label": [str(g)], "Comments": []})]
         for k, (q, d, g) in enumerate(TRIPLES)]
    ),
    "argilla.json": json.dumps(rows_as(argilla)),
    "argilla.jsonl": lines([[json.dumps(row)] for row in rows_as(argilla)]),
    "studio.json": json.dumps({"took": 1, "hits": {"total": 3, "hits": rows_as(relevance_studio)}}),
    "studio.jsonl": lines([[json.dumps(row["_source"])] for row in rows_as(relevance_studio)]),
    "opensearch.json": json.dumps(OPENSEARCH),
    "rank_eval.json": json.dumps(RANK_EVAL, indent=1),
    "quepid.json": json.dumps(BOOK),
    "basic.csv": lines([("query", "docid", "rating"), *TRIPLES], ","),
    "book.csv": lines([("query", "docid", "Ann Lee"), *TRIPLES], ","),
}  # fmt: skip
UNSAID = {"trec.qrels", "records.json"}
RUNS = {
    "run.json": json.dumps(SCORES),
    "task_predictions.json": json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": SCORES}}),
    "msmarco.dev.tsv": lines([("q1", "d1", 1), ("q1", "d2", 2), ("q2", "d9", 1), ("q2", "d3", 2)]),
    "evaluator_predictions.jsonl": lines(
        [[json.dumps({"query_id": q, "query": "…", "results": [{"corpus_id": d, "score": s} for d, s in docs.items()]})]
         for q, docs in SCORES.items()]
    ),
    "frame.tsv": lines(
        [("Unnamed: 0", "qid", "docno", "score", "rank"), (0, "q1", "d1", 2.0, 0), (1, "q1", "d2", 1.0, 1),
         (2, "q2", "d9", 2.0, 0), (3, "q2", "d3", 1.0, 1)]
    ),
}  # fmt: skip
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress}


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments_of_each_maker_give_the_score_of_ir_measures(tmp_path, name, capsys, monkeypatch):
    written(tmp_path, name, JUDGMENTS[name])
    written(tmp_path, "a.json", json.dumps(SCORES))
    monkeypatch.chdir(tmp_path)
    assert run_command(["score", name, "a.json", "nDCG@10", "-o", "jsonl"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out.splitlines()[0])["value"] == pytest.approx(BY_IR_MEASURES, abs=1e-12)
    said = any(f"{name}{how}" in printed.err for how in (" is read as", ": the first column, of row numbers, is"))
    assert said is (name not in UNSAID)


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_each_maker_give_the_score_of_ir_measures(tmp_path, name):
    scores = score(GRADES, [written(tmp_path, name, RUNS[name])], "nDCG@10")
    assert scores.value == pytest.approx(BY_IR_MEASURES, abs=1e-12)


def test_files_that_packages_write_themselves_are_read(tmp_path):
    """Files of ranx and of polars, not imitations of them."""
    ranx.Qrels(GRADES).save(str(tmp_path / "ranx.json"))
    ranx.Run(SCORES).save(str(tmp_path / "ranx-run.json"))
    frame = pl.DataFrame(TRIPLES, schema=["query-id", "corpus-id", "score"], orient="row")
    frame.write_parquet(tmp_path / "hub.parquet")
    for judgments in ("ranx.json", "hub.parquet"):
        value = score(str(tmp_path / judgments), [str(tmp_path / "ranx-run.json")], "nDCG@10").value
        assert value == pytest.approx(BY_IR_MEASURES, abs=1e-12)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("name", ["test.tsv", "qrels.json", "trec.qrels"])
def test_packed_files_are_known_by_their_bytes(tmp_path, packing, name):
    """Names lie: a packed file may be called .tsv, a plain one .gz."""
    text = JUDGMENTS["beir/test.tsv" if name == "test.tsv" else name]
    for called in (name, f"{name}.{packing}"):
        (tmp_path / called).write_bytes(PACKED[packing](text.encode()))
        assert len(read_judgments(str(tmp_path / called))) == len(TRIPLES)
    (tmp_path / f"plain-{name}.{packing}").write_text(text)
    assert len(read_judgments(str(tmp_path / f"plain-{name}.{packing}"))) == len(TRIPLES)


@pytest.mark.parametrize("packing", PACKED)
def test_a_packed_file_that_is_cut_short_or_broken_is_one_line(tmp_path, packing):
    whole = PACKED[packing](("q1 0 d1 1\n" * 1).encode() + bytes(range(48, 58)) * 500)
    for content in (whole[: len(whole) // 2], whole[:7] + b"\xff\x00\xff" * 9 + whole[34:]):
        path = tmp_path / f"q.{packing}"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{path}: the .* file is (cut short|broken)"):
            read_judgments(str(path))


def test_a_bomb_of_each_packing_is_refused_early(tmp_path):
    for packing, packed in PACKED.items():
        path = tmp_path / f"bomb.{packing}"
        path.write_bytes(packed(b"0" * (40 << 20)))
        with pytest.raises(InputError, match="unpacks to more than"):
            read_judgments(str(path))


def test_two_frames_of_zstandard_are_one_file(tmp_path):
    rows = JUDGMENTS["trec.qrels"].splitlines(keepends=True)
    (tmp_path / "q.zst").write_bytes(b"".join(PACKED["zst"](row.encode()) for row in rows))
    assert len(read_judgments(str(tmp_path / "q.zst"))) == len(TRIPLES)


def test_a_part_of_several_is_named(tmp_path):
    parts = {"en": {"dev": SCORES, "test": SCORES}, "de": {"test": {"q1": {"d1": 1.0}}}}
    path = written(tmp_path, "predictions.json", json.dumps(parts))
    with pytest.raises(InputError, match=r"holds en, de: name one, as [^ ]*predictions.json#en/dev"):
        load_run(path)
    with pytest.raises(InputError, match="holds no part 'fr'; known: en, de"):
        load_run(f"{path}#fr")
    assert load_run(f"{path}#de/test").doc_ids.tolist() == ["d1"]
    assert score(GRADES, [f"{path}#en/test"], "nDCG@10").value == pytest.approx(BY_IR_MEASURES, abs=1e-12)


def test_judges_and_times_of_label_studio_are_kept(tmp_path):
    full = read_judgments(written(tmp_path, "full.json", JUDGMENTS["label-studio.json"]))
    assert {judge.name for judge in full.judges} == {"ann@x.org"}
    flat = read_judgments(written(tmp_path, "min.json", JUDGMENTS["label-studio-min.json"]))
    assert full.seconds.tolist() == flat.seconds.tolist() == [4.25] * len(TRIPLES)


WRONG = {
    "objects of two tools": ("x.json", json.dumps([label_studio("q1", "d1", 1), {"query_id": "q2"}]), "entry 2 has no"),
    "a list with a document twice": ("x.json", '{"q1": ["d1", "d1"]}', "query 'q1' has a document twice"),
    "two columns of queries": ("x.csv", "query-id,corpus-id,query_id,score\nq1,d1,q2,1\n", "hold the same, expected"),
    "a list of numbers": ("x.json", "[1, 2]", "is JSON of no known form"),
    "an object of texts": ("x.json", '{"a": "b"}', "is JSON of no known form"),
    "a key twice": ("x.json", '{"q1": {"d1": 1, "d1": 2}}', "the key 'd1' is there twice"),
    "a boolean": ("x.json", '{"q1": {"d1": true}}', "document 'd1' of query 'q1' has 'True', expected a finite number"),
    "a text as a value": ("x.json", '{"q1": {"d1": "high"}}', "has 'high', expected a finite number"),
    "NaN": ("x.json", '{"q1": {"d1": NaN}}', "expected a finite number"),
    "two depths": ("x.json", '{"q1": {"d1": 1}, "q2": {"d1": {"x": 1}}}', "expected one depth"),
    "cut JSON": ("x.json", '{"q1": {"d1": 1}', "cannot be read as JSON"),
    "a choice that is no number": ("x.json", json.dumps([label_studio("q1", "d1", "good")]), "is 'good', expected a"),
    "a task without a document": ("x.json", json.dumps([label_studio("q1", None, 1)]), "no doc_id or docno or docid"),
    "requests without a list": ("x.json", '{"requests": 3}', "requests is no list of objects"),
    "an index of words": ("x.csv", ",query_id,doc_id,grade\na,q1,d1,1\n", "column 1 has no name"),
    "a column twice": ("x.csv", "query_id,doc_id,grade,grade\nq1,d1,1,1\n", "column 'grade' is there twice"),
    "a second header": ("x.tsv", "query-id\tcorpus-id\tscore\nquery-id\tcorpus-id\tscore\n", "not a number|expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_file_of_judgments_is_one_line(tmp_path, case):
    name, text, problem = WRONG[case]
    path = written(tmp_path, name, text)
    with pytest.raises(InputError, match=problem):
        read_judgments(path).labels()


def test_a_folder_of_runs_is_read_whole_or_not_at_all(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    for name in ("b.json", "a.json", ".hidden"):
        written(tmp_path / "runs", name, json.dumps(SCORES))
    qrels = written(tmp_path, "q.json", json.dumps(GRADES))
    for runs in (["runs"], ["runs/*.json"], ["runs/a.json", "runs/b.json"]):
        assert run_command(["score", qrels, *(str(tmp_path / run) for run in runs), "nDCG@10", "-o", "jsonl"]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["run"] for row in rows] == ["a.json", "b.json"]
    written(tmp_path / "runs", "c.json", "{")
    assert run_command(["score", qrels, str(tmp_path / "runs"), "nDCG@10"]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    assert "c.json: cannot be read as JSON" in printed.err


def test_lists_of_documents_are_labels_or_a_ranking(tmp_path):
    path = written(tmp_path, "lists.json", json.dumps({"q1": ["d1", "d2"], "q2": ["d9", "d3"]}))
    assert score(GRADES, [path], "nDCG@10").value == pytest.approx(BY_IR_MEASURES, abs=1e-12)
    assert read_judgments(path).values.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("ranks", [(25, 11), (1, 1), (2, 3)])
def test_whole_numbers_that_are_no_ranks_are_refused(tmp_path, ranks):
    path = written(tmp_path, "scores.tsv", lines([("q1", "d1", ranks[0]), ("q1", "d2", ranks[1])]))
    with pytest.raises(InputError, match="is no rank of query 'q1', expected ranks from 0 or 1, each once"):
        load_run(path)


def test_columns_of_a_book_that_are_no_judges_are_left_out(tmp_path):
    path = written(tmp_path, "book.csv", "query,docid,position,Ann Lee,title\nq1,d1,1,2,2001\nq1,d2,2,0,2002\n")
    assert {judge.name for judge in read_judgments(path).judges} == {"Ann Lee"}


def test_columns_may_be_named(tmp_path, capsys):
    path = written(tmp_path, "q.csv", lines([("topic", "pid", "useful"), *TRIPLES], ","))
    run = written(tmp_path, "r.csv", "topic,pid,s\nq1,d1,2\nq1,d2,1\nq2,d9,2\nq2,d3,1\n")
    named = "query=topic,document=pid,grade=useful,score=s"
    assert run_command(["score", path, run, "nDCG@10", "--columns", named, "-o", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(BY_IR_MEASURES, abs=1e-12)
    for wrong, problem in (
        ("query=topic,document=topic", "column 'topic' is named twice"),
        ("querry=topic", "did you mean query"),
        ("query", "'query' is no ROLE=COLUMN"),
        ("query=a,query=b", "names a role twice"),
        (named.replace("useful", "usefull"), "no grade column"),
        (f"{named},judge=whom", "no table has a column 'whom'"),
    ):
        assert run_command(["score", path, run, "nDCG@10", "--columns", wrong]) in (1, 2)
        assert problem in capsys.readouterr().err


def test_standard_input_is_read_once_and_known_by_its_bytes(tmp_path, monkeypatch, capsys):
    from activeeval.formats import packing

    run = written(tmp_path, "r.json", json.dumps(SCORES))
    for content in (JUDGMENTS["qrels.json"].encode(), bz2.compress(JUDGMENTS["beir/test.tsv"].encode())):
        packing.standard_input.cache_clear()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run_command(["score", "-", run, "nDCG@10", "-o", "jsonl"]) == 0
        assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(BY_IR_MEASURES, abs=1e-12)
    packing.standard_input.cache_clear()
    assert run_command(["score", "-", "-", "nDCG@10"]) == 1
    assert "standard input, -, is read once" in capsys.readouterr().err


def test_queries_named_by_texts_are_scored_by_a_table_of_ids(tmp_path, capsys):
    by_text = {"red  dress": GRADES["q1"], "shoe": GRADES["q2"], "lamp": {"d1": 1}}
    rows = [(query, doc, grade) for query, docs in by_text.items() for doc, grade in docs.items()]
    book = written(tmp_path, "book.csv", lines([("query", "docid", "rating"), *rows], ","))
    queries = written(tmp_path, "queries.csv", "id,text\nq1,red dress\nq2,shoe\n")
    run = written(tmp_path, "r.json", json.dumps(SCORES))
    assert run_command(["score", book, run, "RR", "--queries", queries, "-o", "jsonl"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["queries"] == len(by_text) - 1
    assert "1 of 3 judged queries has no id in" in printed.err
