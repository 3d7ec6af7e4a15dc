"""Models of the grade, p(y = k | item): what sampling designs are made from.

Each is a scikit-learn classifier whose classes are the grades 0 … Y; ``predict_proba`` has shape
(n, n_grades) and rows that sum to 1. A model is only a proposal: an estimate stays consistent
whatever it says, it only gets wider.

`QueryFactor` adds what these models lack, that grades of one query hang together; `calibration_report`
holds predicted probabilities and variances against judgments.

The default is ``ForestGradeModel()``, one forest for all thresholds, and ``OrderedLogitModel()``,
true proportional odds, where a linear model is wanted. benchmarks/grade_models.py measures the
log-loss on held-out queries of four collections, training on a fifth of the queries and on four
fifths, eight cases in all:

- Separate forests, as in the paper, were worse than one forest in every case, by 0.0005 to 0.015
  (0.5 to 9 standard errors over queries), and took 1.6 to 3.5 times as long.
- Proportional odds and mord's all-threshold loss differ little: with ``alpha=1`` by −0.015 to
  +0.0005, with a tuned ``alpha`` by −0.001 to +0.006 (negative: proportional odds is better). The
  first is the default because it is a likelihood, so that ``alpha`` is the precision of a prior.
  mord's immediate-threshold loss gives no usable probabilities: its thresholds meet on three
  collections, and a grade that occurs gets 0.
- The forest at its defaults was ahead of proportional odds at its own, but for one tie, by up to
  0.17; with a tuned ``alpha`` the logit is behind by 0.024 at most and ahead by 0.004 at most.
  Where queries are few and features many, tune ``alpha`` with `tune_grade_model`: at 1 proportional
  odds was worse than the mere frequencies of the grades on two collections, tuned on none.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
