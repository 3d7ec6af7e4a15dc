"""What each experiment is expected to show, beside what it shows; a rule that is written down decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.metric_learning import claims_simulated as sim, claims_users as users
from benchmarks.metric_learning.rows import Tables
from benchmarks.metric_learning.running import Row

Answer = tuple[str, bool | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """What is expected of an experiment, and what says whether it is so (None: it is only shown)."""

    number: int
    what: str
    expected: str
    experiment: str
    answer: Callable[[Tables], Answer]


TITLES = {
    1: "precision and similarity over pairs",
    2: "accuracy by DCG difference",
    3: "agreement of 2^l − 1 and l by DCG difference",
    4: "noisy pairs, noisy grades",
    5: "pairs with the best order",
    6: "larger margins, no grades",
    7: "estimated and true gains and discounts",
    8: "Web-style pairs",
    9: "ties",
    10: "SimpleMargin",
    11: "news-shaped pairs",
    12: "speed",
}


SHAPES = {"monotone": "the paper's program", "decreasing": "our default"}


def _both(
    number: int, what: str, expected: str, experiment: str, rule: Callable[..., Answer], **keys: Any
) -> list[Claim]:
    """Return a claim for each shape of the program."""
    return [
        Claim(number, f"{what}, {whose}", expected, experiment, partial(rule, shape=shape, **keys))
        for shape, whose in SHAPES.items()
    ]


SIMULATED = [
    *_both(
        1, "precision at 200 pairs", "≈ 95 % on both: at least .94", "curves", sim.precision_at, pairs=200, bar=0.94
    ),
    *_both(
        1, "precision at 800 pairs", "≈ 98 % on both: at least .98", "curves", sim.precision_at, pairs=800, bar=0.98
    ),
    Claim(
        1,
        "precision at 200 pairs, the paper's program, five times the repetitions",
        "≈ 95 % on both: at least .94",
        "curves-at-200",
        partial(sim.precision_at, shape="monotone", pairs=200, bar=0.94, experiment="curves-at-200"),
    ),
    Claim(1, "best C in hindsight, 200 pairs, the paper's program", "≈ .94 on Data 2", "curves", sim.hindsight),
    Claim(1, "*Other*: the wrong data set's gains", ".8996, within .002", "curves", sim.other),
    Claim(1, "similarity", "grows with pairs", "curves", sim.similarity_grows),
    Claim(2, "800 pairs, where *Other* is below 90 %", "ahead by .05 or more in every bin", "curves", sim.ahead_800),
    Claim(2, "200 pairs, where *Other* is below 90 %", "ahead by .05 or more in every bin", "curves", sim.ahead_200),
    Claim(3, "agreement at a difference of 1", "the paper: about 80 %", "agreement", sim.paper_agreement),
    Claim(3, "the same, recomputed", ".61 ln, .64 log2, .54 log10, within .02", "agreement", sim.agreement),
    Claim(
        3, "the same of grades 0 to 4, log2", ".75, within .02: the likely reading", "agreement", sim.agreement_from_0
    ),
    Claim(3, "difference at which 80 % agree, log2", "2.6, within .1", "agreement", sim.crossing),
    *_both(4, "200 of 800 pairs turned", "at least 85 %", "noisy-pairs", sim.quarter),
    Claim(4, "turned pairs", "graceful: no step to the next level costs .05", "noisy-pairs", sim.graceful_pairs),
    Claim(4, "wrong grades", "graceful: no tenth of the grades costs .05", "noisy-grades", sim.graceful_grades),
    *_both(5, "best order, same list", "no gain, at most .02, from 20 to 800 pairs", "best-order", sim.no_gain),
    Claim(5, "best order against another list", "slower: below random rankings everywhere", "best-order", sim.slower),
    Claim(6, "margins by Hamming distance", "not very significant: within .02 of plain", "margins", sim.margins),
    Claim(6, "no grades", "precisely learned: at least .94 at 800 pairs", "no-grades", sim.no_grades),
    Claim(7, "one list, 800 pairs", "straight lines: correlation at least .99", "curves", sim.straight_one_list),
    Claim(7, "top 10 of 20, 800 pairs", "straight lines: correlation at least .99", "read-out", sim.straight_truncated),
    Claim(7, "top positions", "best: smaller relative error at ranks 2–4 than 8–10", "read-out", sim.top_ranks),
    *(
        Claim(7, f"stability bands of 95 %, {n} pairs", "no promise: beside 95 %, within 2 errors", "read-out", rule)
        for n, rule in ((n, partial(sim.coverage, pairs=n)) for n in (200, 800))
    ),
    *(
        Claim(7, f"95 % intervals, {lists}", "at least .90 in every cell", experiment, partial(sim.held, experiment))
        for lists, experiment in (
            ("five ranks, five grades, 20 to 1,600 pairs", "coverage"),
            ("ten ranks, five grades, 20 to 1,600 pairs", "coverage-ten-ranks"),
            ("five ranks, two or three grades, wherever they are given", "coverage-few-kinds"),
        )
    ),
]
USERS = [
    *_both(8, "precision", "as simulated: .94 at 200 pairs, .98 at 800", "web", users.web_precision),
    Claim(8, "*Other*", "≈ 90 %, within .01", "web", users.web_other),
    Claim(8, "by DCG difference, 1000 pairs", "ahead in every bin where *Other* < 90 %", "web", users.web_bins),
    Claim(8, "wrong grades", "graceful: no tenth of the grades costs .05", "web", users.web_graceful),
    Claim(8, "wrong grades, 200, 600, 1000 pairs", "more pairs are better at every share", "web", users.web_more_pairs),
    Claim(9, "score difference of ties, C_ties 0 to 1", "falls everywhere", "ties-simulated", users.ties_fall),
    Claim(9, "over that of untied pairs", "falls everywhere", "ties-simulated", users.ties_fall_relative),
    Claim(9, "accuracy on untied pairs, C_ties 0 to 1", "improves slightly", "ties-simulated", users.ties_accuracy),
    *(
        Claim(10, f"{name} pairs, 50 to 200", "better than random choice", f"active-{key}", rule)
        for key, name in (("simulated", "simulated"), ("web", "Web-style"), ("news", "news-shaped"))
        for rule in [partial(users.active, experiment=f"active-{key}")]
    ),
    Claim(10, "very few labels (20)", "may be worse", "active-simulated", users.active_few),
    Claim(11, "learned against both baselines", "better on all, Set1 and Set2", "news", users.news_learned),
    Claim(11, "baselines against random", "far better: by .1 or more", "news", users.news_random),
    Claim(11, "Set1 against Set2", "more accurate on Set1", "news", users.news_sets),
    Claim(11, "learning curve", "grows", "news", users.news_curve),
    Claim(11, "mean score difference by label", "larger for 1 and 5 than for 2 and 4", "news", users.news_labels),
    Claim(11, "trained on one set only", "all pairs are best on all, Set1 and Set2", "news", users.news_one_set),
    Claim(11, "trained on Set1 only", "better on Set1 than trained on Set2", "news", users.news_set1),
    Claim(12, "10⁵ pairs, C given, also 25 % turned", "at most 20 s and 1 GB", "speed", users.speed),
    Claim(12, "10⁵ pairs, C by cross-validation", "no bar", "speed-choosing", users.speed_choosing),
]
CLAIMS = [*SIMULATED, *USERS]


def rows_of(experiments: dict[str, Row]) -> list[Row]:
    """Write the expected and the measured answer of each claim."""
    tables = Tables(experiments)
    rows = []
    for claim in CLAIMS:
        found, holds = claim.answer(tables) if claim.experiment in tables else ("not run", None)
        verdict = {True: "holds", False: "**does not hold**", None: ""}[holds]
        head = {"number": claim.number, "experiment": TITLES[claim.number], "what": claim.what}
        rows.append(head | {"expected": claim.expected, "found": found, "verdict": verdict})
    return rows
