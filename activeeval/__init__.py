"""activeeval: measure search quality with a fraction of the judgments.

It chooses which queries to judge, how far down and which documents. It then says what the judgments tell, and how sure
that is. Functions take paths of files, data frames or dicts.

Examples
--------
Draw a sample of two runs, have it judged, and read it:

>>> import activeeval as ae
>>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(20)}
...         for k, name in enumerate(["new", "old"], 1)}
>>> drawn = ae.sample(runs, measure="DCG@5", budget=60, max_grade=3, seed=1)
>>> sheet = drawn.sheet("pandas")  # a row for each item to judge
>>> sheet["grade"] = [int(document[1:]) % 4 for document in sheet["doc_id"]]
>>> answer = drawn.estimate(sheet)
>>> answer.system, answer.versus, answer.low < answer.value < answer.high
('new', 'old', True)
>>> ae.__version__
'0.1.0'

What there is, by what one wants to do. ``help(activeeval.score)`` tells more of each name.

Read judgments that are there
    `score` runs by measures: `Scores` holds a `Score` for each. `evaluate` a run and `compare` two: `Evaluation`.
    `compare_scores`, `holm` and `mean_interval` take scores by query.
Plan and draw what to judge
    `plan` says what a budget buys: `Plan`, `SegmentPlan`. `sample` draws, `load_sample` reads it again: `Sample`.
    `draw_queries` draws queries from a log: `Queries`.
Read what was judged
    A sample's answer is a `Result`, or `Results`. Below them: `Estimate`, `Interval`, `Figure`, `Cannot`.
Judge for as long as it takes
    `create_campaign` puts a sample into a store, `open_campaign` opens it: `StoredCampaign`. `Campaign` asks for each `Unit` in memory. `Rounds` hold one
    campaign after another.
Queries, rankings and judgments
    `QueryPool`, `Rankings`, `PoolGrades`; `Judgment`, `Judgments`, `Judge`. `generate_pool` makes one to try.
Measures
    `parse_measure` reads a name. `DCG`, `NDCG`, `ERR`, `RBP`, `AP`, `Precision`, `Recall`, `RR`, `Success`, `Judged`;
    of the k best documents `kERR`, `kNDCG`, `top_k_grades`. `Additive`, `RankGains` and `Cascade` make others.
    `Target` is what is estimated, `Moments` what a model expects of it.
Methods and designs
    `METHODS` by name, each a `Method`; `default_method`, `Design`, `optimal_sampling_probs`. Of pools in parts:
    `Chunk`, `chunked_design`, `ChunkedDesign`.
Simulate where all labels are known
    `simulate` compares designs. `replicate` repeats one.
Grade models and graders
    `GradeBeliefs`, `QueryFactor`, `calibration_report`; a machine's `Grades`; `audit` says what they are worth. More in ``activeeval.grade_models``.
Learn what grades are worth
    `PreferenceData`, `load_preferences`, `GainDiscountLearner`, `SimpleMargin`, `gain_intervals`, `bootstrap_gains`,
    `rank_one_test`, `coherence`.
Top-k labels and rankers
    `TopKLabelling`; `ExpectedGradeRanker`, `ForestRegressionRanker`, `RankingSVM`. More in ``activeeval.rankers`` and
    ``activeeval.adaptation``.
Errors and warnings
    `ActiveEvalError` is the base of `InputError`, `FormatError`, `BudgetError`, `StateError` and `SolverError`.
    `CautionWarning` tells of a number to be careful with.

Names are imported when they are first used: ``import activeeval`` alone imports neither numba nor scikit-learn.
"""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

__version__ = "0.1.0"

