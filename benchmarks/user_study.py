"""The user study of top-k labelling with simulated people: ``python -m benchmarks.user_study``.

Niu, Guo, Lan and Cheng (SIGIR 2012) had five people judge 50 queries of 50 documents, by comparisons (k = 10) and by
five grades. Here a document's relevance is a normal number, a person sees it with normal noise of scale s, in
comparisons (of two documents, so with √2 s) as in grading, and the thresholds of the grades cut what is seen into five
equal parts. The one number s is chosen so that pairs agree as often as the paper's under top-k labelling, 74.5 %;
everything else but the mean times is then a prediction. Where that misses the paper's graded 54.7 %, a second study has
a noise for grading of its own that does not. Queries are in five folds; assessor i compares in fold i and grades in
fold i + 1, and, so that every query has two people under both methods, compares in fold i + 2 and grades in fold i + 3:
nobody sees a query twice. Means and standard deviations are over studies. Stores benchmarks/results/user_study.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from activeeval.core.judgments import CodedGrades, preference_agreement
from activeeval.core.judgments.agreement import RELATIONS, PreferenceAgreement
from activeeval.core.judgments.coefficient_intervals import Coefficient
from activeeval.core.judgments.coefficients import chi_squared
from activeeval.core.types import Floats
from activeeval.topk import TopKLabelling
from activeeval.topk.assessors import Assessor, Assessors
from benchmarks.frame.experiment import RESULTS, Experiment, Options, Row
from benchmarks.frame.report import figure, section_tables, table

N_QUERIES, N_DOCUMENTS, K, N_ASSESSORS, N_FOLDS, N_GRADES = 50, 50, 10, 5, 5, 5
PUBLISHED = {
    "comparisons a query": 142.76,
    "minutes a query, comparisons": 13.13,
    "minutes a query, grades": 11.78,
    "overall, top-k": 74.5,
    "overall, grades": 54.7,
    "strict, top-k": 89.7,
    "strict, grades": 83.1,
    "chi-squared, overall": 420.7,
    "chi-squared, strict": 28.5,
}
TABLES = {
    "top-k": ((0.6749, 0.1138, 0.1047), (0.2766, 0.8198, 0.3779), (0.0485, 0.0664, 0.5174)),
    "grades": ((0.6272, 0.2825, 0.1534), (0.2913, 0.5232, 0.3826), (0.0815, 0.1944, 0.4640)),
}
"""The paper's tables 2 and 3, normalised by column."""
PUBLISHED_PAIRS = 4 * N_DOCUMENTS * (N_DOCUMENTS - 1) // 2
"""Pairs of a method at which the paper's shares have its χ²: 4 900 give 420, its strict shares 28 at 1 500."""
CALIBRATING = 20
"""Studies of a calibration: their mean share has a standard error of 0.2 %."""


class Part(NamedTuple):
    """What a study found of one method: judgments and seconds a query, and how far people agree."""

    judgments: float
    seconds: float
    agreement: PreferenceAgreement


def people(scale: float) -> Assessors:
    """Return people who see relevance with noise of a scale, and cut what they see into five equal parts."""
    thresholds = norm.ppf(np.arange(1, N_GRADES) / N_GRADES) * np.hypot(1, scale)
    return Assessors(comparison_scale=np.sqrt(2) * scale, grade_scale=scale, thresholds=thresholds.tolist())


def part(method: str, kind: Assessors, seed: int) -> Part:
    """Run one study of a method, ``"top-k"`` or ``"grades"``."""
    random = np.random.default_rng(seed)
    relevance = random.standard_normal((N_QUERIES, N_DOCUMENTS))
    assessors = [kind.person(child) for child in random.spawn(N_ASSESSORS)]
    said, counts, seconds = [], [], []
    for query, assessor in assignments(method):
        judge = _labelled if method == "top-k" else _graded
        labels, n, time = judge(assessors[assessor], relevance[query], random)
        said += [(f"U{assessor}", f"q{query}", f"d{d:02}", label) for d, label in enumerate(labels.tolist())]
        counts.append(n)
        seconds.append(time)
    agreement = preference_agreement(CodedGrades.of(said).relations(), n_resamples=1, rng=0)
    return Part(float(np.mean(counts)), float(np.mean(seconds)), agreement)


def assignments(method: str) -> Iterator[tuple[int, int]]:
    """Yield query and assessor of all that is judged by a method."""
    for assessor in range(N_ASSESSORS):
        for step in (0, 2) if method == "top-k" else (1, 3):
            for query in range((assessor + step) % N_FOLDS, N_QUERIES, N_FOLDS):
                yield query, assessor


def _labelled(assessor: Assessor, relevance: Floats, random: np.random.Generator) -> tuple[Any, int, float]:
    done = assessor.label(relevance, TopKLabelling(N_DOCUMENTS, K, rng=random))
    return done.labelling.grades(share_ties=True), done.labelling.n_comparisons, done.seconds


