"""Arguments of the verbs of Python of every kind that they are not: one line of this project's, and no other error.

Each argument of each verb is given values of all kinds, one at a time. What comes of it is an answer, or an error of
this project in one line. The verbs and their arguments are read from the signatures, so that a new one is among them.
"""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest

import activeeval as ae
from activeeval.campaigns.campaign_work import CampaignWork, RoundOptions
from activeeval.campaigns.stored_campaign import AnswerOptions, RuleOptions
from activeeval.monitoring.watch import NightOptions, WatchOptions
from activeeval.sampling.arguments import LabelledOptions, PoolOptions
from activeeval.sampling.plan import PlanOptions
from activeeval.sampling.query_rates import DesignOptions
from activeeval.sampling.sample import SampleOptions
from activeeval.sampling.sample_result import EstimateOptions
from activeeval.sampling.sheets import SheetOptions
from activeeval.sampling.simulate import SimulateOptions
from activeeval.scoring.active_evaluation import Options
from activeeval.scoring.score import ScoreOptions

RANDOM = np.random.default_rng(0)
GRADES = {f"q{q}": {f"d{d}": int(RANDOM.integers(0, 3)) for d in range(6)} for q in range(8)}
NEW, OLD = ({query: {doc: float(RANDOM.random()) for doc in row} for query, row in GRADES.items()} for _ in range(2))
FRAME = pd.DataFrame(np.zeros((2, 3)))  # its columns are numbers, as of what scikit-learn makes


class Other:
    """Nothing that any argument is."""


WRONG = {
    "a text": "word",
    "a number": 2.5,
    "a whole number below 0": -1,
    "a number beyond floats": 10**400,
    "None": None,
    "a list of two kinds": [1, "x"],
    "a dict": {"a": 1},
    "a frame": FRAME,
    "a series": pd.Series([1, 2]),
    "something else": Other(),
}


