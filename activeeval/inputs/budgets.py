"""Budgets, in mean items: judging one item of mean cost costs 1. Without overheads a budget is a number of judgments.

A budget may also be a share of the cost of judging everything: every item that can change the value, and the
overhead of every query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.checks import brief, is_number
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.measures import Target
from activeeval.core.pool import Rankings
from activeeval.core.types import Ints


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget in mean items (cost of judging an average item), or as a share of the cost of judging everything.

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
        """Raise InputError if the amount is not valid."""
        largest = 1.0 if self.is_share else math.inf
        if not is_number(self.amount) or not (0 < self.amount <= largest and math.isfinite(self.amount)):
            what = "the share must lie in (0, 1]" if self.is_share else "the budget must be a positive number"
            raise InputError(f"{what}, got {brief(self.amount)}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Parse a number of mean items, or a percentage of the cost of judging everything.

        Raises
        ------
        InputError
            If the text is neither, or not positive.
        """
        number, is_share = text.strip().removesuffix("%").strip(), text.strip().endswith("%")
        try:
            amount = float(number)
        except ValueError:
            problem = f"a budget is a number of judgments, as 200, or a share, as 10%, got {text!r}"
            money = "; an amount of money is for plan, with a price"
            raise InputError(problem + (money if number[:1].isdigit() and number[-1:].isalpha() else "")) from None
        if not 0 < amount <= (100.0 if is_share else math.inf) or math.isinf(amount):
            expected = "a percentage above 0, at most 100" if is_share else "a positive number"
            raise InputError(f"the budget must be {expected}, got {text!r}")
        return cls(amount / 100 if is_share else amount, is_share)

    @classmethod
    def of_either(cls, budget: float | Budget | None, share: float | None) -> Budget | None:
        """Combine a caller's two alternatives, a budget or a share of the cost of judging everything.

        None without either.

        Raises
        ------
        InputError
            If both are given.
        """
        if budget is not None and share is not None:
            raise InputError(f"give a budget or a share, got budget={brief(budget)} and share={brief(share)}")
        if share is not None:
            return cls(share, is_share=True)
        return cls(budget) if budget is not None and not isinstance(budget, Budget) else budget

    def of(self, *targets: Target, known: Ints | None = None) -> float:
        """Compute the budget in mean items for some targets (measures of a system or a difference).

        A share is of the cost of what is not ``known`` yet, see `whole_cost`; if everything is known, of 1 item.
        ``known``, shape (n_items,), has known grades, −1 if unknown. InputError is raised if no label can change a
        target.
        """
        if not self.is_share:
            return float(self.amount)
        return self.amount * (1.0 if is_all_known(*targets, known=known) else whole_cost(*targets, known=known))

    def refused(
        self, problem: BudgetError, *targets: Target, known: Ints | None = None, rankings: Sequence[Rankings] = ()
    ) -> BudgetError:
        """Rewrite a budget error in the budget's own units, with the smallest budget or pool depth that works.

        Parameters
        ----------
        problem : BudgetError
            The error of a design for the budget.
        *targets : Target
            What the sample is to estimate.
        known : ndarray of int64, shape (n_items,), optional
            Known grades, −1 if unknown.
        rankings : sequence of Rankings
            All lists of the pool, if the pool may be cut to a smaller depth; else ().
        """
        needed, budget, text = problem.needed, problem.budget, f"`budget` {self}"
        smallest = enough(needed)
        if self.is_share:
            needed, budget = problem.needed / whole_cost(*targets, known=known), self.amount
            text += f" ({problem.budget:.4g} {targets[0].pool.cost_unit})"
            # a method that judges whole queries may need more than the cost of all items that can change an answer
            smallest = f"{enough(100 * needed)}%" if needed <= 1 else smallest
        text += f" does not pay for {problem.what.format(enough(problem.needed))}: `budget` {smallest}"
        cutoffs = [target.measure.cutoff or 0 for target in targets]
        can_cut = bool(rankings) and all(cutoffs) and not self.is_share  # cutting changes a measure without a cutoff
        depth = depth_that_pays(problem.budget, rankings, max(cutoffs)) if can_cut else None
        if depth is not None:
            text += f", or `pool_depth` {depth[0]} ({enough(depth[1])})"
        return BudgetError(text, budget=budget, needed=needed, what=problem.what)

    def __str__(self) -> str:
        """Format the budget as `parse` reads it."""
        return f"{100 * self.amount:g}%" if self.is_share else f"{self.amount:g}"


