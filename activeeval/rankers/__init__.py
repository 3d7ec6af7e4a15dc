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

`HyperLinearRanker` is another kind: boosted trees that were learned elsewhere, adapted to preferences between items
(Chen, Zhang, Zheng, Zha and Sun 2008). It has no ``fit`` but `adapt`; `choose_regularization` says how far to go, and
`write_ranker` and `read_ranker` keep it in a file.
"""

from activeeval.rankers.adaptation import Adaptation, HyperLinearRanker
from activeeval.rankers.boosting import AdaRank, FocusedBoost, RankBoost
from activeeval.rankers.choosing import Candidate, Choice, choose
from activeeval.rankers.files import read_ranker, write_ranker
from activeeval.rankers.items import ExpectedGradeRanker, ForestRegressionRanker
from activeeval.rankers.nets import FocusedNet, ListMLE, ListNet, RankNet
from activeeval.rankers.preferring import b_measure, choose_regularization, pair_precision
from activeeval.rankers.ranking_svm import RankingSVM
from activeeval.rankers.svms import SVMMAP, FocusedSVM, RankSVM

__all__ = [
    "SVMMAP",
    "AdaRank",
    "Adaptation",
    "Candidate",
    "Choice",
    "ExpectedGradeRanker",
    "FocusedBoost",
    "FocusedNet",
    "FocusedSVM",
    "ForestRegressionRanker",
    "HyperLinearRanker",
    "ListMLE",
    "ListNet",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "RankingSVM",
    "b_measure",
    "choose",
    "choose_regularization",
    "pair_precision",
    "read_ranker",
    "write_ranker",
]
