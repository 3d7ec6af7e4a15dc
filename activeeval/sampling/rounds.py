"""Rounds of one campaign: train the grade model of the next round, and read the samples of several rounds together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from activeeval.core.campaign.joint_estimates import read_together, round_weights
from activeeval.core.campaign.labels import Progress
from activeeval.core.campaign.rounds import Believe
from activeeval.core.design.methods import Method
from activeeval.core.errors import InputError
from activeeval.core.judgments.policies import Agreement
from activeeval.core.results import Note
from activeeval.core.types import Ints
from activeeval.formats.arrays import is_arrays
from activeeval.formats.suffixes import SPREADSHEETS, bare_suffix
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import believe
from activeeval.sampling.answers import SampleAnswer, cut_notes
from activeeval.sampling.drawn_sample import DrawnSample, with_machines
from activeeval.sampling.judged_samples import judged


def teaching(
    inputs: Inputs,
    kinds: str | Sequence[str],
    max_grade: int,
    method: Method,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
) -> Believe:
    """Build the function by which `activeeval.core.campaign.rounds.Rounds` refits grade models to known grades.

    The function maps known grades (n_items,), −1 for unknown, to the model arguments of `Method.design`.

    Parameters
    ----------
    inputs : Inputs
        The pool with its rankings and features; its training data is replaced by the known grades.
    kinds : str or sequence of str
        Kinds of grade model, as forest or logit (several make a mixture); the uniform model is used while known grades
        are too few.
    max_grade : int
        Largest grade of the scale.
    method : Method
        The sampling method that uses the model.
    seed : int
        Seed of the training.
    n_jobs : int, optional
        Number of processors for training.
    """
    untaught = replace(inputs, training=None)

    def beliefs(known: Ints) -> Mapping[str, Any]:
        """Train the model on known grades and return its arguments of `Method.design`."""
        taught = untaught.taught_by(known)
        names = kinds if taught.training is not None else "uniform"
        models = believe(taught, names, max_grade, np.random.default_rng(seed), n_jobs=n_jobs)
        return models.for_method(method, max_grade + 1)

    return beliefs


def by_round(paths: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Group paths into samples, each with the sheets that follow it.

    Raises
    ------
    InputError
        If one of several samples has no sheet, or the first path is a sheet.
    """
    rounds: list[tuple[str, list[str]]] = []
    for path in paths:
        if not rounds or _may_be_sample(path):
            rounds.append((path, []))
        else:
            rounds[-1][1].append(path)
    if len(rounds) > 1 and not _may_be_sample(paths[0]):
        meant = f"{rounds[1][0]} {paths[0]}"
        raise InputError(f"{paths[0]}: a sample goes before its sheets, expected as {meant}")
    lacking = [path for path, sheets in rounds if not sheets]
    if lacking and len(rounds) > 1:
        raise InputError(f"{lacking[0]}: no sheet follows it; name each round's sample and then its sheets")
    return rounds


def _may_be_sample(path: str) -> bool:
    """Check whether a file is packed like a sample and is no spreadsheet; .xlsx and .ods are zip files too."""
    return is_arrays(path) and bare_suffix(path) not in SPREADSHEETS


def judged_rounds(
    rounds: Sequence[tuple[str, Sequence[str]]], policy: str = "refuse", *, machine_is_truth: bool = False
) -> tuple[list[DrawnSample], Progress, Agreement]:
    """Read the samples of rounds with the judgments of their sheets, and add up progress and agreement of judges.

    Parameters
    ----------
    rounds : sequence of (str, sequence of str)
        File of each sample, and the files of its sheets.
    policy : str
        Rule for different grades of one item by several judges; "refuse" raises InputError.
    machine_is_truth : bool
        Accept grades of graders (LLMs or other models) as labels; else they raise InputError.
    """
    by_round = [judged(path, sheets, policy, machine_is_truth=machine_is_truth) for path, sheets in rounds]
    progress = Progress(*(sum(counts) for counts in zip(*(counted for _, counted, _ in by_round), strict=True)))
    agreement = Agreement(*(sum(counts) for counts in zip(*(counted for _, _, counted in by_round), strict=True)))
    return [sample for sample, _, _ in by_round], progress, agreement


def round_answers(
    samples: Sequence[DrawnSample],
    measures: Sequence[str],
    questions: Sequence[str],
    contrasts: str | None = None,
    *,
    scope: str = "pool",
    confidence: float = 0.95,
    is_campaign: bool = False,
) -> tuple[list[SampleAnswer], list[Note]]:
    """Estimate each question from several rounds together; also return notes on the rounds' weights and on cut lists.

    Parameters
    ----------
    samples : sequence of DrawnSample
        One for each round, in order, with its judgments.
    measures : sequence of str
        Names of measures, as "DCG@10"; by default those of the design.
    questions : sequence of {"difference", "run", "versus"}
        By default those of the design.
    contrasts : {"all", "first"}, optional
        For more than two systems, the pairs to compare.
    scope : {"pool", "population"}
        The queries that the answers are for.
    is_campaign : bool
        True if a grade that a later round did not know arrived late, instead of being an error.

    Raises
    ------
    InputError, StateError
        InputError if the samples are not rounds of one pool and target, or a round does not support a question;
        StateError if a round is not judged to its end.
    """
    by_sample = [sample.asked(measures, questions, contrasts) for sample in samples]
    is_contest = samples[0].is_contest
    named = [
        [(question.title if is_contest else question.question, str(question.target.measure)) for question in of_sample]
        for of_sample in by_sample
    ]
    if any(of_sample != named[0] for of_sample in named):
        problem = "the rounds were made for different questions: name one with `measures` and `questions`"
        raise InputError(problem, field="questions")
    campaigns = [sample.campaign for sample in samples]
    answers, notes = [], cut_notes(samples[0], by_sample[0])
    for k, question in enumerate(by_sample[0]):
        estimate = read_together(
            campaigns, [of_sample[k].target for of_sample in by_sample], scope, is_campaign=is_campaign
        )
        estimate, interval = with_machines(samples, estimate), estimate.interval(confidence)
        answers.append(
            SampleAnswer(
                question=question.question,
                target=question.target,
                estimate=estimate,
                interval=interval,
                p_value=estimate.p_value,
                half_width_at_end=(interval.high - interval.low) / 2,  # the present one: everything is judged
                system=question.system,
                versus=question.versus,
            )
        )
        weights = tuple(map(float, round_weights(campaigns, question.target)))
        notes.append(Note("rounds", {"measure": question.target.name, "question": question.title, "weights": weights}))
    return answers, notes
