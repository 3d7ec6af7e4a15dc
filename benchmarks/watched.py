"""Thirty nights as ``activeeval watch`` draws them, every label counting on: ``python -m benchmarks.watched``.

Each night 3 % of the items, by chance, are missing from the index, and those of the night before are back. A chain is a
sequence of lists; on each night the least budget is looked for at which the mean half-width of DCG@10 tonight less last
night's is that of a sample drawn afresh for this difference alone at a tenth of judging everything. The watch's sample
is for tonight's value too. What a model believes is fixed (learned elsewhere, see `pools`), so that probabilities are
the same for all keys and each key is a whole series: coverage is counted over keys, night by night and of all nights at
once, with the intervals and bands of a watch. Beside it, on the same lists, labels as known for certain with fresh
numbers. Puts its figures into benchmarks/results/nights.json beside those of `benchmarks.nights`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from activeeval import Rankings, Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.design.carried_samples import EarlierLabels, going_on
from activeeval.core.design.selections import Selection
from activeeval.core.errors import StateError
from activeeval.core.estimation import estimate, evidence_of
from activeeval.core.pool import hashed_uniforms, key_of, pool_hashes
from activeeval.core.simulation import replicate
from benchmarks.frame.experiment import RESULTS, Experiment, Row, stored
from benchmarks.frame.report import figure, figures_table, show, table
from benchmarks.machine import describe
from benchmarks.nights import REMOVED, by_library, equal_budget
from benchmarks.pools import JudgedPool
from benchmarks.watched_pools import POOLS

NIGHTS, STEADY, SHARE = 30, 10, 0.1
STEPS = np.array([0.02, 0.06, 0.12, 0.2, 0.35, 0.6, 1.0, 1.4])
MOST, COVERED, MEAN_COVERED, TOGETHER = 0.35, 93.0, (94.0, 97.5), 95.0


@dataclass(frozen=True)
class Chain:
    """The lists of a pool night by night, and the fixed numbers of each key, shape (n_keys, n_items)."""

    pool: JudgedPool
    lists: list[Rankings]
    numbers: np.ndarray

    @classmethod
    def made(cls, pool: JudgedPool, seed: int, n_keys: int, n_nights: int) -> Chain:
        """Return a chain of a seed."""
        rngs = [np.random.default_rng((seed, night)) for night in range(n_nights + 1)]
        items = pool_hashes(pool.inputs.pool)[1]
        keys = [int(key_of(10_000 * seed + k)) for k in range(n_keys)]
        numbers = np.array([hashed_uniforms(key, items, 1)[0] for key in keys])
        return cls(pool, [pool.inputs.ranking.without(REMOVED, rng) for rng in rngs], numbers)

    def target(self, night: int, versus: int | None) -> Target:
        """Return a night's value, or what it is more than another night."""
        measure = parse_measure("DCG@10").bound_to(self.pool.max_grade)
        return Target(measure, self.lists[night], None if versus is None else self.lists[versus])

    def design(self, targets: list[Target], known: np.ndarray | None = None) -> Design:
        """Design a sample for some questions by what the model believes."""
        return self.pool.design(targets, "items", judged=known)


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


def carried_night(
    chain: Chain, night: int, hand: EarlierLabels, width: float, fresh: float, n_probed: int
) -> tuple[float, np.ndarray, Row]:
    """Return the labels of a night at equal width, M after it, and whether its intervals hold, key by key."""
    grades = chain.pool.inputs.grades
    targets = [chain.target(night, None), chain.target(night, night - 1)]
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
    return labels, probs, row


def known_night(
    chain: Chain, night: int, known: np.ndarray, width: float, fresh: float, seed: int
) -> tuple[np.ndarray, float]:
    """Run a night of fresh numbers at equal width; return the known grades and the number of labels."""
    grades, difference = chain.pool.inputs.grades, chain.target(night, night - 1)
    design = chain.design([difference], known)
    budgets = np.unique(np.maximum(np.round(STEPS * fresh), 2.0))
    budgets = budgets[budgets <= design.cost]
    found = replicate(design, grades, budgets, 60, seed).half_widths().mean(axis=0)
    equal = max(round(equal_budget(budgets, found, width)), 2)
    return np.maximum(known, by_library(design.with_budget(equal), seed, grades)), float(equal)


