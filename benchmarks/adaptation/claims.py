"""What the paper says beside what is found, by paired differences over the folds, or over worlds.

The paper prints no figures of these but pictures, so that a claim is of a side: a difference lies above a bound. It
*holds* where the 95 % interval lies above the bound, and is *excluded* where it lies below. Some hundred such
intervals stand side by side, not adjusted for their number: where nothing is to be found, one in forty lies on each
side by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.adaptation.running import COSTS, FINE, LAMBDAS, PRINTED, Folds, balanced, chosen
from benchmarks.frame.claims import EXCLUDED, HOLDS, NOT_SHOWN, Claim, Gap, above, joined, level as level_of

Result = dict[str, Any]
BEST_LAMBDA = {"SGD": {"DS1": 1.0, "DS2": 0.01}, "CF": {"DS1": 1000.0}, "SVML": {"DS1": 1000.0}}
FLAT = 0.01
"""Largest difference of B, μ or ν that the paper's pictures would show as a level line."""
SOLVED = 0.05
"""Share of the hinge's objective that may be left to gain where its solution is spoken of."""
LITTLE = {"DS2": ("loses almost nothing", 0.01)}
"""A hundredth of the base's value is taken for almost nothing, elsewhere a twentieth for a little."""
EDGE = "edge of the grid"
_OPPOSITE = {HOLDS: EXCLUDED, EXCLUDED: HOLDS, NOT_SHOWN: NOT_SHOWN}


def gap_of(found: Result, one: Any, other: Any) -> Gap:
    """Return the mean difference over folds that share queries to learn from, or over worlds that share nothing."""
    apart = np.asarray(one) - np.asarray(other)
    return Gap.of_independent(apart) if found["is_independent"] else Gap.of_folds(apart)


def level(gaps: Iterable[Gap], bound: float = FLAT) -> str:
    """Judge whether differences are all at most a bound, either way."""
    return joined(level_of(gap, bound) for gap in gaps)


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
    """Write the choices of each model, with the number of folds."""
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
    rows = [*_inconsistent(found), _consistent(found)]
    rows += [*_curves(name, found), *_agreeing(found), *_balance(name, found)]
    n = len(found["base"])
    test = f"95 % over {n} worlds" if found["is_independent"] else f"95 % over {n} folds"
    return [
        Claim(data=name, claim=claim, paper=paper, found=told, test=test, verdict=verdict).row()
        for claim, paper, told, verdict in rows
    ]


Row = tuple[str, str, str, str]
"""Claim, what the paper says of its size, what is found, and the verdict."""


