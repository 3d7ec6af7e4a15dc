from activeeval.rankers.boosting import AdaRank as AdaRank, RankBoost as RankBoost
from activeeval.rankers.focused import FocusedBoost as FocusedBoost, FocusedNet as FocusedNet, FocusedSVM as FocusedSVM
from activeeval.rankers.gradients import ListMLE as ListMLE, ListNet as ListNet, RankNet as RankNet
from activeeval.rankers.items import (
    ExpectedGradeRanker as ExpectedGradeRanker,
    ForestRegressionRanker as ForestRegressionRanker,
)
from activeeval.rankers.margins import SVMMAP as SVMMAP, RankSVM as RankSVM
from activeeval.rankers.ranker_choice import choose as choose
from activeeval.rankers.ranking_svm import RankingSVM as RankingSVM
