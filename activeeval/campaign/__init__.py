"""Campaigns: units to judge, what judging them has shown, any question read from it.

`events` are what happens, `drawing` says which units there are, `campaign` conducts, `reading` reads, `sample`
keeps a drawn sample on file.
"""

from activeeval.campaign.campaign import Campaign, Judge
from activeeval.campaign.drawing import Drawing, drawing_of
from activeeval.campaign.events import CannotJudge, Drawn, Ended, Event, Judged, Retracted, State, Unit, folded
from activeeval.campaign.reading import read

__all__ = [
    "Campaign",
    "CannotJudge",
    "Drawing",
    "Drawn",
    "Ended",
    "Event",
    "Judge",
    "Judged",
    "Retracted",
    "State",
    "Unit",
    "drawing_of",
    "folded",
    "read",
]
