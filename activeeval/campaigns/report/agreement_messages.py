"""Sentences on the agreement of judges that complement the coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from activeeval.report.numbers import counted, number

if TYPE_CHECKING:
    from activeeval.campaigns.report.judges_content import SharedAgreement
    from activeeval.core.judgments import Coefficient


def alike_sentence(n_alike: int, n_items: int, common_grade: float, base_rate: float) -> str:
    """State how many of ``n_items`` items got the same grade from all their judges, and the most common grade.

    ``base_rate`` is the share of ``common_grade`` among all their grades.

    Examples
    --------
    >>> alike_sentence(9, 10, 1, 0.95)
    'All judges of an item gave it the same grade for 9 of 10 items; 95 % of their grades are 1.'
    """
    alike = f"All judges of an item gave it the same grade for {n_alike:,} of {counted(n_items, 'item')}"
    return f"{alike}; {_percent(base_rate)} of their grades are {common_grade:g}."


def undefined_sentence(coefficient: Coefficient, n_items: int, common_grade: float) -> str:
    """Explain why a coefficient of agreement is undefined; empty if it is defined.

    Parameters
    ----------
    n_items : int
        Number of items that several judges graded.
    common_grade : float
        The only grade that these items got.
    """
    if not coefficient.why_undefined:
        return ""
    if not coefficient.n:
        return "The judges' agreement is unknown: no item was judged by several judges."
    items = f"the {counted(n_items, 'item')} that several judged" if n_items > 1 else "the item that several judged"
    return f"No coefficient of agreement is defined: {items} got one grade only, {common_grade:g}."


def severity_sentence(judges: Sequence[str], difference: Coefficient, confidence: float) -> str:
    """State which of two judges grades lower; empty if the interval of their mean difference includes 0.

    ``difference`` is the mean of the first judge's grades minus the second's.

    Examples
    --------
    >>> from activeeval.core.judgments import Coefficient
    >>> lower = Coefficient(value=1.0, low=0.8, high=1.2, n=30, raw_agreement=0.1, base_rate=0.5)
    >>> severity_sentence(("ann", "bob"), lower, 0.95)
    'bob grades 1.0 lower than ann (95 % interval 0.8 to 1.2, 30 items).'
    """
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None or low <= 0 <= high:
        return ""
    higher, lower = judges if value > 0 else reversed(judges)
    ends = sorted((abs(low), abs(high)))
    places = 1 if ends[0] >= 0.1 else 2
    interval = f"{_percent(confidence)} interval {number(ends[0], places)} to {number(ends[1], places)}"
    difference_text = f"{lower} grades {number(abs(value), places)} lower than {higher}"
    return f"{difference_text} ({interval}, {counted(difference.n, 'item')})."


def _percent(share: float) -> str:
    """Format a share as a percentage."""
    return f"{100 * share:.3g} %"


def sentences_beside(figures: SharedAgreement) -> list[str]:
    """List the sentences that complement the coefficients: equal grades, undefined coefficients, stricter judges.

    ``figures`` is the agreement of judges on items that several of them graded.
    """
    alike = alike_sentence(figures.n_alike, figures.n_items, figures.common_grade, figures.alpha.base_rate or 0.0)
    sentences = [undefined_sentence(figures.alpha, figures.n_items, figures.common_grade), alike]
    for pair in figures.pairs:
        if pair.difference is not None:
            sentences.append(severity_sentence(pair.judges, pair.difference, figures.confidence))
    return [sentence for sentence in sentences if sentence]
