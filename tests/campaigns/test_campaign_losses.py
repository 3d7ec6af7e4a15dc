"""The queries that lose most in a campaign's report, with both lists, against plain loops over the log."""

import html
import json
import re

import numpy as np
import pytest
from campaign_cases import Case, Clock, known_in
from naive import dcg, pool_of, rankings_of

from activeeval import METHODS, Campaign, QueryPool, Target
from activeeval.campaigns.create_and_grow import create, redraw
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.report.page import campaign_text
from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.campaign import Rules
from activeeval.core.measures import parse_measure
from activeeval.sampling.drawn_sample import DrawnSample

N, WIDTH, DEPTH = 16, 8, 5
NASTY = "<script>alert('x')</script> & \"more\" | *b*"
TITLE = "Queries that lose most"


class Compared:
    """A campaign of two rankings of eight items a query, of which the new one has the best items last."""

    def __init__(self, measure=f"DCG@{DEPTH}", budget=80.0, query="q", item="d", turned=False, judged=True):
        random = np.random.default_rng(0)
        queries = [f"{query}{q}" for q in range(N)]
        items = [f"{item}{k}" for k in range(WIDTH)]
        self.pool = QueryPool(queries, np.arange(0, N * WIDTH + 1, WIDTH), items * N)
        labels = random.integers(0, 3, (N, WIDTH))
        noisy = labels + random.normal(size=(N, WIDTH))
        self.old, self.new = ([list(map(int, np.argsort(sign * row)[:6])) for row in noisy] for sign in (-1, 1))
        if turned:
            self.old, self.new = self.new, self.old
        self.labels = dict(zip(self.pool.pairs_of(np.arange(N * WIDTH)), labels.ravel().tolist(), strict=True))
        self.target = Target(parse_measure(measure), rankings_of(self.pool, self.new), rankings_of(self.pool, self.old))
        self.sample = self.drawn(budget)
        self.store = open_store("sqlite://", create=True, clock=Clock())
        pairs = self.sample.pairs
        texts = {"query": [f"{NASTY} {q}" for q, _ in pairs], "title": [f"{NASTY} {d}" for _, d in pairs]}
        create(self.store, "week", self.sample, Rules(), texts=texts)
        if judged:
            self.judge()

    def drawn(self, budget, known=None):
        model = np.tile((0.4, 0.3, 0.3), (N * WIDTH, 1))
        design = METHODS["items"].design(self.target, grade_probs=model, budget=budget, judged=known, max_grade=2)
        return DrawnSample(campaign=Campaign(design, rng=1), questions=("difference",), seed=1)

    def judge(self):
        while (item := self.store.claim("week", "ann")) is not None:
            grade = self.labels[item.query_id, item.doc_id]
            self.store.submit("week", item.token, JudgeAnswer(kind="judged", grade=grade))

    @property
    def grades(self):
        """The grade of each item in the log, by query and item; None where there is none."""
        events = {(e.query_id, e.doc_id): e.grade for e in self.store.events("week") if e.kind == "judged"}
        return np.array([events.get(pair) for pair in self.labels]).reshape(N, WIDTH).tolist()


def section(page):
    """Return the section of the page, empty where it has none."""
    return page.partition('<details id="queries-that-lose-most">')[2].partition("</details>")[0]


def number_of(query):
    return int(query.query_id.removeprefix("q"))


def test_values_and_shares_are_those_of_plain_loops():
    case = Compared()
    (losses,) = summary(case.store, "week").losses
    grades = [[grade or 0 for grade in row] for row in case.grades]
    new, old = ([dcg(row, lists[q], cutoff=DEPTH) for q, row in enumerate(grades)] for lists in (case.new, case.old))
    lost = {number_of(query): query.weight * (query.versus_value - query.value) for query in losses.queries}
    for query in losses.queries:
        assert (query.value, query.versus_value) == pytest.approx((new[number_of(query)], old[number_of(query)]))
    assert list(lost) == sorted(lost, key=lambda q: -lost[q])
    per_loss = [query.share / lost[number_of(query)] for query in losses.queries]
    assert per_loss == pytest.approx([per_loss[0]] * 10)
    assert sum(query.share for query in losses.queries) < 1
    assert f"by DCG@{DEPTH}, the 10 that lose most" in losses.title


