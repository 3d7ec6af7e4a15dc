"""Learning-to-rank models, for comparisons and for top-k labels.

Each is a scikit-learn estimator: ``fit(X, grades, query_ids)`` learns from judged items and
``predict(X)`` scores items, higher is better. The rankers compared by Sawade, Bickel, von Oertzen, Scheffer
and Landwehr (Machine Learning 92, 2013) are

====================  ===============================================
RF_class              ``ExpectedGradeRanker(ForestGradeModel())``
Logit                 ``ExpectedGradeRanker(OrderedLogitModel())``
RF_reg                ``ForestRegressionRanker()``
Ranking SVM           ``RankingSVM()``
====================  ===============================================

The focused rankers of Niu, Guo, Lan and Cheng (SIGIR 2012) are linear. Each combines the listwise loss of one baseline
for the order at the top with the pairwise loss of another for the top against the rest:

================  ==============  ===============  ===============  ======================
optimiser         focused         baseline, lists  baseline, pairs  regularised by
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
