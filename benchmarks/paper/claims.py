"""What the paper says of its figures, what these results say, and whether it holds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.paper.averages import ERRORS, Row, curve, labels_saved, last_telling
from benchmarks.paper.cases import MEASURES, PAPER_METHODS

Result = Row
Found = tuple[str, str]
HOLDS, FAILS = "holds", "does not hold"
UNTOLD = ("no panel tells the methods apart", "cannot be said")
SLACK = 0.1
SECOND, CLOSE = 1, 1.25


@dataclass(frozen=True)
class Claim:
    """What the paper says of a figure in our words, and the function that looks whether results bear it out."""

    figure: int
    text: str
    look: Callable[[Result], Found]


def cases_of(rows: Sequence[Row], figure: int) -> list[str]:
    """Return the cases of a figure in their order."""
    return list(dict.fromkeys(row["case"] for row in rows if row["figure"] == figure))


def _savings(
    result: Row, figure: int, cases: Sequence[str] | None = None, method: str = "active"
) -> list[float | None]:
    chosen = cases_of(result["rows"], figure) if cases is None else cases
    found = [labels_saved(result["rows"], case, measure, method) for case in chosen for measure in MEASURES]
    return [None if one is None else one[0] for one in found]


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "none within the budgets"
    outside = len(values) - len(known)
    return f"{min(known):.0%} to {max(known):.0%}" + (
        f"; {outside} of {len(values)} outside the budgets" if outside else ""
    )


def _graded(values: Sequence[float | None], ranges: Sequence[tuple[float, float]]) -> str:
    """Say whether savings lie in the paper's ranges; more than that is no objection to it."""
    known = [(value, *span) for value, span in zip(values, ranges, strict=True) if value is not None]
    enough = [value >= low for value, low, _ in known]
    if not known or not any(enough):
        return FAILS
    if not all(enough):
        return f"holds in part ({sum(enough)} of {len(values)} reach it)"
    more = "; more is saved in some" if any(value > high for value, _, high in known) else ""
    return (
        HOLDS if len(known) == len(values) else f"holds where it can be said ({len(known)} of {len(values)})"
    ) + more


def _between(figure: int, low: float, high: float) -> Callable[[Result], Found]:
    def look(result: Result) -> Found:
        values = _savings(result, figure)
        return _range(values), _graded(values, [(low, high)] * len(values))

    return look


def _about(figure: int, err: float, dcg: float) -> Callable[[Result], Found]:
    """Look at the last case of a figure; ten points off is still about."""

    def look(result: Result) -> Found:
        values = _savings(result, figure, cases_of(result["rows"], figure)[-1:])
        text = ", ".join(f"{name} {_percent(value)}" for name, value in zip(MEASURES, values, strict=True))
        return text, _graded(values, [(middle - SLACK, middle + SLACK) for middle in (err, dcg)])

    return look


def _verdict(is_so: bool) -> str:
    return HOLDS if is_so else FAILS


def _percent(value: float | None) -> str:
    return "outside the budgets" if value is None else f"{value:.0%}"


def _last(result: Result, case: str, measure: str, method: str) -> Row:
    return curve(result["rows"], case, measure, method)[-1]


def _compared(result: Result, figure: int, method: str, place: int | None = None) -> list[tuple[float, float]]:
    """Return the errors of a method and of passive in every panel, at the largest budget that tells them apart."""
    name = ERRORS[figure]
    found = []
    for case in cases_of(result["rows"], figure):
        for measure in MEASURES:
            own, passive = (curve(result["rows"], case, measure, which) for which in (method, "passive"))
            at = last_telling(passive) if place is None else place
            if at is not None:
                found.append((own[at][name], passive[at][name]))
    return found


def _beats_passive(figure: int, place: int | None = None) -> Callable[[Result], Found]:
    """Look at one of the budgets in every panel, by default the largest that tells methods apart."""

    def look(result: Result) -> Found:
        errors = _compared(result, figure, "active", place)
        if not errors:
            return UNTOLD
        better = [active for active, passive in errors if active < passive]
        return f"in {len(better)} of {len(errors)} panels", _verdict(len(better) == len(errors))

    return look


