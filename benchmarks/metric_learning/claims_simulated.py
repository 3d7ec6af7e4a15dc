"""The rules for what is expected of simulated pairs; each returns what is found and whether it holds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise, product

import numpy as np

from benchmarks.metric_learning.data import SHAPES, TRUTHS
from benchmarks.metric_learning.rows import Row, Tables, listed, shown

DATA = tuple(TRUTHS)
AHEAD, STEP, GAIN = 0.05, 0.05, 0.02
Answer = tuple[str, bool | None]


def precision_at(tables: Tables, shape: str, pairs: int, bar: float, experiment: str = "curves") -> Answer:
    rows = tables.rows(experiment, "curve", shape=shape, pairs=pairs)
    return listed(rows, "precision", "data"), all(row["precision"] >= bar for row in rows)


def hindsight(tables: Tables) -> Answer:
    rows = tables.rows("curves", "curve", shape="monotone", pairs=200)
    return listed(rows, "best C in hindsight", "data"), None


def other(tables: Tables) -> Answer:
    rows = tables.rows("curves", "baseline")
    return listed(rows, "precision", "data", 4), all(abs(row["precision"] - 0.8996) <= 0.002 for row in rows)


def similarity_grows(tables: Tables) -> Answer:
    first, last = (tables.rows("curves", "curve", shape="monotone", pairs=n) for n in (20, 800))
    grows = all(b["similarity"] > a["similarity"] for a, b in zip(first, last, strict=True))
    text = f"20 pairs {listed(first, 'similarity', 'data')}; 800 pairs {listed(last, 'similarity', 'data')}"
    if "read-out" in tables:
        few, many = (tables.rows("read-out", "truncated", shape="monotone", pairs=n) for n in (200, 800))
        text += " (discounts known but for a constant); top 10 of 20: "
        text += f"200 pairs {listed(few, 'similarity', 'data')}, 800 pairs {listed(many, 'similarity', 'data')}"
    return text, grows


def leads(tables: Tables, experiment: str, weights: str, **keys: str) -> list[float]:
    """Return by how much weights are ahead of *Other* in each bin where that is below 90 %."""
    own, other = (tables.rows(experiment, "by difference", weights=name, **keys) for name in (weights, "Other"))
    low = [row for row in other if row["precision"] < 0.9]
    return [a["precision"] - b["precision"] for a, b in zip(own, low, strict=False)]


def ahead(tables: Tables, pairs: int) -> Answer:
    texts, least = [], []
    for data, shape in product(DATA, SHAPES):
        by = leads(tables, "curves", f"{shape}, {pairs} pairs", data=data)
        least.append(min(by))
        texts.append(f"{data}, {shape}: {min(by):+.3f} to {max(by):+.3f}")
    return "; ".join(texts), min(least) >= AHEAD


ahead_800, ahead_200 = (partial(ahead, pairs=n) for n in (800, 200))


def paper_agreement(tables: Tables) -> Answer:
    rows = tables.rows("agreement", "summary")
    named = [row | {"of": f"{row['grades']}, {row['discount']}"} for row in rows]
    return listed(named, "agree at 1", "of"), any(abs(row["agree at 1"] - 0.8) <= 0.02 for row in rows)


def agreement(tables: Tables) -> Answer:
    rows = tables.rows("agreement", "summary", grades="1 to 5")
    near = [abs(row["agree at 1"] - said) <= 0.02 for row, said in zip(rows, (0.61, 0.64, 0.54), strict=True)]
    return listed(rows, "agree at 1", "discount"), all(near)


def agreement_from_0(tables: Tables) -> Answer:
    row = tables.one("agreement", "summary", grades="0 to 4", discount="log2")
    return shown(row, "agree at 1", 3), abs(row["agree at 1"] - 0.75) <= 0.02


def crossing(tables: Tables) -> Answer:
    row = tables.one("agreement", "summary", grades="1 to 5", discount="log2")
    return shown(row, "difference at 80 %", 2), abs(row["difference at 80 %"] - 2.6) <= 0.1


def quarter(tables: Tables, shape: str) -> Answer:
    rows = tables.rows("noisy-pairs", "turned", pairs=800, turned=200, shape=shape)
    named = [row | {"of": f"{row['data']}, C by {row['C by']}"} for row in rows]
    return listed(named, "precision", "of"), all(row["precision"] >= 0.85 for row in rows)


def graceful_of(tables: Tables, experiment: str, table: str, **keys: str) -> Answer:
    kinds = [{"data": data, "pairs": n, "shape": shape} | keys for data, n, shape in product(DATA, (200, 800), SHAPES)]
    return graceful(kinds, [tables.rows(experiment, table, **kind) for kind in kinds])


graceful_pairs = partial(graceful_of, experiment="noisy-pairs", table="turned", **{"C by": "validation"})
graceful_grades = partial(graceful_of, experiment="noisy-grades", table="regraded")


def graceful(kinds: list[Row], curves: Iterable[list[Row]]) -> Answer:
    """Return the dearest step between neighbouring levels of noise, over several curves."""
    steps = [max(a["precision"] - b["precision"] for a, b in pairwise(rows)) for rows in curves]
    worst = int(np.argmax(steps))
    return f"dearest step {steps[worst]:.3f} ({', '.join(map(str, kinds[worst].values()))})", steps[worst] <= STEP


def no_gain(tables: Tables, shape: str) -> Answer:
    rows = [tables.rows("best-order", "best order", kind="best, same grades", shape=shape, pairs=n) for n in (20, 800)]
    gains = [b["precision"] - a["precision"] for a, b in zip(*rows, strict=True)]
    text = "; ".join(
        f"{a['data']}: {shown(a, 'precision')} to {shown(b, 'precision')}" for a, b in zip(*rows, strict=True)
    )
    return text, max(gains) <= GAIN


def slower(tables: Tables) -> Answer:
    kinds = ("best, other grades", "random")
    rows = [tables.rows("best-order", "best order", kind=kind) for kind in kinds]
    behind = [b["precision"] - a["precision"] for a, b in zip(*rows, strict=True)]
    at_200 = [tables.rows("best-order", "best order", kind=kind, shape="monotone", pairs=200) for kind in kinds]
    text = f"at 200 pairs {listed(at_200[0], 'precision', 'data')}; random {listed(at_200[1], 'precision', 'data')}"
    return f"{text}; behind by {min(behind):.3f} to {max(behind):.3f}", min(behind) > 0


def margins(tables: Tables) -> Answer:
    plain, texts, largest = tables.rows("margins", "margins", margin="unit"), [], 0.0
    for kind in ("grades", "documents"):
        own = tables.rows("margins", "margins", margin=kind)
        gains = [b["precision"] - a["precision"] for a, b in zip(plain, own, strict=True)]
        texts.append(f"{kind}: {min(gains):+.3f} to {max(gains):+.3f}")
        largest = max(largest, *map(abs, gains))
    return "; ".join(texts), largest <= GAIN


def no_grades(tables: Tables) -> Answer:
    rows = [tables.rows("no-grades", "no grades", pairs=n) for n in (800, 1600)]
    text = "; ".join(f"{n} pairs {listed(own, 'precision', 'data')}" for n, own in zip((800, 1600), rows, strict=True))
    return text, all(row["precision"] >= 0.94 for row in rows[0])


def straight(tables: Tables, experiment: str, **keys: object) -> Answer:
    texts, least = [], 1.0
    for data, shape, of in product(DATA, SHAPES, ("discount", "gain")):
        rows = tables.rows(experiment, "read-out", data=data, shape=shape, of=of, **keys)
        fit = float(np.corrcoef([row["found"] for row in rows], [row["true"] for row in rows])[0, 1])
        error = float(np.mean([row["error"] for row in rows]))
        texts.append(f"{data}, {shape}, {of}s: {fit:.4f}, mean error {error:.3f}")
        least = min(least, fit)
    return "; ".join(texts), least >= 0.99


straight_one_list = partial(straight, experiment="curves")
straight_truncated = partial(straight, experiment="read-out", pairs=800)


def top_ranks(tables: Tables) -> Answer:
    texts, holds = [], True
    for data, shape in product(DATA, SHAPES):
        rows = tables.rows("read-out", "read-out", data=data, shape=shape, of="discount", pairs=800)
        errors = [row["error"] / row["true"] for row in rows]
        top, low = float(np.mean(errors[:3])), float(np.mean(errors[-3:]))
        texts.append(f"{data}, {shape}: {top:.1%} and {low:.1%}")
        holds &= top < low
    return "; ".join(texts), holds


def coverage(tables: Tables, pairs: int) -> Answer:
    rows = [
        row | {"of": f"{row['data']}, {row['shape']}, {row['of']}"}
        for row in tables.rows("read-out", "coverage", pairs=pairs)
    ]
    near = [abs(row["coverage"] - 0.95) <= 2 * (row["coverage_se"] or 0.0) for row in rows]
    return listed(rows, "coverage", "of", 2), all(near)


def held(experiment: str, tables: Tables) -> Answer:
    rows = tables.rows(experiment, "intervals")
    least = min(rows, key=lambda row: row["coverage"])
    where = ", ".join(f"{name} {value}" for name, value in least.items() if not name.startswith(("coverage", "width")))
    text = f"{len(rows)} cells, mean {np.mean([row['coverage'] for row in rows]):.3f}, least {shown(least, 'coverage')}"
    return f"{text} ({where})", least["coverage"] >= 0.9
