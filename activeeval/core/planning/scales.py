"""How far what a grade model expects of a variance may be taken: by which factor it errs, and how uncertain that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.types import Floats

_N_NODES = 25
"""Two of them are the ends of a range of .8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How many times what a model expects of a variance it should turn out to be.

    Attributes
    ----------
    value : float
        The median.
    spread : float
        Standard deviation of its logarithm; 0 where it is known.

    Examples
    --------
    >>> round(Scale(value=1.2, spread=0.3).at(0.9), 3)
    1.763
    """

    value: float = 1.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.value < math.inf or not 0 <= self.spread < math.inf:
            raise InputError(f"a scale must be positive, its spread not negative, got {self.value!r}, {self.spread!r}")

    def at(self, chance: float) -> float:
        """Return what the factor stays below with a chance."""
        from scipy.special import ndtri

        return self.value * math.exp(self.spread * float(ndtri(chance)))

    @property
    def nodes(self) -> Floats:
        """Equally likely values of the factor, shape (n_nodes,)."""
        return self.value * np.exp(self.spread * _normal_nodes()) if self.spread else np.array([self.value])


@lru_cache(maxsize=1)
def _normal_nodes() -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(_N_NODES) + 0.5) / _N_NODES))


KNOWN = Scale()
"""Of a model that is right."""
UNTRAINED = Scale(value=1.1, spread=0.5)
"""Of a model that no held-out query has been held against. Forests' probabilities that are taken as given left 1.1
times the variance that they expected on MQ2008, MQ2007-agg, OHSUMED and the generated pool (joint questions), with a
standard deviation of .23 of the logarithm; what is given may come from anywhere. With a spread of .4, .5, .6 and .75
.86, .89, .91 and .94 of samples lay within the ranges there, .81, .85, .88 and .91 on pools that nothing was fitted to,
on one of which a language model had given the grades."""
UNREHEARSED = Scale(value=1.2, spread=0.75)
"""Of a uniform model before a rehearsal. Such left 1.1 to 1.6 times the variance that they expected in the mean of the
logarithm (MQ2008, MQ2007-agg, OHSUMED), with a standard deviation of .4 to .8."""
_OF_REHEARSED = 0.6
"""Standard deviation of the logarithm of a factor that labels have been drawn for. Uniform models left .43 (joint
questions of MQ2008, MQ2007-agg, OHSUMED and the generated pool), half-widths of single questions were .86 to 1.73 times
the plan in four of five; .77, .80 and .84 of these lay within the ranges with .5, .6 and .75, of joint ones .86, .89
and .92."""
_DOUBT = 400.0
"""Held-out queries that the usual factor counts as: what they show of the factor is little. The best multiple of its
logarithm was .2 to .6 of 15 to 60 queries, −.1 and .4 of 157 and 339; 100 and 200 did as well but for passive samples
of MQ2007-agg. Σ (L − m)² over Σ Var[L] of the training queries in their own rankings was of less use: its logarithm had
a standard deviation of .5 to .9 against .25 of what comes out, and the best multiple was .05 to .2."""
_USUAL, _FITTED = 1.1, 3.0
"""The usual factor of ever so many training queries, and by how many times 1 / n it is larger of n: models are fitted.
Forests of 15, 30 and 60 queries left exp(.35), exp(.27) and exp(.26) times the variance that they expected, those of
157 (MQ2008) and 339 (MQ2007-agg) exp(.13) and exp(.19), in the mean of measures, cases and overheads."""
_ALWAYS, _OF_ONE = 0.27, 1.5
"""Standard deviation of the logarithm of what comes out over what is planned: of ever so many held-out queries, and,
squares added, of one. With them .80, .83 and .81 of samples lay within the ranges of 15, 30 and 60 queries, with 1.25
of one (and a usual factor of 1.08 of any n) .76, .79 and .78; .90 and .83 with MQ2008's and MQ2007-agg's training."""


def learned_scale(ratio: float, n_queries: int) -> Scale:
    """Return what to think of the factor after so many held-out queries have shown one.

    Examples
    --------
    >>> [(round(s.value, 2), round(s.spread, 2)) for s in (learned_scale(1.4, 50), learned_scale(1.4, 5000))]
    [(1.19, 0.34), (1.38, 0.27)]
    """
    share, usual = n_queries / (n_queries + _DOUBT), usual_scale(n_queries)
    value = math.exp(share * math.log(ratio) + (1 - share) * math.log(usual.value))
    return Scale(value=value, spread=usual.spread)


def usual_scale(n_queries: int) -> Scale:
    """Return what to think of the factor of a model that has learned from so many queries, before any has shown it."""
    return Scale(value=_USUAL * (1 + _FITTED / n_queries), spread=math.sqrt(_ALWAYS**2 + _OF_ONE**2 / n_queries))


def rehearsed_scale(ratio: float) -> Scale:
    """Return what to think of the factor of a model that may only be wrong in a way that labels have been drawn for.

    ``ratio`` is the factor that these have shown: of a uniform model where high grades are rare, of one that no label
    has taught the highest grades where these are as likely as the highest that it knows.
    """
    return Scale(value=ratio, spread=_OF_REHEARSED)
