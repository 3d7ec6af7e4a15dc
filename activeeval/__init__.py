"""activeeval: measure search quality with a fraction of the judgments.

The package chooses which queries to judge, to which depth, and which documents. It then estimates the measure from the
judgments, with a confidence interval. Functions take paths of files, data frames or dicts.

Examples
--------
Sample items of two runs, grade them, and estimate the difference:

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

All names by task; `__all__` lists those to start with. ``help(activeeval.score)`` documents a single name.

Read judgments that are there
    `score` computes measures of runs: `Scores`, a `Score` for each run and measure. `evaluate` a run and `compare`
    two: `Result`. `compare_scores`, `holm` and `mean_interval` take scores by query. `agreement` measures the agreement
    of judges, `times` the time of judging.
Plan and draw what to judge
    `plan` predicts the precision of a budget: `Plan`, `SegmentPlan`. `sample` draws a sample, `load_sample` loads a
    saved one: `Sample`. `draw_queries` draws queries from a log: `Queries`. `design` computes the sampling rate of each
    query.
Read what was judged
    A sample's estimate is a `Result`, or `Results`. Their parts: `Estimate`, `Interval`, `Figure`, `Unjudgeable`.
Judge for as long as it takes
    `create_campaign` stores a sample for judging, `open_campaign` opens it: `StoredCampaign`; `list_campaigns` lists
    them. `Campaign` requests labels of one `Unit` after another in memory. `Rounds` chain campaigns. `create_watch` and
    `open_watch` monitor an index by date: `Watch`.
Queries, rankings and judgments
    `QueryPool`, `Rankings`, `PoolGrades`; `Judgment`, `Judgments`, `Judge`. `generate_pool` makes a synthetic pool.
Measures
    `parse_measure` parses a name. `DCG`, `NDCG`, `ERR`, `RBP`, `AP`, `Precision`, `Recall`, `RR`, `Success`, `Judged`;
    of the k best documents `kERR`, `kNDCG`, `top_k_grades`. `Additive`, `RankGains` and `Cascade` build others.
    `Target` is the quantity to estimate, `Moments` its moments under a grade model.
Methods and designs
    `METHODS` by name, each a `Method`; `default_method`, `Design`, `optimal_sampling_probs`. For partitioned pools:
    `Chunk`, `chunked_design`, `ChunkedDesign`; `write_pool` writes partitions as parquet.
Simulate where all labels are known
    `simulate` measures the judgments that each method saves. `replicate` repeats one design.
Grade models and graders
    `GradeBeliefs`, `QueryFactor`, `calibration_report`; `calibration` compares a model with labels. The `Grades` of a
    grader (an LLM or another model): `ask_grader` writes the questions, `audit` estimates their quality. More in
    ``activeeval.core.grade_models``.
Learn what grades are worth
    `PreferenceData`, `load_preferences`, `GainDiscountLearner`, `SimpleMargin`, `gain_intervals`, `bootstrap_gains`,
    `rank_one_test`, `coherence`.
Top-k labels and rankers
    `TopKLabelling`; `ExpectedGradeRanker`, `ForestRegressionRanker`, `RankingSVM`. More in ``activeeval.rankers`` and
    ``activeeval.adaptation``.
Errors and warnings
    `ActiveEvalError` is the base of `InputError`, `FormatError`, `BudgetError`, `StateError` and `SolverError`.
    `CautionWarning` warns of an unreliable number.

Names are imported on first use: ``import activeeval`` alone imports neither numba nor scikit-learn.
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
    "activeeval.core.results": ("Estimate", "Figure", "Interval", "Moments", "Unjudgeable"),
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
    "activeeval.core.grade_models": ("ForestGradeModel", "QueryFactor", "calibration_report", "cross_fitted_probs"),
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
    "activeeval.graders.audit_result": ("audit",),
    "activeeval.graders.ask": ("ask_grader",),
    "activeeval.sampling.pool_files": ("write_pool",),
    "activeeval.campaigns.campaign_work": ("list_campaigns",),
    "activeeval.campaigns.stored_campaign": ("StoredCampaign", "create_campaign", "open_campaign"),
    "activeeval.scoring.compare": ("compare", "evaluate"),
    "activeeval.sampling.plan": ("plan",),
    "activeeval.sampling.plan_result": ("Plan",),
    "activeeval.traffic.queries": ("Queries", "draw_queries"),
    "activeeval.sampling.results": ("Result", "Results"),
    "activeeval.sampling.sample_result": ("Sample",),
    "activeeval.sampling.sample": ("load_sample", "sample"),
    "activeeval.sampling.segment_plan": ("SegmentPlan",),
    "activeeval.scoring.score": ("Score", "Scores", "score"),
    "activeeval.core.pool.generated": ("generate_pool",),
    "activeeval.scale": ("Chunk", "ChunkedDesign", "chunked_design"),
    "activeeval.core.simulation": ("replicate",),
    "activeeval.monitoring.watch": ("Watch", "create_watch", "open_watch"),
    "activeeval.sampling.simulate": ("simulate",),
    "activeeval.sampling.model_calibration": ("calibration",),
    "activeeval.sampling.query_rates": ("design",),
    "activeeval.scoring.judge_agreement": ("agreement",),
    "activeeval.scoring.judging_times": ("times",),
    "activeeval.core.estimation.significance": ("compare_scores", "holm", "mean_interval"),
    "activeeval.adaptation": ("HyperLinearRanker",),
    "activeeval.formats.text.letor": ("read_letor",),
}
"""Module -> public names that `activeeval` imports from it on first use."""
__all__ = [
    "AP",
    "DCG",
    "ERR",
    "METHODS",
    "NDCG",
    "RBP",
    "RR",
    "ActiveEvalError",
    "Additive",
    "BudgetError",
    "Campaign",
    "Cascade",
    "CautionWarning",
    "Estimate",
    "FormatError",
    "InputError",
    "Interval",
    "Judgments",
    "Plan",
    "Precision",
    "QueryPool",
    "Rankings",
    "Recall",
    "Result",
    "Results",
    "Sample",
    "Scores",
    "StateError",
    "Success",
    "Target",
    "__version__",
    "audit",
    "compare",
    "create_campaign",
    "default_method",
    "draw_queries",
    "evaluate",
    "load_sample",
    "open_campaign",
    "parse_measure",
    "plan",
    "replicate",
    "sample",
    "score",
    "simulate",
]
"""The names to start with. The other names of `_HOMES` are importable too; their subpackages list them."""

if TYPE_CHECKING:
    from activeeval.adaptation import HyperLinearRanker as HyperLinearRanker
    from activeeval.campaigns.campaign_work import list_campaigns as list_campaigns
    from activeeval.campaigns.stored_campaign import StoredCampaign as StoredCampaign, create_campaign, open_campaign
    from activeeval.core.campaign import Campaign, Unit as Unit
    from activeeval.core.campaign.rounds import Rounds as Rounds
    from activeeval.core.design import Design as Design, optimal_sampling_probs as optimal_sampling_probs
    from activeeval.core.design.methods import METHODS, Method as Method, default_method
    from activeeval.core.errors import (
        ActiveEvalError,
        BudgetError,
        CautionWarning,
        FormatError,
        InputError,
        SolverError as SolverError,
        StateError,
    )
    from activeeval.core.estimation.significance import (
        compare_scores as compare_scores,
        holm as holm,
        mean_interval as mean_interval,
    )
    from activeeval.core.grade_models import (
        ForestGradeModel as ForestGradeModel,
        QueryFactor as QueryFactor,
        calibration_report as calibration_report,
        cross_fitted_probs as cross_fitted_probs,
    )
    from activeeval.core.judgments import Judge as Judge, Judgment as Judgment, Judgments
    from activeeval.core.measures import (
        AP,
        DCG,
        ERR,
        NDCG,
        RBP,
        RR,
        Additive,
        Cascade,
        Judged as Judged,
        Precision,
        RankGains as RankGains,
        Recall,
        Success,
        Target,
        kERR as kERR,
        kNDCG as kNDCG,
        parse_measure,
        top_k_grades as top_k_grades,
    )
    from activeeval.core.pool import PoolGrades as PoolGrades, QueryPool, Rankings
    from activeeval.core.pool.generated import generate_pool as generate_pool
    from activeeval.core.results import (
        Estimate,
        Figure as Figure,
        Interval,
        Moments as Moments,
        Unjudgeable as Unjudgeable,
    )
    from activeeval.core.simulation import replicate
    from activeeval.formats.graders.grader_grades import Grades as Grades
    from activeeval.formats.text.letor import read_letor as read_letor
    from activeeval.gains import (
        GainDiscountLearner as GainDiscountLearner,
        PreferenceData as PreferenceData,
        SimpleMargin as SimpleMargin,
        bootstrap_gains as bootstrap_gains,
        coherence as coherence,
        gain_intervals as gain_intervals,
        load_preferences as load_preferences,
        rank_one_test as rank_one_test,
    )
    from activeeval.graders.ask import ask_grader as ask_grader
    from activeeval.graders.audit_result import audit
    from activeeval.inputs.modelling import GradeBeliefs as GradeBeliefs
    from activeeval.monitoring.watch import Watch as Watch, create_watch as create_watch, open_watch as open_watch
    from activeeval.rankers import (
        ExpectedGradeRanker as ExpectedGradeRanker,
        ForestRegressionRanker as ForestRegressionRanker,
        RankingSVM as RankingSVM,
    )
    from activeeval.sampling.model_calibration import calibration as calibration
    from activeeval.sampling.plan import plan
    from activeeval.sampling.plan_result import Plan
    from activeeval.sampling.pool_files import write_pool as write_pool
    from activeeval.sampling.query_rates import design as design
    from activeeval.sampling.results import Result, Results
    from activeeval.sampling.sample import load_sample, sample
    from activeeval.sampling.sample_result import Sample
    from activeeval.sampling.segment_plan import SegmentPlan as SegmentPlan
    from activeeval.sampling.simulate import simulate
    from activeeval.scale import Chunk as Chunk, ChunkedDesign as ChunkedDesign, chunked_design as chunked_design
    from activeeval.scoring.compare import compare, evaluate
    from activeeval.scoring.judge_agreement import agreement as agreement
    from activeeval.scoring.judging_times import times as times
    from activeeval.scoring.score import Score as Score, Scores, score
    from activeeval.topk import TopKLabelling as TopKLabelling
    from activeeval.traffic.queries import Queries as Queries, draw_queries

__getattr__ = attached(__name__, _HOMES)[0]


def __dir__() -> list[str]:
    """List the names of `__all__`."""
    return sorted(__all__)