def _crossed(svm: dict[str, list[Folds]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by fold which share of users' and of judges' pairs their own ranking SVM orders, and the other one."""
    judge, user = (np.array(chosen(svm[kind], what)[0]) for kind, what in (("judge", 2), ("user", 1)))
    return {"users'": (user[:, 1], judge[:, 1]), "judges'": (judge[:, 2], user[:, 2])}


def _inconsistent(found: Result) -> list[Row]:
    rows = []
    for whose, (own, other) in _crossed(found["svm"]).items():
        gap = gap_of(found, own, other)
        told = f"{own.mean():.3f} against {other.mean():.3f} ({gap})"
        claim = f"the RSVM of the other data orders {whose} pairs worse than their own does"
        rows.append((claim, "significant", told, above(gap)))
    return rows


def _consistent(found: Result) -> Row:
    """Return the control: how pairs come about does not make the two kinds of data differ."""
    gaps = {whose: gap_of(found, other, own) for whose, (own, other) in _crossed(found["alike"]).items()}
    told = "; ".join(f"{whose} pairs {gap}" for whose, gap in gaps.items())
    return f"control: no such difference (± {FLAT}) where users have the judges' taste", "–", told, level(gaps.values())


def _curves(name: str, found: Result) -> list[Row]:
    rows = [_changes(found), _settles(found)]
    rows += [_is_flat(how, found) for how in ("CF", "SVML")]
    rows += [_best_lambda(name, how, found) for how in PRINTED]
    return rows


def _apart(found: Result, curve: Iterable[Folds]) -> list[Gap]:
    """Return the differences of B of every two λ of a curve."""
    return [gap_of(found, one, other) for one, other in combinations(map(balanced, curve), 2)]


def _widest(gaps: Sequence[Gap]) -> str:
    return str(max(gaps, key=lambda gap: abs(gap.mean)))


def _changes(found: Result) -> Row:
    gaps = _apart(found, found["printed"]["SGD"][: LAMBDAS.index(100.0) + 1])
    told = f"at most by {_widest(gaps)}"
    return "SGD: B changes over λ = 0.01 … 100", "seen in figure 3", told, _OPPOSITE[level(gaps)]


def _settles(found: Result) -> Row:
    gaps = _apart(found, found["printed"]["SGD"][LAMBDAS.index(100.0) :])
    return (
        f"SGD: B stays as it is (± {FLAT}) above λ = 100",
        "flat in figure 3",
        f"at most by {_widest(gaps)}",
        level(gaps),
    )


def _is_flat(how: str, found: Result) -> Row:
    small = {ridge: held for ridge, held in zip(LAMBDAS, found["printed"][how], strict=True) if ridge <= 1}
    refused = [f"{ridge:g}" for ridge, held in small.items() if held is None]
    open_ones = [f"{ridge:g}" for ridge, held in small.items() if held and np.mean(held, axis=0)[3] > SOLVED]
    solved = [held for ridge, held in small.items() if held and f"{ridge:g}" not in open_ones]
    gaps = _apart(found, solved)
    told = [f"B apart by {_widest(gaps)} at most at {len(solved)} of λ = 0.01, 0.1, 1"] if gaps else []
    told += [f"λ = {', '.join(refused)} refused: rounding would decide"] if refused else []
    told += [f"λ = {', '.join(open_ones)} not solved"] if open_ones else []
    claim = f"{how}: stable (± {FLAT}) for small λ"
    return claim, "flat in figures 4, 5", "; ".join(told), level(gaps) if gaps else NOT_SHOWN


def _best_lambda(name: str, how: str, found: Result) -> Row:
    """Judge whether B is higher at the λ that the paper says than at the best of the others."""
    curve = found["printed"][how]
    said = BEST_LAMBDA[how].get(name, BEST_LAMBDA[how]["DS1"])
    means = [-1.0 if held is None else balanced(held).mean() for held in curve]
    best, place = int(np.argmax(means)), LAMBDAS.index(said)
    told = f"best at {LAMBDAS[best]:g}{f', {EDGE}' if is_edge(curve, best) else ''}: {means[best]:.3f}"
    claim = f"{how}: B is best at λ = {said:g}"
    if curve[place] is None:
        return claim, f"at λ = {said:g}", f"{told}; {said:g} refused", NOT_SHOWN
    rival = int(np.argmax([-1.0 if i == place else mean for i, mean in enumerate(means)]))
    gap = gap_of(found, balanced(curve[place]), balanced(curve[rival]))
    return claim, f"at λ = {said:g}", f"{told}; {said:g} against {LAMBDAS[rival]:g} {gap}", above(gap)


def _agreeing(found: Result) -> list[Row]:
    common, rows = found["common"], []
    pairs = [
        [gap_of(found, one[:, what], other[:, what]) for what in (0, 1)]
        for one, other in zip(np.array(common["SGD"]), np.array(common["CF"]), strict=True)
    ]
    gaps = [gap for both in pairs[FINE.index(1.0) :] for gap in both]
    told = f"largest difference of μ or ν at λ ≥ 1: {_widest(gaps)}; at 0.01: {_widest(pairs[0])}"
    rows.append(("on the common scale SGD comes to CF's μ and ν", "one program", told, level(gaps)))
    base = np.array(found["base"])
    gaps = [gap_of(found, np.array(curve[-1])[:, what], base[:, what]) for curve in common.values() for what in (0, 1)]
    told = f"largest difference of μ or ν from the base at λ = 10⁴: {_widest(gaps)}"
    rows.append(("on the common scale all three end at the base", "one limit", told, level(gaps)))
    if "agreement" in found:
        longest = max((key for key in found["agreement"][0] if key.startswith("SGD")), key=lambda key: int(key[4:]))
        far = {row["lambda"]: row[longest] for row in found["agreement"]}
        told = f"one fold: distance of weights after {longest[4:]} epochs: {max(far.values()):.1e} of the move at most"
        rows.append(("converged SGD equals CF", "one program", told, HOLDS if max(far.values()) < FLAT else EXCLUDED))
    return rows


def _balance(name: str, found: Result) -> list[Row]:
    named, rows = models(found), []
    b = {model: balanced(values) for model, values in named.items()}
    for other in [one for one in named if one != "best tuned"]:
        gap = gap_of(found, b["best tuned"], b[other])
        rows.append((f"the best tuned model has a higher B than {other}", "the best of all", f"{gap}", above(gap)))
    gaps = {other: gap_of(found, b["RSVM_mix"], b[other]) for other in ("base", "RSVM_judge", "RSVM_user")}
    told = "; ".join(f"{other} {gap}" for other, gap in gaps.items())
    claim = "RSVM_mix has a higher B than the base, RSVM_judge and RSVM_user"
    rows.append((claim, "ranked second", told, joined(above(gap) for gap in gaps.values())))
    return [*rows, _loss(name, found, *(np.array(named[model])[:, 0] for model in ("best tuned", "base")))]


def _loss(name: str, found: Result, tuned: np.ndarray, base: np.ndarray) -> Row:
    said, most = LITTLE.get(name, ("loses a little", 0.05))
    gap = gap_of(found, tuned, base)
    claim = f"the best tuned model {said} of NDCG5 (at most {most:.0%})"
    return claim, said, f"{gap}, {gap.mean / base.mean():+.1%}", above(gap, -most * float(base.mean()))


def premise(found: Result) -> dict[str, list[float]]:
    """Compute the lead of boosted trees over a linear ranking SVM for judges, and of tuned trees for both, with SE.

    Both learned from judged queries alone, in μ; the second is B of the best tuned model against RSVM_mix.
    """
    named = models(found)
    trees, svm = (np.array(named[model])[:, 0] for model in ("base", "RSVM_judge"))
    gaps = gap_of(found, trees, svm), gap_of(found, *(balanced(named[model]) for model in ("best tuned", "RSVM_mix")))
    return {key: [gap.mean, gap.se] for key, gap in zip(("trees", "tuned"), gaps, strict=True)}


def best_of(found: Result) -> dict[str, list[float]]:
    """Return the B of each fold of every algorithm with its printed scaling, λ chosen on the other folds."""
    return {how: balanced(chosen(curve)[0]).tolist() for how, curve in found["printed"].items()}


def best_algorithm(cases: Result) -> dict[str, str]:
    """Return the row on which algorithm is best, of the stored values of all cases.

    The claim holds where each is behind another one somewhere, and fails where one is ahead of all others everywhere.
    """
    told: list[str] = []
    behind: set[str] = set()
    leading = set(PRINTED)
    for name, case in cases.items():
        best = case["best_of"]
        order = sorted(best, key=lambda how: -float(np.mean(best[how])))
        told.append(f"{name}: " + ", ".join(f"{how} {np.mean(best[how]):.3f}" for how in order))
        ahead = {(one, two): above(gap_of(case, best[one], best[two])) for one in best for two in best if one != two}
        behind |= {one for (one, _), verdict in ahead.items() if verdict == EXCLUDED}
        leading -= {one for (one, _), verdict in ahead.items() if verdict != HOLDS}
    return Claim(
        data="all",
        claim="no algorithm is best on all data, with the printed scalings",
        paper="no clear clue",
        found="; ".join(told),
        test="95 % of each pair",
        verdict=HOLDS if behind == set(PRINTED) else EXCLUDED if leading else NOT_SHOWN,
    ).row()
