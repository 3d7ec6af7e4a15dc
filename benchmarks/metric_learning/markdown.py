"""The section of RESULTS.md: what is expected beside what is found, pictures, tables of all figures."""

from __future__ import annotations

from benchmarks.metric_learning import claims, pictures
from benchmarks.metric_learning.rows import Tables, columns, markdown, pivot
from benchmarks.metric_learning.running import Row

ABOUT = """Zhou, Zha, Chang and Xue's experiments on learning gains and discounts from preferences: lists of ten
documents with five grades, orders of [5, 5, 4, 4, 3, 3, 2, 2, 1, 1] unless it says otherwise, gains l (Data 1) and
2^l − 1 (Data 2), discounts 1 / ln(k + 1). "monotone" is the paper's program, "decreasing" our default, which also asks
that what a grade is worth never grows down the ranks. Every figure is a mean over random repetitions ± its standard
error; a verdict goes by the means and the rule of its row. C is chosen by cross-validation for the curves, the read-out
and the news-shaped pairs; on an independent validation set, with the same noise, elsewhere (seven values from 10⁻³ to
10³); for ties by cross-validation without them; SimpleMargin uses C = 10, on news-shaped pairs 1.

Web10K and Web30K are not at hand as a whole: Web-style pairs use the label lists of a 71-query excerpt of MSLR-WEB10K
and of LightGBM's example, those with ten documents or more; three folds of queries train, one chooses C, one tests.
The news search data are not public: a set of that shape is generated anew in each repetition (766 queries, top fives of
two rankers, four grades, labels 13/108/473/148/24); what users feel in it is made up, so its rows show what the method
does with such data, not what news readers feel."""
CURVE = (["data", "shape"], "pairs")
ACTIVE = (["set", "shape", "chosen"], "pairs", "precision")
TIES = (
    ["set", "tie_margin", "C_ties"],
    ["tied difference", "over that of untied", "accuracy", "precision, all pairs"],
    4,
)
SETS = ["all", "Set1", "Set2"]
CUT = ["data", "shape", "pairs"]
TABLES = (
    ("curves", "curve", pivot, (*CURVE, "precision"), "Precision over pairs"),
    ("curves", "curve", pivot, (*CURVE, "best C in hindsight"), "Precision at the best C in hindsight"),
    ("curves", "curve", pivot, (*CURVE, "similarity"), "Similarity over pairs"),
    ("curves", "by difference", pivot, (["data", "low"], "weights", "precision"), "Accuracy by true DCG difference"),
    ("agreement", "summary", columns, (["discount"], ["agree at 1", "difference at 80 %", "all"]), "Agreement"),
    ("noisy-pairs", "turned", pivot, (["data", "pairs", "shape", "C by"], "turned", "precision"), "Turned pairs"),
    ("noisy-grades", "regraded", pivot, (["data", "pairs", "shape"], "share", "precision"), "Wrong grades"),
    ("best-order", "best order", pivot, (["data", "shape", "kind"], "pairs", "precision"), "Best order"),
    ("margins", "margins", pivot, (["data", "shape", "margin"], "pairs", "precision"), "Margins"),
    ("no-grades", "no grades", pivot, (["data"], "pairs", "precision"), "No grades"),
    ("read-out", "truncated", columns, (CUT, ["precision", "similarity", "rank-one share"]), "Top 10 of 20"),
    ("read-out", "coverage", columns, ([*CUT, "of"], ["coverage", "width", "bias", "error"]), "Bootstrap intervals"),
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
    """Return the section."""
    experiments = result["experiments"]
    tables = Tables(experiments)
    keys = ("number", "experiment", "what", "expected", "found", "verdict")
    lines = [[row[key] for key in keys] for row in claims.rows_of(experiments)]
    parts = [ABOUT, _times(experiments), markdown(["", *keys[1:]], lines)]
    for file, text in pictures.held(tables):
        parts.append(f"**{text}**\n\n![{text}](results/figures/{file})")
    for experiment, table, draw, arguments, title in TABLES:
        if experiment in tables and (held := tables.rows(experiment, table)):
            parts.append(f"### {title}\n\n{draw(held, *arguments)}")
    return "\n\n".join(parts)


def _times(experiments: dict[str, Row]) -> str:
    parts = [f"{name} {one['repetitions']} × {_each(one):.1f} s" for name, one in experiments.items()]
    total = sum(one["seconds"] for one in experiments.values())
    return f"Repetitions and processor time of each: {', '.join(parts)}; {total / 60:.0f} minutes together."


def _each(one: Row) -> float:
    return float(one["seconds"] / one["repetitions"])
