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
    `create_campaign` puts a sample into a store, `open_campaign` opens it: `StoredCampaign`. `Campaign` asks for each
    `Unit` in memory. `Rounds` hold one campaign after another.
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
    `GradeBeliefs`, `QueryFactor`, `calibration_report`; a machine's `Grades`; `audit` says what they are worth. More in
    ``activeeval.core.grade_models``.
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

from activeeval.core.lazily import attached

__version__ = "0.1.0"

_HOMES = {
    "activeeval.core.errors": (
        "ActiveEvalError",
        "BudgetError",
        "CautionWarning",
        "FormatError",
        "InputError",
        "SolverError",
        "StateError",
    ),
    "activeeval.core.pool": ("PoolGrades", "QueryPool", "Rankings"),
    "activeeval.core.judgments": ("Judge", "Judgment", "Judgments"),
    "activeeval.core.results": ("Cannot", "Estimate", "Figure", "Interval", "Moments"),
    "activeeval.core.measures": (
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
    "activeeval.core.design": ("Design", "optimal_sampling_probs"),
    "activeeval.core.design.methods": ("METHODS", "Method", "default_method"),
    "activeeval.core.grade_models": ("QueryFactor", "calibration_report"),
    "activeeval.rankers": ("ExpectedGradeRanker", "ForestRegressionRanker", "RankingSVM"),
    "activeeval.topk": ("TopKLabelling",),
    "activeeval.formats.graders.grader_grades": ("Grades",),
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
    "activeeval.inputs.modelling": ("GradeBeliefs",),
    "activeeval.core.campaign": ("Campaign", "Unit"),
    "activeeval.core.campaign.rounds": ("Rounds",),
    "activeeval.sampling.evaluation": ("Evaluation",),
    "activeeval.graders.audit_result": ("audit",),
    "activeeval.campaigns.stored_campaign": ("StoredCampaign", "create_campaign", "open_campaign"),
    "activeeval.scoring.compare": ("compare", "evaluate"),
    "activeeval.sampling.plan": ("plan",),
    "activeeval.sampling.plan_result": ("Plan",),
    "activeeval.traffic.queries": ("Queries", "draw_queries"),
    "activeeval.sampling.results": ("Result", "Results"),
    "activeeval.sampling.drawn_sample": ("Sample",),
    "activeeval.sampling.sample": ("load_sample", "sample"),
    "activeeval.sampling.segment_plan": ("SegmentPlan",),
    "activeeval.scoring.score": ("Score", "Scores", "score"),
    "activeeval.core.pool.generated": ("generate_pool",),
    "activeeval.scale": ("Chunk", "ChunkedDesign", "chunked_design"),
    "activeeval.core.simulation": ("replicate", "simulate"),
    "activeeval.core.estimation.significance": ("compare_scores", "holm", "mean_interval"),
}
_REACHED = {
    "activeeval.adaptation": ("HyperLinearRanker",),
    "activeeval.core.grade_models": ("ForestGradeModel", "cross_fitted_probs"),
    "activeeval.formats.text.letor": ("read_letor",),
}
"""Names that outside programs call here and that the rooms themselves list."""
__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]

if TYPE_CHECKING:
    from activeeval.campaigns.stored_campaign import StoredCampaign, create_campaign, open_campaign
    from activeeval.core.campaign import Campaign, Unit
    from activeeval.core.campaign.rounds import Rounds
    from activeeval.core.design import Design, optimal_sampling_probs
    from activeeval.core.design.methods import METHODS, Method, default_method
    from activeeval.core.errors import (
        ActiveEvalError,
        BudgetError,
        CautionWarning,
        FormatError,
        InputError,
        SolverError,
        StateError,
    )
    from activeeval.core.estimation.significance import compare_scores, holm, mean_interval
    from activeeval.core.grade_models import QueryFactor, calibration_report
    from activeeval.core.judgments import Judge, Judgment, Judgments
    from activeeval.core.measures import (
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
    from activeeval.core.pool import PoolGrades, QueryPool, Rankings
    from activeeval.core.pool.generated import generate_pool
    from activeeval.core.results import Cannot, Estimate, Figure, Interval, Moments
    from activeeval.core.simulation import replicate, simulate
    from activeeval.formats.graders.grader_grades import Grades
    from activeeval.gains import (
        GainDiscountLearner,
        PreferenceData,
        SimpleMargin,
        bootstrap_gains,
        coherence,
        gain_intervals,
        load_preferences,
    )
    from activeeval.graders.audit_result import audit
    from activeeval.inputs.modelling import GradeBeliefs
    from activeeval.rankers import ExpectedGradeRanker, ForestRegressionRanker, RankingSVM
    from activeeval.sampling.drawn_sample import Sample
    from activeeval.sampling.evaluation import Evaluation
    from activeeval.sampling.plan import plan
    from activeeval.sampling.plan_result import Plan
    from activeeval.sampling.results import Result, Results
    from activeeval.sampling.sample import load_sample, sample
    from activeeval.sampling.segment_plan import SegmentPlan
    from activeeval.scale import Chunk, ChunkedDesign, chunked_design
    from activeeval.scoring.compare import compare, evaluate
    from activeeval.scoring.score import Score, Scores, score
    from activeeval.topk import TopKLabelling
    from activeeval.traffic.queries import Queries, draw_queries

__dir__ = attached(__name__, _HOMES)[1]
__getattr__ = attached(
    __name__, {home: (*_HOMES.get(home, ()), *_REACHED.get(home, ())) for home in {**_HOMES, **_REACHED}}
)[0]
