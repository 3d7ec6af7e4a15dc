"""The section of RESULTS.md: what is expected beside what is found, pictures, tables of all figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.frame.report import table
from benchmarks.metric_learning import claims, pictures
from benchmarks.metric_learning.rows import Tables, columns, pivot
from benchmarks.metric_learning.running import Row

NOTES = Path(__file__).resolve().parent / "notes.md"
CURVE = (["data", "shape"], "pairs")
ACTIVE = (["set", "shape", "chosen"], "pairs", "precision")
OF_TIES = ["tied difference", "over that of untied", "accuracy", "precision, all pairs"]
TIES = (["set", "tie_margin", "C_ties"], OF_TIES, 4)
SETS = ["all", "Set1", "Set2"]
HELD, FEW = ["ranks", "noise", "of"], ["grades", "noise"]
CUT = ["data", "shape", "pairs"]
TABLES = (
    ("curves", "curve", pivot, (*CURVE, "precision"), "Precision over pairs"),
    ("curves", "curve", pivot, (*CURVE, "best C in hindsight"), "Precision at the best C in hindsight"),
    ("curves", "curve", pivot, (*CURVE, "similarity"), "Similarity over pairs"),
    ("curves", "by difference", pivot, (["data", "low"], "weights", "precision"), "Accuracy by true DCG difference"),
    (
        "agreement",
        "summary",
        columns,
        (["grades", "discount"], ["agree at 1", "difference at 80 %", "all"]),
        "Agreement",
    ),
    ("noisy-pairs", "turned", pivot, (["data", "pairs", "shape", "C by"], "turned", "precision"), "Turned pairs"),
    ("noisy-grades", "regraded", pivot, (["data", "pairs", "shape"], "share", "precision"), "Wrong grades"),
    ("best-order", "best order", pivot, (["data", "shape", "kind"], "pairs", "precision"), "Best order"),
    ("margins", "margins", pivot, (["data", "shape", "margin"], "pairs", "precision"), "Margins"),
    ("no-grades", "no grades", pivot, (["data"], "pairs", "precision"), "No grades"),
    ("read-out", "truncated", columns, (CUT, ["precision", "similarity", "rank-one share"]), "Top 10 of 20"),
    ("read-out", "coverage", columns, ([*CUT, "of"], ["coverage", "width", "bias", "error"]), "Stability bands"),
    ("coverage", "intervals", pivot, (HELD, "pairs", "coverage"), "95 % intervals: how often they hold the truth"),
    ("coverage", "intervals", pivot, (HELD, "pairs", "width"), "95 % intervals: mean width"),
    ("coverage", "by measure", pivot, (["measure", *HELD], "pairs", "coverage"), "95 % intervals, by true measure"),
    ("coverage-ten-ranks", "intervals", pivot, (HELD, "pairs", "coverage"), "95 % intervals of ten ranks"),
    ("coverage-ten-ranks", "intervals", pivot, (HELD, "pairs", "width"), "95 % intervals of ten ranks: mean width"),
    ("coverage-few-kinds", "given", pivot, (FEW, "pairs", "given"), "Few kinds of pairs: share with 95 % intervals"),
    (
        "coverage-few-kinds",
        "intervals",
        pivot,
        ([*FEW, "of"], "pairs", "coverage"),
        "Few kinds of pairs: 95 % intervals",
    ),
    ("coverage-few-kinds", "intervals", pivot, ([*FEW, "of"], "pairs", "width"), "Few kinds of pairs: mean width"),
    ("coverage-few-kinds", "resampled", pivot, (FEW, "pairs", "coverage"), "Few kinds of pairs: stability bands"),
    ("web", "curve", pivot, (["shape"], "pairs", "precision"), "Web-style pairs"),
    ("web", "by difference", pivot, (["low"], "weights", "precision"), "Web-style pairs by true DCG difference"),
    ("web", "regraded", pivot, (["pairs"], "share", "precision"), "Web-style pairs, wrong grades"),
    ("ties-simulated", "ties", columns, TIES, "Ties, simulated"),
    ("ties-news", "ties", columns, TIES, "Ties, news-shaped"),
    ("active-simulated", "active", pivot, ACTIVE, "SimpleMargin, simulated"),
    ("active-web", "active", pivot, ACTIVE, "SimpleMargin, Web-style"),
    ("active-news", "active", pivot, ACTIVE, "SimpleMargin, news-shaped"),
    ("news", "accuracy", columns, (["weights"], SETS), "News-shaped pairs"),
    ("news", "curve", columns, (["pairs"], SETS), "News-shaped pairs, learning curve"),
    ("news", "by label", columns, (["label"], ["difference"]), "Mean |score difference| by label, untied pairs: 1"),
    ("news", "one set", columns, (["trained on"], ["training pairs", *SETS]), "Trained on one set"),
    ("speed", "speed", columns, (["case"], ["seconds", "peak MB"], 1), "10⁵ pairs, a process each, one thread"),
    ("speed-choosing", "speed", columns, (["case"], ["seconds", "peak MB"], 1), "The same, 65 programs and one more"),
)


def render(result: Row) -> str:
    """Write the section."""
    experiments = result["experiments"]
    tables = Tables(experiments)
    keys = ("experiment", "what", "expected", "found", "verdict")
    claimed = table(["", *keys], ([row[key] for key in ("number", *keys)] for row in claims.rows_of(experiments)))
    about, why = NOTES.read_text().split("\n---\n")
    parts = [about.strip(), _times(result), "\n".join(claimed), why.strip()]
    parts += [f"**{text}**\n\n![{text}](results/figures/{file})" for file, text in pictures.held(tables)]
    for experiment, name, write, arguments, title in TABLES:
        if experiment in tables and (rows := tables.rows(experiment, name)):
            parts += [f"### {title}", "\n".join(write(rows, *arguments))]
    return "\n\n".join(parts)


def _times(result: Row) -> str:
    experiments = result["experiments"]
    each = {name: one["seconds"] / one["repetitions"] for name, one in experiments.items()}
    parts = (f"{name} {experiments[name]['repetitions']} × {s:.1f} s" for name, s in each.items() if s > 0.05)
    total = sum(one["seconds"] for one in experiments.values()) / 60
    apart = [
        f"{name} ({one['git_commit']})" for name, one in experiments.items() if one["command"] != result["command"]
    ]
    also = f" Run apart with `--only`, at their commits: {', '.join(apart)}." if apart else ""
    lead = f"Repetitions and processor time of each: {', '.join(parts)}"
    return f"{lead}; {total:.0f} minutes without the rows on speed.{also}"
