from activeeval.campaigns.store.access import Person as Person
from activeeval.campaigns.store.address import (
    address_of as address_of,
    checked_name as checked_name,
    file_url as file_url,
)
from activeeval.campaigns.store.controls import Control as Control
from activeeval.campaigns.store.importing import Unjudged as Unjudged
from activeeval.campaigns.store.opening import is_made as is_made, open_store as open_store
from activeeval.campaigns.store.rows import (
    LOOKS as LOOKS,
    Acknowledged as Acknowledged,
    CampaignRow as CampaignRow,
    ItemClaim as ItemClaim,
    ItemTexts as ItemTexts,
    JudgeAnswer as JudgeAnswer,
    PlaceRow as PlaceRow,
    SampleRow as SampleRow,
    UnitRow as UnitRow,
)
from activeeval.campaigns.store.sheet_checkouts import Chosen as Chosen, OnSheet as OnSheet, OpenPlace as OpenPlace
from activeeval.campaigns.store.store import Store as Store
from activeeval.campaigns.store.stored_texts import (
    GuidelinesRow as GuidelinesRow,
    ItemFilter as ItemFilter,
    ItemPosition as ItemPosition,
    TextCounts as TextCounts,
    TextRow as TextRow,
)
from activeeval.campaigns.store.watches import (
    MORE as MORE,
    REDRAWN as REDRAWN,
    NightRow as NightRow,
    WatchRow as WatchRow,
)
