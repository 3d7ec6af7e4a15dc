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

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from activeeval import Rankings, Target
from activeeval.core.design import Design
from activeeval.core.design.carried_samples import going_on
from activeeval.core.simulation import replicate
from activeeval.monitoring.series import PLAIN
from activeeval.monitoring.settings import Settings
from benchmarks.frame.experiment import Experiment, Row
from benchmarks.frame.report import figure
from benchmarks.pools import JudgedPool, load
from benchmarks.watched import MEASURE, REMOVED, Chain, question, read

DROPS, BEFORE, AFTER = (0.01, 0.02, 0.03, 0.05), 10, 30
EXACT = 1e-9
"""By which an exactly known difference may miss the true one."""


def value_of(pool: JudgedPool, ranking: Rankings) -> float:
    """Return the true value of a ranking."""
    return pool.truth(question(pool, ranking))


def worse(pool: JudgedPool, share: float, seed: int) -> Rankings:
    """Return the pool's ranking with so much noise that it loses a share of its DCG@10."""
    scores = scores_of(pool.inputs.ranking)
    noise = np.random.default_rng(seed).standard_normal(scores.size)
    best = value_of(pool, pool.inputs.ranking)
    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        lost = 1 - value_of(pool, Rankings.from_scores(pool.inputs.pool, scores + middle * noise)) / best
        low, high = (middle, high) if lost < share else (low, middle)
    return Rankings.from_scores(pool.inputs.pool, scores + high * noise)


def some_queries(pool: JudgedPool, n: int, rng: np.random.Generator) -> JudgedPool:
    """Draw n of a pool's queries by chance."""
    return pool.part(np.sort(rng.choice(pool.inputs.pool.n_queries, n, replace=False)))


def scores_of(ranking: Rankings) -> np.ndarray:
    """Return scores by which items rank as they do: minus their ranks."""
    scores = np.full(ranking.pool.n_items, np.nan)
    sizes = np.diff(ranking.offsets)
    scores[ranking.items] = -(np.arange(ranking.items.size) - np.repeat(ranking.offsets[:-1], sizes)).astype(float)
    return scores


def settings_of(budget: float, margin: float = 0.0, **changed: Any) -> Settings:
    """Return the settings of a watch."""
    chosen = {"measures": (MEASURE,), "max_grade": None, "seed": 1, "reference": "first"} | changed
    return Settings(budget=budget, margin=margin, **chosen)


def uppers(design: Design, k: int, grades: np.ndarray, numbers: np.ndarray, confidences: Sequence[float]) -> np.ndarray:
    """Return value and upper ends of question k under each key, shape (n_keys, 1 + n); infinite where unknown."""
    rows = read(design, k, grades, numbers, list(confidences))[:, ::2]
    return np.where(np.isnan(rows), np.inf, rows)


