"""SimpleMargin: choose the pair whose preference is least certain under the weights (Tong and Koller)."""

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

# relative to a margin of 1: pairs closer than the solver's error keep the random order drawn at the start
_EQUAL = 1e-6


class SimpleMargin:
    """Choose the next pair of lists to label, in a loop of `ask` and `tell`.

    The first ``n_start`` pairs are random, and so are further ones until a preference has been recorded. Then the next
    pair is the unanswered one with the smallest ``|wᵀ(s_i − s_j)|``, with w learned from all answers.

    Parameters
    ----------
    pool : PreferenceData
        Pairs to choose from; their order within a pair and their ties are ignored. Lists of the same grades are never
        chosen.
    learner : GainDiscountLearner
        Learns weights from the answers, contradictory ones included; it is not modified. With C given, each step is a
        single small program.
    n_start : int
        Number of answers before pairs are chosen by weights.
    rng : Generator, int or None
    answered : PreferenceData, optional
        Earlier answers to other pairs; they count among the first ``n_start``.
    skip_decided : bool
        With the shape "decreasing", never choose lists that every DCG puts in the same order (`open_pairs`): a
        preference between them is not informative.

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
        """Validate the arguments and draw the initial random order.

        ``pool`` has the pairs to choose from, whose own answers are ignored; ``learner`` learns weights from the
        answers; the first ``n_start`` pairs are random, by seed ``rng``; ``answered`` are earlier answers to other
        pairs; ``skip_decided`` leaves out pairs that every DCG orders alike, for the shape "decreasing".
        """
        self._pool, self._n_start = pool, whole_number(n_start, "n_start", 1)
        self._learner: GainDiscountLearner = clone(learner).set_params(conflicts="keep")
        self._differences = pool.differences()
        order = np.random.default_rng(rng).permutation(pool.n_pairs)
        skips = skip_decided and learner.shape == "decreasing"
        is_informative = open_pairs(pool) if skips else np.diff(self._differences.indptr) > 0
        self._order = order[is_informative[order]].tolist()
        self._before = answered
        self._answers: dict[int, int] = {}  # row of the pool → 1 (first list), −1 or 0
        self._next_row: int | None = None  # the pair that `ask` returned and nobody has answered

    @property
    def answers(self) -> dict[int, int]:
        """Recorded answers: row of the pair → 1, −1 or 0, in the order of recording."""
        return dict(self._answers)

    @property
    def data(self) -> PreferenceData:
        """Answered pairs to learn from, earlier ones first.

        Raises
        ------
        StateError
            If there are none.
        """
        if not self._answers:
            if self._before is None:
                raise StateError("no pair is answered yet")
            return self._before
        answered = self._pool.answered(list(self._answers), list(self._answers.values()))
        return answered if self._before is None else self._before.joined(answered)

    def ask(self) -> int | None:
        """Choose the pair to label next, and return its row; None if no informative pair is left.

        Repeated calls return the same pair until an answer is recorded.
        """
        if self._next_row is None:
            self._next_row = next((row for row, _ in self.closest(1)), None)
        return self._next_row

    def closest(self, count: int) -> list[tuple[int, float | None]]:
        """List the `count` best pairs to label next: the row, and ``|wᵀ(s_i − s_j)|``.

        This is the absolute difference of the two lists' utilities under the weights w learned so far; None while pairs
        are chosen at random.
        """
        left = [row for row in self._order if row not in self._answers]
        if self._is_starting or not left:
            return [(row, None) for row in left[:count]]
        margins = np.abs(self._differences[left] @ self._weights().ravel())
        closest = np.argsort(np.round(margins / _EQUAL), kind="stable")[:count]
        return [(left[place], float(margins[place])) for place in closest.tolist()]

    def tell(self, row: int, answer: int) -> None:
        """Record the answer to pair number `row`: 1 prefers its first list, −1 its second, 0 neither.

        Any pair may be answered, not only the one that `ask` returned.

        Raises
        ------
        InputError
            If the pool has no such pair, or the answer is not 1, −1 or 0.
        StateError
            If the pair is answered already.
        """
        if not (isinstance(row, (int, np.integer)) and 0 <= row < self._pool.n_pairs):
            raise InputError(f"the pool holds pairs 0 … {self._pool.n_pairs - 1}, got {row!r}")
        if answer not in (-1, 0, 1):
            raise InputError(f"an answer is 1, -1 or 0, got {answer!r}")
        if row in self._answers:
            raise StateError(f"{self._pool.place(row)} is answered already")
        self._answers[int(row)] = int(answer)
        self._next_row = None

    def learn(self) -> GainDiscountLearner:
        """Return a clone of the learner fitted on the answers.

        Warnings about undetermined weights are suppressed, as they are usual with few pairs; `cautions_` holds them.

        Raises
        ------
        StateError
            Before a preference has been recorded.
        """
        if not self._has_preference:
            raise StateError("no preference was told so far, so there is nothing to learn")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndeterminedWarning)
            fitted: GainDiscountLearner = clone(self._learner).fit(self.data)
        return fitted

    @property
    def _has_preference(self) -> bool:
        """True if an answer other than a tie exists."""
        return any(self._answers.values()) or (self._before is not None and not self._before.ties.all())

    @property
    def _is_starting(self) -> bool:
        """True while pairs are chosen at random."""
        n_before = 0 if self._before is None else self._before.n_pairs
        return n_before + len(self._answers) < self._n_start or not self._has_preference

    def _weights(self) -> NDArray[np.float64]:
        """Learn the weights, shape (K, L), from all answers; with C preset, without the diagnostics of `fit`."""
        learner = self._learner
        return self.learn().weights_ if learner.C == "cv" else learner.program(self.data).solve(float(learner.C))
