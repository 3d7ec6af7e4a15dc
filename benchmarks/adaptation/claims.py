"""What the paper says beside what is found, by paired differences over the folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.adaptation.data import FOLDS
from benchmarks.adaptation.running import LAMBDAS, PRINTED, Folds, balanced, chosen

Result = dict[str, Any]
BEST_LAMBDA = {"SGD": {"DS1": 1.0, "DS2": 0.01}, "CF": {"DS1": 1000.0}, "SVML": {"DS1": 1000.0}}
FLAT = 0.01
"""Largest difference of fold means of B that the paper's pictures would show as a level line."""
SOLVED = 0.05
"""Share of the hinge's objective that may be left to gain where its solution is spoken of."""
_SURE = 2.776
"""Of Student's t with four degrees of freedom, 95 %."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean of differences over the folds, with its standard error."""

    mean: float
    se: float

    @classmethod
    def of(cls, one: np.ndarray, other: np.ndarray) -> Gap:
        apart = np.asarray(one) - np.asarray(other)
        return cls(float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(FOLDS)))

    @property
    def verdict(self) -> str:
        """Ahead or behind where the 95 % interval leaves out 0."""
        return "ahead" if self.mean > _SURE * self.se else "behind" if self.mean < -_SURE * self.se else "level"

    @property
    def holds(self) -> str:
        """Whether the first is ahead."""
        return {"ahead": "yes", "level": "not shown", "behind": "no"}[self.verdict]

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.se:.4f}"


def models(found: Result) -> dict[str, Folds]:
    """Return every fold's values of the models of figures 2, 9 and 10, each parameter chosen on the other folds."""
    every = [held for curve in found["printed"].values() for held in curve]
    named = {"base": found["base"], "best tuned": chosen(every)[0]}
    for kind, candidates in found["svm"].items():
        named[svm_name(kind)] = chosen(candidates)[0]
    return named


def svm_name(kind: str) -> str:
    """Return the paper's name of a ranking SVM."""
    first, *rest = kind.split(", ")
    return ", ".join([f"RSVM_{first}", *rest])


def claims(name: str, found: Result) -> list[dict[str, str]]:
    """Return a row for each claim on a case, of a result that still has the values of every fold."""
    rows = [*_inconsistent(found["svm"]), _consistent(found["alike"])]
    rows += [*_curves(name, found), *_agreeing(found), *_balance(name, found)]
    return [{"data": name} | dict(zip(("claim", "found", "holds"), row, strict=True)) for row in rows]


Row = tuple[str, str, str]


