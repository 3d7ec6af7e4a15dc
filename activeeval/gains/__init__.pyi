from activeeval.gains.cautions import UndeterminedWarning as UndeterminedWarning
from activeeval.gains.learned_gains import LearnedGains as LearnedGains
from activeeval.gains.learner import GainDiscountLearner as GainDiscountLearner
from activeeval.gains.measure_agreement import (
    coherence as coherence,
    random_judged_pairs as random_judged_pairs,
    random_list_pairs as random_list_pairs,
)
from activeeval.gains.next_pairs import SimpleMargin as SimpleMargin
from activeeval.gains.pair_summary import open_pairs as open_pairs, summarize_pairs as summarize_pairs
from activeeval.gains.pairs import PreferenceData as PreferenceData
from activeeval.gains.preference_files import (
    ListSource as ListSource,
    load_pairs as load_pairs,
    load_preferences as load_preferences,
)
from activeeval.gains.profile_intervals import gain_intervals as gain_intervals
from activeeval.gains.rank_one import RankOneTest as RankOneTest, rank_one_test as rank_one_test
from activeeval.gains.readout import read_out as read_out, similarity as similarity
from activeeval.gains.stability import bootstrap_gains as bootstrap_gains
