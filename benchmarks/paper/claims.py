"""What the paper says of its figures, what these results say, and whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.paper.averages import Row, curve, labels_saved
from benchmarks.paper.cases import MEASURES, PAPER_METHODS

Found = tuple[str, bool | None]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, and the function that looks whether results bear it out."""

    text: str
    look: Callable[[dict[str, Any]], Found]


def cases_of(rows: Sequence[Row], figure: int) -> list[str]:
    """Return the cases of a figure in their order."""
    return list(dict.fromkeys(row["case"] for row in rows if row["figure"] == figure))


def _savings(
    result: dict[str, Any], figure: int, cases: Sequence[str] | None = None, method: str = "active"
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


def _between(figure: int, low: float, high: float) -> Callable[[dict[str, Any]], Found]:
    def look(result: dict[str, Any]) -> Found:
        values = _savings(result, figure)
        holds = bool(values) and all(value is not None and low <= value <= high for value in values)
        return _range(values), holds

    return look


def _of_update(result: dict[str, Any]) -> Found:
    err, dcg = _savings(result, 4)
    if err is None or dcg is None:
        return f"ERR {_percent(err)}, DCG {_percent(dcg)}", None
    return f"ERR {err:.0%}, DCG {dcg:.0%}", 0.65 <= err <= 0.85 and 0.2 <= dcg <= 0.4


def _of_largest_forest(result: dict[str, Any]) -> Found:
    case = cases_of(result["rows"], 5)[-1]
    err, dcg = _savings(result, 5, [case])
    if err is None or dcg is None:
        return f"ERR {_percent(err)}, DCG {_percent(dcg)}", None
    return f"ERR {err:.0%}, DCG {dcg:.0%}", 0.35 <= err <= 0.55 and 0.2 <= dcg <= 0.4


def _percent(value: float | None) -> str:
    return "outside the budgets" if value is None else f"{value:.0%}"


def _last(result: dict[str, Any], case: str, measure: str, method: str) -> Row:
    return curve(result["rows"], case, measure, method)[-1]


def _beats_passive(figure: int) -> Callable[[dict[str, Any]], Found]:
    def look(result: dict[str, Any]) -> Found:
        places = [(case, measure) for case in cases_of(result["rows"], figure) for measure in MEASURES]
        better = [p for p in places if _last(result, *p, "active")["efficiency"] > 1]
        return f"{len(better)} of {len(places)} panels at the largest budget", len(better) == len(places)

    return look


def _uniform_cost_is_close(result: dict[str, Any]) -> Found:
    places = [(case, measure) for case in cases_of(result["rows"], 3) for measure in MEASURES]
    ratios = [
        _last(result, *p, "active_uniC")["selection_error"] / max(_last(result, *p, "active")["selection_error"], 1e-9)
        for p in places
    ]
    return f"its selection error is {min(ratios):.2f} to {max(ratios):.2f} times that of active", max(ratios) < 1.25


def _gains_are_larger_for_err(result: dict[str, Any]) -> Found:
    places = [case for figure in (2, 3, 4, 5) for case in cases_of(result["rows"], figure)]
    larger = [
        case
        for case in places
        if _last(result, case, "ERR", "active")["efficiency"] > _last(result, case, "DCG", "active")["efficiency"]
    ]
    return f"{len(larger)} of {len(places)} cases", len(larger) > len(places) / 2


def _draws_more(result: dict[str, Any]) -> Found:
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
    return f"{text} at Λ = {budget:g}", min(drawn["active"], drawn["active_uniD"]) > others


def _true_values(case: str, measure: str, low: float, high: float) -> Callable[[dict[str, Any]], Found]:
    def look(result: dict[str, Any]) -> Found:
        truths = _last(result, case, measure, "passive")["truths"]
        text = f"{min(truths):.3g} to {max(truths):.3g}"
        return text, low <= min(truths) and max(truths) <= high if result["collection"].startswith("mslr") else None

    return look


CLAIMS = (
    Claim("True DCG of Logit is 26.5 to 33.0 over the folds", _true_values("Logit", "DCG", 26.5, 33.0)),
    Claim("True DCG of RF_class is 27.2 to 33.4", _true_values("RF_class", "DCG", 27.2, 33.4)),
    Claim("True ERR of Logit is 0.31 to 0.34", _true_values("Logit", "ERR", 0.31, 0.345)),
    Claim("True ERR of RF_class is 0.35 to 0.38", _true_values("RF_class", "ERR", 0.345, 0.385)),
    Claim("One ranking (figure 2): active is more accurate than passive", _beats_passive(2)),
    Claim("One ranking: 10 % to 20 % of the labels saved at Λ = 300", _between(2, 0.095, 0.205)),
    Claim("Two rankers (figure 3): active finds the better one more often", _beats_passive(3)),
    Claim("Two rankers: 30 % to 55 % saved at Λ = 300", _between(3, 0.295, 0.555)),
    Claim("Two rankers: active_uniC is almost as good as active", _uniform_cost_is_close),
    Claim("Index update (figure 4): about 75 % saved for ERR, 30 % for DCG", _of_update),
    Claim("More training data (figure 5): about 45 % saved for ERR, 30 % for DCG", _of_largest_forest),
    Claim("Figure 5, bottom: active is better for all training set sizes", _beats_passive(5)),
    Claim("Gains are more pronounced for ERR than for DCG", _gains_are_larger_for_err),
    Claim("active and active_uniD draw more queries than passive and active_uniC (figure 6)", _draws_more),
)


def rows_of(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return claim, what was found, and the verdict; a claim whose figure is not there is left out."""
    made = []
    for claim in CLAIMS:
        try:
            text, holds = claim.look(result)
        except (IndexError, KeyError, ValueError):
            continue
        made.append((claim.text, text, {True: "holds", False: "does not hold", None: "cannot be said"}[holds]))
    return made
