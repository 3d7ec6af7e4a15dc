"""What peers estimate from samples of their own: run by the Python of their environment, which holds no activeeval.

    python -I peer_worker.py FOLDER REPETITIONS SEED

Every FOLDER/*.npz is a question that benchmarks.peer_efficiency wrote; FOLDER/*.json takes for each configuration of a
peer the mean squared error of its estimates, how many of its 95 % intervals hold the truth and what it spent, or why it
cannot run. Samples, estimates and intervals are the peers' own code: ppi_py, and glide's samplers and
estimators. Here are units and numbers of units alone; a budget is met on average, not as a hard limit, which favours
peers.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MIXED = (0.0, 0.2)
"""Shares of a uniform sample in the probabilities of active inference, as its authors advise; the best one counts."""
N_STRATA = 5
BANDS = (1, 3, 10)
"""Last ranks of the strata of items, as pools for inferred measures are cut."""
LEVEL = 0.95
_CLOSE = 60
Found = tuple[float, float, float, float]
"""Estimate, the ends of its interval, and what was spent."""
Draw = Callable[[int], Found]


@dataclass(frozen=True)
class Units:
    """What a peer labels: its values, the model's predictions of them, how far off these are, and what labelling costs.

    ``owners`` and ``overheads`` (n_queries,) are of items on their own, whose query is turned to once.
    """

    name: str
    labels: np.ndarray
    values: np.ndarray
    predictions: np.ndarray
    spreads: np.ndarray
    costs: np.ndarray
    groups: np.ndarray
    owners: np.ndarray | None = None
    overheads: np.ndarray | None = None

    def cost(self, probs: np.ndarray) -> float:
        """Compute the mean cost of labelling each unit with a probability."""
        spent = float(probs @ self.costs)
        if self.owners is None:
            return spent
        none = np.bincount(self.owners, np.log1p(-np.minimum(probs, 1 - 1e-12)), minlength=self.overheads.size)
        return spent - float(self.overheads @ np.expm1(none))

    def spent(self, chosen: np.ndarray) -> float:
        """Compute the cost of labelling the chosen units."""
        spent = float(self.costs[chosen].sum())
        return spent if self.owners is None else spent + float(self.overheads[np.unique(self.owners[chosen])].sum())


def units_of(question: dict[str, np.ndarray]) -> Iterator[Units]:
    """Return whole queries, heads of queries, and items where the measure is a sum over them.

    A head's value is what the model expects of the measure once its labels are known: a prediction stands for the rest,
    and its error stays however many heads are judged.
    """
    strata = np.argsort(np.argsort(question["predictions"])) * N_STRATA // question["predictions"].size
    own = (question["predictions"], question["spreads"])
    yield Units("queries", question["values"], question["values"], *own, question["costs"], strata)
    for k, values, costs in zip(question["depths"], question["heads"], question["head_costs"], strict=True):
        yield Units(f"heads of {k}", values, values, *own, costs, strata)
    if "item_values" in question:
        columns = [question[f"item_{name}"] for name in ("values", "predictions", "spreads", "costs")]
        bands = np.searchsorted(BANDS, question["item_ranks"])
        yield Units("items", columns[0], *columns, bands, question["item_owners"], question["overheads"])


def number_for(cost: Callable[[float], float], most: float, budget: float) -> int:
    """Find the number of units, between 1 and ``most``, that costs the budget on average."""
    low, high = 1.0, float(most)
    for _ in range(_CLOSE):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    return max(round(low), 2)


def capped(weights: np.ndarray, n: float) -> np.ndarray:
    """Return probabilities in proportion to weights, below 1, that sum to n: those that glide searches for."""
    probs, most = n * weights / weights.sum(), 0.9999
    for _ in range(_CLOSE):
        is_full = probs >= most
        if not is_full.any() or is_full.all():
            break
        left = n - most * is_full.sum()
        if left <= 0:
            return np.full(weights.size, min(n / weights.size, most))
        again = np.where(is_full, most, left * weights / weights[~is_full].sum())
        if np.allclose(again, probs):
            break
        probs = again
    return np.minimum(probs, most)


def powered(units: Units, budget: float) -> Draw:
    """PPI++ (ppi_py) on a uniform sample without replacement."""
    import ppi_py

    size = units.values.size
    n = min(number_for(lambda n: units.cost(np.full(size, n / size)), size - 2, budget), size - 2)

    def run(seed: int) -> Found:
        order = np.random.default_rng(seed).permutation(size)
        chosen, rest = order[:n], order[n:]
        arrays = (units.values[chosen], units.predictions[chosen], units.predictions[rest])
        low, high = ppi_py.ppi_mean_ci(*arrays, alpha=1 - LEVEL)
        value = ppi_py.ppi_mean_pointestimate(*arrays)
        return float(np.squeeze(value)), float(np.squeeze(low)), float(np.squeeze(high)), units.spent(chosen)

    return run


def active(units: Units, budget: float, mixed: float) -> Draw:
    """Active statistical inference (glide): probabilities by spread over the root of the cost, power-tuned."""
    from glide.estimators import ASIMeanEstimator
    from glide.samplers import ActiveSampler

    size = units.values.size
    costs = units.costs if units.owners is None else units.costs + effective(units, budget)
    wanted = np.maximum(units.spreads, 1e-3 * units.spreads.max()) / np.sqrt(costs)
    wanted = (1 - mixed) * wanted / wanted.mean() + mixed
    n = min(number_for(lambda n: units.cost(capped(wanted, n)), size - 1, budget), size - 1)
    probs = capped(wanted, n)
    sampler, estimator = ActiveSampler(), ASIMeanEstimator()

    def run(seed: int) -> Found:
        pi, xi = sampler.sample(probs, n_samples=n, random_seed=seed)
        chosen = xi == 1
        found = estimator.estimate(np.where(chosen, units.values, np.nan), units.predictions, pi)
        return *ends(found.confidence_interval), units.spent(np.flatnonzero(chosen))

    return run


def ends(interval: Any) -> tuple[float, float, float]:
    """Return the estimate and the ends of an interval of glide's."""
    return float(interval.mean), float(interval.lower_bound), float(interval.upper_bound)


