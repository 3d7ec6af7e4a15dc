"""Scales: ratio of the actual variance of an estimate to the one that a grade model expects, and its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.types import Floats

_N_NODES = 25
"""Number of quantiles; two of them are the ends of a range of .8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Distribution (log-normal) of the ratio of an actual variance to the one expected by a model.

    Attributes
    ----------
    value : float
        The median.
    spread : float
        Standard deviation of its logarithm; 0 if the ratio is known.

    Examples
    --------
    >>> round(Scale(value=1.2, spread=0.3).at(0.9), 3)
    1.763
    """

    value: float = 1.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError unless the value is positive, the spread not negative, and both are finite."""
        if not 0 < self.value < math.inf or not 0 <= self.spread < math.inf:
            raise InputError(f"a scale must be positive, its spread not negative, got {self.value!r}, {self.spread!r}")

    def at(self, chance: float) -> float:
        """Compute the quantile of the ratio: the value below which it lies with probability ``chance``."""
        from scipy.special import ndtri

        return self.value * math.exp(self.spread * float(ndtri(chance)))

    @property
    def nodes(self) -> Floats:
        """Equally likely values of the ratio, shape (_N_NODES,); a single one if the ratio is known."""
        return self.value * np.exp(self.spread * _normal_nodes()) if self.spread else np.array([self.value])


@lru_cache(maxsize=1)
def _normal_nodes() -> Floats:
    """Compute equally likely quantiles of the standard normal distribution, shape (_N_NODES,)."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(_N_NODES) + 0.5) / _N_NODES))


KNOWN = Scale()
"""Scale of a correct model."""
UNTRAINED = Scale(value=1.1, spread=0.5)
"""Scale of a model that was not checked against held-out queries. Probabilities of forests, used as given, left 1.1
times the expected variance on MQ2008, MQ2007-agg, OHSUMED and the generated pool (joint questions), with a standard
deviation of .23 of the logarithm; other models can be worse. With a spread of .4, .5, .6 and .75, the shares of samples
within the ranges were .86, .89, .91 and .94 there, and .81, .85, .88 and .91 on pools that were not used for tuning, on
one of which a language model had given the grades."""
UNREHEARSED = Scale(value=1.2, spread=0.75)
"""Scale of a uniform model before a rehearsal. Uniform models left 1.1 to 1.6 times the expected variance, in the mean
of the logarithm (MQ2008, MQ2007-agg, OHSUMED), with a standard deviation of .4 to .8."""
_OF_REHEARSED = 0.6
"""Standard deviation of the log of a ratio estimated by rehearsals. It was .43 for uniform models (joint questions of
MQ2008, MQ2007-agg, OHSUMED and the generated pool). Half-widths of single questions were .86 to 1.73 times the plan in
four of five samples; with .5, .6 and .75, .77, .80 and .84 of these were within the ranges, and .86, .89 and .92 of
those of joint questions."""
_DOUBT = 400.0
"""Number of held-out queries that the usual ratio counts as: held-out queries give little information about the ratio.
The best multiple of its logarithm was .2 to .6 for 15 to 60 queries, and −.1 and .4 for 157 and 339; 100 and 200 were
as good except for passive samples of MQ2007-agg. Σ (L − m)² over Σ Var[L] of the training queries in their own rankings
was less useful: its logarithm had a standard deviation of .5 to .9 against .25 for the result, and the best multiple
was .05 to .2."""
_USUAL, _FITTED = 1.1, 3.0
"""The usual ratio for infinitely many training queries, and the coefficient of its increase with 1 / n: models are
fitted. Forests trained on 15, 30 and 60 queries left exp(.35), exp(.27) and exp(.26) times the expected variance, those
on 157 (MQ2008) and 339 (MQ2007-agg) exp(.13) and exp(.19), in the mean of measures, cases and overheads."""
_ALWAYS, _OF_ONE = 0.27, 1.5
"""Standard deviation of the log ratio of the actual to the planned variance: for infinitely many held-out queries, and
for one, to be added in squares. With these values .80, .83 and .81 of samples were within the ranges for 15, 30 and 60
queries; with 1.25 for one (and a usual ratio of 1.08 for any n) .76, .79 and .78; .90 and .83 with MQ2008's and
MQ2007-agg's training sets."""


def learned_scale(ratio: float, n_queries: int) -> Scale:
    """Estimate the scale of a model from the ratio observed on held-out queries, shrunk to the usual ratio.

    ``ratio`` is the actual variance over the expected one, ``n_queries`` the number of held-out queries.

    Examples
    --------
    >>> [(round(s.value, 2), round(s.spread, 2)) for s in (learned_scale(1.4, 50), learned_scale(1.4, 5000))]
    [(1.19, 0.34), (1.38, 0.27)]
    """
    share, usual = n_queries / (n_queries + _DOUBT), usual_scale(n_queries)
    value = math.exp(share * math.log(ratio) + (1 - share) * math.log(usual.value))
    return Scale(value=value, spread=usual.spread)


def usual_scale(n_queries: int) -> Scale:
    """Estimate actual over expected variance for a model trained on ``n_queries``, before a check by labels."""
    return Scale(value=_USUAL * (1 + _FITTED / n_queries), spread=math.sqrt(_ALWAYS**2 + _OF_ONE**2 / n_queries))


def rehearsed_scale(ratio: float) -> Scale:
    """Build the scale (ratio of actual to expected variance, with uncertainty) of a model from simulated samples.

    ``ratio`` is that ratio in the simulation, whose labels contain the only error that the model is known to have. For
    a uniform model, it assumes that high grades are rare. For a model trained without the highest grades, it assumes
    that they are as likely as the highest known grade.
    """
    return Scale(value=ratio, spread=_OF_REHEARSED)