_HOMES = {
    "activeeval.errors": (
        "ActiveEvalError",
        "BudgetError",
        "CautionWarning",
        "FormatError",
        "InputError",
        "SolverError",
        "StateError",
    ),
    "activeeval.pool": ("PoolGrades", "QueryPool", "Rankings"),
    "activeeval.judgments": ("Judge", "Judgment", "Judgments"),
    "activeeval.results": ("Cannot", "Estimate", "Figure", "Interval", "Moments"),
    "activeeval.measures": (
        "AP",
        "DCG",
        "ERR",
        "NDCG",
        "RBP",
        "RR",
        "Additive",
        "Cascade",
        "Judged",
        "Precision",
        "RankGains",
        "Recall",
        "Success",
        "Target",
        "kERR",
        "kNDCG",
        "parse_measure",
        "top_k_grades",
    ),
    "activeeval.design": ("Design", "optimal_sampling_probs"),
    "activeeval.design.methods": ("METHODS", "Method", "default_method"),
    "activeeval.grade_models": ("QueryFactor", "calibration_report"),
    "activeeval.rankers": ("ExpectedGradeRanker", "ForestRegressionRanker", "RankingSVM"),
    "activeeval.top_k": ("TopKLabelling",),
    "activeeval.graders": ("Grades",),
    "activeeval.gains": (
        "GainDiscountLearner",
        "PreferenceData",
        "SimpleMargin",
        "bootstrap_gains",
        "coherence",
        "gain_intervals",
        "load_preferences",
        "rank_one_test",
    ),
    "activeeval.cases.modelling": ("GradeBeliefs",),
    "activeeval.campaign": ("Campaign", "Unit"),
    "activeeval.campaign.rounds": ("Rounds",),
    "activeeval.tasks.evaluations": ("Evaluation",),
    "activeeval.verbs.auditing": ("audit",),
    "activeeval.verbs.campaigns": ("StoredCampaign", "create_campaign", "open_campaign"),
    "activeeval.verbs.evaluating": ("compare", "evaluate"),
    "activeeval.verbs.planning": ("Plan", "plan"),
    "activeeval.verbs.queries": ("Queries", "draw_queries"),
    "activeeval.verbs.results": ("Result", "Results"),
    "activeeval.verbs.samples": ("Sample",),
    "activeeval.verbs.sampling": ("load_sample", "sample"),
    "activeeval.verbs.segmenting": ("SegmentPlan",),
    "activeeval.verbs.scoring": ("Score", "Scores", "score"),
    "activeeval.generated": ("generate_pool",),
    "activeeval.scale": ("Chunk", "ChunkedDesign", "chunked_design"),
    "activeeval.simulation": ("replicate", "simulate"),
    "activeeval.estimation.significance": ("compare_scores", "holm", "mean_interval"),
}
_REACHED = {
    "activeeval.adaptation": ("HyperLinearRanker",),
    "activeeval.grade_models": ("ForestGradeModel", "cross_fitted_probs"),
    "activeeval.io.text.letor": ("read_letor",),
}
"""Names that outside programs call here and that the rooms themselves list."""
__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]

if TYPE_CHECKING:
    from activeeval.campaign import Campaign, Unit
    from activeeval.campaign.rounds import Rounds
    from activeeval.cases.modelling import GradeBeliefs
    from activeeval.design import Design, optimal_sampling_probs
    from activeeval.design.methods import METHODS, Method, default_method
    from activeeval.errors import (
        ActiveEvalError,
        BudgetError,
        CautionWarning,
        FormatError,
        InputError,
        SolverError,
        StateError,
    )
    from activeeval.estimation.significance import compare_scores, holm, mean_interval
    from activeeval.gains import (
        GainDiscountLearner,
        PreferenceData,
        SimpleMargin,
        bootstrap_gains,
        coherence,
        gain_intervals,
        load_preferences,
    )
    from activeeval.generated import generate_pool
    from activeeval.grade_models import QueryFactor, calibration_report
    from activeeval.graders import Grades
    from activeeval.judgments import Judge, Judgment, Judgments
    from activeeval.measures import (
        AP,
        DCG,
        ERR,
        NDCG,
        RBP,
        RR,
        Additive,
        Cascade,
        Judged,
        Precision,
        Recall,
        Success,
        Target,
        kERR,
        kNDCG,
        parse_measure,
        top_k_grades,
    )
    from activeeval.pool import PoolGrades, QueryPool, Rankings
    from activeeval.rankers import ExpectedGradeRanker, ForestRegressionRanker, RankingSVM
    from activeeval.results import Cannot, Estimate, Figure, Interval, Moments
    from activeeval.scale import Chunk, ChunkedDesign, chunked_design
    from activeeval.simulation import replicate, simulate
    from activeeval.tasks.evaluations import Evaluation
    from activeeval.top_k import TopKLabelling
    from activeeval.verbs.auditing import audit
    from activeeval.verbs.campaigns import StoredCampaign, create_campaign, open_campaign
    from activeeval.verbs.evaluating import compare, evaluate
    from activeeval.verbs.planning import Plan, plan
    from activeeval.verbs.queries import Queries, draw_queries
    from activeeval.verbs.results import Result, Results
    from activeeval.verbs.samples import Sample
    from activeeval.verbs.sampling import load_sample, sample
    from activeeval.verbs.scoring import Score, Scores, score
    from activeeval.verbs.segmenting import SegmentPlan

__dir__ = attached(__name__, _HOMES)[1]
__getattr__ = attached(
    __name__, {home: (*_HOMES.get(home, ()), *_REACHED.get(home, ())) for home in {**_HOMES, **_REACHED}}
)[0]
