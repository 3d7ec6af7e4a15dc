"""Thirty nights as ``activeeval watch`` draws them, every label counting on: ``python -m benchmarks.watched``.

Each night 3 % of the items, by chance, are missing from the index, and those of the night before are back. A chain is a
sequence of lists; on each night the least budget is looked for at which the mean half-width of DCG@10 tonight less last
night's is that of a sample drawn afresh for this difference alone at a tenth of judging everything. The watch's sample
is for tonight's value too. What a model believes is fixed (learned elsewhere, see `pools`), so that probabilities are
the same for all keys and each key is a whole series: coverage is counted over keys, night by night and of all nights at
once, with the intervals and bands of a watch. Beside it, on the same lists, labels as known for certain with fresh
numbers. *Delays*: how many nights a lasting loss takes to be found, `benchmarks.watched_alarms`. *Seconds*: what a
night takes, `benchmarks.watched_seconds`. Stores benchmarks/results/nights.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from activeeval import METHODS, Rankings, Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.design.carried_samples import EarlierLabels, going_on
from activeeval.core.design.selections import Selection
from activeeval.core.errors import StateError
from activeeval.core.estimation import estimate, evidence_of
from activeeval.core.pool import hashed_uniforms, key_of, pool_hashes
from activeeval.core.simulation import replicate
from benchmarks import watched_seconds
from benchmarks.few_topics import robust03
from benchmarks.frame.experiment import RESULTS, Experiment, Options, Row
from benchmarks.frame.report import figure, section_tables, table
from benchmarks.pools import JudgedPool, judged, load

MEASURE, REMOVED = "DCG@10", 0.03
NIGHTS, STEADY, SHARE = 30, 10, 0.1
STEPS = np.array([0.02, 0.06, 0.12, 0.2, 0.35, 0.6, 1.0, 1.4])
MOST, COVERED, MEAN_COVERED, TOGETHER = 0.35, 93.0, (94.0, 97.5), 95.0
BUDGETS = (60, 150, 400)


def question(pool: JudgedPool, ranking: Rankings, versus: Rankings | None = None) -> Target:
    """Return the value of a ranking, or what it is more than another's."""
    return Target(parse_measure(MEASURE).bound_to(pool.max_grade), ranking, versus)


@dataclass(frozen=True)
class Chain:
    """The lists of a pool night by night, and the fixed numbers of each key, shape (n_keys, n_items)."""

    pool: JudgedPool
    lists: list[Rankings]
    numbers: np.ndarray

    @classmethod
    def of(cls, pool: JudgedPool, lists: list[Rankings], seed: int, n_keys: int) -> Chain:
        """Return the chain of some lists."""
        items = pool_hashes(pool.inputs.pool)[1]
        keys = [int(key_of(10_000 * seed + k)) for k in range(n_keys)]
        return cls(pool, lists, np.array([hashed_uniforms(key, items, 1)[0] for key in keys]))

    @classmethod
    def made(cls, pool: JudgedPool, seed: int, n_keys: int, n_nights: int) -> Chain:
        """Return a chain of a seed, ``n_nights`` nights after its first list."""
        rngs = (np.random.default_rng((seed, night)) for night in range(n_nights + 1))
        return cls.of(pool, [pool.inputs.ranking.without(REMOVED, rng) for rng in rngs], seed, n_keys)

    def target(self, night: int, versus: int | None = None) -> Target:
        """Return a night's value, or what it is more than another night."""
        return question(self.pool, self.lists[night], None if versus is None else self.lists[versus])

    def design(self, targets: list[Target], known: np.ndarray | None = None) -> Design:
        """Design a sample for some questions by what the model believes."""
        return self.pool.design(targets, METHODS["items"].continuing, judged=known)

    def nights(self, budget: float) -> Iterator[tuple[list[Target], Design, Design, EarlierLabels]]:
        """Go on from night to night, every label counting on.

        Yield the questions of a night (its value, then its changes since the night before and the first), its design
        before any label and with the earlier ones, and what is known after it.
        """
        hand = EarlierLabels.nothing(self.pool.inputs.pool.n_items)
        for night in range(len(self.lists)):
            earlier = list(dict.fromkeys((night - 1, 0))) if night else []
            targets = [self.target(night), *(self.target(night, before) for before in earlier)]
            base = self.design(targets)
            design, probs = going_on(base, hand, budget)
            hand = replace(hand, probs=probs)
            yield targets, base, design, hand


