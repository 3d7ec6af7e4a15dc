"""Rankers to compare, and to learn from a top-k truth.

Each is a scikit-learn estimator: ``fit(X, grades, query_ids)`` learns from judged items and
``predict(X)`` scores items, higher is better. The rankers that Sawade, Bickel, von Oertzen, Scheffer
and Landwehr (Machine Learning 92, 2013) compare are

====================  ===============================================
RF_class              ``ExpectedGradeRanker(ForestGradeModel())``
Logit                 ``ExpectedGradeRanker(OrderedLogitModel())``
RF_reg                ``ForestRegressionRanker()``
Ranking SVM           ``RankingSVM()``
====================  ===============================================

Those of Niu, Guo, Lan and Cheng (SIGIR 2012) are linear; a focused one orders the top of a list as the ranker of lists
in its row does, and parts the top from the rest as the ranker of pairs does:

================  ==============  ============  ================  ======================
optimiser         lists           pairs         both, focused     what regularises
================  ==============  ============  ================  ======================
bundle method     ``SVMMAP``      ``RankSVM``   ``FocusedSVM``    ``C``
boosting          ``AdaRank``     ``RankBoost`` ``FocusedBoost``  ``n_iter``
gradient          ``ListNet``     ``RankNet``   ``FocusedNet``    ``n_iter``
gradient          ``ListMLE``                                     ``n_iter``
================  ==============  ============  ================  ======================
"""

from activeeval.rankers.boosting import AdaRank, FocusedBoost, RankBoost
from activeeval.rankers.choosing import Candidate, Choice, choose
from activeeval.rankers.items import ExpectedGradeRanker, ForestRegressionRanker
from activeeval.rankers.nets import FocusedNet, ListMLE, ListNet, RankNet
from activeeval.rankers.ranking_svm import RankingSVM
from activeeval.rankers.svms import SVMMAP, FocusedSVM, RankSVM

__all__ = [
    "SVMMAP",
    "AdaRank",
    "Candidate",
    "Choice",
    "ExpectedGradeRanker",
    "FocusedBoost",
    "FocusedNet",
    "FocusedSVM",
    "ForestRegressionRanker",
    "ListMLE",
    "ListNet",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "RankingSVM",
    "choose",
]
