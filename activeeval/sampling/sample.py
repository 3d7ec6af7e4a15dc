"""Verbs `sample` and `load_sample`: draw a sample for runs and a budget, and read it again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

from activeeval.core.results import Caution, Note
from activeeval.inputs.arguments import budget_of, checked, measures_of, warn_of
from activeeval.inputs.choices import Choices
from activeeval.sampling.arguments import QuestionOptions, asked_of, choices_of, frame_kind_of
from activeeval.sampling.draw import SampleRequest, draw_for, fresh_seed
from activeeval.sampling.read_samples import read_sample
from activeeval.sampling.sample_result import Sample, sentences_of


class SampleOptions(QuestionOptions, total=False):
    """Further options of `sample`.

    Attributes
    ----------
    share : float
        The budget as a share of judging everything.
    method : str
        By default the best one for the measures among those that stay unbiased under a bad grade model.
    """

    share: float
    method: str


@checked
def sample(
    runs: Any,
    *,
    measure: Any = "DCG",
    budget: Any = None,
    half_width: Any = None,
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    seed: int | None = None,
    **options: Unpack[SampleOptions],
) -> Sample:
    """Draw a sample of items to judge within a budget; no label of the pool is used.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
        The runs to measure; for two, the first minus the second, as ``[new, old]``.
    measure : str or measure, or a list of them
        One sample answers all of them.
    budget : int, float or str
        Number of judgments (mean items if costs differ), or a share of judging everything: 200, "10%". Never
        exceeded. Alternatives are ``share``, or a goal:
    half_width : float, or mapping of str to float, optional
        Half-width of the intervals to reach; for segments of ``segments`` simultaneously, as {"mobile": 0.05}, with the
        key None for all queries.
    max_grade : int
        Largest grade of the scale.
    judged : path, frame, dict or Judgments, or a list of them
        Known grades: they cost nothing, are not judged again, and train the grade model.
    names : sequence of str
        Names of the runs; by default those of their files.
    seed : int, optional
        Equal seeds give equal samples. By default a random seed, available as `Sample.seed`.
    options
        `SampleOptions`: questions, method, difference and power, segments, adaptive_depth, train, grade_probs, graders,
        model, pool_depth, overhead, ….

    Raises
    ------
    ChoiceError, InputError
        If an argument is wrong, or one is missing.
    BudgetError
        If the budget is too small for the sample's largest unit.

    Examples
    --------
    >>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(20)}
    ...         for k, name in enumerate(["new", "old"], 1)}
    >>> drawn = sample(runs, measure="DCG@5", budget=60, max_grade=3, seed=1)
    >>> sheet = drawn.sheet("polars")
    >>> sheet.columns
    ['sample', 'block', 'query_id', 'doc_id', 'judge', 'grade', 'note']
    >>> import polars as pl
    >>> judged = sheet.with_columns(grade=pl.col("doc_id").str.slice(1).cast(pl.Int64) % 4)
    >>> result = drawn.estimate(judged)
    >>> result.system, result.versus, result.low < result.value < result.high
    ('new', 'old', True)

    >>> import tempfile, pathlib
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(80)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "segments.csv")
    ...     _ = table.write_text("query_id,segment\\n" + "".join(f"q{q},{'ab'[q % 2]}\\n" for q in range(80)))
    ...     asked = {"segments": table, "half_width": {"a": 2.0, "b": 2.5}}
    ...     for_segments = sample(run, measure="DCG@5", max_grade=3, seed=1, **asked)
    >>> any(note.startswith("± 2 for a, ± 2.5 for b takes a budget of") for note in for_segments.notes)
    True
    """
    about = {"budget": budget, "half_width": half_width, "max_grade": max_grade, "judged": judged}
    choices, request = requested(runs, measure, names=names, seed=seed, **about, **options)
    notes: list[Note | Caution] = []
    drawn = draw_for(choices, request, say=notes.append).sample
    all_notes = [*notes, *drawn.notes()]
    warn_of([("", [note for note in all_notes if isinstance(note, Caution)])])
    return Sample(drawn=drawn, notes=sentences_of(all_notes), frame_kind=frame_kind_of(runs, judged, options))


def requested(
    runs: Any,
    measure: Any,
    *,
    budget: Any = None,
    half_width: Any = None,
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    seed: int | None = None,
    **options: Any,
) -> tuple[Choices, SampleRequest]:
    """Convert the arguments of `sample` to choices (of the pool) and a request; draw a random seed if there is none.

    ``runs`` and ``judged`` are paths, frames, dicts or lists of them; ``measure`` is one measure or a list,
    ``half_width`` a number or a dict of segments to numbers, ``options`` those of `SampleOptions`. Raise ChoiceError,
    InputError or TypeError for an argument of a wrong form or an unknown option.
    """
    measures, _ = measures_of(measure)
    chosen = fresh_seed() if seed is None else seed
    question_options, of_pool = asked_of(options, SampleOptions)
    choices = choices_of(runs, names, judged, max_grade, chosen, of_pool)
    of_budget = budget_of(budget, question_options.pop("share", None))
    return choices, SampleRequest(measures=measures, budget=of_budget, half_width=half_width, **question_options)


@checked
def load_sample(path: Any) -> Sample:
    """Read a sample written by `Sample.save` or ``activeeval sample``.

    Raises
    ------
    InputError
        If the file is changed, damaged or no sample.

    Examples
    --------
    >>> import tempfile
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(10)}
    >>> drawn = sample(run, measure="P@3", budget=20, max_grade=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = drawn.save(f"{folder}/week1.sample")
    ...     load_sample(f"{folder}/week1.sample").id == drawn.id
    True
    """
    drawn, _ = read_sample(os.fspath(path))
    return Sample(drawn=drawn, notes=sentences_of(drawn.notes()))
