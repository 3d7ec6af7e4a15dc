"""Budgets: judging one mean item of the pool costs 1; without overheads a budget is a number of judgments.

A budget may also be said as a share of what judging everything costs: every item that can change the value, and the
overhead of every query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from activeeval.errors import BudgetError, InputError
from activeeval.measures import Target
from activeeval.types import Ints


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of mean items, or a share of judging everything.

    Attributes
    ----------
    amount : float
        Above 0; a share at most 1.
    is_share : bool

    Examples
    --------
    >>> print(Budget.parse("200"), Budget.parse("10 %"), Budget(0.05, is_share=True))
    200 10% 5%
    """

    amount: float
    is_share: bool = False

    def __post_init__(self) -> None:
        largest = 1.0 if self.is_share else math.inf
        is_number = isinstance(self.amount, Real) and not isinstance(self.amount, bool)
        if not is_number or not (0 < self.amount <= largest and math.isfinite(self.amount)):
            what = "the share must lie in (0, 1]" if self.is_share else "the budget must be a positive number"
            raise InputError(f"{what}, got {self.amount!r}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Return the budget that a text says: a number of mean items, or a percentage of judging everything.

        Raises
        ------
        InputError
            Where it says neither, or one that is not above 0.
        """
        number, is_share = text.strip().removesuffix("%").strip(), text.strip().endswith("%")
        try:
            amount = float(number)
        except ValueError:
            raise InputError(f"a budget is a number of judgments, as 200, or a share, as 10%, got {text!r}") from None
        if not 0 < amount <= (100.0 if is_share else math.inf) or math.isinf(amount):
            expected = "a percentage above 0, at most 100" if is_share else "a positive number"
            raise InputError(f"the budget must be {expected}, got {text!r}")
        return cls(amount / 100 if is_share else amount, is_share)

    @classmethod
    def of_either(cls, budget: float | Budget | None, share: float | None) -> Budget | None:
        """Return the budget of a caller's two arguments; None where neither is given.

        Raises
        ------
        InputError
            Where both are.
        """
        if budget is not None and share is not None:
            raise InputError(f"give a budget or a share, got budget={budget!r} and share={share!r}")
        if share is not None:
            return cls(share, is_share=True)
        return cls(budget) if budget is not None and not isinstance(budget, Budget) else budget

    def of(self, *targets: Target, known: Ints | None = None) -> float:
        """Return the budget in mean items; everything is what is not ``known`` yet, see `whole_cost`.

        Where all is known any budget is enough, and a share is of one item.
        """
        if not self.is_share:
            return float(self.amount)
        return self.amount * (1.0 if is_all_known(*targets, known=known) else whole_cost(*targets, known=known))

    def refused(self, problem: BudgetError, *targets: Target, known: Ints | None = None) -> BudgetError:
        """Return a refusal in the words in which the budget was said, with the smallest that works."""
        if not self.is_share:
            text = f"{problem}; the smallest that works is {_enough(problem.needed)}"
            return BudgetError(text, budget=problem.budget, needed=problem.needed)
        needed = problem.needed / whole_cost(*targets, known=known)
        # what a method judges whole may cost more than all that can change an answer
        smallest = f"{_enough(100 * needed)}%" if needed <= 1 else _enough(problem.needed)
        text = f"budget {self} is too small: in {targets[0].pool.cost_unit}, {problem}"
        text += f"; the smallest that works is {smallest}"
        return BudgetError(text, budget=self.amount, needed=needed)

    def __str__(self) -> str:
        return f"{100 * self.amount:g}%" if self.is_share else f"{self.amount:g}"


def _enough(needed: float) -> str:
    """Return a number in four digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(needed)) - 3)
    return f"{math.ceil(needed / step - 1e-9) * step:.4g}"


def whole_cost(*targets: Target, known: Ints | None = None) -> float:
    """Return what judging every item that can change a target's value costs, and turning to its query, in mean items.

    An item of several targets counts once.

    Parameters
    ----------
    known : array of int, shape (n_items,), optional
        Grades that are known already, −1 where none is: these cost nothing.

    Raises
    ------
    InputError
        Where it costs nothing.
    """
    pool = targets[0].pool
    is_judged = np.zeros(pool.n_items, dtype=np.bool_)
    for target in targets:
        is_judged |= target.matters
    if known is not None:
        is_judged &= known < 0
    is_turned_to = np.bincount(pool.item_queries, is_judged, minlength=pool.n_queries) > 0
    cost = float((pool.item_costs[is_judged].sum() + pool.query_costs[is_turned_to].sum()) / pool.item_costs.mean())
    if cost == 0 and is_all_known(*targets, known=known):
        raise InputError("every item that is needed is known already: there is nothing to judge")
    check_open(*targets)
    return cost


def is_all_known(*targets: Target, known: Ints | None) -> bool:
    """Return whether every item that can change a target's value has a known grade, and there is such an item."""
    if known is None:
        return False
    matters = np.logical_or.reduce([target.matters for target in targets])
    return bool(matters.any() and (known[matters] >= 0).all())


def check_open(*targets: Target) -> None:
    """Raise InputError where no label can change the value of a target."""
    for target in targets:
        if not target.matters.any():
            why = (
                "holds no item of the pool"
                if target.versus is None
                else "does not differ from the other where it counts"
            )
            raise InputError(f"no label can change {target.name}: the ranking {why}, there is nothing to judge")
