"""Several systems by one measure, ready to be replayed: designs for all their contrasts, and passive ones for each."""

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
    """The contrasts of several systems by one measure, with what each is sampled by.

    Attributes
    ----------
    case : Case
    asked : tuple of Asked
        The contrasts.
    designs : dict of str to Design
        One for all contrasts, by the name of its method.
    passive : dict of (int, int) to Design
        For each contrast alone.
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
        """Return the contest of a case's systems; ``weights`` and ``adaptive_depth`` as in `PreparedCase.design`.

        Raises
        ------
        InputError
            Where the lists of two of them do not differ, or a method cannot draw one sample for several questions.
        """
        asked = case.asked([measure], ["difference"])
        check_differ(asked)
        targets = [question.target for question in asked]
        pairs = [(case.systems.index(question.system), case.systems.index(question.versus)) for question in asked]
        return cls(
            case=case,
            asked=tuple(asked),
            designs={
                name: case.design(name, targets, defensive_share, weights=weights, adaptive_depth=adaptive_depth)
                for name in methods
            },
            passive={pair: case.design("passive", target) for pair, target in zip(pairs, targets, strict=True)},
        )

    @property
    def targets(self) -> list[Target]:
        """The difference of each contrast."""
        return [question.target for question in self.asked]

    @property
    def all_designs(self) -> dict[str, Design]:
        """All that a budget has to pay for, by names for messages."""
        alone = {f"passive, {question.title}": d for question, d in zip(self.asked, self.passive.values(), strict=True)}
        return alone | self.designs

    def simulate(
        self, budgets: Sequence[float], repetitions: int, **how: Any
    ) -> tuple[list[tuple[QuestionTarget, list[Summary]]], list[SimultaneousResults]]:
        """Return the summaries of each contrast, and what holds of all at once, as `simulate_contrasts` does."""
        lists, target_of = self.case.inputs.rankings, dict(zip(self.passive, self.targets, strict=True))
        targets = {
            (i, j): target_of.get((i, j)) or Target(self.targets[0].measure, lists[i], lists[j])
            for i, j in contrasts_of(len(lists))
        }
        grades = self.case.inputs.grades
        summaries, notes = simulate_contrasts(self.designs, self.passive, targets, grades, budgets, repetitions, **how)
        return list(zip(self.asked, (summaries[pair] for pair in self.passive), strict=True)), notes
