"""The rules for what is expected of Web-style, tied, chosen and side-by-side pairs, and of the time it takes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from benchmarks.metric_learning.claims_simulated import Answer, graceful, leads
from benchmarks.metric_learning.data import SHAPES
from benchmarks.metric_learning.rows import Row, Tables, listed, shown

SETS = ("all", "Set1", "Set2")
MOST_SECONDS, MOST_MB = 20.0, 1000.0
LATE = (50, 75, 100, 150, 200)


def web_precision(tables: Tables, shape: str) -> Answer:
    rows = [tables.one("web", "curve", shape=shape, pairs=n) for n in (200, 800, 1000)]
    holds = rows[0]["precision"] >= 0.94 and rows[1]["precision"] >= 0.98
    return listed(rows, "precision", "pairs"), holds


def web_other(tables: Tables) -> Answer:
    row = tables.one("web", "baseline")
    return shown(row, "precision"), abs(row["precision"] - 0.9) <= 0.01


def web_bins(tables: Tables) -> Answer:
    by = {shape: leads(tables, "web", f"{shape}, 1000 pairs") for shape in SHAPES}
    texts = (f"{shape}: " + ", ".join(f"{lead:+.3f}" for lead in own) for shape, own in by.items())
    return "; ".join(texts), min(map(min, by.values())) > 0


def web_graceful(tables: Tables) -> Answer:
    kinds: list[Row] = [{"pairs": n} for n in (200, 600, 1000)]
    curves = [tables.rows("web", "regraded", **kind) for kind in kinds]
    text = "; ".join(
        f"{kind['pairs']} pairs {listed(rows, 'precision', 'share')}" for kind, rows in zip(kinds, curves, strict=True)
    )
    return text, graceful(kinds, curves)[1]


def web_more_pairs(tables: Tables) -> Answer:
    steps = []
    for few, many in ((200, 600), (600, 1000)):
        pairs = zip(*(tables.rows("web", "regraded", pairs=n) for n in (few, many)), strict=True)
        steps.append([b["precision"] - a["precision"] for a, b in pairs])
    text = "; ".join(", ".join(f"{step:+.3f}" for step in own) for own in steps)
    return f"by share, 200 to 600: {text.replace('; ', '; 600 to 1000: ')}", min(map(min, steps)) > 0


def ties(tables: Tables, value: str, places: int = 3, sign: int = -1) -> Answer:
    """Whether a value changes everywhere as ties get their weight: falls, or grows where the sign is 1."""
    texts, changes = [], []
    for experiment in ("ties-simulated", "ties-news"):
        for row in tables.rows(experiment, "ties", C_ties=1.0) if experiment in tables else []:
            first = tables.one(experiment, "ties", C_ties=0.0, set=row["set"], tie_margin=row["tie_margin"])
            change = shown(row, f"{value}, change", places)
            texts.append(f"{row['set']}, margin {row['tie_margin']:g}: {first[value]:.{places}f}, change {change}")
            changes.append(row[f"{value}, change"])
    return "; ".join(texts), all(sign * change > 0 for change in changes)


ties_fall = partial(ties, value="tied difference")
ties_fall_relative = partial(ties, value="over that of untied")
ties_accuracy = partial(ties, value="accuracy", places=4, sign=1)


def _leads(tables: Tables, experiment: str, at: tuple[int, ...]) -> list[tuple[Row, Row]]:
    chosen = [row for n in at for row in tables.rows(experiment, "active", chosen="SimpleMargin", pairs=n)]
    return [
        (row, tables.one(experiment, "active", chosen="random", **{key: row[key] for key in ("set", "shape", "pairs")}))
        for row in chosen
    ]


def _beside(pairs: Iterable[tuple[Row, Row]]) -> str:
    both = ((a, shown(a, "precision"), shown(b, "precision")) for a, b in pairs)
    return "; ".join(f"{row['set']}, {row['shape']}: {own} against {other}" for row, own, other in both)


def active(tables: Tables, experiment: str) -> Answer:
    pairs = _leads(tables, experiment, LATE)
    leads = [a["precision"] - b["precision"] for a, b in pairs]
    text = _beside((a, b) for a, b in pairs if a["pairs"] == 100)
    return f"100 pairs: {text}; all: {min(leads):+.3f} to {max(leads):+.3f}", min(leads) > 0


def active_few(tables: Tables) -> Answer:
    there = [name for name in ("active-simulated", "active-web", "active-news") if name in tables]
    return _beside(pair for name in there for pair in _leads(tables, name, (20,))), None


def _by_set(row: Row) -> str:
    return ", ".join(f"{name} {shown(row, name)}" for name in SETS)


def _news(tables: Tables) -> dict[str, Row]:
    return {row["weights"]: row for row in tables.rows("news", "accuracy")}


def news_learned(tables: Tables) -> Answer:
    rows = _news(tables)
    holds = all(
        rows[f"learned, {shape}"][name] > rows[baseline][name]
        for shape in SHAPES
        for baseline in ("2^l − 1", "l")
        for name in SETS
    )
    return "; ".join(f"{name}: {_by_set(row)}" for name, row in rows.items() if name != "random"), holds


def news_random(tables: Tables) -> Answer:
    rows = _news(tables)
    holds = all(rows[baseline][name] > rows["random"][name] + 0.1 for baseline in ("2^l − 1", "l") for name in SETS)
    return f"random: {_by_set(rows['random'])}", holds


def news_sets(tables: Tables) -> Answer:
    row = _news(tables)["learned, decreasing"]
    return _by_set(row), row["Set1"] > row["Set2"]


def news_curve(tables: Tables) -> Answer:
    rows = tables.rows("news", "curve")
    return listed(rows, "all", "pairs"), rows[-1]["all"] > rows[0]["all"]


def news_labels(tables: Tables) -> Answer:
    rows = tables.rows("news", "by label")
    sizes = [row["difference"] for row in rows]
    return listed(rows, "difference", "label", 2), min(sizes[0], sizes[4]) > max(sizes[1], sizes[3])


def _one_set(tables: Tables) -> dict[str, Row]:
    return {row["trained on"]: row for row in tables.rows("news", "one set")}


def news_one_set(tables: Tables) -> Answer:
    rows = _one_set(tables)
    holds = all(rows["all"][name] >= rows[alone][name] for alone in ("Set1", "Set2") for name in SETS)
    return "; ".join(f"{name}: {_by_set(row)}" for name, row in rows.items()), holds


def news_set1(tables: Tables) -> Answer:
    rows = _one_set(tables)
    same = rows["as many of Set2 as of Set1"]
    text = ", ".join(shown(rows[name], "Set1") for name in ("Set1", "Set2"))
    return f"{text}; as many pairs of Set2: {shown(same, 'Set1')}", rows["Set1"]["Set1"] > rows["Set2"]["Set1"]


def speed(tables: Tables) -> Answer:
    rows = tables.rows("speed", "speed")
    return _timed(rows), all(row["seconds"] <= MOST_SECONDS and row["peak MB"] <= MOST_MB for row in rows)


def speed_choosing(tables: Tables) -> Answer:
    rows = tables.rows("speed-choosing", "speed")
    return _timed(rows), None if not any(row["failed"] for row in rows) else False


def _timed(rows: list[Row]) -> str:
    return "; ".join(f"{row['case']}: {shown(row, 'seconds', 1)} s, {shown(row, 'peak MB', 0)} MB" for row in rows)
