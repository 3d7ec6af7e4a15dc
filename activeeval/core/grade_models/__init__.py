"""Models of the grade, p(y = k | item), from which sampling designs are computed.

Each is a scikit-learn classifier whose classes are the grades 0 … Y; ``predict_proba`` has shape
(n, n_grades) and rows that sum to 1. A model is only a proposal: a wrong model makes intervals wider,
but estimates stay consistent.

`QueryFactor` adds the correlation of grades within a query, which these models lack; `calibration_report`
compares predicted probabilities and variances with judgments.

The default is ``ForestGradeModel()``, one forest for all thresholds, or ``OrderedLogitModel()``,
true proportional odds, if a linear model is preferred. benchmarks/grade_models.py measures the
log-loss on held-out queries of four collections, training on a fifth and on four fifths of the
queries, eight cases in total:

- Separate forests, as in the paper, were worse than one forest in every case, by 0.0005 to 0.015
  (0.5 to 9 standard errors over queries), and took 1.6 to 3.5 times as long.
- Proportional odds and mord's all-threshold loss differ little: with ``alpha=1`` by −0.015 to
  +0.0005, with a tuned ``alpha`` by −0.001 to +0.006 (negative: proportional odds is better). The
  first is the default because it is a likelihood, so that ``alpha`` is the precision of a prior.
  mord's immediate-threshold loss gives no usable probabilities: its thresholds coincide on three
  collections, and a grade that occurs gets 0.
- The forest with defaults was better than proportional odds with defaults, except for one tie, by up
  to 0.17; with a tuned ``alpha`` the logit is worse by 0.024 at most and better by 0.004 at most.
  With few queries and many features, tune ``alpha`` with `tune_grade_model`: with ``alpha=1``
  proportional odds was worse than constant grade frequencies on two collections, tuned on none.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
