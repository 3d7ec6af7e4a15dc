"""Request of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.core.errors import ChoiceError
from activeeval.core.planning import Goal
from activeeval.core.planning.prices import Price
from activeeval.sampling.options import PlanFields

ALL = "all"
"""Special method name for all methods that fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest(PlanFields):
    """Request of a plan, with fields named as the arguments of `plan` and the options of the command line.

    Attributes
    ----------
    price : Price or None
        Price of judging, or its duration.
    beside : sequence of str
        Names of further options set on the command line, such as plot.
    """

    price: Price | None = None
    beside: Sequence[str] = ()

    @property
    def goals(self) -> list[Goal]:
        """Goals to reach: a half-width, a difference to detect, both or none."""
        about: dict[str, Any] = {"scope": self.scope, "confidence": self.confidence}
        goals = [] if self.whole_half_width is None else [Goal(half_width=self.whole_half_width, **about)]
        if self.difference is not None:
            goals.append(Goal(difference=self.difference, power=self.power, **about))
        return goals

    def method_for(self, what: str) -> str | None:
        """Return the only method named, or None; raise ChoiceError, about a plan for ``what``, if several are named."""
        if len(self.methods) > 1 or ALL in self.methods:
            raise ChoiceError(f"{what} is planned for one `methods`", field="methods")
        return self.methods[0] if self.methods else None

    def check_left_out(self, names: Sequence[str], problem: str) -> None:
        """Raise ChoiceError if one of the fields ``names`` is set; ``problem`` is its text, with a ``{}`` for the name.

        ``beside`` has names of options that are no fields, such as plot.
        """
        for name in names:
            if name in self.beside or getattr(self, name, None) not in (None, (), []):
                raise ChoiceError(problem.format(f"`{name}`"), field=name)