def _uniform_cost_is_close(result: Result) -> Found:
    pairs = zip(_compared(result, 3, "active_uniC"), _compared(result, 3, "active"), strict=True)
    ratios = [uniform / active for (uniform, _), (active, _) in pairs if active > 0]
    if not ratios:
        return UNTOLD
    middle = statistics.median(ratios)
    text = f"its selection error is {min(ratios):.2f} to {max(ratios):.2f} times that of active, median {middle:.2f}"
    return text, _verdict(middle < CLOSE)


def _gains_are_larger_for_err(result: Result) -> Found:
    places = list(dict.fromkeys(row["case"] for row in result["rows"]))
    pairs = [[_last(result, case, measure, "active")["efficiency"] for measure in ("ERR", "DCG")] for case in places]
    known = [(err, dcg) for err, dcg in pairs if err is not None and dcg is not None]
    if not known:
        return UNTOLD
    larger = sum(err > dcg for err, dcg in known)
    return f"{larger} of {len(known)} cases", _verdict(larger > len(known) / 2)


def _draws_more(result: Result) -> Found:
    rows = curve(result["rows"], "RF_class", "DCG", "active")
    budget = rows[min(1, len(rows) - 1)]["budget"]
    drawn = {
        row["method"]: row["queries"]
        for row in result["rows"]
        if (row["case"], row["measure"], row["budget"]) == ("RF_class", "DCG", budget)
        and row["method"] in PAPER_METHODS
    }
    text = ", ".join(f"{name} {number:.0f}" for name, number in drawn.items())
    others = max(drawn["passive"], drawn["active_uniC"])
    return f"{text} at Λ = {budget:g}", _verdict(min(drawn["active"], drawn["active_uniD"]) > others)


def _true_values(case: str, measure: str, low: float, high: float) -> Callable[[Result], Found]:
    def look(result: Result) -> Found:
        truths = _last(result, case, measure, "passive")["truths"]
        text = f"{min(truths):.3g} to {max(truths):.3g}"
        is_mslr = result["collection"].startswith("mslr")
        places = 1 if measure == "DCG" else 2
        within = low <= round(min(truths), places) and round(max(truths), places) <= high
        return text, _verdict(within) if is_mslr else "another collection"

    return look


CLAIMS = (
    Claim(2, "True DCG of Logit is 26.5 to 33.0 over the folds", _true_values("Logit", "DCG", 26.5, 33.0)),
    Claim(2, "True DCG of RF_class is 27.2 to 33.4", _true_values("RF_class", "DCG", 27.2, 33.4)),
    Claim(2, "True ERR of Logit is 0.31 to 0.34", _true_values("Logit", "ERR", 0.31, 0.34)),
    Claim(2, "True ERR of RF_class is 0.35 to 0.38", _true_values("RF_class", "ERR", 0.35, 0.38)),
    Claim(2, "One ranking (figure 2): active is more accurate than passive", _beats_passive(2)),
    Claim(2, "One ranking: 10 % to 20 % of the labels saved at Λ = 300", _between(2, 0.095, 0.205)),
    Claim(3, "Two rankers (figure 3): active finds the better one more often", _beats_passive(3)),
    Claim(3, "Two rankers: 30 % to 55 % saved at Λ = 300", _between(3, 0.295, 0.555)),
    Claim(3, "Two rankers: active_uniC is almost as good as active", _uniform_cost_is_close),
    Claim(4, "Index update (figure 4): about 75 % saved for ERR, 30 % for DCG", _about(4, 0.75, 0.3)),
    Claim(5, "More training data (figure 5): about 45 % saved for ERR, 30 % for DCG", _about(5, 0.45, 0.3)),
    Claim(5, "Figure 5, bottom: active is better for all training set sizes", _beats_passive(5, SECOND)),
    Claim(5, "Gains are more pronounced for ERR than for DCG", _gains_are_larger_for_err),
    Claim(2, "active and active_uniD draw more queries than passive and active_uniC (figure 6)", _draws_more),
)


def rows_of(result: Result) -> list[tuple[str, str, str]]:
    """Return claim, what was found, and the verdict; claims on figures that are not there are left out."""
    there = {row["figure"] for row in result["rows"]}
    return [(claim.text, *claim.look(result)) for claim in CLAIMS if claim.figure in there]
