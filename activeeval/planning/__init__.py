"""Planning: how precise an estimate should be before anything is judged, and which budget reaches a goal."""

from activeeval.planning.forecasts import ByDraws, ByLevels, Forecast, Prospect
from activeeval.planning.goals import Goal
from activeeval.planning.pilots import Lesson, Pilot, Ratio
from activeeval.planning.planner import Planner
from activeeval.planning.plans import MeasurePlan, PlannedRow, needed_for, plan_of
from activeeval.planning.rehearsals import MOST_ITEMS, Evenness, evenness
from activeeval.planning.values import Values

__all__ = [
    "MOST_ITEMS",
    "ByDraws",
    "ByLevels",
    "Evenness",
    "Forecast",
    "Goal",
    "Lesson",
    "MeasurePlan",
    "Pilot",
    "PlannedRow",
    "Planner",
    "Prospect",
    "Ratio",
    "Values",
    "evenness",
    "needed_for",
    "plan_of",
]
