"""Planning: how precise an estimate should be before anything is judged, and which budget reaches a goal."""

from activeeval.core.planning.forecasts import ByDraws, ByLevels, Forecast
from activeeval.core.planning.forecasts_by_sums import ForecastBySums
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.held_out import HeldOut
from activeeval.core.planning.least_budget import BoundedPlan, least_budget
from activeeval.core.planning.new_labels import LeastLabels, least_labels
from activeeval.core.planning.pilots import Lesson, Pilot, Ratio
from activeeval.core.planning.planner import Planner
from activeeval.core.planning.plans import PlannedRow, QuestionPlan, SamplePlan, best_method, needed_for, planned_rows
from activeeval.core.planning.prospects import Prospect, SegmentRow
from activeeval.core.planning.rehearsals import MOST_ITEMS, Noise, Rehearsal, rehearse
from activeeval.core.planning.scales import UNREHEARSED, UNTRAINED, Scale, learned_scale
from activeeval.core.planning.values import Values

__all__ = [
    "MOST_ITEMS",
    "UNREHEARSED",
    "UNTRAINED",
    "BoundedPlan",
    "ByDraws",
    "ByLevels",
    "Forecast",
    "ForecastBySums",
    "Goal",
    "HeldOut",
    "LeastLabels",
    "Lesson",
    "Noise",
    "Pilot",
    "PlannedRow",
    "Planner",
    "Prospect",
    "QuestionPlan",
    "Ratio",
    "Rehearsal",
    "SamplePlan",
    "Scale",
    "SegmentRow",
    "Values",
    "best_method",
    "learned_scale",
    "least_budget",
    "least_labels",
    "needed_for",
    "planned_rows",
    "rehearse",
]
