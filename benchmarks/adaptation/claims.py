"""What the paper says beside what is found, by paired differences over the folds.

Each verdict but those of a single run is of one rule. A difference has its mean over the folds and the 95 % interval of
`Gap`. A claim that it lies on one side of a bound is "yes" where the whole interval does, "no" where the whole interval
lies on the other, and else "not shown". Some sixty such intervals stand side by side, not adjusted for their number:
about three would leave out what they are of, if all were of independent data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.adaptation.data import FOLDS
from benchmarks.adaptation.running import COSTS, FINE, LAMBDAS, PRINTED, Folds, balanced, chosen

Result = dict[str, Any]
BEST_LAMBDA = {"SGD": {"DS1": 1.0, "DS2": 0.01}, "CF": {"DS1": 1000.0}, "SVML": {"DS1": 1000.0}}
FLAT = 0.01
"""Largest difference of B, μ or ν that the paper's pictures would show as a level line."""
SOLVED = 0.05
"""Share of the hinge's objective that may be left to gain where its solution is spoken of."""
LITTLE = {"DS2": ("loses almost nothing", 0.01)}
"""A hundredth of the base's value is taken for almost nothing, elsewhere a twentieth for a little."""
EDGE = "edge of the grid"
_SURE = 2.776
"""Of Student's t with four degrees of freedom, 95 %."""
_OPPOSITE = {"yes": "no", "no": "yes", "not shown": "not shown"}


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean of differences over the folds, with its standard error.

    The folds' training sets overlap: each two of k = 5 share three of the four folds that both learn from, so that the
    differences are correlated, by ρ, and the mean of k has the variance σ²(1/k + (1 − 1/k) ρ), while their sample
    variance s² has the mean σ²(1 − ρ). So s² (1/k + ρ/(1 − ρ)) is unbiased. Nadeau and Bengio (Machine Learning 52,
    2003) take ρ for the share of the data that is held out, 1/k, so that ρ/(1 − ρ) = n_test/n_train = 1/4. Beside the
    s²/k of independent folds that is (1/5 + 1/4) / (1/5) = 2.25 times the variance and 1.5 times the standard error.
    """

    mean: float
    se: float

    @classmethod
    def of(cls, one: Any, other: Any) -> Gap:
        apart = np.asarray(one) - np.asarray(other)
        return cls(float(apart.mean()), float(apart.std(ddof=1) * np.sqrt(1 / FOLDS + 1 / (FOLDS - 1))))

    @property
    def low(self) -> float:
        return self.mean - _SURE * self.se

    @property
    def high(self) -> float:
        return self.mean + _SURE * self.se

    def above(self, bound: float = 0.0) -> str:
        """Whether the difference is above a bound."""
        return "yes" if self.low > bound else "no" if self.high < bound else "not shown"

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.se:.4f}"


def level(gaps: Iterable[Gap], bound: float = FLAT) -> str:
    """Return whether differences are all at most a bound, either way."""
    each = [joined((gap.above(-bound), _OPPOSITE[gap.above(bound)])) for gap in gaps]
    return joined(each)


def joined(verdicts: Iterable[str]) -> str:
    """Return whether all of several claims hold."""
    held = set(verdicts)
    return "no" if "no" in held else "not shown" if "not shown" in held else "yes"


def models(found: Result) -> dict[str, Folds]:
    """Return every fold's values of the models of figures 2, 9 and 10, each parameter chosen on the other folds."""
    named = {"base": found["base"], "best tuned": chosen([held for _, held in candidates(found)])[0]}
    return named | {svm_name(kind): chosen(held)[0] for kind, held in found["svm"].items()}


def candidates(found: Result) -> list[tuple[str, Folds | None]]:
    """Return every adaptation by name: the printed scalings, and a finer step on the common one."""
    named = []
    for scale, lambdas in (("printed", LAMBDAS), ("common", FINE)):
        for how, curve in found[scale].items():
            if scale == "common" or how != "SGD":
                named += [(_named(how, scale, lambdas, curve, i), held) for i, held in enumerate(curve)]
    return named