def enough(needed: float) -> str:
    """Format a number with four significant digits, rounded up.

    Examples
    --------
    >>> enough(174.0), enough(2.00001), enough(123456.0)
    ('174', '2.001', '123500')
    """
    step = 10.0 ** (math.floor(math.log10(needed)) - 3)
    return f"{math.ceil(needed / step - 1e-9) * step:.10g}"


def depth_that_pays(budget: float, rankings: Sequence[Rankings], least: int) -> tuple[int, float] | None:
    """Find the deepest pool whose most expensive query, judged completely, fits a budget; None if no depth does.

    Parameters
    ----------
    budget : float
        In mean items: judging an item of mean cost costs 1.
    rankings : sequence of Rankings
        All lists of the pool.
    least : int
        Smallest depth that the measures allow.

    Returns
    -------
    int, float
        The depth, and the cost of its most expensive query, in mean items of that pool.

    Examples
    --------
    >>> from activeeval import QueryPool
    >>> pool = QueryPool(["q"], [0, 4], list("abcd"))
    >>> lists = [Rankings.from_ids(pool, {"q": ids}) for ids in (["a", "b", "c"], ["b", "d", "a"])]
    >>> depth_that_pays(3, lists, 1), depth_that_pays(3, lists, 3)
    ((2, 3.0), None)
    """
    # bisection; the present depth (``highest``) costs too much, so that only smaller ones are tried
    lowest, highest = least, max(int(ranking.lengths.max(initial=0)) for ranking in rankings)
    best = None
    while lowest < highest:
        depth = (lowest + highest) // 2
        needed = _dearest_query(rankings, depth)
        if needed <= budget:
            best, lowest = (depth, needed), depth + 1
        else:
            highest = depth
    return best


def _dearest_query(rankings: Sequence[Rankings], depth: int) -> float:
    """Compute the cost of the most expensive query, in mean items, if lists end at rank `depth`.

    A mean item has the mean cost of the items that are then left in the pool.
    """
    pool = rankings[0].pool
    items = np.unique(np.concatenate([ranking.cut_at(depth).items for ranking in rankings]))
    costs = np.bincount(pool.item_queries[items], pool.item_costs[items], minlength=pool.n_queries)
    return float(np.max((costs + pool.query_costs)[costs > 0]) / pool.item_costs[items].mean())


def whole_cost(*targets: Target, known: Ints | None = None) -> float:
    """Compute the cost of judging every item that can change a target, with the queries' overheads.

    It is in mean items: judging an item of mean cost costs 1. An item of several targets counts once.

    Parameters
    ----------
    known : array of int, shape (n_items,), optional
        Known grades, −1 if unknown; known items cost nothing.

    Raises
    ------
    InputError
        If the cost is 0, because everything is known or no label can change a target.
    """
    pool = targets[0].pool
    is_judged = np.zeros(pool.n_items, dtype=np.bool_)
    for target in targets:
        is_judged |= target.matters
    if known is not None:
        is_judged &= known < 0
    is_opened = np.bincount(pool.item_queries, is_judged, minlength=pool.n_queries) > 0
    cost = float((pool.item_costs[is_judged].sum() + pool.query_costs[is_opened].sum()) / pool.item_costs.mean())
    if cost == 0 and is_all_known(*targets, known=known):
        raise InputError("every item that is needed is known already: there is nothing to judge")
    check_open(*targets)
    return cost


def is_all_known(*targets: Target, known: Ints | None) -> bool:
    """Check whether every item that can change a target has a known grade, and there is such an item.

    `known`, shape (n_items,), has known grades, −1 if unknown; None for none.
    """
    if known is None:
        return False
    matters = np.logical_or.reduce([target.matters for target in targets])
    return bool(matters.any() and (known[matters] >= 0).all())


def check_open(*targets: Target) -> None:
    """Raise InputError if no label can change the value of one of the targets."""
    for target in targets:
        if not target.matters.any():
            why = (
                "holds no item of the pool"
                if target.versus is None
                else "does not differ from the other where it counts"
            )
            raise InputError(f"no label can change {target.name}: the ranking {why}, there is nothing to judge")
