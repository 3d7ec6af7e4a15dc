"""``activeeval simulate`` for more than two systems: one shared sample against passive ones of each difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from activeeval.cli.budgets import payable
from activeeval.cli.output import emit, show_table
from activeeval.cli.waiting import progress
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.cases.budgets import Budget
    from activeeval.cases.case import Case
    from activeeval.cases.systems import Asked
    from activeeval.simulation import AtOnce, Summary

Panel = tuple["list[tuple[Asked, list[Summary]]]", "list[AtOnce]"]


def simulate_systems(
    case: Case,
    runs: Mapping[str, Sequence[str]],
    given: Sequence[Budget],
    defensive_share: float | None,
    weights: str,
    form: str,
    places: int,
    **how: Any,
) -> None:
    """Simulate all contrasts of more than two systems by samples that they share, and print what comes of it.

    Parameters
    ----------
    runs : mapping of str to sequence of str
        The methods of each measure.
    how
        As `activeeval.simulation.simulate_contrasts` takes it.
    """
    from activeeval.cases.contests import Contest

    shared, panels = {text: _shared_methods(names) for text, names in runs.items()}, {}
    with progress(sum(1 + len(names) for names in shared.values()), "simulating") as advance:
        for text, names in shared.items():
            contest = Contest.of(case, text, names, defensive_share, weights=weights)
            budgets = payable(contest.all_designs, given, case, contest.targets, how["expected"])
            panels[contest.targets[0].name] = contest.simulate(budgets, progress=advance, **how)
    _show(panels, form, places)


def _shared_methods(names: Sequence[str]) -> list[str]:
    """Return the methods that can draw one sample for several questions; of `all` the others are left out."""
    from activeeval.design.methods import METHODS

    found = [name for name in names if not METHODS[name].with_replacement]
    if not found:
        raise InputError(f"method {names[-1]!r} draws with replacement for one question, not one sample for several")
    return found


def _show(panels: Mapping[str, Panel], form: str, places: int) -> None:
    """Print a table of all contrasts for each measure, and one of what holds at once; as rows for machines."""
    if form != "text":
        emit([row for name, panel in panels.items() for row in _rows(name, panel)], form, places)
        return
    from activeeval.report import amount, plain_rows

    for name, (found, at_once) in panels.items():
        rows = [{"contrast": one.title, **row} for one, own in found for row in plain_rows(own)]
        show_table(rows, f"{name}, {len(found)} differences by one sample, {found[0][1][0].repetitions} repetitions")
        together = [
            {
                "method": one.method,
                "budget": amount(one.budget),
                "all hold at once": f"{one.coverage.value:.3f} ({one.coverage.se:.3f})",
                "mean efficiency": f"{one.efficiency.value:.2f} ({one.efficiency.se:.2f})",
            }
            for one in at_once
        ]
        if together:
            show_table(together, f"{name}, all {len(found)} at once, 95 %")


def _rows(name: str, panel: Panel) -> list[dict[str, Any]]:
    found, at_once = panel
    rows = [
        {"measure": name, "question": one.question, "system": one.system, "versus": one.versus, **summary.row()}
        for one, own in found
        for summary in own
    ]
    return rows + [{"measure": name, "question": "at once", **one.row()} for one in at_once]
