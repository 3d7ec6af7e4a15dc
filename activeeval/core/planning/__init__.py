"""Planning: the expected precision of an estimate before any judgment, and the budget that reaches a goal."""

from activeeval.core.planning.forecasts import Forecast
from activeeval.core.planning.forecasts_by_sums import ForecastBySums
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.held_out import HeldOut
from activeeval.core.planning.least_budget import BoundedPlan, least_budget
from activeeval.core.planning.new_labels import LeastLabels, least_labels
from activeeval.core.planning.pilots import PilotRatios
from activeeval.core.planning.planner import Planner
from activeeval.core.planning.plans import PlannedRow, QuestionPlan, SamplePlan, best_method, needed_for, planned_rows
from activeeval.core.planning.prospects import Prospect, SegmentRow
from activeeval.core.planning.rehearsals import MOST_ITEMS
from activeeval.core.planning.scales import UNREHEARSED, UNTRAINED

__all__ = [
    "MOST_ITEMS",
    "UNREHEARSED",
    "UNTRAINED",
    "BoundedPlan",
    "Forecast",
    "ForecastBySums",
    "Goal",
    "HeldOut",
    "LeastLabels",
    "PilotRatios",
    "PlannedRow",
    "Planner",
    "Prospect",
    "QuestionPlan",
    "SamplePlan",
    "SegmentRow",
    "best_method",
    "least_budget",
    "least_labels",
    "needed_for",
    "planned_rows",
]