def choices(found: Result) -> dict[str, str]:
    """Return what was chosen for how many folds, of each model that is chosen."""
    names = [name for name, _ in candidates(found)]
    told = {"best tuned": [names[place] for place in chosen([held for _, held in candidates(found)])[1]]}
    for kind, held in found["svm"].items():
        told[svm_name(kind)] = [
            f"C {COSTS[place]:g}" + (f", {EDGE}" if place in (0, len(held) - 1) else "") for place in chosen(held)[1]
        ]
    shapes = Counter("{}×{}, {:g}".format(*shape) for shape in found["shapes"])
    counted = {model: Counter(names) for model, names in told.items()}
    return {
        model: "; ".join(f"{name} ({n})" for name, n in own.items())
        for model, own in ({"base": shapes} | counted).items()
    }


def _named(how: str, scale: str, lambdas: Sequence[float], curve: Sequence[Folds | None], place: int) -> str:
    return f"{how} {scale} λ {lambdas[place]:g}" + (f", {EDGE}" if is_edge(curve, place) else "")


def is_edge(curve: Sequence[Folds | None], place: int) -> bool:
    """Whether there is no candidate on one side of a place."""
    there = [i for i, held in enumerate(curve) if held is not None]
    return place in (there[0], there[-1])


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
        rows.append((claim, told, Gap.of(own, other).above()))
    return rows


def _consistent(svm: dict[str, list[Folds]]) -> Row:
    """Return the control: how pairs come about does not make the two kinds of data differ."""
    gaps = {whose: Gap.of(other, own) for whose, (own, other) in _crossed(svm).items()}
    told = "; ".join(f"{whose} pairs {gap}" for whose, gap in gaps.items())
    return "control: no such difference where users have the judges' taste", told, level(gaps.values())


def _curves(name: str, found: Result) -> list[Row]:
    rows = [_changes(found["printed"]["SGD"]), _settles(found["printed"]["SGD"])]
    rows += [_is_flat(how, found["printed"][how]) for how in ("CF", "SVML")]
    rows += [_best_lambda(name, how, found["printed"][how]) for how in PRINTED]
    return rows


def _apart(curve: Iterable[Folds]) -> list[Gap]:
    """Return the differences of B of every two λ of a curve."""
    return [Gap.of(one, other) for one, other in combinations(map(balanced, curve), 2)]


def _widest(gaps: Sequence[Gap]) -> str:
    return str(max(gaps, key=lambda gap: abs(gap.mean)))


def _changes(curve: list[Folds]) -> Row:
    gaps = _apart(curve[: LAMBDAS.index(100.0) + 1])
    return "SGD: B changes over λ = 0.01 … 100", f"at most by {_widest(gaps)}", _OPPOSITE[level(gaps)]


def _settles(curve: list[Folds]) -> Row:
    gaps = _apart(curve[LAMBDAS.index(100.0) :])
    return "SGD: B stays as it is above λ = 100", f"at most by {_widest(gaps)}", level(gaps)


def _is_flat(how: str, curve: list[Folds | None]) -> Row:
    small = {ridge: held for ridge, held in zip(LAMBDAS, curve, strict=True) if ridge <= 1}
    refused = [f"{ridge:g}" for ridge, held in small.items() if held is None]
    open_ones = [f"{ridge:g}" for ridge, held in small.items() if held and np.mean(held, axis=0)[3] > SOLVED]
    solved = [held for ridge, held in small.items() if held and f"{ridge:g}" not in open_ones]
    gaps = _apart(solved)
    told = [f"B apart by {_widest(gaps)} at most at {len(solved)} of λ = 0.01, 0.1, 1"] if gaps else []
    told += [f"λ = {', '.join(refused)} refused: rounding would decide"] if refused else []
    told += [f"λ = {', '.join(open_ones)} not solved in the epochs"] if open_ones else []
    return f"{how}: stable for small λ", "; ".join(told), level(gaps) if gaps else "not shown"


def _best_lambda(name: str, how: str, curve: list[Folds | None]) -> Row:
    """Return whether B is higher at the λ that the paper says than at the best of the others."""
    said = BEST_LAMBDA[how].get(name, BEST_LAMBDA[how]["DS1"])
    means = [-1.0 if held is None else balanced(held).mean() for held in curve]
    best, place = int(np.argmax(means)), LAMBDAS.index(said)
    told = f"best at {LAMBDAS[best]:g}{f', {EDGE}' if is_edge(curve, best) else ''}: {means[best]:.3f}"
    claim = f"{how}: B is best at λ = {said:g}"
    if curve[place] is None:
        return claim, f"{told}; {said:g} refused", "not shown"
    rival = int(np.argmax([-1.0 if i == place else mean for i, mean in enumerate(means)]))
    gap = Gap.of(balanced(curve[place]), balanced(curve[rival]))  # type: ignore[arg-type]
    return claim, f"{told}; {said:g} against {LAMBDAS[rival]:g} {gap}", gap.above()


