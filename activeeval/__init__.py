"""activeeval: measure search quality with a fraction of the judgments.

The public names, imported when they are first used: ``import activeeval`` alone imports neither
numba nor scikit-learn.
"""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

__version__ = "0.1.0"

_HOMES = {
    "activeeval.errors": ("ActiveEvalError", "BudgetError", "FormatError", "InputError", "SolverError", "StateError"),
    "activeeval.pool": ("Judgments", "QueryPool", "Rankings"),
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
    "activeeval.methods": ("METHODS", "Method", "default_method"),
    "activeeval.grade_models": ("QueryFactor", "calibration_report"),
    "activeeval.rankers": ("ExpectedGradeRanker", "ForestRegressionRanker", "RankingSVM"),
    "activeeval.judging": ("TopKLabelling",),
    "activeeval.preferences": ("PreferenceData", "coherence", "load_preferences"),
    "activeeval.gains": ("GainDiscountLearner", "SimpleMargin", "bootstrap_gains", "gain_intervals"),
    "activeeval.session.modelling": ("GradeBeliefs",),
    "activeeval.campaign": ("Campaign", "Unit"),
    "activeeval.campaign.rounds": ("Rounds",),
    "activeeval.session.evaluation": ("compare", "evaluate"),
    "activeeval.generated": ("generate_pool",),
    "activeeval.scale": ("Chunk", "ChunkedDesign", "chunked_design"),
    "activeeval.simulation": ("replicate", "simulate"),
    "activeeval.significance": ("compare_scores", "holm", "mean_interval"),
}
__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]

if TYPE_CHECKING:
    from activeeval.campaign import Campaign, Unit
    from activeeval.campaign.rounds import Rounds
    from activeeval.design import Design, optimal_sampling_probs
    from activeeval.errors import ActiveEvalError, BudgetError, FormatError, InputError, SolverError, StateError
    from activeeval.gains import GainDiscountLearner, SimpleMargin, bootstrap_gains, gain_intervals
    from activeeval.generated import generate_pool
    from activeeval.grade_models import QueryFactor, calibration_report
    from activeeval.judging import TopKLabelling
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
    from activeeval.methods import METHODS, Method, default_method
    from activeeval.pool import Judgments, QueryPool, Rankings
    from activeeval.preferences import PreferenceData, coherence, load_preferences
    from activeeval.rankers import ExpectedGradeRanker, ForestRegressionRanker, RankingSVM
    from activeeval.results import Cannot, Estimate, Figure, Interval, Moments
    from activeeval.scale import Chunk, ChunkedDesign, chunked_design
    from activeeval.session.evaluation import compare, evaluate
    from activeeval.session.modelling import GradeBeliefs
    from activeeval.significance import compare_scores, holm, mean_interval
    from activeeval.simulation import replicate, simulate

__getattr__, __dir__ = attached(__name__, _HOMES)
