"""``activeeval agreement`` on every kind of file that a judge may hand in."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from cli_cases import judged, new_files
from cli_files import csv_rows, write_csv, write_lines
from naive_agreement import alpha, kappa, relation_counts

SAID = {
    "ann": {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "b": 0}},
    "bob": {"q1": {"a": 2, "b": 2, "c": 0}, "q2": {"a": 0, "b": 1}},
}


def graded(judge):
    return [(query, doc, grade) for query, own in SAID[judge].items() for doc, grade in own.items()]


def write_judges(kind):
    """Write what the two judges said in one of the forms that there are, and return the names of the files."""
    lines = {}
    if kind == "one table":
        rows = [f"{q},{d},{y},{judge}" for judge in SAID for q, d, y in graded(judge)]
        lines["both.csv"] = ["query_id,doc_id,grade,judge", *rows, "q1,c,,Ann", "q1,a,2, ANN "]
    for judge in SAID if kind != "one table" else ():
        if kind == "qrels":
            lines[f"{judge}.qrels"] = [*(f"{q} 0 {d} {y}" for q, d, y in graded(judge)), "q1 0 z -1"]
        else:
            lines[f"{judge}.csv"] = ["query_id,doc_id,relevance", *(f"{q},{d},{y}" for q, d, y in graded(judge))]
    for name, content in lines.items():
        write_lines(Path(name), content)
    return list(lines)


def by_what(rows):
    return {(row["of"], row["what"]): row for row in rows if "what" in row}


@pytest.mark.parametrize("kind", ["qrels", "tables", "one table"])
def test_grades_in_every_form(call, kind):
    answer = call("agreement", *write_judges(kind), "-o", "jsonl")
    rows = by_what(answer.rows)
    docs = [(query, doc) for query, own in SAID["ann"].items() for doc in own]
    table = [[SAID[judge][query][doc] for query, doc in docs] for judge in SAID]
    for metric in ("nominal", "ordinal", "interval", "ratio"):
        found = rows["grades", f"Krippendorff's alpha, {metric}"]
        assert found["value"] == pytest.approx(float(alpha(table, metric)), abs=1e-12)
        assert found["n"] == 5
    assert rows["grades", "Cohen's kappa, linear"]["value"] == pytest.approx(float(kappa(*table, 1)), abs=1e-12)
    assert rows["preferences implied by grades", "overall"]["value"] == 0.5
    counts = [row["pairs"] for row in answer.rows if "first" in row]
    assert counts == [n for line in relation_counts(SAID) for n in line]
    assert answer.err == ""


def preference_lines(pairs):
    ties = {True: "true", False: "false"}
    return [f'{{"query": "q", "preferred": "{a}", "other": "{b}", "tie": {ties[a + b == "ac"]}}}' for a, b in pairs]


def counted(rows):
    """Count the pairs of each two relations, without those that no pair has."""
    return {(row["first"], row["second"]): row["pairs"] for row in rows if row.get("pairs")}


def test_preferences_and_truths(call, folder):
    write_lines(folder / "ann.jsonl", preference_lines(["ab", "bc", "ac"]))
    write_lines(folder / "bob.jsonl", preference_lines(["ab", "cb"]))
    write_lines(folder / "cy.csv", ["query,rank,doc_id", "q,1,a", "q,,b", "q,,c"])
    answer = call("agreement", "ann.jsonl", "bob.jsonl", "cy.csv", "-o", "jsonl")
    # ann and bob: a > b alike, b and c contradict; ann and cy: a > b alike, b > c against a tie, a tie against a > c;
    # bob and cy: a > b alike, b < c against a tie
    assert counted(answer.rows) == {
        ("A>B", "A>B"): 3, ("A>B", "A<B"): 1, ("A>B", "A~B"): 1, ("A~B", "A>B"): 1, ("A<B", "A~B"): 1,
    }  # fmt: skip
    rows = by_what(answer.rows)
    assert rows["preferences", "overall"]["value"] == pytest.approx(3 / 7)
    assert rows["preferences", "strict"]["value"] == pytest.approx(3 / 4)
    assert rows["preferences", "strict"]["low"] is None


def test_documents_that_share_a_rank_are_tied(call, folder):
    """One truth says a ~ b > c > d ~ e, the other a > b > c > d ~ e: of ten pairs they differ in one."""
    write_lines(folder / "ann.csv", ["query,rank,doc_id", "q,1,a", "q,1,b", "q,3,c", "q,,d", "q,bad,e"])
    write_lines(folder / "bob.csv", ["query,rank,doc_id", "q,1,a", "q,2,b", "q,3,c", "q,,d", "q,,e"])
    answer = call("agreement", "ann.csv", "bob.csv", "-o", "jsonl")
    assert counted(answer.rows) == {
        ("A>B", "A>B"): 8, ("A~B", "A>B"): 1, ("A~B", "A~B"): 1,
    }  # fmt: skip


def test_both_kinds_are_compared(call, folder):
    write_lines(folder / "ann.jsonl", preference_lines(["ab", "bc"]))
    write_lines(folder / "bob.jsonl", preference_lines(["ab", "bc"]))
    rows = by_what(call("agreement", *write_judges("qrels"), "ann.jsonl", "bob.jsonl", "-o", "jsonl").rows)
    # all of 2 against 2 of 4
    assert rows["preferences against grades", "chi-squared, overall"]["value"] == pytest.approx(1.5)
    assert rows["preferences against grades", "chi-squared, overall"]["p_value"] == pytest.approx(0.2207, abs=1e-4)


def test_sheets_of_a_sample(call):
    call("sample", "--run", "a.run", "--max-grade", 3, "--budget", 20, *new_files("ann.csv"))
    rows = judged(csv_rows("ann.csv"))
    write_csv("ann.csv", rows)
    write_csv("bob.csv", [rows[0] | {"grade": ""}, rows[1] | {"grade": "cannot"}, *rows[2:]])
    answer = call("agreement", "ann.csv", "bob.csv", "-o", "jsonl")
    found = by_what(answer.rows)["grades", "Krippendorff's alpha, ordinal"]
    assert (found["value"], found["n"]) == (1, len(rows) - 2)


def test_tables_for_reading(call):
    files = write_judges("tables")
    brief = call("agreement", *files).out
    assert brief.startswith("Judges agree to ")
    assert ", by row" not in brief
    assert max(map(len, brief.splitlines())) <= 100
    for scale in ("nominal", "ordinal", "interval", "ratio"):
        assert f"\nKrippendorff's alpha, {scale} " in brief
    text = call("agreement", *files, "-o", "wide").out
    for title in ("pairs", "by row", "by column"):
        assert f"\npreferences implied by grades, {title}" in text
    for form in ("tsv", "md", "latex"):
        assert call("agreement", *files, "-o", form).code == 0
    assert brief != call("agreement", *files, "--confidence", 0.5).out


def test_what_is_not_defined_is_said_so(call, folder):
    for name in ("x.csv", "y.csv"):
        write_lines(folder / name, ["query_id,doc_id,grade", "q,a,1", "p,a,1"])
    assert "n/a" in call("agreement", "x.csv", "y.csv").out
    rows = by_what(call("agreement", "x.csv", "y.csv", "-o", "jsonl").rows)
    assert {row["why_undefined"] for row in rows.values() if row["value"] is None} == {"one answer only"}
    assert rows.pop(("grades", "mean difference"))["value"] == 0
    assert all(row["value"] is None for row in rows.values())
    assert all((row["raw_agreement"], row["base_rate"]) == (1, 1) for row in rows.values())
    said = call("agreement", "x.csv", "y.csv").out
    assert said.startswith(
        "No coefficient of agreement is defined: the 2 items that several judged got one grade only, 1."
    )
    assert "too little" not in said
    assert not any(isinstance(row["value"], float) and math.isnan(row["value"]) for row in rows.values())


def test_a_grade_that_nearly_all_items_have_is_said_beside_the_coefficients(call, folder):
    """Nine of ten alike with a machine that always says 1: alpha and kappa are 0, which is not how often they agree."""
    write_lines(folder / "h.csv", ["query_id,doc_id,grade", *(f"q{k},d{k},{int(k < 9)}" for k in range(10))])
    write_lines(folder / "m.csv", ["query_id,doc_id,grade", *(f"q{k},d{k},1" for k in range(10))])
    brief = call("agreement", "h.csv", "m.csv").out
    assert "All judges of an item gave it the same grade for 9 of 10 items; 95 % of their grades are 1." in brief
    assert "AC1, which a common grade does not lower, is 0.89." in " ".join(brief.split())
    rows = by_what(call("agreement", "h.csv", "m.csv", "-o", "jsonl").rows)
    of_grades = {what: row for (of, what), row in rows.items() if of == "grades"}
    assert len(of_grades) == 11
    assert {(row["raw_agreement"], row["base_rate"]) for row in of_grades.values()} == {(0.9, 0.95)}
    assert of_grades["Cohen's kappa"]["value"] == of_grades["Krippendorff's alpha, ordinal"]["value"] == 0
    assert of_grades["Gwet's AC1"]["value"] == pytest.approx(0.8895, abs=1e-4)
    assert "lower than" not in brief


def test_a_stricter_judge_is_named(call, folder):
    write_lines(folder / "ann.csv", ["query_id,doc_id,grade", *(f"q{k},d{k},{1 + k % 3}" for k in range(12))])
    write_lines(folder / "bob.csv", ["query_id,doc_id,grade", *(f"q{k},d{k},{k % 3}" for k in range(12))])
    expected = "bob.csv grades 1.0 lower than ann.csv (95 % interval 1.0 to 1.0, 12 items)."
    assert expected in call("agreement", "ann.csv", "bob.csv").out.splitlines()
    assert call("agreement", "ann.csv", "bob.csv").out == call("agreement", "bob.csv", "ann.csv").out
