"""What a caller's own arguments may say and text that comes back from elsewhere may not: the names of files.

A measure that stands in a sample is read by `activeeval.core.measures.parse_measure` alone, which opens
nothing; what the caller wrote on the command line or handed to a function comes through here.
"""

from __future__ import annotations

from activeeval.core.errors import InputError
from activeeval.core.measures import Additive, Measure, RankGains, called, parse_measure
from activeeval.formats.gains import read_gains


def asked_measure(text: str) -> Measure:
    """Return the measure that a caller asks for: `parse_measure`, and ``@FILE``, the gains and discounts of a file.

    Parameters
    ----------
    text : str
        The caller's own words, never what a sample holds.

    Raises
    ------
    InputError
        Where the text is no measure; a FormatError names the file that holds none.

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
