"""The queries that lose most in a campaign's report, with both lists, against plain loops over the log."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from campaign_cases import Case, Clock
from naive import dcg, pool_of, rankings_of

from activeeval import METHODS, Campaign, QueryPool, Target
from activeeval.campaigns.create_and_grow import create, redraw
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.report.page import campaign_text
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.campaign import Rules
from activeeval.core.measures import parse_measure
from activeeval.sampling.drawn_sample import DrawnSample

N, WIDTH, DEPTH = 30, 8, 5
NASTY = "<script>alert('x')</script> & \"more\" | *b*"
TITLE = "Queries that lose most"


class Compared:
    """A campaign of two rankings of eight items a query, of which the new one has the best items last."""

    def __init__(self, measure=f"DCG@{DEPTH}", budget=150.0, query="q", item="d", turned=False, judged=True):
        random = np.random.default_rng(0)
        queries = [f"{query}{q}" for q in range(N)]
        items = [f"{item}{k}" for k in range(WIDTH)]
        self.pool = QueryPool(queries, np.arange(0, N * WIDTH + 1, WIDTH), items * N)
        labels = random.integers(0, 3, (N, WIDTH))
        noisy = labels + random.normal(size=(N, WIDTH))
        self.old, self.new = ([list(map(int, np.argsort(sign * row)[:6])) for row in noisy] for sign in (-1, 1))
        if turned:
            self.old, self.new = self.new, self.old
        self.labels = labels
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
        places = {pair: z for z, pair in enumerate(self.pool.pairs_of(np.arange(N * WIDTH)))}
        while (item := self.store.claim("week", "ann")) is not None:
            grade = int(self.labels.ravel()[places[item.query_id, item.doc_id]])
            self.store.submit("week", item.token, JudgeAnswer(kind="judged", grade=grade))

    @property
    def grades(self):
        """The grade of each item in the log, by query and item; None where there is none."""
        events = {(e.query_id, e.doc_id): e.grade for e in self.store.events("week") if e.kind == "judged"}
        pairs = self.pool.pairs_of(np.arange(N * WIDTH))
        return [[events.get(pairs[q * WIDTH + k]) for k in range(WIDTH)] for q in range(N)]


class Tables(HTMLParser):
    """The tables of a page: caption, header and rows, each cell as its reader sees it."""

    def __init__(self, page):
        super().__init__()
        self.tables, self._cell = [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th", "caption"):
            self._cell = ""
            assert tag != "th" or dict(attributes)["scope"] == "col"

    def handle_data(self, data):
        self._cell = None if self._cell is None else self._cell + data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1]["rows"][-1].append(self._cell)
        elif tag == "caption":
            self.tables[-1]["caption"] = self._cell
        if tag in ("td", "th", "caption"):
            self._cell = None


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


@pytest.mark.parametrize(("measure", "deepest"), [("DCG@2", 2), ("DCG", 6)])
def test_both_lists_stand_side_by_side_with_grades_as_far_as_the_measure_reads(measure, deepest):
    case = Compared(measure, budget=80.0 if deepest < DEPTH else 150.0)
    summed = summary(case.store, "week")
    (losses,), grades = summed.losses, case.grades
    overview, *tables = Tables(section(campaign_text(summed, ".html"))).tables
    assert overview["rows"][0] == ["query", "run 2", "run 1", "share of the loss"]
    assert [row[0] for row in overview["rows"][1:]] == [query.query_id for query in losses.queries]
    assert len(tables) == len(losses.queries)
    n_unjudged = 0
    for query, table in zip(losses.queries, tables, strict=True):
        q = number_of(query)
        assert table["caption"].startswith(f"{query.query_id} ({NASTY} {query.query_id}): ")
        assert table["rows"][0] == ["rank", "run 2", "grade", "run 1", "grade"]
        lists = [case.old[q][:deepest], case.new[q][:deepest]]
        for rank, row in enumerate(table["rows"][1:], 1):
            expected = [str(rank)]
            for mine, other in (lists, lists[::-1]):
                item = mine[rank - 1]
                grade = grades[q][item]
                is_drawn = f"d{item}" in {doc for name, doc in case.sample.pairs if name == query.query_id}
                title = f"d{item}: {NASTY} d{item}" if is_drawn else f"d{item}"
                expected += [f"{title}{'' if item in other else ' (only here)'}"]
                expected += ["not judged" if grade is None else str(grade)]
                n_unjudged += grade is None
            assert row == expected
        assert len(table["rows"]) == deepest + 1
    assert n_unjudged > 0


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
    assert section(page).count("&lt;script&gt;") > 100
    assert "<script" not in page.lower()
    assert "<script" not in text.lower()
    captions = [table["caption"] for table in Tables(section(page)).tables[1:]]
    assert [caption.partition(f" ({NASTY}")[0] for caption in captions] == [
        query.query_id for query in summed.losses[0].queries
    ]
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_a_better_run_and_a_campaign_of_one_ranking_list_no_query():
    alone = Case()
    alone.judge("ann")
    for store in (Compared(turned=True).store, alone.store, Compared(judged=False).store):
        summed = summary(store, "week")
        assert summed.losses == json.loads(campaign_text(summed, ".json"))["losses"] == []
        assert not any(TITLE in campaign_text(summed, suffix) for suffix in (".html", ".md"))


def test_rounds_that_are_read_together_list_no_query():
    case = Compared()
    grades = np.array([[-1 if grade is None else grade for grade in row] for row in case.grades]).ravel()
    redraw(case.store, "week", case.drawn(20.0, grades))
    case.judge()
    summed = summary(case.store, "week")
    assert (summed.head.rounds_read, summed.losses) == (2, [])
