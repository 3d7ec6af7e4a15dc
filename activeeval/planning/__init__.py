"""Planning: how precise an estimate should be before anything is judged, and which budget reaches a goal."""

from activeeval.planning.bounded import BoundedPlan, least_budget
from activeeval.planning.carried import LeastLabels, least_labels
from activeeval.planning.forecasts import ByDraws, ByLevels, Forecast
from activeeval.planning.goals import Goal
from activeeval.planning.held_out import HeldOut
from activeeval.planning.pilots import Lesson, Pilot, Ratio
from activeeval.planning.planner import Planner
from activeeval.planning.plans import PlannedRow, QuestionPlan, SamplePlan, best_method, needed_for, planned_rows
from activeeval.planning.prospects import Prospect
from activeeval.planning.rehearsals import MOST_ITEMS, Noise, Rehearsal, rehearse
from activeeval.planning.scales import UNREHEARSED, UNTRAINED, Scale, learned_scale
from activeeval.planning.segments import SegmentRow
from activeeval.planning.sums import ForecastBySums
from activeeval.planning.values import Values

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