@pytest.fixture(scope="module")
def verbs(tmp_path_factory):
    """By name: a call that works and takes changes, and the function."""
    folder = tmp_path_factory.mktemp("kinds")
    drawn = ae.sample([NEW, OLD], measure="DCG@3", max_grade=2, budget=20, seed=1)
    sheet = drawn.sheet("pandas").assign(grade=1)
    campaign = ae.create_campaign(drawn, folder / "week1.activeeval", "week1")
    while (item := campaign.claim("ann")) is not None:
        campaign.submit(item, 1)
    watch = ae.create_watch(folder / "v.activeeval", "v", measure="DCG@3", budget=10, max_grade=2, seed=1)
    watch.night(OLD, "2026-01-01", oracle=GRADES)
    asked = {"measure": "DCG@3", "max_grade": 2, "budget": 20}
    judged = {"judgments": GRADES, "measure": "DCG@3"}
    texts = {"documents": "d.csv", "queries": "q.csv"}
    number = iter(range(10**6))

    def new_name(suffix):
        return folder / f"{next(number)}{suffix}"

    return {
        "sample": (ae.sample, lambda: {"runs": [NEW, OLD], "seed": 1} | asked),
        "plan": (ae.plan, lambda: {"runs": [NEW, OLD]} | asked),
        "score": (ae.score, lambda: {"judgments": GRADES, "runs": [NEW, OLD], "measures": "DCG@3"}),
        "compare": (ae.compare, lambda: {"old": OLD, "new": NEW} | judged),
        "evaluate": (ae.evaluate, lambda: {"run": NEW} | judged),
        "draw_queries": (ae.draw_queries, lambda: {"log": {"a": 3, "b": 2}, "n": 1}),
        "load_sample": (ae.load_sample, lambda: {"path": folder / "none.sample"}),
        "open_campaign": (ae.open_campaign, lambda: {"url": folder / "none.activeeval", "name": "week1"}),
        "Sample.sheet": (drawn.sheet, dict),
        "Sample.save": (drawn.save, lambda: {"path": new_name(".sample"), "sheet": new_name(".csv")}),
        "Sample.estimate": (drawn.estimate, lambda: {"judged": sheet}),
        "audit": (ae.audit, lambda: {"sample": drawn, "judged": sheet, "graders": sheet}),
        "Sample.top_up": (drawn.top_up, lambda: {"budget": 5}),
        "Sample.next": (drawn.next, lambda: {"judged": sheet}),
        "create_campaign": (ae.create_campaign, lambda: {"sample": drawn, "url": new_name(".activeeval"), "name": "w"}),
        "StoredCampaign.claim": (campaign.claim, lambda: {"judge": "bob"}),
        "StoredCampaign.submit": (campaign.submit, lambda: {"claimed": "none", "grade": 1}),
        "StoredCampaign.status": (campaign.status, dict),
        "StoredCampaign.estimate": (campaign.estimate, dict),
        "StoredCampaign.audit": (campaign.audit, lambda: {"graders": sheet}),
        "StoredCampaign.report": (campaign.report, lambda: {"path": folder / "report.md", "force": True}),
        "StoredCampaign.log": (campaign.log, dict),
        "Sample.write_sheet": (drawn.write_sheet, lambda: {"path": new_name(".csv")}),
        "agreement": (ae.agreement, lambda: {"judged": [GRADES, GRADES], "resamples": 2}),
        "times": (ae.times, lambda: {"judged": GRADES}),
        "simulate": (ae.simulate, lambda: {"runs": NEW, "qrels": GRADES, "measure": "DCG@3", "repetitions": 2}),
        "calibration": (ae.calibration, lambda: {"runs": NEW, "qrels": GRADES}),
        "design": (ae.design, lambda: {"runs": NEW, "max_grade": 2}),
        "write_pool": (ae.write_pool, lambda: {"runs": NEW, "max_grade": 2, "out": new_name("")}),
        "ask_grader": (ae.ask_grader, lambda: {"about": NEW, "model": "m", **texts, "out": new_name(".jsonl")}),
        "list_campaigns": (ae.list_campaigns, lambda: {"url": folder / "week1.activeeval"}),
        "StoredCampaign.next_batch": (campaign.next_batch, lambda: {"path": new_name(".csv")}),
        "StoredCampaign.import_judgments": (campaign.import_judgments, lambda: {"judged": GRADES, "judge": "ann"}),
        "StoredCampaign.judge": (campaign.judge, lambda: {"judge": "ann", "judgments": GRADES}),
        "StoredCampaign.retract": (campaign.retract, lambda: {"seq": 10**6, "judge": "ann"}),
        "StoredCampaign.top_up": (campaign.top_up, lambda: {"budget": 10**6}),
        "StoredCampaign.redraw": (campaign.redraw, lambda: {"runs": [NEW, OLD], **asked, "max_grade": 3}),
        "StoredCampaign.export": (campaign.export, lambda: {"kind": "csv"}),
        "StoredCampaign.verify": (campaign.verify, dict),
        "StoredCampaign.cost": (campaign.cost, dict),
        "create_watch": (ae.create_watch, lambda: {"url": new_name(".activeeval"), "name": "w", **asked}),
        "open_watch": (ae.open_watch, lambda: {"url": folder / "none.activeeval", "name": "w"}),
        "Watch.night": (watch.night, lambda: {"run": NEW, "date": "2026-01-01", "oracle": GRADES}),
        "Watch.submit": (watch.submit, dict),
        "Watch.estimate": (watch.estimate, dict),
        "Watch.report": (watch.report, lambda: {"path": new_name(".md")}),
        "parse_measure": (ae.parse_measure, lambda: {"text": "DCG"}),
        "compare_scores": (ae.compare_scores, lambda: {"first": [1.0, 2.0, 4.0], "second": [1.0, 1.0, 2.0]}),
        "generate_pool": (ae.generate_pool, lambda: {"n_queries": 3}),
        "QueryFactor": (ae.QueryFactor, dict),
    }


OPTIONS = {
    "score": ScoreOptions,
    "Sample.estimate": EstimateOptions,
    "sample": SampleOptions,
    "plan": PlanOptions,
    "compare": Options,
    "evaluate": Options,
    "StoredCampaign.submit": AnswerOptions,
    "Sample.save": SheetOptions,
    "Sample.write_sheet": SheetOptions,
    "StoredCampaign.next_batch": SheetOptions,
    "StoredCampaign.redraw": RoundOptions,
    "create_campaign": RuleOptions,
    "simulate": SimulateOptions,
    "calibration": LabelledOptions,
    "design": DesignOptions,
    "write_pool": PoolOptions,
    "create_watch": WatchOptions,
    "Watch.night": NightOptions,
}
NOT_TRIED = {("compare_scores", "limits")}
"""A pair of numbers that other code of this project makes."""


