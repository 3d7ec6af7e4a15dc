"""Arguments of the verbs of Python of every kind that they are not: one line of this project's, and no other error.

Each argument of each verb is given values of all kinds, one at a time. What comes of it is an answer, or an error of
this project in one line. The verbs and their arguments are read from the signatures, so that a new one is among them.
"""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from verb_calls import CALLS, GRADES, NEW, OLD, made_in, verb_of

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
def made(tmp_path_factory):
    return made_in(tmp_path_factory.mktemp("kinds"))


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
        assert set(methods) <= set(CALLS)


@pytest.mark.filterwarnings("ignore::activeeval.CautionWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in CALLS])
def test_a_value_of_another_kind_is_an_answer_or_an_error_in_one_line(made, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file that is written
    verb, wrong = verb_of(name, made), []
    for argument in arguments_of(name, verb):
        for what, value in WRONG.items():
            try:
                verb(**CALLS[name](made) | {argument: value})
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
def test_the_line_names_the_argument_and_what_it_must_be(made, name, argument, value, says):
    with pytest.raises(ae.InputError) as refused:
        verb_of(name, made)(**CALLS[name](made) | {argument: value})
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
