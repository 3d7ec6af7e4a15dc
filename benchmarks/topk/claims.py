"""What the paper says beside what is found, by paired differences over the test queries of all folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.topk.running import FOCUSED, RANKS

Result = dict[str, Any]
PAPER = {
    "MQ2007 graded N@10": (0.4419, 0.4447, 0.4400, 0.4345, 0.4438, 0.4422, 0.4442, 0.4451, 0.4459, 0.4443),
    "MQ2007 top-k κ-N@10": (0.6690, 0.6655, 0.6739, 0.6190, 0.6571, 0.6628, 0.6613, 0.6603, 0.6735, 0.6673),
    "TD2003 graded N@10": (0.5801, 0.5991, 0.5885, 0.5982, 0.5750, 0.5955, 0.5985, 0.5983, 0.6082, 0.5885),
    "TD2003 top-k κ-N@10": (0.3858, 0.3872, 0.3886, 0.3766, 0.3789, 0.3980, 0.3624, 0.3813, 0.4058, 0.4007),
}
"""By ranker, in the order of `benchmarks.topk.running.RANKERS`; truths of ten, judged by people."""
_SURE = 1.96


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean difference of two rankers over queries, with its standard error, and relative to the second."""

    mean: float
    se: float
    relative: float

    @property
    def verdict(self) -> str:
        """Ahead or behind where the 95 % interval leaves out 0."""
        return "ahead" if self.mean > _SURE * self.se else "behind" if self.mean < -_SURE * self.se else "level"

    def __str__(self) -> str:
        return f"{100 * self.relative:+.2f} % ({self.mean:+.4f} ± {self.se:.4f}, {self.verdict})"


def gap(result: Result, case: str, one: str, other: str, measure: str) -> Gap:
    """Return by how much a ranker is ahead of another in a case, as "mq2008 top-k"."""
    first, second = (_values(result, case, name, measure) for name in (one, other))
    apart = first - second
    return Gap(apart.mean(), apart.std(ddof=1) / np.sqrt(apart.size), apart.mean() / second.mean())


def claims(result: Result) -> list[dict[str, str]]:
    """Return a row for each claim and collection, of a result that still has the values of every query."""
    collections = list(dict.fromkeys(case.split()[0] for case in result["folds"]))
    return [row for name in collections for row in (*_focused(result, name), *_others(result, name))]


def _focused(result: Result, name: str) -> list[dict[str, str]]:
    rows = []
    for world, measure, said in (
        ("top-k", "κ-N@10", "ahead of both parents on top-k truth"),
        ("top-k", "κ-N@1", "ahead of both parents at rank 1 (its own tables break it)"),
        ("graded", "N@10", "level with both parents on graded truth"),
    ):
        for one, parents in FOCUSED.items():
            found = [gap(result, f"{name} {world}", one, parent, measure) for parent in parents]
            wanted = "level" if world == "graded" else "ahead"
            holds = "yes" if all(each.verdict == wanted for each in found) else _how_far(found, wanted)
            told = "; ".join(f"{parent} {each}" for parent, each in zip(parents, found, strict=True))
            rows.append({"collection": name, "claim": f"{one} {said}, {measure}", "found": told, "holds": holds})
    return rows


def _how_far(found: list[Gap], wanted: str) -> str:
    verdicts = [each.verdict for each in found]
    if wanted == "level":
        return f"no: {', '.join(verdicts)}"
    return "no" if "behind" in verdicts else "not shown" if "ahead" not in verdicts else "of one parent"


def _others(result: Result, name: str) -> list[dict[str, str]]:
    case, rows = f"{name} top-k", []
    paper = {"κ-N@10": {"AdaRank": 7.08, "RankBoost": 0.87}, "κ-ERR": {"AdaRank": 9.76, "RankBoost": 0.91}}
    for measure, said in paper.items():
        for parent, percent in said.items():
            found = gap(result, case, "FocusedBoost", parent, measure)
            claim = f"FocusedBoost ahead of {parent}, {measure} (by {percent:+.2f} % on MQ2007)"
            rows.append({"collection": name, "claim": claim, "found": str(found), "holds": _same_sign(found)})
    columns = [f"κ-N@{k}" for k in RANKS] + ["κ-ERR"]
    found_all = [gap(result, case, "FocusedNet", "ListMLE", measure) for measure in columns]
    n_ahead = sum(each.mean > 0 for each in found_all)
    told = f"higher in {n_ahead} of {len(columns)} columns; κ-N@10 {found_all[9]}"
    holds = "yes" if n_ahead == len(columns) else "no"
    rows.append(
        {"collection": name, "claim": "FocusedNet ahead of ListMLE in every column", "found": told, "holds": holds}
    )
    return rows + [_beta(name, one, curve) for one, curve in result["beta"].get(name, {}).items()]


def _same_sign(found: Gap) -> str:
    return {"ahead": "yes", "level": "not shown", "behind": "no"}[found.verdict]


def _beta(name: str, one: str, curve: list[dict[str, float]]) -> dict[str, str]:
    values = np.array([row["test"] for row in curve])
    best, spread = int(values.argmax()), float(np.ptp(values) / values.mean())
    told = f"highest at β = {curve[best]['beta']:g}; variation {spread:.1%} (paper: 2.7 % on MQ2007, 6.2 % on TD2003)"
    holds = "yes" if 0 < best < values.size - 1 else "no"
    return {"collection": name, "claim": f"{one}: κ-N@10 over β rises, then falls", "found": told, "holds": holds}


def _values(result: Result, case: str, name: str, measure: str) -> np.ndarray:
    return np.concatenate([fold[name]["values"][measure] for fold in result["folds"][case]])
