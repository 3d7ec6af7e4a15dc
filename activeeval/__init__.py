"""activeeval: measure search quality with a fraction of the judgments.

The public names, imported when they are first used: ``import activeeval`` alone imports neither
numba nor scikit-learn.
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
    ),
    "activeeval.cases.modelling": ("GradeBeliefs",),
    "activeeval.campaign": ("Campaign", "Unit"),
    "activeeval.campaign.rounds": ("Rounds",),
    "activeeval.tasks.evaluations": ("Evaluation",),
    "activeeval.verbs.campaigns": ("StoredCampaign", "open_campaign"),
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
    from activeeval.verbs.campaigns import StoredCampaign, open_campaign
    from activeeval.verbs.evaluating import compare, evaluate
    from activeeval.verbs.planning import Plan, plan
    from activeeval.verbs.queries import Queries, draw_queries
    from activeeval.verbs.results import Result, Results
    from activeeval.verbs.samples import Sample
    from activeeval.verbs.sampling import load_sample, sample
    from activeeval.verbs.scoring import Score, Scores, score
    from activeeval.verbs.segmenting import SegmentPlan

__getattr__, __dir__ = attached(__name__, _HOMES)
