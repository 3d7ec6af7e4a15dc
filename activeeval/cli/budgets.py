"""Which of the budgets that were given pay for every method that is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from activeeval.cli.output import say
from activeeval.cli.wording import complaint
from activeeval.errors import BudgetError, InputError

if TYPE_CHECKING:
    from activeeval.cases.budgets import Budget
    from activeeval.cases.case import Case
    from activeeval.design import Design
    from activeeval.measures import Target


def payable(
    designs: Mapping[str, Design], given: Sequence[Budget], case: Case, targets: Sequence[Target], expected: bool
) -> list[float]:
    """Return the budgets, ascending, that pay for every method, say which do not, and raise where none does."""
    budgets = {budget.of(*targets, known=case.known): budget for budget in given}
    paid, problem = [], ""
    for amount in sorted(budgets):
        try:
            for name, design in designs.items():  # noqa: B007  # of the one that refuses
                design.with_budget(amount, expected=expected and not design.scheme.can_be_topped_up)
            paid.append(amount)
        except BudgetError as found:
            refused = budgets[amount].refused(found, *targets, known=case.known)
            problem = f"{targets[0].name}, {name}: {complaint(refused)}"
            if amount != max(budgets):
                say(f"{problem}; left out")
    if not paid:
        raise InputError(problem)
    return paid
