"""Alarms of a watch: ``python -m benchmarks.watched_alarms [--only NAME]``, on parts of MQ2008, DCG@10.

A watch compares tonight with the night before and the first night by the rule of `activeeval.monitoring`, about
these queries, at 1 false alarm in 100 nights. 3 % of the items are missing each night, by chance.

bad: 300 queries, 100 labels a night, what the model believes taught by the labels of the watch itself
(`benchmarks.watched_series`); after three nights a quarter of the lists, by chance, are upside down; the margin is a
third of the true loss. How many seeds have an alarm on that night, or on that or the next, without and with 200 labels
on suspicion.
quiet: 60 nights without a change; a false alarm is a verdict "worse" on a night. Beliefs of a forest that was trained
elsewhere, so that probabilities are the same for all keys. Labels on suspicion decide their night and are then
forgotten; see `quiet_series` for the two rules by which alarms are counted.
values, taught: how many 95 % intervals of values hold on 15 nights, with the model of `quiet`, and with that of `bad`.

`benchmarks.watched` takes delays from here: how many nights a lasting loss takes, and a gate of the same labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activeeval import Rankings, Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.design.carried_samples import EarlierLabels, going_on
from activeeval.core.design.methods import METHODS
from activeeval.core.pool import hashed_uniforms, key_of, pool_hashes
from activeeval.core.simulation import replicate
from activeeval.monitoring.series import PLAIN
from activeeval.monitoring.settings import Settings
from benchmarks.frame.experiment import Experiment, Row
from benchmarks.frame.report import figure
from benchmarks.nights import REMOVED
from benchmarks.pools import JudgedPool, load
from benchmarks.watched import read

DROPS, BEFORE, AFTER, BUDGETS = (0.01, 0.02, 0.03, 0.05), 10, 30, (60.0, 150.0, 400.0)
EXACT = 1e-9
"""By which an exactly known difference may miss the true one."""


@dataclass(frozen=True)
class Part:
    """A part of a pool: its ranking, grades and beliefs."""

    whole: JudgedPool
    ranking: Rankings
    grades: np.ndarray
    probs: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, whole: JudgedPool, queries: np.ndarray) -> Part:
        """Return the part of some queries."""
        pool, items = whole.inputs.pool.subset(queries)
        ranking = whole.inputs.ranking.restricted_to(pool, items)
        model = whole.beliefs.for_method(METHODS["items"], whole.max_grade + 1)
        return cls(whole, ranking, whole.inputs.grades[items], model["grade_probs"][items], scores_of(ranking))

    def design(self, targets: list[Target]) -> Design:
        """Return the design of some questions."""
        return METHODS["items"].design(targets, self.probs)

    def target(self, ranking: Rankings, versus: Rankings | None = None) -> Target:
        """Return a question."""
        return Target(parse_measure("DCG@10").bound_to(self.whole.max_grade), ranking, versus)

    def numbers(self, seed: int, n_keys: int) -> np.ndarray:
        """Return the fixed numbers of items under each key, shape (n_keys, n_items)."""
        items = pool_hashes(self.ranking.pool)[1]
        return np.array([hashed_uniforms(int(key_of(10_000 * seed + k)), items, 1)[0] for k in range(n_keys)])

    def worse(self, share: float, seed: int) -> Rankings:
        """Return the ranking with so much noise that it loses a share of its DCG@10."""
        noise = np.random.default_rng(seed).standard_normal(self.scores.size)
        best = self.value(self.ranking)
        low, high = 0.0, 50.0
        for _ in range(40):
            middle = (low + high) / 2
            lost = 1 - self.value(Rankings.from_scores(self.ranking.pool, self.scores + middle * noise)) / best
            low, high = (middle, high) if lost < share else (low, middle)
        return Rankings.from_scores(self.ranking.pool, self.scores + high * noise)

    def value(self, ranking: Rankings) -> float:
        """Return the true value of a ranking."""
        return float(ranking.pool.query_probs @ self.target(ranking).values(self.grades))


def scores_of(ranking: Rankings) -> np.ndarray:
    """Return scores by which items rank as they do: minus their ranks."""
    scores = np.full(ranking.pool.n_items, np.nan)
    sizes = np.diff(ranking.offsets)
    scores[ranking.items] = -(np.arange(ranking.items.size) - np.repeat(ranking.offsets[:-1], sizes)).astype(float)
    return scores


def settings_of(budget: float, margin: float = 0.0, **changed: Any) -> Settings:
    """Return the settings of a watch."""
    chosen = {"measures": ("DCG@10",), "max_grade": None, "seed": 1, "reference": "first"} | changed
    return Settings(budget=budget, margin=margin, **chosen)


def uppers(design: Design, k: int, grades: np.ndarray, numbers: np.ndarray, confidences: Sequence[float]) -> np.ndarray:
    """Return value and upper ends of question k under each key, shape (n_keys, 1 + n); infinite where unknown."""
    rows = read(design, k, grades, numbers, list(confidences))[:, ::2]
    return np.where(np.isnan(rows), np.inf, rows)


def quiet_series(
    part: Part, seed: int, n_keys: int, n_nights: int, budget: float, margin: float
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by rule on which nights of each series there was an alarm, and which looked bad: (n_nights, n_keys) each.

    Items that are missing change the value a little. The rule ``no change`` takes the true difference off the estimate,
    at margin 0: as often as it raises an alarm a night raises one that has lost nothing. The rule ``margin`` is that of
    a watch as it is.
    """
    rngs = [np.random.default_rng((seed, night)) for night in range(n_nights + 1)]
    lists = [part.ranking.without(REMOVED, rng) for rng in rngs]
    numbers, hand = part.numbers(seed, n_keys), EarlierLabels.nothing(part.ranking.pool.n_items)
    settings, p = settings_of(budget), part.ranking.pool.query_probs
    found = {
        rule: tuple(np.zeros((n_nights, n_keys), dtype=bool) for _ in range(2)) for rule in ("no change", "margin")
    }
    for night in range(n_nights):
        earlier = list(dict.fromkeys((night - 1, 0))) if night else []
        changes = [part.target(lists[night], lists[before]) for before in earlier]
        base = part.design([part.target(lists[night]), *changes])
        design, probs = going_on(base, hand, budget)
        hand = replace(hand, probs=probs)
        more = going_on(base, hand, settings.on_suspicion)[0]
        levels = [settings.confidence(len(changes)), settings.confidence(len(changes), 1), PLAIN]
        rows = [uppers(design, k, part.grades, numbers, levels) for k in range(1, len(changes) + 1)]
        truths = [float(p @ change.values(part.grades)) for change in changes]
        looks: dict[int, np.ndarray] = {}
        for rule, (alarms, bad) in found.items():
            at = [(truth, 0.0) if rule == "no change" else (0.0, margin) for truth in truths]
            for row, (zero, loss) in zip(rows, at, strict=True):
                value, certain, _, plain = (row - zero).T
                alarm = (certain < -EXACT) & (value <= -loss)
                alarms[night] |= alarm
                is_open = (2 * value - certain < -loss) if loss else certain > EXACT
                bad[night] |= (plain < -EXACT) & ~alarm & is_open
            bad[night] &= ~alarms[night]
            for key in np.flatnonzero(bad[night]):
                if key not in looks:
                    one = numbers[[key]]
                    looks[key] = np.array(
                        [uppers(more, k, part.grades, one, levels)[0] for k in range(1, len(rows) + 1)]
                    )
                alarms[night, key] = any(
                    row[2] < zero - EXACT and row[0] - zero <= -loss
                    for row, (zero, loss) in zip(looks[key], at, strict=True)
                )
    return found


