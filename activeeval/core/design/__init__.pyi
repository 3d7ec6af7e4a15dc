from activeeval.core.design.beliefs import GradeProbs as GradeProbs, known_grades as known_grades
from activeeval.core.design.bounds import LeastCost as LeastCost, least_cost as least_cost
from activeeval.core.design.designs import Design as Design
from activeeval.core.design.inputs import DesignInput as DesignInput, equal_loss_weights as equal_loss_weights
from activeeval.core.design.levels import Levels as Levels, Queue as Queue
from activeeval.core.design.limits import RatePlan as RatePlan
from activeeval.core.design.order_places import OrderPlaces as OrderPlaces
from activeeval.core.design.orders import LargerPool as LargerPool, Order as Order
from activeeval.core.design.planned_variance import PlannedVariance as PlannedVariance
from activeeval.core.design.rates import (
    RateSums as RateSums,
    RelativeRates as RelativeRates,
    optimal_sampling_probs as optimal_sampling_probs,
)
from activeeval.core.design.readings import Reading as Reading, ReadingJudge as ReadingJudge
from activeeval.core.design.replacement import Replacement as Replacement, ReplacementDraws as ReplacementDraws
from activeeval.core.design.schemes import (
    DrawnUnits as DrawnUnits,
    Scheme as Scheme,
    ascending as ascending,
    check_budget as check_budget,
)
from activeeval.core.design.selections import Selection as Selection, Selections as Selections, whole as whole
from activeeval.core.design.stages import WHOLE as WHOLE
from activeeval.core.design.value_sums import JudgedTotals as JudgedTotals, PoolSums as PoolSums
