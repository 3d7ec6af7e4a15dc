"""The table of all queries of a comparison."""

import json


def test_the_table_of_queries_begins_with_those_that_lose_and_says_what_moved(call, tmp_path):
    (tmp_path / "old.run").write_text("q1 Q0 a 1 3 r\nq1 Q0 b 2 2 r\nq2 Q0 a 1 3 r\nq2 Q0 b 2 2 r\nq2 Q0 c 3 1 r\n")
    (tmp_path / "new.run").write_text("q1 Q0 a 1 3 r\nq1 Q0 b 2 2 r\nq2 Q0 c 1 3 r\nq2 Q0 b 2 2 r\nq2 Q0 a 3 1 r\n")
    (tmp_path / "q.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq2 0 b 0\nq2 0 c 0\n")
    runs = [str(tmp_path / name) for name in ("old.run", "new.run")]
    path = tmp_path / "by-query.jsonl"
    call("compare", *runs, "--qrels", str(tmp_path / "q.txt"), "--measure", "DCG@2", "--per-query", str(path))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["query_id"], row["moved"]) for row in rows] == [("q2", "a 1→out"), ("q1", "")]
