"""Measures as values: what a ranking is worth once its items are graded, or how that is distributed before."""

from activeeval.core.measures.families import Additive, Cascade
from activeeval.core.measures.labels import LabelsLike, SoftLabels
from activeeval.core.measures.named import DCG, ERR, RBP, RR, Precision, Success, least_relevant
from activeeval.core.measures.parsing import parse_measure
from activeeval.core.measures.rank_gains import RankGains
from activeeval.core.measures.ranked import AP, NDCG, Judged, Recall
from activeeval.core.measures.target import Measure, SampledMeasure, Target, called, check_sampled, shown_name
from activeeval.core.measures.top_k import kERR, kNDCG, top_k_grades

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "NDCG",
    "RBP",
    "RR",
    "Additive",
    "Cascade",
    "Judged",
    "LabelsLike",
    "Measure",
    "Precision",
    "RankGains",
    "Recall",
    "SampledMeasure",
    "SoftLabels",
    "Success",
    "Target",
    "called",
    "check_sampled",
    "kERR",
    "kNDCG",
    "least_relevant",
    "parse_measure",
    "shown_name",
    "top_k_grades",
]
