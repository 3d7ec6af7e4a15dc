"""Rounds of one campaign: what a workload's labels teach the next, and samples on file that are read together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from activeeval.campaign.labels import Progress
from activeeval.campaign.rounds import Believe, read_together, round_weights
from activeeval.cases.inputs import Workload
from activeeval.cases.modelling import believe
from activeeval.design.methods import Method
from activeeval.errors import InputError
from activeeval.io.arrays import is_arrays
from activeeval.io.files import bare_suffix
from activeeval.io.tables.sheets import SPREADSHEETS
from activeeval.judgments.policies import Agreement
from activeeval.tasks.answers import Answer, cut_notes
from activeeval.tasks.samples import Sample, judged
from activeeval.types import Ints


def teaching(
    workload: Workload,
    kinds: str | Sequence[str],
    max_grade: int,
    method: Method,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
) -> Believe:
    """Return what `activeeval.campaign.rounds.Rounds` asks: what grade models believe once some grades are known.

    Parameters
    ----------
    kinds : str or sequence of str
        As of `activeeval.cases.modelling.believe`; the uniform model stands in while known grades are too few.
    """
    untaught = replace(workload, training=None)

    def beliefs(known: Ints) -> Mapping[str, Any]:
        taught = untaught.taught_by(known)
        names = kinds if taught.training is not None else "uniform"
        found = believe(taught, names, max_grade, np.random.default_rng(seed), n_jobs=n_jobs)
        return found.for_method(method, max_grade + 1)

    return beliefs


def by_round(paths: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return each sample with the sheets that follow it.

    Raises
    ------
    InputError
        Where one of several samples has no sheet.
    """
    found: list[tuple[str, list[str]]] = []
    for path in paths:
        # .xlsx and .ods are packed as arrays are
        if not found or (is_arrays(path) and bare_suffix(path) not in SPREADSHEETS):
            found.append((path, []))
        else:
            found[-1][1].append(path)
    lacking = [path for path, sheets in found if not sheets]
    if lacking and len(found) > 1:
        raise InputError(f"{lacking[0]}: no sheet follows it; name each round's sample and then its sheets")
    return found


def judged_rounds(
    rounds: Sequence[tuple[str, Sequence[str]]], policy: str = "refuse"
) -> tuple[list[Sample], Progress, Agreement]:
    """Return the samples of rounds with all that was judged on their sheets; else as `judged`."""
    found = [judged(path, sheets, policy) for path, sheets in rounds]
    progress = Progress(*(sum(counts) for counts in zip(*(own for _, own, _ in found), strict=True)))
    agreement = Agreement(*(sum(counts) for counts in zip(*(own for _, _, own in found), strict=True)))
    return [sample for sample, _, _ in found], progress, agreement


def round_answers(
    samples: Sequence[Sample],
    measures: Sequence[str],
    questions: Sequence[str],
    contrasts: str | None = None,
    *,
    scope: str = "pool",
    confidence: float = 0.95,
    is_campaign: bool = False,
) -> tuple[list[Answer], list[str]]:
    """Return what rounds answer together to each question, and what to know of it.

    Parameters
    ----------
    is_campaign : bool
        See `activeeval.campaign.rounds.read_together`.

    Raises
    ------
    InputError, StateError
        As `activeeval.campaign.rounds.read_together`, and where a round does not reach a question.
    """
    asked = [sample.asked(measures, questions, contrasts) for sample in samples]
    named = [[(one.title, str(one.target.measure)) for one in own] for own in asked]
    if any(own != named[0] for own in named):
        raise InputError("the rounds were made for different questions: name one with --measure and --question")
    campaigns = [sample.campaign for sample in samples]
    answers, notes = [], cut_notes(samples[0], asked[0])
    for k, one in enumerate(asked[0]):
        found = read_together(campaigns, [own[k].target for own in asked], scope, is_campaign=is_campaign)
        end = found.interval(confidence)
        answers.append(
            Answer(
                question=one.question,
                target=one.target,
                estimate=found,
                interval=end,
                p_value=found.p_value,
                half_width_at_end=(end.high - end.low) / 2,  # all are judged
                system=one.system,
                versus=one.versus,
            )
        )
        weights = ", ".join(f"{w:.3f}" for w in round_weights(campaigns, one.target))
        notes.append(f"{one.target.name} ({one.title}): {len(samples)} rounds, planned weights {weights}")
    return answers, notes
