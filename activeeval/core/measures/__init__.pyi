from activeeval.core.measures.counted import CountMeasure as CountMeasure
from activeeval.core.measures.families import Additive as Additive, Cascade as Cascade
from activeeval.core.measures.judged_gains import by_gains as by_gains
from activeeval.core.measures.labels import LabelsLike as LabelsLike, SoftLabels as SoftLabels
from activeeval.core.measures.named import (
    DCG as DCG,
    ERR as ERR,
    RBP as RBP,
    RR as RR,
    Precision as Precision,
    Success as Success,
    least_relevant as least_relevant,
)
from activeeval.core.measures.parsing import parse_measure as parse_measure
from activeeval.core.measures.rank_gains import RankGains as RankGains
from activeeval.core.measures.ranked import AP as AP, NDCG as NDCG, Judged as Judged, Recall as Recall
from activeeval.core.measures.subtopics import SubtopicLabels as SubtopicLabels, SubtopicMeasure as SubtopicMeasure
from activeeval.core.measures.target import (
    Measure as Measure,
    SampledMeasure as SampledMeasure,
    Target as Target,
    called as called,
    check_sampled as check_sampled,
    shown_name as shown_name,
)
from activeeval.core.measures.top_k import kERR as kERR, kNDCG as kNDCG, top_k_grades as top_k_grades