def _agreeing(found: Result) -> list[Row]:
    common, rows = found["common"], []
    pairs = [
        [Gap.of(one[:, what], other[:, what]) for what in (0, 1)]
        for one, other in zip(np.array(common["SGD"]), np.array(common["CF"]), strict=True)
    ]
    gaps = [gap for both in pairs[FINE.index(1.0) :] for gap in both]
    told = f"largest difference of μ or ν at λ ≥ 1: {_widest(gaps)}; at 0.01: {_widest(pairs[0])}"
    rows.append(("on the common scale SGD comes to CF's μ and ν", told, level(gaps)))
    base = np.array(found["base"])
    gaps = [Gap.of(np.array(curve[-1])[:, what], base[:, what]) for curve in common.values() for what in (0, 1)]
    told = f"largest difference of μ or ν from the base at λ = 10⁴: {_widest(gaps)}"
    rows.append(("on the common scale all three end at the base", told, level(gaps)))
    if "agreement" in found:
        longest = max((key for key in found["agreement"][0] if key.startswith("SGD")), key=lambda key: int(key[4:]))
        far = {row["lambda"]: row[longest] for row in found["agreement"]}
        told = f"one fold: distance of weights after {longest[4:]} epochs: {max(far.values()):.1e} of the move at most"
        rows.append(("converged SGD equals CF", told, "yes" if max(far.values()) < FLAT else "no"))
    return rows


def _balance(name: str, found: Result) -> list[Row]:
    named, rows = models(found), []
    b = {model: balanced(values) for model, values in named.items()}
    for other in [one for one in named if one != "best tuned"]:
        gap = Gap.of(b["best tuned"], b[other])
        rows.append((f"the best tuned model has a higher B than {other}", f"{gap}", gap.above()))
    for kind in ("", ", skewed"):
        if f"RSVM_mix{kind}" in named:
            rows.append(_second(b, kind))
    return [*rows, _loss(name, *(np.array(named[model])[:, 0] for model in ("best tuned", "base")))]


def _loss(name: str, tuned: np.ndarray, base: np.ndarray) -> Row:
    said, most = LITTLE.get(name, ("loses a little", 0.05))
    gap = Gap.of(tuned, base)
    claim = f"the best tuned model {said} of NDCG5 (at most {most:.0%})"
    return claim, f"{gap}, {gap.mean / base.mean():+.1%}", gap.above(-most * float(base.mean()))


def _second(b: dict[str, np.ndarray], kind: str) -> Row:
    mix, others = b[f"RSVM_mix{kind}"], ("base", f"RSVM_judge{kind}", f"RSVM_user{kind}")
    gaps = {other: Gap.of(mix, b[other]) for other in others}
    told = "; ".join(f"{other} {gap}" for other, gap in gaps.items())
    claim = f"RSVM_mix{kind} has a higher B than the base, RSVM_judge and RSVM_user"
    return claim, told, joined(gap.above() for gap in gaps.values())


def best_of(found: Result) -> dict[str, list[float]]:
    """Return the B of each fold of every algorithm with its printed scaling, λ chosen on the other folds."""
    return {how: balanced(chosen(curve)[0]).tolist() for how, curve in found["printed"].items()}


def best_algorithm(cases: Result) -> dict[str, str]:
    """Return the row on which algorithm is best, of the stored values of all cases.

    The claim holds where each is behind another one somewhere, and fails where one is ahead of all others everywhere.
    """
    told, behind, leading = [], set(), set(PRINTED)
    for name, case in cases.items():
        best = case["best_of"]
        order = sorted(best, key=lambda how: -float(np.mean(best[how])))
        told.append(f"{name}: " + ", ".join(f"{how} {np.mean(best[how]):.3f}" for how in order))
        ahead = {(one, two): Gap.of(best[one], best[two]).above() for one in best for two in best if one != two}
        behind |= {one for (one, _), verdict in ahead.items() if verdict == "no"}
        leading -= {one for (one, _), verdict in ahead.items() if verdict != "yes"}
    claim = "no algorithm is best on all data, with the printed scalings"
    holds = "yes" if behind == set(PRINTED) else "no" if leading else "not shown"
    return {"data": "all", "claim": claim, "found": "; ".join(told), "holds": holds}
