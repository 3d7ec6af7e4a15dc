"""A small collection that is searched night after night, with all its grades; nights of a watch in a store."""

import csv
import json

import numpy as np

from activeeval.campaigns.scripted_judge import judge_all
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.monitoring.night_inputs import NightInputs
from activeeval.monitoring.nights import draw_night
from activeeval.monitoring.series import estimate_last_night, estimate_nights
from activeeval.monitoring.settings import Settings, set_up

N_QUERIES, N_DOCS, TOP, NAME = 20, 12, 3, "quality"
DATES = [f"2026-11-{day:02d}" for day in range(1, 29)]
_RANDOM = np.random.default_rng(34)
QUERIES = [f"q{k}" for k in range(N_QUERIES)]
PAIRS = [(query, f"{query}-d{j}") for query in QUERIES for j in range(N_DOCS)]
GRADES = dict(zip(PAIRS, _RANDOM.choice(TOP + 1, len(PAIRS), p=[0.4, 0.3, 0.2, 0.1]).tolist(), strict=True))
SCORES = {pair: GRADES[pair] + 1.2 * float(_RANDOM.standard_normal()) for pair in PAIRS}


def run_of(night, *, upside_down=0, without=0.1):
    """Return the run of a night: some documents are missing; some queries' lists stand on their heads."""
    random = np.random.default_rng(night)
    run = {query: {} for query in QUERIES}
    for query, doc in PAIRS:
        sign = -1 if QUERIES.index(query) < upside_down else 1
        if random.random() >= without:
            run[query][doc] = sign * SCORES[query, doc]
    return run


def settings(**changed):
    """Return the settings of a watch."""
    chosen = {"measures": ("DCG@5",), "budget": 25.0, "max_grade": TOP, "seed": 7} | changed
    return Settings(**chosen)


_FIRST_NIGHTS = {}
"""A judged first night by the settings of its watch, as SQLite holds it."""


class Watch:
    """A watch in a store of its own."""

    def __init__(self, url="sqlite://", **changed):
        self.store = open_store(url, create=True)
        self.settings = settings(**changed)
        set_up(self.store, NAME, self.settings)

    @classmethod
    def judged(cls, **changed):
        """Return a watch after its first night, a copy of one that was drawn and judged once."""
        watch, key = cls(**changed), repr(changed)
        database = watch.store._database._engine.raw_connection().driver_connection
        if key in _FIRST_NIGHTS:
            database.deserialize(_FIRST_NIGHTS[key])
        else:
            watch.night(1)
            _FIRST_NIGHTS[key] = database.serialize()
        return watch

    def draw(self, night, run=None, **more):
        """Draw a night, the first is 1."""
        tonight = NightInputs(run=run_of(night) if run is None else run, date=DATES[night - 1], **more)
        return draw_night(self.store, NAME, tonight)

    def judge(self, night, limit=None):
        """Let one person judge what waits, or some items of it; return how many."""
        if limit is None:
            return self.judge_campaign(self.campaign(night))
        return sum(1 for _ in judge_all(self.store, self.campaign(night), "ann", GRADES, limit=limit))

    def judge_campaign(self, name, judge="ann", grades=GRADES):
        """Store the grades of all items of a campaign at once; return how many."""
        rows = [(*pair, JudgeAnswer(kind="judged", grade=grades[pair])) for pair in sorted(self.items_of(name))]
        self.store.record_all(name, [(judge, rows)])
        return len(rows)

    def night(self, night, run=None, **more):
        """Draw a night, judge it, return what it says."""
        self.draw(night, run, **more)
        self.judge(night)
        return self.says()

    def campaign(self, night):
        return f"{NAME}.{DATES[night - 1]}"

    def asked(self, night):
        """Return the items that a night asks for."""
        return self.items_of(self.campaign(night))

    def items_of(self, campaign):
        return {(unit.query_id, place.doc_id) for unit in self.store.units(campaign) for place in unit.places}

    def says(self):
        return estimate_last_night(self.store, NAME)

    def all_say(self, *span):
        return estimate_nights(self.store, NAME, *span)

    def is_stored(self, night):
        """Return whether a night is there, and whether its campaign is."""
        there = DATES[night - 1] in [row.date for row in self.store.watches.nights(NAME)]
        return there, self.campaign(night) in self.store.campaigns()


def true_value(run, cutoff=5):
    """Return the mean DCG of a run with exponential gains, in plain Python."""
    total = 0.0
    for query, docs in run.items():
        ranked = sorted(docs, key=lambda doc: -docs[doc])[:cutoff]
        total += sum((2 ** GRADES[query, doc] - 1) / np.log2(rank + 2) for rank, doc in enumerate(ranked))
    return total / len(run)


def write_run(path, run):
    """Write a run as TREC text."""
    with path.open("w") as out:
        for query, docs in run.items():
            for rank, doc in enumerate(sorted(docs, key=lambda doc: -docs[doc]), 1):
                out.write(f"{query} Q0 {doc} {rank} {docs[doc]!r} made\n")


def write_qrels(path, pairs=None):
    """Write the grades of some items, by default of all."""
    rows = [f"{query} 0 {doc} {GRADES[query, doc]}\n" for query, doc in pairs or PAIRS]
    path.write_text("".join(rows))


def write_documents(path, changed=(), without=()):
    """Write the text of every document, of some another one, of some none."""
    with path.open("w") as out:
        for _, doc in PAIRS:
            if doc not in without:
                text = f"Title of {doc}{', new' if doc in changed else ''}"
                out.write(json.dumps({"id": doc, "title": text}) + "\n")


def fill_in(sheet, limit=None):
    """Write the grades into a sheet, or into so many of its rows; return how many rows it has."""
    with open(sheet, newline="") as held:
        rows = list(csv.DictReader(held))
    for row in rows[:limit]:
        row["grade"] = GRADES[row["query_id"], row["doc_id"]]
    with open(sheet, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)
