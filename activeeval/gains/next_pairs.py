"""SimpleMargin: ask for the preference that the weights are least sure of (Tong and Koller)."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError, StateError
from activeeval.gains.cautions import UndeterminedWarning
from activeeval.gains.learner import GainDiscountLearner
from activeeval.gains.pair_summary import open_pairs
from activeeval.gains.pairs import PreferenceData

# of a margin of 1: what is closer than the solver's error is asked in the order that was drawn at the start
_EQUAL = 1e-6


class SimpleMargin:
    """Choose which pair of lists to ask about next: ask, tell, ask again.

    The first ``n_start`` pairs are drawn at random, and so are others until a preference has been told; then the
    next pair is the one with the smallest ``|wᵀ(s_i − s_j)|`` among those not yet answered, w learned from all answers.

    Parameters
    ----------
    pool : PreferenceData
        Pairs to choose from; which list of a pair comes first says nothing, nor do ties. Lists of the same grades are
        never asked about.
    learner : GainDiscountLearner
        How weights are learned from the answers, contradictory ones included; it stays as it is. A given C makes each
        step a single small program.
    n_start : int
    rng : Generator, int or None
    answered : PreferenceData, optional
        Answers to other pairs that are there already; they count among the first ``n_start``.
    skip_decided : bool
        With the shape "decreasing", never ask about lists that every DCG puts in the same order (`open_pairs`): a
        preference between them teaches nothing.

    Examples
    --------
    >>> pool = PreferenceData([[2, 0], [2, 0], [0, 2]], [[1, 1], [1, 2], [1, 1]])
    >>> chooser = SimpleMargin(pool, GainDiscountLearner(C=1.0), n_start=2, rng=0)
    >>> while (row := chooser.ask()) is not None:
    ...     chooser.tell(row, 1)
    >>> chooser.data.n_pairs
    3
    """

    def __init__(
        self,
        pool: PreferenceData,
        learner: GainDiscountLearner,
        n_start: int = 20,
        rng: np.random.Generator | int | None = None,
        answered: PreferenceData | None = None,
        skip_decided: bool = True,
    ) -> None:
        self._pool, self._n_start = pool, whole_number(n_start, "n_start", 1)
        self._learner: GainDiscountLearner = clone(learner).set_params(conflicts="keep")
        self._differences = pool.differences()
        order = np.random.default_rng(rng).permutation(pool.n_pairs)
        skips = skip_decided and learner.shape == "decreasing"
        teaches = open_pairs(pool) if skips else np.diff(self._differences.indptr) > 0
        self._order = order[teaches[order]].tolist()
        self._before = answered
        self._answers: dict[int, int] = {}
        self._asked: int | None = None

    @property
    def answers(self) -> dict[int, int]:
        """What was told: pair → 1, −1 or 0, in the order of telling."""
        return dict(self._answers)

    @property
    def data(self) -> PreferenceData:
        """The answered pairs, to learn from, those that were there before first; a StateError where there are none."""
        if not self._answers:
            if self._before is None:
                raise StateError("no pair is answered yet")
            return self._before
        answered = self._pool.answered(list(self._answers), list(self._answers.values()))
        return answered if self._before is None else self._before.joined(answered)

    def ask(self) -> int | None:
        """Return the number of the pair to ask about, None once none is left; the same until it is told."""
        if self._asked is None:
            self._asked = next((row for row, _ in self.closest(1)), None)
        return self._asked

    def closest(self, count: int) -> list[tuple[int, float | None]]:
        """Return the pairs most worth asking about, best first, with ``|wᵀ(s_i − s_j)|``; None while chance decides."""
        left = [row for row in self._order if row not in self._answers]
        if self._is_starting or not left:
            return [(row, None) for row in left[:count]]
        margins = np.abs(self._differences[left] @ self._weights().ravel())
        closest = np.argsort(np.round(margins / _EQUAL), kind="stable")[:count]
        return [(left[place], float(margins[place])) for place in closest.tolist()]

    def tell(self, row: int, answer: int) -> None:
        """Take the answer for a pair: 1 prefers its first list, −1 its second, 0 neither.

        Any pair may be answered, not only the one that was asked.

        Raises
        ------
        InputError
            On a pair that the pool does not hold or an answer of another kind.
        StateError
            Where the pair is answered already.
        """
        if not (isinstance(row, (int, np.integer)) and 0 <= row < self._pool.n_pairs):
            raise InputError(f"the pool holds pairs 0 … {self._pool.n_pairs - 1}, got {row!r}")
        if answer not in (-1, 0, 1):
            raise InputError(f"an answer is 1, -1 or 0, got {answer!r}")
        if row in self._answers:
            raise StateError(f"{self._pool.place(row)} is answered already")
        self._answers[int(row)] = int(answer)
        self._asked = None

    def learn(self) -> GainDiscountLearner:
        """Return a clone of the learner that is fitted on the answers.

        What few pairs leave open is no news here: it warns of nothing. `cautions_` holds it.

        Raises
        ------
        StateError
            Before a preference was told.
        """
        if not self._has_preference:
            raise StateError("no preference was told so far, so there is nothing to learn")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndeterminedWarning)
            fitted: GainDiscountLearner = clone(self._learner).fit(self.data)
        return fitted

    @property
    def _has_preference(self) -> bool:
        return any(self._answers.values()) or (self._before is not None and not self._before.ties.all())

    @property
    def _is_starting(self) -> bool:
        n_before = 0 if self._before is None else self._before.n_pairs
        return n_before + len(self._answers) < self._n_start or not self._has_preference

    def _weights(self) -> NDArray[np.float64]:
        learner = self._learner
        return self.learn().weights_ if learner.C == "cv" else learner.program(self.data).solve(float(learner.C))
