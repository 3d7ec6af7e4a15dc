"""Default rules for combining the grades of several judges."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.core.errors import InputError
from activeeval.core.measures import SampledMeasure
from activeeval.inputs.loading import sampled_measure


def policy_for(policy: str | None, judges_per_item: int, adjudicate: bool, measures: Sequence[str]) -> str:
    """Return the rule for combining several judges' grades: the user's ``policy``, or the default.

    The default is the majority for an odd number of judges. For an even number, where majority and median are the lower
    of two grades, it is the mean gain. With a third, adjudicating judge it is the median, which is the grade on which
    two judges agree. ``judges_per_item`` is the number of judges of each item, ``adjudicate`` is True if a third one
    decides where two differ, and ``measures`` are names as "DCG@10".

    Raises
    ------
    InputError
        If the default is the mean gain and a measure defines no gain between two grades.
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
    """Return the default rule for combining several judges' grades, or the median if a measure does not allow it."""
    try:
        return policy_for(None, judges_per_item=n_judges, adjudicate=False, measures=measures)
    except InputError:
        return "median"


def check_mean_gain(measures: Sequence[SampledMeasure]) -> None:
    """Raise InputError if a measure defines no gain between two grades, so that gains of judges have no mean."""
    for measure in measures:
        if between := measure.no_gain_between:
            raise InputError(
                f"`policy` mean-gain, of an even number of judges: {measure} knows no gain between {between}; say what "
                "counts where two differ (`policy` majority or median: the lower grade), or let a third judge decide "
                "(`adjudicate`)",
                field="policy",
            )