def _graded(assessor: Assessor, relevance: Floats, _random: np.random.Generator) -> tuple[Any, int, float]:
    grades, times = assessor.grade(relevance)
    return grades, N_DOCUMENTS, float(times.sum())


def calibrated(method: str, seed: int, n_studies: int) -> float:
    """Return the scale at which people agree as often as the paper's, by bisection on the same studies throughout."""
    low, high = 0.0, 3.0
    for _ in range(10):
        middle = (low + high) / 2
        shares = [part(method, people(middle), seed + k).agreement.overall.value for k in range(n_studies)]
        low, high = (middle, high) if 100 * np.mean(shares) > PUBLISHED[f"overall, {method}"] else (low, middle)
    return (low + high) / 2


def study_rows(top_k: Sequence[Part], grades: Sequence[Part], fitted: Sequence[str]) -> Iterator[Row]:
    """Yield the figures of studies beside the published ones; those that a noise was calibrated on are named."""
    found: dict[str, list[float]] = {
        "comparisons a query": [one.judgments for one in top_k],
        "minutes a query, comparisons": [one.seconds / 60 for one in top_k],
        "minutes a query, grades": [one.seconds / 60 for one in grades],
    }
    for what in ("overall", "strict"):
        sides = {"top-k": top_k, "grades": grades}
        shares = {name: [getattr(one.agreement, what) for one in own] for name, own in sides.items()}
        found |= {f"{what}, {name}": [100 * one.value for one in own] for name, own in shares.items()}
        found[f"chi-squared, {what}"] = [_chi_squared(*both) for both in zip(*shares.values(), strict=True)]
    for name, own in found.items():
        unit = "%" if name.startswith(("overall", "strict")) else "min" if name.startswith("minutes") else ""
        note = f"± {np.std(own):.2g} between studies; the paper's {PUBLISHED[name]:g}"
        note += ", on which the noise is calibrated" if name in fitted else ""
        yield figure(name, float(np.mean(own)), unit, note=note, published=PUBLISHED[name])


def _chi_squared(one: Coefficient, two: Coefficient) -> float:
    """Compute χ² for the number of pairs of the paper; each method keeps its share of strict ones."""
    all_pairs = N_QUERIES * N_DOCUMENTS * (N_DOCUMENTS - 1) // 2
    sides = []
    for side in (one, two):
        n = round(side.n * PUBLISHED_PAIRS / all_pairs)
        sides += [round((side.value or 0.0) * n), n]
    compared = chi_squared(*sides)
    return float("nan") if compared is None else compared.statistic


def table_of(parts: Sequence[Part]) -> Row:
    """Return the table of all studies, by row and by column."""
    counts = np.sum([one.agreement.counts for one in parts], axis=0)
    by_row, by_column = counts / counts.sum(axis=1, keepdims=True), counts / counts.sum(axis=0)
    return {"counts": counts.tolist(), "by_row": by_row.tolist(), "by_column": by_column.tolist()}


def markdown(result: Row) -> str:
    """Write the tables of a result, the paper's beside ours."""
    scales = ", ".join(f"{name} {scale:.2f}" for name, scale in result["scales"].items())
    told = f"{result['studies']} studies; noise, of the spread of relevance: {scales}."
    lines = [told, "", *section_tables(result["sections"])]
    for name, shares in result["tables"].items():
        published = TABLES[name.split(",")[0]]
        columns, rows = ([f"{one} by {side}" for one in RELATIONS] for side in ("column (the paper)", "row"))
        body = []
        for k, relation in enumerate(RELATIONS):
            cells = [f"{x:.3f} ({y:.3f})" for x, y in zip(shares["by_column"][k], published[k], strict=True)]
            body.append([relation, *cells, *(f"{x:.3f}" for x in shares["by_row"][k])])
        lines += [*table([name, *columns, *rows], body), ""]
    return "\n".join(lines)


def studied(options: Options) -> Row:
    """Calibrate, run the studies, and return scales, sections and tables."""
    seed, n = options.seed, min(options.studies, CALIBRATING)
    scale, own = (calibrated(method, seed, n) for method in ("top-k", "grades"))
    kinds = {"one noise for both methods": people(scale), "a noise for grading of its own": people(own)}
    seeds = range(seed + 1000, seed + 1000 + options.studies)  # not those of the calibration
    top_k = [part("top-k", people(scale), k) for k in seeds]
    sections, tables = {}, {"top-k": table_of(top_k)}
    for title, kind in kinds.items():
        grades = [part("grades", kind, k) for k in seeds]
        fitted = ["overall, top-k", *(["overall, grades"] if sections else [])]
        sections[title] = {"title": title.capitalize(), "figures": list(study_rows(top_k, grades, fitted))}
        tables[f"grades, {title}"] = table_of(grades)
    return {"scales": {"one for both methods": scale, "of grading": own}, "sections": sections, "tables": tables}


EXPERIMENT = Experiment(
    __spec__, __doc__, studied, report=markdown, out=RESULTS / "user_study.json", studies=20, seed=1
)


if __name__ == "__main__":
    EXPERIMENT.main()
