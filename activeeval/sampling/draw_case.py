"""Draw a sample of a prepared case: a pool with its rankings, grade model and known grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from activeeval.core.campaign import Campaign
from activeeval.core.design import Design
from activeeval.core.design.methods import default_method, find_method
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.measures import Target
from activeeval.formats.sample_file import lists_of
from activeeval.inputs.budgets import Budget, check_open
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.inputs.systems import check_differ
from activeeval.sampling.adaptive_depth import OF_SHEETS, DrawOptions, adaptive_depth_in
from activeeval.sampling.drawn_sample import DrawnSample


def draw(
    case: PreparedCase,
    measures: Sequence[str],
    questions: Sequence[str],
    budget: Budget,
    *,
    method: str | None = None,
    expected: bool = False,
    surely: bool = False,
    beside: Sequence[Target] = (),
    **how: Unpack[DrawOptions],
) -> DrawnSample:
    """Draw one sample for every combination of measures and questions.

    Parameters
    ----------
    case : PreparedCase
        The pool with its rankings, grade model and known grades.
    measures : sequence of str
        Names of measures, as "DCG@10".
    questions : sequence of {"difference", "run", "versus"}
        By default the differences of several rankings, or the value of one.
    budget : Budget
        Includes the price of the graders' grades, if they have one; human judges get the rest.
    method : str, optional
        By default the best one for the measures among those that stay unbiased under a bad grade model.
    expected : bool
        For draws with replacement: meet the budget on average.
    surely : bool
        For adaptive depth: draw more, smaller batches (sheets), so that the budget always suffices to complete the
        sample, even if the next batch is drawn while items of the last one wait for grades.
    beside : sequence of Target
        Further targets, such as segments, that only influence the sampling rates; their ``weights`` come last.
    how
        Defensive share, weights of the questions and adaptive depth, see `DrawOptions`.

    Raises
    ------
    InputError
        If no label can change one of the targets, or adaptive depth is chosen for a method without depths.
    BudgetError
        If the budget is too small for the sample's most expensive unit (what is judged at once).
    """
    question_list = case.asked(list(dict.fromkeys(measures)), list(dict.fromkeys(questions)))
    targets = [question.target for question in question_list]
    if case.known is not None and not find_method(method or "items").scheme.takes_known:
        raise InputError(f"method {method!r} draws with replacement: it takes no known grades")
    check_differ(question_list)
    check_open(*targets)
    chosen = method or default_method(*(target.measure for target in targets)).name
    try:
        # ``paid``: what graders' grades leave of the budget, in mean items
        paid, weights = case.for_people(budget, *targets), how.get("weights", "equal")
        adaptive_depth = adaptive_depth_in(
            case, find_method(chosen), targets, how.get("adaptive_depth"), how.get("usual", OF_SHEETS)
        )
        about: dict[str, Any] = {"weights": weights, "adaptive_depth": adaptive_depth, "beside": beside}
        design = case.design(chosen, targets, how.get("defensive_share"), budget=paid, expected=expected, **about)
    except BudgetError as problem:
        raise case.refused(budget, problem, *targets) from None
    name_of = dict(zip(map(id, case.inputs.rankings), case.systems, strict=True))
    return DrawnSample(
        campaign=Campaign(design, rng=case.seed, by_batches=True, surely=surely),
        questions=tuple(question.question for question in question_list),
        systems=tuple(name_of[id(ranking)] for ranking in lists_of(design)),
        depth=case.depth,
        seed=case.seed_number,
        model=case.model,
        truth_of_machines=_truth_of_machines(case),
    )


def _truth_of_machines(case: PreparedCase) -> tuple[tuple[str, int], ...]:
    """List the files whose grades come from graders (LLMs or other models) but count as labels, with their number."""
    numbers_of_files = [note.numbers for note in case.notes if note.code == "machine is truth"]
    return tuple((str(numbers["source"]), int(str(numbers["n"]))) for numbers in numbers_of_files)


def design_of(
    case: PreparedCase, measure: str, method: str | None, budget: Budget, defensive_share: float | None = None
) -> Design:
    """Design a sample for one measure, by default with the best method for it.

    The design gets the budget (less the price of asking the graders) if its samples can be topped up; one that draws
    with replacement has no budget of its own. ``defensive_share`` is the share of sampling that ignores the model.
    Raise BudgetError if the budget is too small.
    """
    target = case.target(measure)
    design = case.design(method or default_method(target.measure).name, target, defensive_share)
    if not design.scheme.can_be_topped_up:
        return design
    try:
        return design.with_budget(case.for_people(budget, target))
    except BudgetError as problem:
        raise case.refused(budget, problem, target) from None