def effective(units: Units, budget: float) -> np.ndarray:
    """Compute the mean part of a query's overhead in the cost of an item, were all items alike."""
    size = units.values.size
    n = number_for(lambda n: units.cost(np.full(size, n / size)), size - 1, budget)
    lengths = np.bincount(units.owners, minlength=units.overheads.size)[units.owners]
    turned_to = -np.expm1(lengths * np.log1p(-n / size))
    return units.overheads[units.owners] * turned_to / (lengths * n / size)


def stratified(units: Units, budget: float, strategy: str) -> Draw:
    """Stratified PPI++ (glide) on its stratified sample: strata of predictions for queries, of ranks for items."""
    from glide.estimators import StratifiedPPIMeanEstimator
    from glide.samplers import StratifiedSampler

    sampler, estimator = StratifiedSampler(), StratifiedPPIMeanEstimator()

    def draw(n: int, seed: int) -> np.ndarray:
        return sampler.sample(units.predictions, units.groups, n, strategy=strategy, random_seed=seed).astype(bool)

    def mean_cost(n: float) -> float:
        try:
            taken = draw(int(n), 0)
        except ValueError:  # too few for the strata: whatever they cost, more are needed
            return 0.0
        share = np.bincount(units.groups, taken) / np.maximum(np.bincount(units.groups), 1)
        return units.cost(share[units.groups])

    n = number_for(mean_cost, units.values.size, budget)

    def run(seed: int) -> Found:
        taken = draw(n, seed)
        found = estimator.estimate(np.where(taken, units.values, np.nan), units.predictions, units.groups)
        return *ends(found.confidence_interval), units.spent(np.flatnonzero(taken))

    return run


def configurations(units: Units) -> Iterator[tuple[str, Callable[[Units, float], Draw]]]:
    """Return every peer's way with some units, by name."""
    yield "PPI++, ppi_py", powered
    for share in MIXED:
        name = f"ASI, glide, {share:.0%} uniform"
        yield name, lambda own, budget, share=share: active(own, budget, share)
    if not units.name.startswith("heads"):
        for strategy in ("neyman", "proportional"):
            name = f"stratified PPI++, glide, {strategy}"
            yield name, lambda own, budget, strategy=strategy: stratified(own, budget, strategy)


def answer(question: dict[str, np.ndarray], repetitions: int, seed: int) -> list[dict]:
    """Run each configuration on a question; keep its message where it cannot run."""
    rows, budget, truth = [], float(question["budget"]), float(question["truth"])
    seeds = np.random.default_rng(seed).integers(0, 2**31, repetitions).tolist()
    for units in units_of(question):
        for name, configured in configurations(units):
            row = {"peer": name, "units": units.name}
            try:
                run = configured(units, budget)
                found = np.array([run(one) for one in seeds])
            except (ImportError, ValueError, ZeroDivisionError) as refusal:
                rows.append(row | {"missing": str(refusal).splitlines()[0]})
                continue
            n_lost = int((~np.isfinite(found[:, 0])).sum())
            if n_lost:
                rows.append(row | {"missing": f"no number comes out of {n_lost} of {repetitions} samples"})
                continue
            rows.append(row | judged(question["known"] + question["scale"] * found[:, :3] - truth, found[:, 3]))
    return rows


def judged(errors: np.ndarray, spent: np.ndarray) -> dict[str, float]:
    """Return figures of a configuration from its errors and those of its interval's ends, (repetitions, 3)."""
    squares, held = errors[:, 0] ** 2, (errors[:, 1] <= 0) & (errors[:, 2] >= 0)
    return {
        "mse": float(squares.mean()),
        "mse_se": float(squares.std(ddof=1) / np.sqrt(len(errors))),
        "bias": float(errors[:, 0].mean()),
        "coverage": float(held.mean()),
        "spent": float(spent.mean()),
    }


def main() -> None:
    """Answer all questions of a folder."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    folder, repetitions, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for path in sorted(folder.glob("*.npz")):
        rows = answer(dict(np.load(path)), repetitions, seed)
        path.with_suffix(".json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
