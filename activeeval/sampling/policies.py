"""What the grades of several judges count as where nobody has said it."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.core.errors import InputError
from activeeval.core.measures import SampledMeasure
from activeeval.inputs.loading import sampled_measure


def policy_for(policy: str | None, judges_per_item: int, adjudicate: bool, measures: Sequence[str]) -> str:
    """Return what several judges' grades count as where nobody has said it.

    The majority, and of an even number of judges, of whom the majority and the median are the lower grade of two, the
    mean gain. Where a third judge decides it is the median, which is the grade of two that are alike.

    Raises
    ------
    InputError
        Where a measure knows no gain between two grades, and nobody has said what counts.
    """
    if policy is not None:
        return policy
    if adjudicate:
        return "median"
    if judges_per_item % 2:
        return "majority"
    check_mean_gain([sampled_measure(text) for text in measures])
    return "mean-gain"


def policy_that_works(n_judges: int, measures: Sequence[str]) -> str:
    """Return what several judges' grades may count as: as `policy_for`, the median where a measure knows no gain."""
    try:
        return policy_for(None, n_judges, False, measures)
    except InputError:
        return "median"


def check_mean_gain(measures: Sequence[SampledMeasure]) -> None:
    """Raise InputError where a measure knows no gain between grades."""
    for measure in measures:
        if between := measure.no_gain_between:
            raise InputError(
                f"`policy` mean-gain, of an even number of judges: {measure} knows no gain between {between}; say what "
                "counts where two differ (`policy` majority or median: the lower grade), or let a third judge decide "
                "(`adjudicate`)",
                field="policy",
            )
