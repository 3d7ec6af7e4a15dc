"""Budgets: judging one mean item of the pool costs 1; without overheads a budget is a number of judgments.

A budget may also be said as a share of what judging everything costs: every item that can change the value, and the
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
        if not is_number(self.amount) or not (0 < self.amount <= largest and math.isfinite(self.amount)):
            what = "the share must lie in (0, 1]" if self.is_share else "the budget must be a positive number"
            raise InputError(f"{what}, got {brief(self.amount)}")

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
            problem = f"a budget is a number of judgments, as 200, or a share, as 10%, got {text!r}"
            money = "; an amount of money is for plan, with a price"
            raise InputError(problem + (money if number[:1].isdigit() and number[-1:].isalpha() else "")) from None
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
            raise InputError(f"give a budget or a share, got budget={brief(budget)} and share={brief(share)}")
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

    def refused(
        self, problem: BudgetError, *targets: Target, known: Ints | None = None, rankings: Sequence[Rankings] = ()
    ) -> BudgetError:
        """Word a refusal as the budget was given, with the smallest that works, and the pool depth at which it does.

        Parameters
        ----------
        problem : BudgetError
        rankings : sequence of Rankings
            All lists that the pool is made of; none where it cannot be cut.
        """
        needed, budget, text = problem.needed, problem.budget, f"`budget` {self}"
        smallest = enough(needed)
        if self.is_share:
            needed, budget = problem.needed / whole_cost(*targets, known=known), self.amount
            text += f" ({problem.budget:.4g} {targets[0].pool.cost_unit})"
            # what a method judges whole may cost more than all that can change an answer
            smallest = f"{enough(100 * needed)}%" if needed <= 1 else smallest
        text += f" does not pay for {problem.what.format(enough(problem.needed))}: `budget` {smallest}"
        cutoffs = [target.measure.cutoff or 0 for target in targets]
        can_cut = bool(rankings) and all(cutoffs) and not self.is_share  # without a cutoff it would be another measure
        depth = depth_that_pays(problem.budget, rankings, max(cutoffs)) if can_cut else None
        if depth is not None:
            text += f", or `pool_depth` {depth[0]} ({enough(depth[1])})"
        return BudgetError(text, budget=budget, needed=needed, what=problem.what)

    def __str__(self) -> str:
        return f"{100 * self.amount:g}%" if self.is_share else f"{self.amount:g}"


def enough(needed: float) -> str:
    """Format a number in four digits, rounded up.

    Examples
    --------
    >>> enough(174.0), enough(2.00001), enough(123456.0)
    ('174', '2.001', '123500')
    """
    step = 10.0 ** (math.floor(math.log10(needed)) - 3)
    return f"{math.ceil(needed / step - 1e-9) * step:.10g}"


def depth_that_pays(budget: float, rankings: Sequence[Rankings], least: int) -> tuple[int, float] | None:
    """Find the deepest pool of which a budget pays for any query, judged whole; None where no depth makes it pay.

    Parameters
    ----------
    budget : float
        In mean items.
    rankings : sequence of Rankings
        All lists that the pool is made of.
    least : int
        The depth that measures need.

    Returns
    -------
    int, float
        The depth, and what its dearest query costs, in mean items of that pool.

    Examples
    --------
    >>> from activeeval import QueryPool
    >>> pool = QueryPool(["q"], [0, 4], list("abcd"))
    >>> lists = [Rankings.from_ids(pool, {"q": ids}) for ids in (["a", "b", "c"], ["b", "d", "a"])]
    >>> depth_that_pays(3, lists, 1), depth_that_pays(3, lists, 3)
    ((2, 3.0), None)
    """
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
    """Compute what judging any query of the pool of lists that end at a rank costs at most, in its mean items."""
    pool = rankings[0].pool
    items = np.unique(np.concatenate([ranking.cut_at(depth).items for ranking in rankings]))
    costs = np.bincount(pool.item_queries[items], pool.item_costs[items], minlength=pool.n_queries)
    return float(np.max((costs + pool.query_costs)[costs > 0]) / pool.item_costs[items].mean())


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