def chain_rows(chain: Chain, seed: int, n_nights: int) -> list[Row]:
    """Return a row for each night of a chain."""
    pool, grades = chain.pool.inputs.pool, chain.pool.inputs.grades
    hand, known = EarlierLabels.nothing(pool.n_items), np.full(pool.n_items, -1)
    rows = []
    for night in range(1, n_nights + 1):
        base = chain.design([chain.target(night, night - 1)])
        fresh = float(np.floor(SHARE * base.cost))
        first = going_on(base, EarlierLabels.nothing(pool.n_items), fresh)[0]
        width = mean_half_width(first, 0, grades, chain.numbers)
        _, probs, row = carried_night(chain, night, hand, width, fresh, max(len(chain.numbers) // 4, 10))
        hand = EarlierLabels(probs=probs, is_settled=hand.is_settled, grades=hand.grades, versions=hand.versions)
        known, row["known"] = known_night(chain, night, known, width, fresh, 1000 * seed + night)
        rows.append(row)
    return rows


def pool_sections(name: str, seed: int, n_chains: int, n_keys: int, n_nights: int) -> Iterator[Row]:
    """Yield the figures of a pool, after each chain those of all so far."""
    pool, chains = POOLS[name](), []
    for k in range(n_chains):
        chains.append(chain_rows(Chain.made(pool, seed + k, n_keys, n_nights), seed + k, n_nights))
        rows = [night_row(night, [nights[night] for nights in chains]) for night in range(n_nights)]
        title = f"{pool.name}, {n_nights} nights"
        figures = [*label_figures(chains), *coverages(chains)]
        yield {"title": title, "chains": len(chains), "keys": n_keys, "figures": figures, "nights": rows}


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
    ratios = np.array([row["labels"] / row["fresh"] for row in rows])
    made: Row = {"night": k + 1, "fresh": float(np.mean([row["fresh"] for row in rows]))}
    made |= {"labels": float(np.mean([row["labels"] for row in rows])), "ratio": float(ratios.mean())}
    made["known ratio"] = float(np.mean([row["known"] / row["fresh"] for row in rows]))
    for name in ("value", "change"):
        made[f"{name} coverage"] = float(100 * np.mean([row[name] for row in rows]))
    return made


def markdown(result: Row) -> list[str]:
    """Write the tables of a result as lines."""
    lines: list[str] = []
    for section in result["sections"]:
        lines += [f"### {section['title']}", "", _origin(section), "", *figures_table(section["figures"]), ""]
        for rows in filter(None, (section.get("nights"), section.get("delays"))):
            cells = ([f"{x:.3g}" if isinstance(x, float) else x for x in row.values()] for row in rows)
            lines += [*table(list(rows[0]), cells), ""]
    return lines


def _origin(section: Row) -> str:
    """Return where a section comes from, in a line."""
    measured = section.get("measured", {})
    of_series = f"; {section['chains']} chains of {section['keys']} keys" if "chains" in section else ""
    when = str(measured.get("date", ""))[:10]
    return f"`{measured.get('command', __name__)}`, commit {measured.get('git_commit', '')}, {when}{of_series}."


def placed(out: Path, described: Row, sections: list[Row]) -> Row:
    """Put sections beside the stored ones, each with where it comes from; those of the same title are replaced."""
    titles = {section["title"] for section in sections}
    result = stored(out)
    kept = [section for section in result.get("watched", {}).get("sections", []) if section["title"] not in titles]
    return result | {"watched": {"sections": [*kept, *(section | {"measured": described} for section in sections)]}}


def labels(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the figures of the chosen pools; of a pool those of all its chains."""
    for name in options.pool:
        *_, section = pool_sections(name, options.seed, options.chains, options.keys, options.nights)
        yield section


def measure(options: argparse.Namespace) -> Row:
    """Measure the chosen parts; their sections stand beside those of `benchmarks.nights`."""
    from benchmarks.watched_alarms import delay_sections

    if options.quick:
        options.chains, options.keys, options.nights = 2, 12, 3
    parts = {"labels": labels, "delays": lambda options: delay_sections(options.seed, quick=options.quick)}
    sections = [section for part in options.part for section in parts[part](options)]
    for section in sections:
        show(section["title"], section["figures"])
    arguments = {name: getattr(options, name) for name in ("chains", "keys", "nights", "seed")}
    return placed(options.out, describe(EXPERIMENT.module) | arguments, sections)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    out=RESULTS / "nights.json",
    pool=tuple(POOLS),
    part=("labels", "delays"),
    chains=4,
    keys=100,
    nights=NIGHTS,
    seed=1,
    quick=False,
)


if __name__ == "__main__":
    EXPERIMENT.main()