def test_both_lists_stand_side_by_side_with_grades_as_far_as_the_measure_reads():
    case, deepest = Compared("DCG@2", budget=40.0), 2
    summed = summary(case.store, "week")
    (losses,), drawn, grades = summed.losses, set(case.sample.pairs), case.grades
    for query in losses.queries:
        q, name = number_of(query), query.query_id
        lists = [case.new[q][:deepest], case.old[q][:deepest]]
        for items, mine, other in zip((query.items, query.versus_items), lists, lists[::-1], strict=True):
            for each, z in zip(items, mine, strict=True):
                title = f"{NASTY} d{z}" if (name, f"d{z}") in drawn else ""
                assert (each.doc_id, each.title) == (f"d{z}", title)
                assert (each.grade, each.is_only_here) == (grades[q][z], z not in other)
    page = html.unescape(section(campaign_text(summed, ".html")))
    for words in (f"{name} ({NASTY} {name}): ", "not judged", " (only here)", "share of the loss"):
        assert words in page
    first = losses.queries[0]
    row = re.findall(r"<td[^>]*>(.*?)</td>", page.partition(f"{first.query_id} ({NASTY} {first.query_id}): ")[2])
    assert row[0] == "1"
    assert row[1].startswith(first.versus_items[0].doc_id)
    assert row[3].startswith(first.items[0].doc_id)


def test_lists_end_at_ten_ranks_and_items_below_are_in_both():
    """A measure that reads all ranks counts an item at rank 11 of the other list: it is not in one list only."""
    pool, n = pool_of([12] * 4), 4
    down, up = ([list(order)] * n for order in (range(12), range(11, -1, -1)))
    target = Target(parse_measure("DCG"), rankings_of(pool, down), rankings_of(pool, up))
    design = METHODS["random"].design(target, budget=48.0, max_grade=11)
    sample = DrawnSample(campaign=Campaign(design, rng=1), questions=("difference",), seed=1)
    store = open_store("sqlite://", create=True, clock=Clock())
    create(store, "week", sample, Rules())
    while (item := store.claim("week", "ann")) is not None:
        store.submit("week", item.token, JudgeAnswer(kind="judged", grade=int(item.doc_id) - 1))
    (losses,) = summary(store, "week").losses
    for query in losses.queries:
        assert [each.doc_id for each in query.items] == [str(k) for k in range(1, 11)]
        assert [each.grade for each in query.versus_items] == list(range(11, 1, -1))
        assert not any(each.is_only_here for each in (*query.items, *query.versus_items))


def test_ids_and_texts_of_others_are_escaped():
    case = Compared(query=f"{NASTY} ", item=f"{NASTY} ")
    summed = summary(case.store, "week")
    page, text = (campaign_text(summed, suffix) for suffix in (".html", ".md"))
    assert section(page).count("&lt;script&gt;") > 80
    assert "<script" not in page.lower()
    assert "<script" not in text.lower()
    assert all(f"{query.query_id} ({NASTY}" in html.unescape(section(page)) for query in summed.losses[0].queries)
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_a_better_run_and_a_campaign_of_one_ranking_list_no_query():
    alone = Case()
    alone.judge("ann")
    for store in (Compared(turned=True, budget=40.0).store, alone.store, Compared(judged=False).store):
        summed = summary(store, "week")
        assert summed.losses == json.loads(campaign_text(summed, ".json"))["losses"] == []
        assert TITLE not in campaign_text(summed, ".md")


def test_rounds_that_are_read_together_list_no_query():
    case = Compared()
    redraw(case.store, "week", case.drawn(20.0, known_in(case.pool, state_of(case.store, "week"))))
    case.judge()
    summed = summary(case.store, "week")
    assert (summed.head.rounds_read, summed.losses) == (2, [])
