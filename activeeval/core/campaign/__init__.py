"""Campaigns: units to judge, what judging them has shown, any question read from it.

`units` are what is judged, `drawing` says which ones there are, `rules` how they are judged, `labels` what that comes
to, `campaign` conducts, `reading` reads, `sample` keeps a drawn sample on file.
"""

from activeeval.core.campaign.campaign import Campaign
from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.campaign.units import Unit

__all__ = ["Campaign", "Rules", "Unit"]
