"""Campaigns: units to judge, the log of their judgments, and estimates for any target from them.

`units` are what is judged, `requested_units` those requested so far, `judging_rules` the number of judges and the
aggregation of their grades, `labels` the aggregated labels, `record` the log, `campaign` the ask/tell loop, `reading`
the estimates.
"""

from activeeval.core.campaign.campaign import Campaign
from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.campaign.units import Unit

__all__ = ["Campaign", "Rules", "Unit"]