def found_after(part: Part, seed: int, drop: float, n_keys: int, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Return on which night after a lasting loss the watch, and the gate, first raise an alarm against the first night.

    The loss comes on the night after `BEFORE` nights; nights are counted from 1, `AFTER` + 1 stands for later ones.
    """
    rng = np.random.default_rng((seed, 99))
    good, bad = part.ranking, part.worse(drop, seed)
    numbers, hand = part.numbers(seed, n_keys), EarlierLabels.nothing(part.ranking.pool.n_items)
    confidence = settings_of(budget, budget_on_suspicion=0.0).confidence(2)
    first = last = good.without(REMOVED, rng)
    watch, gate = np.full(n_keys, AFTER + 1), np.full(n_keys, AFTER + 1)
    for night in range(1, BEFORE + AFTER + 1):
        since = night - BEFORE
        tonight = first if night == 1 else (bad if since > 0 else good).without(REMOVED, rng)
        targets = [part.target(tonight)]
        if night > 1:
            targets += [part.target(tonight, last), part.target(tonight, first)]
        design, probs = going_on(part.design(targets), hand, budget)
        hand, last = replace(hand, probs=probs), tonight
        if since > 0:
            is_found = uppers(design, 2, part.grades, numbers, [confidence])[:, 1] < 0
            watch[is_found & (watch > AFTER)] = since
            alarms = gate_alarms(part, tonight, first, budget, n_keys, 1000 * seed + night, confidence)
            gate[alarms & (gate > AFTER)] = since
            if (watch <= AFTER).all() and (gate <= AFTER).all():
                break
    return watch, gate


def gate_alarms(
    part: Part, tonight: Rankings, first: Rankings, budget: float, n_keys: int, seed: int, confidence: float
) -> np.ndarray:
    """Test whether two separate samples, of a night's budget each, give an alarm, shape (n_keys,).

    Their variances over these queries add up.
    """
    from scipy.stats import norm

    values, variances = np.zeros(n_keys), np.zeros(n_keys)
    for sign, ranking in ((1, tonight), (-1, first)):
        design = part.design([part.target(ranking)])
        drawn = replicate(design, part.grades, [budget], n_keys, seed + sign)
        values += sign * drawn.values[:, 0]
        variances += drawn.variances[:, 0]
    return values + norm.ppf((1 + confidence) / 2) * np.sqrt(variances) < 0


def quiet_section(seed: int, n_pools: int, n_keys: int, n_nights: int, n_queries: int) -> Row:
    """Count the nights with a false alarm."""
    whole, rng, budget = load("mq2008"), np.random.default_rng(seed), 100.0
    by_rule: dict[str, list[tuple[float, float]]] = {}
    for k in range(n_pools):
        queries = np.sort(rng.choice(whole.inputs.pool.n_queries, n_queries, replace=False))
        part = Part.of(whole, queries)
        turned = np.where((rng.random(n_queries) < 0.25)[part.ranking.pool.item_queries], -part.scores, part.scores)
        margin = (part.value(part.ranking) - part.value(Rankings.from_scores(part.ranking.pool, turned))) / 3
        for rule, (alarms, bad) in quiet_series(part, seed + k, n_keys, n_nights, budget, margin).items():
            by_rule.setdefault(rule, []).append((100 * alarms[1:].mean(), 100 * bad[1:].mean()))
            print(k, rule, by_rule[rule][-1], flush=True)
    figures = []
    for rule, title in (
        ("no change", "a true difference of 0, margin 0"),
        ("margin", "a margin of a third of a bad loss"),
    ):
        shares = np.array(by_rule[rule])
        error = float(shares[:, 0].std(ddof=1) / np.sqrt(n_pools)) if n_pools > 1 else float("nan")
        note = (
            f"± {error:.2f} over {n_pools} pools of {n_queries} queries, {n_keys} keys each; {budget:g} labels a night"
        )
        label = f"false alarms in 100 nights, {title}"
        figures.append(figure(label, float(shares[:, 0].mean()), "", note=note, at_most=1.2))
        figures.append(figure(f"nights with labels on suspicion, {title}", float(shares[:, 1].mean()), "%"))
    title = f"{n_pools * n_keys:,} series of {n_nights} nights without a change"
    by_pool = {rule: [row[0] for row in rows] for rule, rows in by_rule.items()}
    return {"title": title, "figures": figures, "by_pool": by_pool}


def bad_section(n_seeds: int, n_queries: int = 300) -> Row:
    """Count the alarms that a quarter of the lists upside down raises, on that night and by the next."""
    from benchmarks.watched_series import bad_nights

    found, losses = bad_nights(range(n_seeds), n_queries)
    figures = []
    for which, (name, on_that, by_next) in enumerate((("no labels", 0.0, 90.0), ("200 labels", 0.0, 97.0))):
        for night, least in ((0, on_that), (1, by_next)):
            share = 100 * float(found[:, which, night].mean())
            label = f"bad nights with an alarm {('that night', 'that night or the next')[night]}, {name} on suspicion"
            bar = {"at_least": least} if least else {}
            figures.append(figure(label, share, "%", note=f"{n_seeds} seeds", **bar))
    mean = 100 * float(np.mean(losses))
    figures.append(figure("what a bad night loses", mean, "%", note="of its DCG@10"))
    return {"title": f"A quarter of {n_queries} lists upside down, 100 labels a night", "figures": figures}


def values_section(seed: int, n_pools: int, n_keys: int, n_nights: int, n_queries: int = 300) -> Row:
    """Count the intervals of values that hold, beliefs of a forest that was trained elsewhere."""
    whole, rng, settings = load("mq2008"), np.random.default_rng(seed), settings_of(100.0)
    sides: list[np.ndarray] = []
    for k in range(n_pools):
        part = Part.of(whole, np.sort(rng.choice(whole.inputs.pool.n_queries, n_queries, replace=False)))
        lists = [part.ranking.without(REMOVED, np.random.default_rng((seed + k, night))) for night in range(n_nights)]
        numbers, hand = part.numbers(seed + k, n_keys), EarlierLabels.nothing(part.ranking.pool.n_items)
        side = np.zeros((n_nights, n_keys), dtype=int)
        for night in range(n_nights):
            earlier = list(dict.fromkeys((night - 1, 0))) if night else []
            targets = [part.target(lists[night]), *(part.target(lists[night], lists[before]) for before in earlier)]
            design, probs = going_on(part.design(targets), hand, settings.budget)
            hand = replace(hand, probs=probs)
            _, low, high = read(design, 0, part.grades, numbers, [PLAIN]).T
            truth = float(part.ranking.pool.query_probs @ targets[0].values(part.grades))
            side[night] = (truth > high + EXACT).astype(int) - (truth < low - EXACT)
        sides.append(side)
    found = np.concatenate(sides, axis=1).T
    return {
        "title": f"Values of {n_nights} nights, {n_queries} queries, a model from elsewhere",
        "figures": [
            *value_figures(found == 0),
            figure("the truth lies above the interval", 100 * float((found > 0).mean()), "%"),
            figure("the truth lies below the interval", 100 * float((found < 0).mean()), "%"),
        ],
    }


def taught_section(n_seeds: int, n_nights: int, n_queries: int = 300) -> Row:
    """Count the intervals of values that hold where the labels of the watch teach its model."""
    from benchmarks.watched_series import quiet_values

    held = quiet_values(range(n_seeds), n_nights, n_queries)
    title = f"Values of {n_nights} nights, {n_queries} queries, a model taught by the watch"
    return {"title": title, "figures": value_figures(held)}


def value_figures(held: np.ndarray) -> list[Row]:
    """Return the share of nights whose interval holds, and how misses gather in series; (n_series, n_nights)."""
    misses, n_nights = (~held).sum(axis=1), held.shape[1]
    error = 100 * float(held.mean(axis=1).std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else float("nan")
    note = f"± {error:.1f} over {len(held)} series"
    many = 100 * float(np.mean(misses >= n_nights / 3))
    return [
        figure("nights whose value's interval holds", 100 * float(held.mean()), "%", note=note, at_least=94.0),
        figure("series with no miss", 100 * float(np.mean(misses == 0)), "%"),
        figure("series that miss on a third of their nights or more", many, "%"),
        figure("misses of the worst series", float(misses.max()), f"of {n_nights} nights"),
    ]


def delay_section(seed: int, n_pools: int, n_keys: int, budget: float, drops: tuple[float, ...] = DROPS) -> Row:
    """Count the nights that a lasting loss takes to be found."""
    whole, rows = load("mq2008"), []
    part = Part.of(whole, np.arange(whole.inputs.pool.n_queries))
    for drop in drops:
        pairs = [found_after(part, seed + k, drop, n_keys, budget) for k in range(n_pools)]
        watch, gate = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
        row: Row = {"drop": f"{drop:.0%}", "if all were judged, z": surest(part, drop, seed, n_pools)}
        for name, nights in (("watch", watch), ("gate", gate)):
            row |= {f"{name}: median nights": float(np.median(nights)), f"{name}: mean nights": float(nights.mean())}
            row[f"{name}: within {AFTER}"] = f"{np.mean(nights <= AFTER):.0%}"
        rows.append(row)
    figures = [
        figure(
            f"nights to find a drop of {row['drop']}: watch over gate",
            row["watch: mean nights"] / row["gate: mean nights"],
            "",
            note=f"later than {AFTER} counts as {AFTER + 1}",
            **({"at_most": 0.5} if row["drop"] == "3%" else {}),
        )
        for row in rows
    ]
    return {"title": f"MQ2008, a lasting loss, {budget:g} labels a night", "figures": figures, "delays": rows}


def surest(part: Part, drop: float, seed: int, n_pools: int) -> float:
    """Compute the mean z-value of a loss over queries if everything were judged."""
    p, ratios = part.ranking.pool.query_probs, []
    for k in range(n_pools):
        differences = part.target(part.worse(drop, seed + k), part.ranking).values(part.grades)
        mean = p @ differences
        ratios.append(mean / np.sqrt(p**2 @ (differences - mean) ** 2))
    return float(np.mean(ratios))


def delay_sections(seed: int, *, quick: bool) -> Iterator[Row]:
    """Yield delays, for several budgets."""
    if quick:
        yield delay_section(seed, 1, 4, 60.0, (0.05,))
        return
    for budget in BUDGETS:
        yield delay_section(seed, 3, 20, budget)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "bad": ("Bad nights", lambda o: bad_section(o.seeds)),
        "quiet": ("Nights without a change", lambda o: quiet_section(o.seed, o.pools, 100, o.nights, 300)),
        "values": ("Values", lambda o: values_section(o.seed, o.pools, 200, 15)),
        "taught": ("Values, taught", lambda o: taught_section(o.series, 15)),
    },
    seeds=200,
    series=200,
    nights=60,
    pools=4,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