def arguments_of(name, verb):
    kinds = inspect.signature(verb).parameters
    named = [key for key, parameter in kinds.items() if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    options = OPTIONS[name].__annotations__ if name in OPTIONS else ()
    return [key for key in (*named, *options) if (name, key) not in NOT_TRIED]


NAMES = [
    *("sample", "plan", "score", "compare", "evaluate", "draw_queries", "load_sample", "open_campaign"),
    *("agreement", "times", "simulate", "calibration", "design", "write_pool", "ask_grader", "list_campaigns"),
    *("create_watch", "open_watch", *(f"Watch.{name}" for name in ("night", "submit", "estimate", "report"))),
    *(f"Sample.{name}" for name in ("sheet", "save", "write_sheet", "estimate", "top_up", "next")),
    *(f"StoredCampaign.{name}" for name in ("next_batch", "import_judgments", "judge", "retract", "top_up", "redraw")),
    *(f"StoredCampaign.{name}" for name in ("export", "verify", "cost")),
    *(f"StoredCampaign.{name}" for name in ("claim", "submit", "status", "estimate", "audit", "report", "log")),
    *("audit", "create_campaign", "parse_measure", "compare_scores", "generate_pool", "QueryFactor"),
]


SLOW = (
    *("plan", "simulate", "calibration", "create_watch", "design", "write_pool", "Watch.night"),
    *("StoredCampaign.report", "StoredCampaign.redraw", "StoredCampaign.audit"),
)
"""Most values of one argument leave the others as they are, and all is done."""


def test_every_method_of_what_verbs_return_is_tried():
    for kind in (ae.Sample, ae.StoredCampaign, ae.Watch):
        methods = [
            f"{kind.__name__}.{name}"
            for name, function in {**vars(CampaignWork if kind is ae.StoredCampaign else kind), **vars(kind)}.items()
            if inspect.isfunction(function) and name[0] != "_" and len(inspect.signature(function).parameters) > 1
        ]
        assert set(methods) <= set(NAMES)


@pytest.mark.filterwarnings("ignore::activeeval.CautionWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in NAMES])
def test_a_value_of_another_kind_is_an_answer_or_an_error_in_one_line(verbs, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file that is written
    verb, usual = verbs[name]
    wrong = []
    for argument in arguments_of(name, verb):
        for what, value in WRONG.items():
            try:
                verb(**usual() | {argument: value})
            except ae.ActiveEvalError as error:
                if "\n" in str(error):
                    wrong.append(f"{argument}, {what}: {error!r}")
            except Exception as error:
                wrong.append(f"{argument}, {what}: {type(error).__name__}: {error}")
    assert not wrong


@pytest.mark.parametrize(
    ("name", "argument", "value", "says"),
    [
        ("sample", "method", len, "`method` must be a text, got <built-in function len>"),
        ("sample", "measure", len, "cannot read the measure '<built-in function len>'; expected Name"),
        ("Sample.estimate", "confidence", "95%", "`confidence` must be a number, got '95%'"),
        ("parse_measure", "text", len, "a measure is read from a text, as 'nDCG@10', got <built-in function len>"),
    ],
)
def test_the_line_names_the_argument_and_what_it_must_be(verbs, name, argument, value, says):
    verb, usual = verbs[name]
    with pytest.raises(ae.InputError) as refused:
        verb(**usual() | {argument: value})
    assert str(refused.value).startswith(says)


@pytest.mark.filterwarnings("ignore::activeeval.CautionWarning")
def test_scalars_of_numpy_and_pandas_are_numbers_and_texts():
    plain = {"budget": 40, "max_grade": 2, "seed": 1, "overhead": 0.5, "method": "items", "names": ["new", "old"]}
    cells = pd.Series(["new", "old"])
    others = [
        {"budget": np.int64(40), "max_grade": np.uint8(2), "seed": np.int32(1), "overhead": np.float32(0.5)},
        {"method": np.str_("items"), "names": cells},
        {"names": pd.Index(cells), "max_grade": pd.Series([2]).iloc[0], "budget": pd.Series([40.0]).max()},
        {"names": None, "method": None, "adaptive_depth": None, "overhead": 0.5},
    ]
    expected = ae.sample([NEW, OLD], measure="DCG@3", **plain)
    for other in others[:-1]:
        assert ae.sample([NEW, OLD], measure="DCG@3", **plain | other).id == expected.id
    assert ae.sample([NEW, OLD], measure="DCG@3", **plain | others[-1]).n_items > 0


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_frame_without_names_says_which_columns_it_has_and_which_it_needs(made):
    frame = made(np.zeros((2, 3)))
    held = ", ".join(map(str, frame.columns))
    for call in (lambda: ae.score(GRADES, frame), lambda: ae.score(frame, NEW)):
        with pytest.raises(ae.FormatError, match=rf"no (query|score) column in: {held}; expected"):
            call()


def test_a_frame_whose_columns_are_numbers_and_texts_is_read():
    rows = [(query, doc, grade) for query, row in GRADES.items() for doc, grade in row.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]).assign(more=1).rename(columns={"more": 0})
    assert ae.score(frame, NEW, "DCG@3").value == ae.score(GRADES, NEW, "DCG@3").value
    twice = pd.concat([frame, frame["relevance"]], axis=1)
    with pytest.raises(ae.FormatError, match="column 'relevance' is there twice, expected it once"):
        ae.score(twice, NEW)
