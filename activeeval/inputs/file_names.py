"""Read measures of the caller, whose texts may name files; texts from samples may not.

A measure inside a sample is parsed by `activeeval.core.measures.parse_measure` alone, which opens no file. Measures
from the command line or from function arguments are parsed here.
"""

from __future__ import annotations

from activeeval.core.errors import InputError
from activeeval.core.measures import Additive, Measure, RankGains, called, parse_measure
from activeeval.formats.gains import read_gains


def asked_measure(text: str) -> Measure:
    """Parse a caller's measure: a text for `parse_measure`, or ``@FILE`` with learned gains and discounts.

    Parameters
    ----------
    text : str
        From the caller; never from a sample's file.

    Raises
    ------
    InputError
        If the text is no measure; a FormatError if the file holds none.

    Examples
    --------
    >>> print(asked_measure("DCG@5"))
    DCG(dcg='exp-log2')@5
    """
    path = text.strip()
    if not path.startswith("@"):
        return called(parse_measure(text), path)
    if path == "@":
        raise InputError("measure '@': expected the name of a file behind it, as @gains.json")
    gains = read_gains(path[1:])
    if gains.by_rank:
        return RankGains(gains.by_rank, label=path)
    return Additive(gains.gains, gains.discounts, len(gains.discounts), label=path)
