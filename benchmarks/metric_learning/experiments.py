"""The experiments by name; a number gives each its own seeds, so names may come and go."""

from __future__ import annotations

from benchmarks.metric_learning import active, coverage, curves, news, noise, reading, speed, ties, web
from benchmarks.metric_learning.running import Job

EXPERIMENTS = {
    name: Job(name, number, run)
    for number, (name, run) in enumerate(
        {
            "curves": curves.curves,
            "agreement": curves.agreement,
            "noisy-pairs": noise.noisy_pairs,
            "noisy-grades": noise.noisy_grades,
            "best-order": noise.best_order,
            "margins": noise.margins,
            "no-grades": noise.no_grades,
            "read-out": reading.truncated,
            "web": web.web,
            "ties-simulated": ties.simulated,
            "ties-news": ties.news,
            "active-simulated": active.simulated,
            "active-web": active.web,
            "active-news": active.news,
            "news": news.news,
            "speed": speed.speed,
            "speed-choosing": speed.choosing,
            "curves-at-200": curves.at_200,
            "coverage": coverage.of_five,
            "coverage-ten-ranks": coverage.of_ten,
            "coverage-few-kinds": coverage.few_kinds,
        }.items()
    )
}
NEEDS_DATA = ("web", "active-web")
FEW_REPETITIONS = {"speed": 3, "speed-choosing": 1}
