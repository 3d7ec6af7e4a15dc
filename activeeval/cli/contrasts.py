"""``activeeval simulate`` for more than two systems: one shared sample against passive ones of each difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from activeeval.cli.budgets import payable
from activeeval.cli.output import emit, show_table
from activeeval.cli.waiting import progress
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.session.budgets import Budget
    from activeeval.session.cases import Case
    from activeeval.session.systems import Asked
    from activeeval.simulation import AtOnce, Summary

Shared = tuple[dict[str, "list[Summary]"], "list[AtOnce]"]


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
    from activeeval.session.systems import check_differ

    shared = {text: _shared_methods(names) for text, names in runs.items()}
    panels, asked = {}, {}
    with progress(sum(map(len, shared.values())), "simulating") as advance:
        for text, names in shared.items():
            own = case.asked([text])
            check_differ(own)
            name = own[0].target.name
            asked[name] = own
            panels[name] = _simulated(case, own, names, given, defensive_share, weights, progress=advance, **how)
    _show(panels, asked, form, places)


def _shared_methods(names: Sequence[str]) -> list[str]:
    """Return passive and the methods that can draw one sample for several questions; of `all` the others are left."""
    from activeeval.methods import METHODS

    found = [name for name in names if name == "passive" or not METHODS[name].with_replacement]
    if len(found) == 1:
        raise InputError(
            f"method {names[-1]!r} draws with replacement for one question: no sample of it serves several"
        )
    return found


def _simulated(
    case: Case,
    asked: Sequence[Asked],
    names: Sequence[str],
    given: Sequence[Budget],
    defensive_share: float | None,
    weights: str,
    **how: Any,
) -> Shared:
    """Return the summaries of each contrast of a measure by its title, and what holds of all at once."""
    from activeeval.measures import Target
    from activeeval.session.systems import contrasts_of
    from activeeval.simulation import simulate_contrasts

    lists, own = case.workload.rankings, [one.target for one in asked]
    made = {one.title: (case.systems.index(one.system), case.systems.index(one.versus)) for one in asked}
    pairs = dict(zip(made.values(), own, strict=True))
    every = contrasts_of(len(lists))
    targets = {(i, j): pairs.get((i, j)) or Target(own[0].measure, lists[i], lists[j]) for i, j in every}
    passive = {pair: case.design("passive", target) for pair, target in pairs.items()}
    designs = {name: case.design(name, own, defensive_share, weights=weights) for name in names if name != "passive"}
    alone = {f"passive, {title}": passive[pair] for title, pair in made.items()}
    budgets = payable(alone | designs, given, case, own, how["expected"])
    found, at_once = simulate_contrasts(designs, passive, targets, case.workload.grades, budgets, **how)
    return {title: found[pair] for title, pair in made.items()}, at_once


def _show(panels: Mapping[str, Shared], asked: Mapping[str, Sequence[Asked]], form: str, places: int) -> None:
    """Print a table of all contrasts for each measure, and one of what holds at once; as rows for machines."""
    if form != "text":
        emit([row for name, panel in panels.items() for row in _rows(name, panel, asked[name])], form, places)
        return
    from activeeval.report import amount, plain_rows

    for name, (found, at_once) in panels.items():
        rows = [{"contrast": title, **row} for title, own in found.items() for row in plain_rows(own)]
        first = next(iter(found.values()))[0]
        show_table(rows, f"{name}, {len(found)} differences by one sample, {first.repetitions} repetitions")
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


def _rows(name: str, panel: Shared, asked: Sequence[Asked]) -> list[dict[str, Any]]:
    found, at_once = panel
    rows = [
        {"measure": name, "question": one.question, "system": one.system, "versus": one.versus, **summary.row()}
        for one in asked
        for summary in found[one.title]
    ]
    return rows + [{"measure": name, "question": "at once", **one.row()} for one in at_once]
