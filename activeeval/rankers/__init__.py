"""Rankers to compare: expected grades, a regression forest, a Ranking SVM.

Each is a scikit-learn estimator: ``fit(X, grades, query_ids)`` learns from judged items and
``predict(X)`` scores items, higher is better. The rankers that Sawade, Bickel, von Oertzen, Scheffer
and Landwehr (Machine Learning 92, 2013) compare are

====================  ===============================================
RF_class              ``ExpectedGradeRanker(ForestGradeModel())``
Logit                 ``ExpectedGradeRanker(OrderedLogitModel())``
RF_reg                ``ForestRegressionRanker()``
Ranking SVM           ``RankingSVM()``
====================  ===============================================
"""

from activeeval.rankers.items import ExpectedGradeRanker, ForestRegressionRanker
from activeeval.rankers.ranking_svm import RankingSVM

__all__ = ["ExpectedGradeRanker", "ForestRegressionRanker", "RankingSVM"]