def selections(design: Design, numbers: np.ndarray) -> Iterator[Selection]:
    """Yield the selection of a carried design under the numbers of each key."""
    order = design.order
    for of_items in numbers:
        places = np.flatnonzero(of_items[order.items] < order.place_rates)
        queries, counts = np.unique(order.place_queries[places], return_counts=True)
        cost = order.cost_of(queries, counts, places)
        yield Selection(queries=queries, counts=counts, places=places, level=1.0, cost=cost)


def read(design: Design, k: int, grades: np.ndarray, numbers: np.ndarray, confidences: list[float]) -> np.ndarray:
    """Return value, then low and high of each confidence, of question k under each key: shape (n_keys, 1 + 2 n).

    NaN where nothing has come.
    """
    rows = np.full((len(numbers), 1 + 2 * len(confidences)), np.nan)
    reading = design.readings[k]
    judge = reading.judge(grades)
    for row, selection in zip(rows, selections(design, numbers), strict=True):
        try:
            said = estimate(evidence_of(design, reading, judge, selection), "items")
        except StateError:
            continue
        ends = [said.bounds(said.interval(level)) for level in confidences]
        row[:] = [said.value, *(end for pair in ends for end in pair)]
    return rows


def mean_half_width(design: Design, k: int, grades: np.ndarray, numbers: np.ndarray) -> float:
    """Return the mean half-width of question k over keys; where nothing has come it is as wide as the widest."""
    rows = read(design, k, grades, numbers, [0.95])
    return float(np.nanmean(rows[:, 2] - rows[:, 1]) / 2)


def equal_budget(budgets: np.ndarray, halves: np.ndarray, width: float) -> float:
    """Return the budget at which a falling curve of half-widths comes to a width, straight in logarithms between."""
    falling = np.minimum.accumulate(halves)
    return float(np.exp(np.interp(-np.log(width), -np.log(falling), np.log(budgets))))


def carried_night(
    chain: Chain, night: int, hand: EarlierLabels, width: float, fresh: float, n_probed: int
) -> tuple[np.ndarray, Row]:
    """Return M after a night at equal width, its labels, and whether its intervals hold, key by key."""
    grades = chain.pool.inputs.grades
    targets = [chain.target(night), chain.target(night, night - 1)]
    base, budgets = chain.design(targets), np.maximum(STEPS * fresh, 0.5)
    probed = [
        mean_half_width(going_on(base, hand, budget)[0], 1, grades, chain.numbers[:n_probed]) for budget in budgets
    ]
    labels = equal_budget(budgets, np.array(probed), width)
    design, probs = going_on(base, hand, labels)
    row: Row = {"night": night, "fresh": fresh, "labels": labels}
    for k, name in enumerate(("value", "change")):
        said = read(design, k, grades, chain.numbers, [0.95, 1 - 0.05 / NIGHTS])
        truth = chain.pool.truth(targets[k])
        row[name] = (said[:, 1] <= truth) & (truth <= said[:, 2])
        row[f"{name} in band"] = (said[:, 3] <= truth) & (truth <= said[:, 4])
        row[f"{name} read"] = np.isfinite(said[:, 0])
    return probs, row


def known_night(
    chain: Chain, night: int, known: np.ndarray, width: float, fresh: float, seed: int
) -> tuple[np.ndarray, float]:
    """Run a night of fresh numbers at equal width; return the known grades and the number of labels."""
    grades, difference = chain.pool.inputs.grades, chain.target(night, night - 1)
    design = chain.design([difference], known)
    budgets = np.unique(np.maximum(np.round(STEPS * fresh), 2.0))
    budgets = budgets[budgets <= design.cost]
    halves = replicate(design, grades, budgets, 60, seed).half_widths().mean(axis=0)
    equal = max(round(equal_budget(budgets, halves, width)), 2)
    return np.maximum(known, judged(design.with_budget(equal), grades, seed).grades), float(equal)


