"""α-nDCG and ERR-IA, held against ndeval."""

import numpy as np
import pytest

from activeeval import QueryPool, Rankings, parse_measure, score
from activeeval.core.errors import InputError
from activeeval.core.measures import SubtopicLabels, SubtopicMeasure, check_sampled

pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed: pip install -e '.[dev]'")


def drawn_rows(seed):
    """Draw judgments (query, subtopic, document, grade), and a run with ties, unjudged documents and missing lists."""
    rng = np.random.default_rng(seed)
    rows, run = [], {}
    for query in map("q{}".format, range(rng.integers(2, 6))):
        n, n_subtopics, top = int(rng.integers(1, 12)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        documents = [f"d{i}" for i in range(n + 4)]
        for document in documents[:n]:
            chosen = rng.permutation(n_subtopics)[: rng.integers(1, n_subtopics + 1)]
            rows += [(query, str(subtopic), document, int(rng.integers(-1, top))) for subtopic in chosen.tolist()]
        listed = rng.permutation(documents)[: rng.integers(0, n + 5)].tolist()
        if listed:
            run[query] = dict(zip(listed, rng.integers(0, 5, len(listed)).astype(float).tolist(), strict=True))
    rows += [("last", "1", "a", 1), ("last", "2", "a", 1), ("last", "2", "b", 0)]
    run["last"] = {"b": 2.0, "x": 1.0, "a": 0.0}
    return rows, run


def written(folder, rows):
    """Write judgments of subtopics as TREC text; return the path."""
    path = folder / "qrels.txt"
    path.write_text("".join(f"{query} {subtopic} {document} {grade}\n" for query, subtopic, document, grade in rows))
    return path


def by_query(judgments, run, measure, **options):
    """Return the value of each query."""
    scores = score(judgments, {"run": run}, measure, **options)
    return dict(zip(scores.query_ids, next(iter(scores)).by_query.tolist(), strict=True))


def of_ndeval(rows, run, measure, **options):
    """Return ndeval's value of each query by trec_eval's order of ties; 0 for a query without a list."""
    lists = [
        (query, document, float(-rank))
        for query, docs in run.items()
        for rank, document in enumerate(sorted(docs, key=lambda doc, of=docs: (of[doc], doc), reverse=True))
    ]
    values = pyndeval.RelevanceEvaluator(rows, [measure], **options).evaluate(lists)
    return {
        query: values[query][measure] if query in values else 0.0 for query in dict.fromkeys(row[0] for row in rows)
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        ("alpha_nDCG@20", "alpha-nDCG@20", {}),
        ("α-nDCG@1", "alpha-nDCG@1", {}),
        ("alpha_nDCG(alpha=0.3)@5", "alpha-nDCG@5", {"alpha": 0.3}),
        ("alpha_nDCG(alpha=1)@5", "alpha-nDCG@5", {"alpha": 1.0}),
        ("alpha_nDCG(rel=2)@10", "alpha-nDCG@10", {"relevance_level": 2}),
        ("ERR_IA@20", "ERR-IA@20", {}),
        ("ERR-IA@2", "ERR-IA@2", {}),
        ("ERR_IA(rel=2)@5", "ERR-IA@5", {"relevance_level": 2}),
    ],
)
@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_ndeval(tmp_path, ours, theirs, options, seed):
    rows, run = drawn_rows(seed)
    expected = of_ndeval(rows, run, theirs, **options)
    assert by_query(written(tmp_path, rows), run, ours) == pytest.approx(expected, abs=1e-12)


def test_err_ia_at_the_first_rank_is_divided_by_the_number_of_subtopics():
    """As its definition says; ndeval forgets the division at rank 1."""
    pool = QueryPool(["q"], [0, 2], ["a", "b"])
    labels = SubtopicLabels.of_ratings(2, [0, 0, 1], [0, 1, 2], [1, 1, 1])
    ranking = Rankings.from_ids(pool, {"q": ["a", "b"]})
    assert SubtopicMeasure("ERR_IA", 1).score(pool, labels, ranking) == pytest.approx([2 / 3])


@pytest.mark.parametrize("seed", range(6))
def test_condensed_lists_lack_documents_without_a_grade_for_any_subtopic(tmp_path, seed):
    rows, run = drawn_rows(seed)
    judged = {row[::2] for row in rows if row[3] >= 0}
    kept = {query: {d: s for d, s in docs.items() if (query, d) in judged} for query, docs in run.items()}
    expected = of_ndeval(rows, {query: docs for query, docs in kept.items() if docs}, "alpha-nDCG@5")
    ours = by_query(written(tmp_path, rows), run, "alpha_nDCG@5", condensed=True)
    assert ours == pytest.approx(expected, abs=1e-12)


def test_the_grade_of_a_document_is_its_best():
    labels = SubtopicLabels.of_ratings(3, [2, 0, 0], [0, 0, 1], [0, -1, 2])
    assert labels.grades.tolist() == [2, -1, 0]
    assert not labels.is_soft


@pytest.mark.parametrize("text", ["alpha_nDCG@10", "ERR_IA@10"])
def test_grades_of_documents_alone_are_refused(text):
    pool = QueryPool(["q"], [0, 1], ["a"])
    measure = parse_measure(text)
    with pytest.raises(InputError, match="needs judgments of subtopics: a query, subtopic, document and grade each"):
        measure.score(pool, [1], Rankings.from_scores(pool, [1.0]))
    with pytest.raises(InputError, match="can be scored but not sampled for"):
        check_sampled(measure)
