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

The focused rankers of Niu, Guo, Lan and Cheng (SIGIR 2012) are linear; each orders the top of a list as the baseline of
lists in its row does, and parts the top from the rest as the baseline of pairs does:

================  ==============  ===============  ===============  ======================
optimiser         focused         baseline, lists  baseline, pairs  what regularises
================  ==============  ===============  ===============  ======================
bundle method     FocusedSVM      SVMMAP           RankSVM          ``C``
boosting          FocusedBoost    AdaRank          RankBoost        ``n_iter``
gradient          FocusedNet      ListNet          RankNet          ``n_iter``
gradient                          ListMLE                           ``n_iter``
================  ==============  ===============  ===============  ======================
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