def chain_rows(chain: Chain, seed: int, n_nights: int) -> list[Row]:
    """Return a row for each night of a chain."""
    pool, grades = chain.pool.inputs.pool, chain.pool.inputs.grades
    nothing, known = EarlierLabels.nothing(pool.n_items), np.full(pool.n_items, -1)
    hand, rows = nothing, []
    for night in range(1, n_nights + 1):
        base = chain.design([chain.target(night, night - 1)])
        fresh = float(np.floor(SHARE * base.cost))
        width = mean_half_width(going_on(base, nothing, fresh)[0], 0, grades, chain.numbers)
        probs, row = carried_night(chain, night, hand, width, fresh, max(len(chain.numbers) // 4, 10))
        hand = replace(hand, probs=probs)
        known, row["known"] = known_night(chain, night, known, width, fresh, 1000 * seed + night)
        rows.append(row)
    return rows


def labels(options: Options, pool: Callable[[], JudgedPool]) -> Row:
    """Make the figures of a pool, of all chains, and a row for each night."""
    made, seeds = pool(), range(options.seed, options.seed + options.chains)
    chains = [chain_rows(Chain.made(made, seed, options.keys, options.nights), seed, options.nights) for seed in seeds]
    rows = [night_row(night, [nights[night] for nights in chains]) for night in range(options.nights)]
    return {
        "title": f"{made.name}, {options.nights} nights",
        "figures": [*label_figures(chains), *coverages(chains)],
        "rows": rows,
    }


def label_figures(chains: list[list[Row]]) -> list[Row]:
    """Return labels a night once a watch goes on steadily, as a share of a fresh sample's, by both ways."""
    figures = []
    steady = slice(min(STEADY, len(chains[0])) - 1, None)
    for what, title in (("labels", "every label counts on"), ("known", "known for certain, fresh numbers")):
        ratios = np.array([np.mean([row[what] / row["fresh"] for row in nights[steady]]) for nights in chains])
        error = ratios.std(ddof=1) / np.sqrt(ratios.size) if ratios.size > 1 else float("nan")
        bar = {"at_most": MOST} if what == "labels" else {}
        label = f"labels a night from the tenth on: {title}"
        note = f"± {error:.3f} over {ratios.size} chains"
        figures.append(figure(label, ratios.mean(), "of fresh", note=note, **bar))
    return figures


def coverages(chains: list[list[Row]]) -> list[Row]:
    """Make the figures of coverage, in per cent of the series."""
    figures = []
    for name in ("value", "change"):
        held = np.array([[row[name] for row in nights] for nights in chains])  # (chains, nights, keys)
        bands = np.array([[row[f"{name} in band"] | ~row[f"{name} read"] for row in nights] for nights in chains])
        read_share = np.mean([[row[f"{name} read"] for row in nights] for nights in chains])
        by_night = 100 * held.mean(axis=(0, 2))
        together = 100 * bands.all(axis=1).mean()
        n = held.shape[0] * held.shape[2]
        note = f"{n} series; {100 * read_share:.2f} % of nights can be read"
        low, high = MEAN_COVERED
        figures += [
            figure(f"{name}: lowest coverage of a night", by_night.min(), "%", at_least=COVERED, note=note),
            figure(f"{name}: mean coverage", by_night.mean(), "%", at_least=low, at_most=high),
            figure(f"{name}: all nights at once in their bands", together, "%", at_least=TOGETHER),
        ]
    return figures


def night_row(k: int, rows: list[Row]) -> Row:
    """Return a night's row of the table."""
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("fresh", "labels")}
    for name, what in (("ratio", "labels"), ("known ratio", "known")):
        means[name] = float(np.mean([row[what] / row["fresh"] for row in rows]))
    for name in ("value", "change"):
        means[f"{name} coverage"] = float(100 * np.mean([row[name] for row in rows]))
    return {"night": k + 1} | means


def delays(options: Options, budget: int) -> Row:
    """Count the nights that a lasting loss takes to be found."""
    from benchmarks.watched_alarms import delay_section

    return delay_section(options.seed, 3, 20, float(budget))


def markdown(result: Row) -> str:
    """Write the figures of each section, and its rows below them."""
    lines = []
    for name, section in result["sections"].items():
        lines += section_tables({name: section}, result["git_commit"])
        cells = ([f"{x:.3g}" if isinstance(x, float) else x for x in row.values()] for row in section["rows"])
        lines += [*table(list(section["rows"][0]), cells), ""]
    return "\n".join(lines).rstrip()


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "mq2008": ("MQ2008", partial(labels, pool=partial(load, "mq2008"))),
        "robust03": ("Robust03", partial(labels, pool=robust03)),
        **{f"delays {budget}": ("A lasting loss", partial(delays, budget=budget)) for budget in BUDGETS},
        "seconds": ("A night of a watch", watched_seconds.measure),
    },
    report=markdown,
    out=RESULTS / "nights.json",
    chains=6,
    keys=200,
    nights=NIGHTS,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
