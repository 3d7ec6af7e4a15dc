"""Verbs of Python and how each is called, on a sample, a campaign and a watch that are there."""

from itertools import count
from types import SimpleNamespace

import activeeval as ae

GRADES = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(6)} for q in range(30)}
NEW = {query: {doc: grade + 0.5 * int(doc[1:]) for doc, grade in docs.items()} for query, docs in GRADES.items()}
OLD = {query: {doc: float((7 * int(doc[1:]) + len(query)) % 5) for doc in docs} for query, docs in GRADES.items()}
ASKED = {"measure": "DCG@3", "budget": 40, "max_grade": 3}
JUDGED = {"judgments": GRADES, "measure": "DCG@3"}
TEXTS = {"documents": "d.csv", "queries": "q.csv"}
CALLS = {
    "sample": lambda m: {"runs": [NEW, OLD], "seed": 1} | ASKED,
    "plan": lambda m: {"runs": [NEW, OLD]} | ASKED,
    "score": lambda m: {"judgments": GRADES, "runs": [NEW, OLD], "measures": "DCG@3"},
    "compare": lambda m: {"old": OLD, "new": NEW} | JUDGED,
    "evaluate": lambda m: {"run": NEW} | JUDGED,
    "draw_queries": lambda m: {"log": {"a": 3, "b": 2}, "n": 1},
    "load_sample": lambda m: {"path": m.folder / "none.sample"},
    "open_campaign": lambda m: {"url": m.folder / "none.activeeval", "name": "w"},
    "agreement": lambda m: {"judged": [GRADES, GRADES], "resamples": 2},
    "times": lambda m: {"judged": GRADES},
    "simulate": lambda m: {"runs": NEW, "qrels": GRADES, "measure": "DCG@3", "repetitions": 2},
    "calibration": lambda m: {"runs": NEW, "qrels": GRADES},
    "design": lambda m: {"runs": NEW, "max_grade": 3},
    "write_pool": lambda m: {"runs": NEW, "max_grade": 3, "out": m.new("")},
    "ask_grader": lambda m: {"about": NEW, "model": "m", **TEXTS, "out": m.new(".jsonl")},
    "list_campaigns": lambda m: {"url": m.folder / "w.activeeval"},
    "create_watch": lambda m: {"url": m.new(".activeeval"), "name": "w", **ASKED},
    "open_watch": lambda m: {"url": m.folder / "none.activeeval", "name": "w"},
    "Watch.night": lambda m: {"run": NEW, "date": "2026-01-01", "oracle": GRADES},
    "Watch.submit": lambda m: {},
    "Watch.status": lambda m: {},
    "Watch.estimate": lambda m: {},
    "Watch.report": lambda m: {"path": m.new(".md")},
    "Sample.sheet": lambda m: {},
    "Sample.save": lambda m: {"path": m.new(".sample"), "sheet": m.new(".csv")},
    "Sample.write_sheet": lambda m: {"path": m.new(".csv")},
    "Sample.estimate": lambda m: {"judged": m.sheet},
    "Sample.top_up": lambda m: {"budget": 5},
    "Sample.next": lambda m: {"judged": m.sheet},
    "StoredCampaign.next_batch": lambda m: {"path": m.new(".csv")},
    "StoredCampaign.import_judgments": lambda m: {"judged": GRADES, "judge": "ann"},
    "StoredCampaign.judge": lambda m: {"judge": "ann", "judgments": GRADES},
    "StoredCampaign.retract": lambda m: {"seq": 10**6, "judge": "ann"},
    "StoredCampaign.top_up": lambda m: {"budget": 10**6},
    "StoredCampaign.redraw": lambda m: {"runs": [NEW, OLD], **ASKED},
    "StoredCampaign.export": lambda m: {"kind": "csv"},
    "StoredCampaign.verify": lambda m: {},
    "StoredCampaign.cost": lambda m: {},
    "StoredCampaign.claim": lambda m: {"judge": "bob"},
    "StoredCampaign.submit": lambda m: {"claimed": "none", "grade": 1},
    "StoredCampaign.status": lambda m: {},
    "StoredCampaign.estimate": lambda m: {},
    "StoredCampaign.audit": lambda m: {"graders": m.sheet},
    "StoredCampaign.report": lambda m: {"path": m.folder / "report.md", "force": True},
    "StoredCampaign.log": lambda m: {},
    "StoredCampaign.stop": lambda m: {},
    "audit": lambda m: {"sample": m.Sample, "judged": m.sheet, "graders": m.sheet},
    "create_campaign": lambda m: {"sample": m.Sample, "url": m.new(".activeeval"), "name": "w"},
    "parse_measure": lambda m: {"text": "DCG"},
    "compare_scores": lambda m: {"first": [1.0, 2.0, 4.0], "second": [1.0, 1.0, 2.0]},
    "generate_pool": lambda m: {"n_queries": 3},
    "QueryFactor": lambda m: {},
}
"""By the name of a verb, or of a class and its method, the arguments of a call that works, of what `made_in` makes."""


def judged(sheet):
    """Return a sheet with its grades."""
    return sheet.assign(grade=[GRADES[q][d] for q, d in zip(sheet["query_id"], sheet["doc_id"], strict=True)])


def made_in(folder):
    """Return what verbs are called on, by the names of their classes, and a maker of new names of files."""
    drawn = ae.sample([NEW, OLD], seed=1, **ASKED)
    campaign = ae.create_campaign(drawn, folder / "w.activeeval", "w")
    while (item := campaign.claim("ann")) is not None:
        campaign.submit(item, 1)
    watch = ae.create_watch(folder / "v.activeeval", "v", measure="DCG@3", budget=10, max_grade=3, seed=1)
    watch.night(OLD, "2026-01-01", oracle=GRADES)
    number = count()
    return SimpleNamespace(
        folder=folder,
        new=lambda suffix: folder / f"{next(number)}{suffix}",
        sheet=judged(drawn.sheet("pandas")),
        Sample=drawn,
        StoredCampaign=campaign,
        Watch=watch,
    )


def verb_of(name, made):
    """Return the function or bound method of a name."""
    kind, _, method = name.rpartition(".")
    return getattr(getattr(made, kind) if kind else ae, method)
