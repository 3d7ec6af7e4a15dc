"""The likelihood of gains and discounts, without a penalty, and the search for the ends of its intervals.

    P(preferred) = ε + (1 − 2ε) σ(s t / √(mean t²)),    t = Σ_k c_k (g(y_k) − g(y'_k)),    c_1 = 1, g(0) = 0, g(Y) = 1

t is the lead of the preferred list over the other under the measure c, g; s is the steepness with which preferences
follow t; ε is the share of preferences reversed at random, whatever the lists. Divided by its root mean square, t has
no unit, so that a limit to s favours no measure: without noise s is large and ε = 0, reversed answers raise only ε, and
doubt between nearly equal lists gives a moderate s. The variables z = (δ, γ, log s, ε) determine c and g by sums:
g(y) = γ_1 + … + γ_y, and c_k = δ_k + … + δ_K if discounts fall, else c_k = δ_k; δ, γ ≥ 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from activeeval.core.types import Floats
from activeeval.gains.pairs import PreferenceData

# The largest s: at least 10, else a fortieth of the number of preferences. A steeper likelihood has steps that stop
# the solver. A flatter one biases gains and discounts of noise-free preferences: with 50,000 pairs by up to .03 at 10
# and .01 at 40, a third of their intervals at the numbers of preferences at which these are the limit.
_STEEPEST, _PREFERENCES_A_STEP = 10.0, 40
_FLATTEST = 0.01
# bounds of ε; the lower one keeps logarithms finite, at one half nothing can be learned
_TURNED = (1e-6, 0.45)
_STARTS = ((2.0, 1e-6), (5.0, 0.05), (5.0, 0.2))
# largest discount, in units of the first, if discounts need not fall
_FARTHEST = 10.0
# if a direct search for an end stops outside the limit, as a few in a hundred do, it restarts from this share of the
# drop
_NEARER = 0.1
_FAINT = 1e-12
_FIT = {"maxiter": 300, "ftol": 1e-7}
_END = {"maxiter": 200, "ftol": 1e-5}
# tolerance of an end above the limit, in units of the log-likelihood: far below any relevant difference
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """The likelihood of preferences under measures of a shape (constraint on the discounts); symbols as in the module.

    z = (δ, γ, log s, ε) holds the discount increments, gain increments, log steepness and share of reversed
    preferences.

    Attributes
    ----------
    rows : ndarray, shape (n, K · Y)
        Entry of a pair at rank k and grade y = 1 … Y: 1 if only the preferred list has grade y or better there, −1 if
        only the other has, so that t = Σ c_k γ_y row_ky.
    sums : ndarray, shape (K, K)
        Matrix with c = sums @ δ: partial sums if discounts fall, else the identity.
    """

    rows: Floats
    sums: Floats

    @classmethod
    def of(cls, data: PreferenceData, falls: bool) -> Self:
        """Build the likelihood of preferences without ties.

        `falls` is True if discounts never grow with the rank: they are then sums of increments over the ranks from
        theirs on, else the increments themselves. A row has a 1 for each rank and grade y at which only the preferred
        list has grade y or better, and −1 where only the other has.
        """
        grades = np.arange(1, data.n_levels)
        first, second = (lists[:, :, None] >= grades for lists in (data.preferred, data.other))
        rows = (first.astype(np.float64) - second).reshape(data.n_pairs, -1)
        ones = np.ones((data.depth, data.depth))
        return cls(rows, np.triu(ones) if falls else np.eye(data.depth))

    @property
    def n_ranks(self) -> int:
        """K, the number of ranks."""
        return len(self.sums)

    @property
    def n_steps(self) -> int:
        """Y, the number of increments of the gains."""
        return int(self.rows.shape[1]) // self.n_ranks

    @property
    def readings(self) -> Floats:
        """Matrix from z to c_1 … c_K, g(1) … g(Y), the discounts and gains; shape (K + Y, K + Y + 2).

        z has K increments of discounts, Y increments of gains, the log steepness and the share of reversed preferences;
        the last two enter neither discounts nor gains.
        """
        matrix = np.zeros((self.n_ranks + self.n_steps, self.n_ranks + self.n_steps + 2))
        matrix[: self.n_ranks, : self.n_ranks] = self.sums
        matrix[self.n_ranks :, self.n_ranks : -2] = np.tri(self.n_steps)
        return matrix

    @property
    def limits(self) -> list[tuple[float, float]]:
        """Lower and upper bound of each variable of z, a list of K + Y + 2 pairs.

        z has K increments of discounts, Y increments of gains, the log steepness and the share of reversed preferences.
        """
        steepest = max(_STEEPEST, len(self.rows) / _PREFERENCES_A_STEP)
        largest = 1.0 if self.sums[0, -1] else _FARTHEST  # the first discount is 1; this entry is 0 if they may rise
        shares = [(0.0, largest)] * self.n_ranks + [(0.0, 1.0)] * self.n_steps
        return [*shares, (np.log(_FLATTEST), np.log(steepest)), _TURNED]

    def loss(self, z: Floats) -> tuple[float, Floats]:
        """Compute the negative log-likelihood at z, and its gradient, shape (K + Y + 2,).

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        discounts, steps = self._parts(z)  # steps: γ, the gain of each grade over the grade below
        value, by_weight, by_noise = self.of_weights(np.outer(discounts, steps), z[-2], z[-1])
        return value, np.concatenate((by_weight @ steps @ self.sums, discounts @ by_weight, by_noise))

    def of_weights(self, weights: Floats, log_steepness: float, turned: float) -> tuple[float, Floats, Floats]:
        """Compute the negative log-likelihood of any weights, not only products of gains and discounts.

        A preference with lead t (value of the preferred list minus the other's) has the probability
        ε + (1 − 2ε) σ(s t / √(mean t²)). Also return the derivatives by the weights, shape (K, Y), and by (log s, ε).

        Parameters
        ----------
        weights : array of float, shape (K, Y)
            Increment of each grade over the grade below, at each of K ranks.
        log_steepness, turned : float
            log s, with s the steepness, and ε, the share of preferences reversed at random.
        """
        # of each pair: probability (chances), t over its root mean square (units), derivatives of log P by s · units
        # (slopes) and by ε (by_turned); scale is s over the root mean square
        by_pair = self._by_pair(weights.ravel(), log_steepness, turned)
        # by t of each pair, up to the scale; the second term comes from the root mean square that divides t
        by_lead = by_pair.slopes - by_pair.units * (by_pair.slopes @ by_pair.units / len(self.rows))
        by_weight = (by_lead @ self.rows).reshape(self.n_ranks, -1) * by_pair.scale
        by_steepness = np.exp(log_steepness) * (by_pair.slopes @ by_pair.units)
        by_noise = np.array([by_steepness, by_pair.by_turned.sum()])
        return -float(np.log(by_pair.chances).sum()), -by_weight, -by_noise

    def chances(self, z: Floats) -> Floats:
        """Compute the probability of each preference at z, shape (n,).

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        return self._at(z).chances

    def slopes(self, z: Floats) -> Floats:
        """Compute the gradient by z of each preference's log-likelihood, at z, shape (n, K + Y + 2).

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        # of each pair: t over its root mean square (units), derivatives of log P by s · units (slopes) and by ε
        by_pair = self._at(z)
        by_shares = self.leads(z)[1]
        by_shares -= np.outer(by_pair.units, by_pair.units @ by_shares / len(self.rows))
        by_steepness = np.exp(z[-2]) * by_pair.slopes * by_pair.units
        return np.column_stack((by_shares * (by_pair.slopes * by_pair.scale)[:, None], by_steepness, by_pair.by_turned))

    def leads(self, z: Floats) -> tuple[Floats, Floats]:
        """Compute t of each preference at z, shape (n,), and its derivative by δ and γ, shape (n, K + Y).

        t is the value of the preferred list minus the other's; δ and γ are the increments of discounts and gains in z.
        """
        discounts, steps = self._parts(z)
        by_discount = self.rows @ np.kron(self.sums, steps[:, None])
        by_step = self.rows @ np.kron(discounts[:, None], np.eye(self.n_steps))
        return by_step @ steps, np.hstack((by_discount, by_step))

    def best(self) -> Floats:
        """Search for the z of the largest likelihood from several starts, shape (K + Y + 2,).

        They have DCG's discounts 1 / log2(1 + k), equal steps of the gains, and different noise.
        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        usual = np.linalg.solve(self.sums, 1 / np.log2(1 + np.arange(1, self.n_ranks + 1)))
        shares = np.concatenate((usual, np.full(self.n_steps, 1 / self.n_steps)))
        starts = [np.concatenate((shares, [np.log(steepness), turned])) for steepness, turned in _STARTS]
        return min(map(self.best_from, starts), key=lambda z: self.loss(z)[0])

    def best_from(self, start: Floats) -> Floats:
        """Search for the z of the largest likelihood from one start, by SLSQP; both have shape (K + Y + 2,).

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        return self._search(self.loss, start, (), _FIT)

    def farthest(self, direction: Floats, best: Floats, drop: float) -> Floats:
        """Search for the z of least direction · z whose loss is at most ``drop`` above that of ``best``.

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences; all have
        shape (K + Y + 2,). The result may exceed the limit by `TOLERANCE`.
        """
        limit = self.loss(best)[0] + drop
        z = self._within(direction, best, limit)
        if self.loss(z)[0] <= limit + TOLERANCE:
            return z
        # the solver stopped outside: start again from the end for a tenth of the drop, and take the best of the points
        nearer = self._within(direction, best, limit - (1 - _NEARER) * drop)
        return min(
            (self._within(direction, nearer, limit), nearer, best),
            key=lambda z: (self.loss(z)[0] > limit + TOLERANCE, direction @ z),
        )

    def _within(self, direction: Floats, start: Floats, limit: float) -> Floats:
        """Minimise direction · z subject to loss(z) ≤ limit, from `start`; the constraint is on logarithms.

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        inside = _CachedObjective(self.loss)
        loss_limit = {
            "type": "ineq",
            "fun": lambda z: np.log(limit / inside(z)[0]),
            "jac": lambda z: -inside(z)[1] / inside(z)[0],
        }
        return self._search(lambda z: (direction @ z, direction), start, (loss_limit,), _END)

    def _search(self, objective: Any, start: Floats, constraints: tuple[Any, ...], options: dict[str, float]) -> Floats:
        """Minimise a function of z from a start by SLSQP, and rescale the result to c_1 = 1, g(Y) = 1.

        Parameters
        ----------
        objective : callable
            From z to a value and its gradient.
        constraints : tuple of dict
            Further constraints, as `scipy.optimize.minimize` takes them.
        options : dict
            Options of SLSQP.
        """
        scale = self.readings[[0, -1]]  # from z to c_1 and g(Y)
        fixed = {"type": "eq", "fun": lambda z: scale @ z - 1, "jac": lambda z: scale}
        low, high = np.array(self.limits).T
        all_constraints = [fixed, *constraints]
        solution = minimize(
            objective, start, jac=True, method="SLSQP", bounds=self.limits, constraints=all_constraints, options=options
        )
        inside = np.clip(solution.x, low, high)
        n = self.n_ranks
        inside[:n] /= max(scale[0] @ inside, _FAINT)
        inside[n:-2] /= max(inside[n:-2].sum(), _FAINT)
        return np.asarray(inside)

    def _parts(self, z: Floats) -> tuple[Floats, Floats]:
        """Compute from z the discounts c, shape (K,), and the gain increments γ, shape (Y,)."""
        return self.sums @ z[: self.n_ranks], z[self.n_ranks : -2]

    def _at(self, z: Floats) -> _ByPair:
        """Evaluate the likelihood of each preference at z.

        z has the increments of discounts and gains, the log steepness and the share of reversed preferences.
        """
        return self._by_pair(np.outer(*self._parts(z)).ravel(), z[-2], z[-1])

    def _by_pair(self, weights: Floats, log_steepness: float, turned: float) -> _ByPair:
        """Compute the probability of each preference under the weights, and the derivatives of its logarithm.

        `weights`, shape (K · Y,), are increments over the grade below, by rank and grade; `turned` is ε, the share of
        reversed preferences, and `log_steepness` log s.
        """
        # P = ε + (1 − 2ε) σ(s t / √(mean t²)) with t the lead of the preferred list: its value minus the other's
        leads = self.rows @ weights
        size = float(np.sqrt(leads @ leads / len(leads) + _FAINT))
        units, steepness = leads / size, np.exp(log_steepness)
        follows = expit(steepness * units)
        chances = turned + (1 - 2 * turned) * follows
        slopes = (1 - 2 * turned) * follows * (1 - follows) / chances
        # slopes: derivatives of log P by s · units; the fourth: by ε
        return _ByPair(units, chances, slopes, (1 - 2 * follows) / chances, steepness / size)


class _ByPair(NamedTuple):
    """Values of the likelihood by pair, arrays of shape (n,).

    units: t divided by its root mean square; chances: P; slopes: derivative of log P by s · units; by_turned:
    derivative of log P by ε. scale is one number: s divided by the root mean square of t.
    """

    units: Floats
    chances: Floats
    slopes: Floats
    by_turned: Floats
    scale: float


class _CachedObjective:
    """Cache the value and gradient of a function at the last z, as the solver requests the two one after the other."""

    def __init__(self, function: Callable[[Floats], tuple[float, Floats]]) -> None:
        """Start with an empty cache: the bytes of the last z, and the (value, gradient) that ``function`` had there."""
        self._function, self._at, self._last = function, b"", (0.0, np.zeros(0))

    def __call__(self, z: Floats) -> tuple[float, Floats]:
        """Return the function's value and gradient at z, from the cache if z is unchanged."""
        if (at := z.tobytes()) != self._at:
            self._at, self._last = at, self._function(z)
        return self._last
