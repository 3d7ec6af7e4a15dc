from activeeval.adaptation.choice import (
    b_measure as b_measure,
    choose_regularization as choose_regularization,
    pair_precision as pair_precision,
)
from activeeval.adaptation.clicks import ClickReport as ClickReport, preferences_from_clicks as preferences_from_clicks
from activeeval.adaptation.documents import item_pairs as item_pairs
from activeeval.adaptation.hyper_linear import HyperLinearRanker as HyperLinearRanker
from activeeval.adaptation.ranker_files import read_ranker as read_ranker, write_ranker as write_ranker
from activeeval.adaptation.users import (
    CascadeModel as CascadeModel,
    ListImpressions as ListImpressions,
    PositionBased as PositionBased,
    UserPopulation as UserPopulation,
    simulate_clicks as simulate_clicks,
)
