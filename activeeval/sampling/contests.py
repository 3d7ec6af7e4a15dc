"""Prepare simulations of several systems by one measure: joint designs for all pairs, and passive ones for each.

A passive design draws queries at random and judges them whole; it is the reference of comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from activeeval.core.design import Design
from activeeval.core.measures import Target
from activeeval.core.simulation import SimultaneousResults, Summary, simulate_contrasts
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.inputs.systems import QuestionTarget, check_differ, contrasts_of

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """Differences of several systems by one measure, with the designs that sample them.

    Attributes
    ----------
    case : PreparedCase
        The pool with its rankings, grade model and labels.
    asked : tuple of QuestionTarget
        The differences to estimate.
    designs : dict of str to Design
        Joint designs for all differences, by the name of the method.
    passive : dict of (int, int) to Design
        Passive designs for each difference alone, by the indices of the two systems.
    """

    case: PreparedCase
    asked: tuple[QuestionTarget, ...]
    designs: dict[str, Design]
    passive: dict[Pair, Design]

    @classmethod
    def of(
        cls,
        case: PreparedCase,
        measure: str,
        methods: Sequence[str],
        defensive_share: float | None = None,
        *,
        weights: str = "equal",
        adaptive_depth: str = "off",
    ) -> Self:
        """Build the designs for all differences of several systems on one pool (``case``).

        Each method gets a joint design; each difference also a passive one (random queries, judged whole).

        Parameters
        ----------
        measure : str
            Name of the measure, as "DCG@10".
        methods : sequence of str
            Names of the methods to simulate besides passive.
        defensive_share : float, optional
            Share of sampling, from 0 to 1, that ignores the grade model, which bounds the weights.
        weights : {"equal", "sum", "minimax"}
            How to balance the differences.
        adaptive_depth : {"each", "3", "1", "off"}
            When labels decide how deep a query is judged.

        Raises
        ------
        InputError
            If the lists of two systems do not differ, or a method cannot draw one sample for several questions.
        """
        questions = case.asked([measure], ["difference"])
        check_differ(questions)
        targets = [question.target for question in questions]
        pairs = [(case.systems.index(question.system), case.systems.index(question.versus)) for question in questions]
        return cls(
            case=case,
            asked=tuple(questions),
            designs={
                name: case.design(name, targets, defensive_share, weights=weights, adaptive_depth=adaptive_depth)
                for name in methods
            },
            passive={pair: case.design("passive", target) for pair, target in zip(pairs, targets, strict=True)},
        )

    @property
    def targets(self) -> list[Target]:
        """Target of each difference."""
        return [question.target for question in self.asked]

    @property
    def all_designs(self) -> dict[str, Design]:
        """All designs, passive ones included, by names for messages; a budget must be valid for each."""
        alone = {f"passive, {question.title}": d for question, d in zip(self.asked, self.passive.values(), strict=True)}
        return alone | self.designs

    def simulate(
        self, budgets: Sequence[float], repetitions: int, **how: Any
    ) -> tuple[list[tuple[QuestionTarget, list[Summary]]], list[SimultaneousResults]]:
        """Simulate all designs.

        Parameters
        ----------
        budgets : sequence of float
            In mean items (the mean item of the pool costs 1).
        repetitions : int
            Number of simulated samples.
        **how
            Keyword arguments of `simulate_contrasts`.

        Returns
        -------
        summaries : list of (QuestionTarget, list of Summary)
            For each difference.
        at_once : list of SimultaneousResults
            How often the intervals of all differences held at once.
        """
        lists, target_of = self.case.inputs.rankings, dict(zip(self.passive, self.targets, strict=True))
        targets = {  # of all pairs, as the simultaneous intervals need them, also of those not asked
            (i, j): target_of.get((i, j)) or Target(self.targets[0].measure, lists[i], lists[j])
            for i, j in contrasts_of(len(lists))
        }
        grades = self.case.inputs.grades
        by_pair, at_once = simulate_contrasts(self.designs, self.passive, targets, grades, budgets, repetitions, **how)
        return list(zip(self.asked, (by_pair[pair] for pair in self.passive), strict=True)), at_once
