"""How wide the interval of the same labels is without a machine, which tells how many labels the machine saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activeeval.core.campaign.reading import read
from activeeval.core.design import GradeProbs
from activeeval.core.design.methods import find_method
from activeeval.core.grade_models.values import ValueTable, default_shares
from activeeval.formats.graders.grader_grades import Grades
from activeeval.graders.audit_summary import finite
from activeeval.inputs.choices import GRADER
from activeeval.inputs.modelling import KINDS, uniform_beliefs
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.samples import Sample


def half_width_without(samples: Sequence[Sample], grades: Grades, answer: SampleAnswer) -> float | None:
    """Return the half-width of the same labels where nothing is expected of any item; None where that is no question.

    It is none of a sample that was drawn without these grades, or with others beside them, of rounds, and of a method
    that expects nothing.
    """
    sample = samples[0]
    campaign, design = sample.campaign, sample.campaign.design
    if len(samples) > 1 or design.beliefs is None or not _is_drawn_by(sample, grades):
        return None
    n_grades = design.beliefs.max_grade + 1
    model = uniform_beliefs(design.pool.n_items, n_grades - 1).for_method(find_method(design.name), n_grades)
    beliefs = design.stage.model(GradeProbs.of(design.pool, known=design.known, **model))
    reading = design.stage.reading(answer.target, design.order, beliefs, design.known)
    plain = replace(design, beliefs=beliefs, readings=(reading,))
    estimate = read(plain, campaign.selection, campaign.labels, (), answer.target, answer.estimate.scope)
    low, high = estimate.interval(answer.interval.confidence)
    return finite((high - low) / 2)


def _is_drawn_by(sample: Sample, grades: Grades) -> bool:
    """Return whether a sample's model is that of these grades alone, whatever their file or machine is called.

    A model of a machine expects the same of all items to which it gives one value. Its name tells nothing: next month's
    grades may lie in a file of the same name.
    """
    design = sample.campaign.design
    parts = sample.model.split(", ")  # the name of a grader may hold a comma too
    models = [part for part in parts if part.startswith(GRADER) or part.partition("=")[0] in KINDS]
    if len(models) > 1 or not parts[0].startswith(GRADER) or design.beliefs is None:
        return False
    probs = design.beliefs.grade_probs
    values = grades.values_on(design.pool)
    kinds = ValueTable.of(values, default_shares(probs.shape[-1])).codes
    rows = np.unique(probs.reshape(len(kinds), -1), axis=0, return_inverse=True)[1].reshape(-1)
    if np.unique(kinds).size == 1:
        return False
    expected = probs.reshape(len(kinds), -1, probs.shape[-1]).mean(axis=1) @ np.arange(probs.shape[-1])
    by_kind = [expected[kinds == kind].mean() for kind in np.unique(kinds[~np.isnan(values)])]
    if (np.diff(by_kind) <= 0).any():  # the same kinds in another order
        return False
    # what is known teaches a query nothing of its own: the model is the same within each, not of all
    queries = design.pool.item_queries
    pairs = ((queries, rows, kinds), (queries, rows), (queries, kinds))
    return len({np.unique(np.column_stack(columns), axis=0).shape[0] for columns in pairs}) == 1