def quiet_series(
    pool: JudgedPool, seed: int, n_keys: int, n_nights: int, budget: float, margin: float
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by rule on which nights of each series there was an alarm, and which looked bad: (n_nights, n_keys) each.

    Items that are missing change the value a little. The rule ``no change`` takes the true difference off the estimate,
    at margin 0: as often as it raises an alarm a night raises one that has lost nothing. The rule ``margin`` is that of
    a watch as it is.
    """
    chain, settings, grades = Chain.made(pool, seed, n_keys, n_nights - 1), settings_of(budget), pool.inputs.grades
    found = {
        rule: tuple(np.zeros((n_nights, n_keys), dtype=bool) for _ in range(2)) for rule in ("no change", "margin")
    }
    for night, (targets, base, design, hand) in enumerate(chain.nights(budget)):
        n_changes = len(targets) - 1
        more = going_on(base, hand, settings.on_suspicion)[0]
        levels = [settings.confidence(n_changes), settings.confidence(n_changes, 1), PLAIN]
        rows = [uppers(design, k, grades, chain.numbers, levels) for k in range(1, n_changes + 1)]
        truths = [pool.truth(change) for change in targets[1:]]
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
                    of_key = chain.numbers[[key]]
                    looks[key] = np.array([uppers(more, k, grades, of_key, levels)[0] for k in range(1, n_changes + 1)])
                alarms[night, key] = any(
                    row[2] < zero - EXACT and row[0] - zero <= -loss
                    for row, (zero, loss) in zip(looks[key], at, strict=True)
                )
    return found


def found_after(pool: JudgedPool, seed: int, drop: float, n_keys: int, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Return on which night after a lasting loss the watch, and the gate, first raise an alarm against the first night.

    The loss comes on the night after `BEFORE` nights; nights are counted from 1, `AFTER` + 1 stands for later ones.
    """
    rng, confidence = np.random.default_rng((seed, 99)), settings_of(budget, budget_on_suspicion=0.0).confidence(2)
    nights = [pool.inputs.ranking] * BEFORE + [worse(pool, drop, seed)] * AFTER
    chain = Chain.of(pool, [ranking.without(REMOVED, rng) for ranking in nights], seed, n_keys)
    watch, gate = np.full(n_keys, AFTER + 1), np.full(n_keys, AFTER + 1)
    for night, (targets, _, design, _) in enumerate(chain.nights(budget), 1):
        since = night - BEFORE
        if since > 0:
            is_found = uppers(design, 2, pool.inputs.grades, chain.numbers, [confidence])[:, 1] < 0
            watch[is_found & (watch > AFTER)] = since
            alarms = gate_alarms(pool, targets[2], budget, n_keys, 1000 * seed + night, confidence)
            gate[alarms & (gate > AFTER)] = since
            if (watch <= AFTER).all() and (gate <= AFTER).all():
                break
    return watch, gate


def gate_alarms(
    pool: JudgedPool, change: Target, budget: float, n_keys: int, seed: int, confidence: float
) -> np.ndarray:
    """Test whether two separate samples, of a night's budget each, give an alarm, shape (n_keys,).

    Their variances over these queries add up.
    """
    values, variances = np.zeros(n_keys), np.zeros(n_keys)
    for sign, ranking in ((1, change.ranking), (-1, change.other)):
        design = pool.design(question(pool, ranking), "items")
        drawn = replicate(design, pool.inputs.grades, [budget], n_keys, seed + sign)
        values += sign * drawn.values[:, 0]
        variances += drawn.variances[:, 0]
    return values + norm.ppf((1 + confidence) / 2) * np.sqrt(variances) < 0


def quiet_section(seed: int, n_pools: int, n_keys: int, n_nights: int, n_queries: int) -> Row:
    """Count the nights with a false alarm."""
    whole, rng, budget = load("mq2008"), np.random.default_rng(seed), 100.0
    by_rule: dict[str, list[tuple[float, float]]] = {}
    for k in range(n_pools):
        part = some_queries(whole, n_queries, rng)
        pool, ranking, scores = part.inputs.pool, part.inputs.ranking, scores_of(part.inputs.ranking)
        turned = np.where((rng.random(n_queries) < 0.25)[pool.item_queries], -scores, scores)
        margin = (value_of(part, ranking) - value_of(part, Rankings.from_scores(pool, turned))) / 3
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
    whole, rng = load("mq2008"), np.random.default_rng(seed)
    sides: list[np.ndarray] = []
    for k in range(n_pools):
        part = some_queries(whole, n_queries, rng)
        chain, side = Chain.made(part, seed + k, n_keys, n_nights - 1), np.zeros((n_nights, n_keys), dtype=int)
        for night, (targets, _, design, _) in enumerate(chain.nights(100.0)):
            _, low, high = read(design, 0, part.inputs.grades, chain.numbers, [PLAIN]).T
            truth = part.truth(targets[0])
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


def delay_section(seed: int, n_pools: int, n_keys: int, budget: float) -> Row:
    """Count the nights that a lasting loss takes to be found."""
    pool, rows = load("mq2008"), []
    for drop in DROPS:
        pairs = [found_after(pool, seed + k, drop, n_keys, budget) for k in range(n_pools)]
        watch, gate = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
        row: Row = {"drop": f"{drop:.0%}", "if all were judged, z": surest(pool, drop, seed, n_pools)}
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
    return {"title": f"MQ2008, a lasting loss, {budget:g} labels a night", "figures": figures, "rows": rows}


def surest(pool: JudgedPool, drop: float, seed: int, n_pools: int) -> float:
    """Compute the mean z-value of a loss over queries if everything were judged."""
    p, ratios = pool.inputs.pool.query_probs, []
    for k in range(n_pools):
        differences = question(pool, worse(pool, drop, seed + k), pool.inputs.ranking).values(pool.inputs.grades)
        mean = p @ differences
        ratios.append(mean / np.sqrt(p**2 @ (differences - mean) ** 2))
    return float(np.mean(ratios))


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