def _crossed(svm: dict[str, list[Folds]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by fold which share of users' and of judges' pairs their own ranking SVM orders, and the other one."""
    judge, user = (np.array(chosen(svm[kind], what)[0]) for kind, what in (("judge", 2), ("user", 1)))
    return {"users'": (user[:, 1], judge[:, 1]), "judges'": (judge[:, 2], user[:, 2])}


def _inconsistent(svm: dict[str, list[Folds]]) -> list[Row]:
    rows = []
    for whose, (own, other) in _crossed(svm).items():
        told = f"{other.mean():.3f} against {own.mean():.3f} ({Gap.of(other, own)})"
        claim = f"the RSVM of the other data orders {whose} pairs worse than their own does"
        rows.append((claim, told, Gap.of(own, other).holds))
    return rows


def _consistent(svm: dict[str, list[Folds]]) -> Row:
    """Return the control: how pairs come about does not make the two kinds of data differ."""
    gaps = {whose: Gap.of(other, own) for whose, (own, other) in _crossed(svm).items()}
    told = "; ".join(f"{whose} pairs {gap}" for whose, gap in gaps.items())
    holds = "yes" if all(abs(gap.mean) <= FLAT for gap in gaps.values()) else "no"
    return "control: no such difference where users have the judges' taste", told, holds


def _curves(name: str, found: Result) -> list[Row]:
    rows = [_changes(found["printed"]["SGD"]), _settles(found["printed"]["SGD"])]
    rows += [_is_flat(how, found["printed"][how]) for how in ("CF", "SVML")]
    rows += [_best_lambda(name, how, found["printed"][how]) for how in PRINTED]
    return rows


def _changes(curve: list[Folds]) -> Row:
    spread = np.ptp([balanced(held).mean() for held in curve[: LAMBDAS.index(100.0) + 1]])
    return "SGD: B changes over λ = 0.01 … 100", f"by {spread:.3f}", "yes" if spread > FLAT else "no"


def _settles(curve: list[Folds]) -> Row:
    means = [balanced(held).mean() for held in curve[LAMBDAS.index(100.0) :]]
    told = f"100 to 1000: {means[1] - means[0]:+.4f}; 1000 to 10⁴: {means[2] - means[1]:+.4f}"
    return "SGD: B stays as it is above λ = 100", told, "yes" if np.ptp(means) <= FLAT else "no"


def _is_flat(how: str, curve: list[Folds | None]) -> Row:
    small = {ridge: held for ridge, held in zip(LAMBDAS, curve, strict=True) if ridge <= 1}
    refused = [f"{ridge:g}" for ridge, held in small.items() if held is None]
    open_ones = [f"{ridge:g}" for ridge, held in small.items() if held and np.mean(held, axis=0)[3] > SOLVED]
    means = [balanced(held).mean() for ridge, held in small.items() if f"{ridge:g}" not in refused + open_ones]
    told = [f"B within {np.ptp(means):.4f} at {len(means)} of λ = 0.01, 0.1, 1"] if len(means) > 1 else []
    told += [f"λ = {', '.join(refused)} refused: rounding would decide"] if refused else []
    told += [f"λ = {', '.join(open_ones)} not solved in the epochs"] if open_ones else []
    verdict = "not shown" if len(means) < 2 else "yes" if np.ptp(means) <= FLAT else "no"
    return f"{how}: stable for small λ", "; ".join(told), verdict


def _best_lambda(name: str, how: str, curve: list[Folds | None]) -> Row:
    means = [-1.0 if held is None else balanced(held).mean() for held in curve]
    best, said = int(np.argmax(means)), BEST_LAMBDA[how].get(name, BEST_LAMBDA[how]["DS1"])
    there = curve[LAMBDAS.index(said)]
    claim = f"{how}: B is best near λ = {said:g}"
    if there is None:
        return claim, f"best at {LAMBDAS[best]:g}; {said:g} refused", "no"
    gap = Gap.of(balanced(there), balanced(curve[best]))  # type: ignore[arg-type]
    if LAMBDAS[best] == said:
        return claim, f"best at {said:g}: {means[best]:.3f}", "yes"
    return (
        claim,
        f"best at {LAMBDAS[best]:g}: {means[best]:.3f}; at {said:g} {gap}",
        ("no" if gap.verdict == "behind" else "not shown"),
    )


def _agreeing(found: Result) -> list[Row]:
    common = found["common"]
    sgd, exact = (np.array([np.mean(held, axis=0)[:2] for held in curve]) for curve in (common["SGD"], common["CF"]))
    apart = np.abs(sgd - exact).max(axis=1)
    told = f"largest difference of μ or ν at λ ≥ 1: {apart[2:].max():.4f}; at 0.01: {apart[0]:.4f}"
    rows = [("on the common scale SGD comes to CF's μ and ν", told, "yes" if apart[2:].max() <= FLAT else "no")]
    base = np.mean(found["base"], axis=0)[:2]
    last = [float(np.abs(np.mean(curve[-1], axis=0)[:2] - base).max()) for curve in common.values()]
    told = f"largest difference of μ or ν from the base at λ = 10⁴: {max(last):.4f}"
    rows.append(("on the common scale all three end at the base", told, "yes" if max(last) <= FLAT else "no"))
    if "agreement" in found:
        longest = max((key for key in found["agreement"][0] if key.startswith("SGD")), key=lambda key: int(key[4:]))
        far = {row["lambda"]: row[longest] for row in found["agreement"]}
        told = f"distance of weights after {longest[4:]} epochs: {max(far.values()):.1e} of the move at most"
        rows.append(("converged SGD equals CF", told, "yes" if max(far.values()) < FLAT else "no"))
    return rows


def _balance(name: str, found: Result) -> list[Row]:
    named, rows = models(found), []
    b = {model: balanced(values) for model, values in named.items()}
    for other in [one for one in named if one != "best tuned"]:
        gap = Gap.of(b["best tuned"], b[other])
        rows.append((f"the best tuned model has a higher B than {other}", f"{gap}", gap.holds))
    for kind in ("", ", skewed"):
        if f"RSVM_mix{kind}" in named:
            rows.append(_second(b, kind))
    mu = {model: np.array(values)[:, 0] for model, values in named.items()}
    gap = Gap.of(mu["best tuned"], mu["base"])
    said = "loses almost nothing" if name == "DS2" else "loses a little"
    share = gap.mean / mu["base"].mean()
    # a twentieth of the base's value is taken for a little, a hundredth for almost nothing
    verdict = "yes" if -share <= (0.01 if name == "DS2" else 0.05) else "no"
    rows.append((f"the best tuned model {said} of NDCG5", f"{gap}, {share:+.1%}", verdict))
    return rows


def _second(b: dict[str, np.ndarray], kind: str) -> Row:
    mix, others = b[f"RSVM_mix{kind}"], ("base", f"RSVM_judge{kind}", f"RSVM_user{kind}")
    gaps = {other: Gap.of(mix, b[other]) for other in others}
    verdicts = {gap.holds for gap in gaps.values()}
    told = "; ".join(f"{other} {gap}" for other, gap in gaps.items())
    holds = "yes" if verdicts == {"yes"} else "no" if "no" in verdicts else "not shown"
    return f"RSVM_mix{kind} has a higher B than the base, RSVM_judge and RSVM_user", told, holds


def best_algorithm(cases: Result) -> dict[str, str]:
    """Return the row on which algorithm is best, of the stored figures of all cases."""
    names, told = set(), []
    for name, case in cases.items():
        best = {how: max(one["b"][0] for one in curve if one) for how, curve in case["printed"].items()}
        order = sorted(best, key=lambda how: -best[how])
        names.add(order[0])
        told.append(f"{name}: " + ", ".join(f"{how} {best[how]:.3f}" for how in order))
    claim = "no algorithm is best on all data, with the printed scalings"
    return {"data": "all", "claim": claim, "found": "; ".join(told), "holds": "yes" if len(names) > 1 else "no"}
