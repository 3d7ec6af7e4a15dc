"""The durable store of campaigns: rows in SQLite or PostgreSQL. All SQL is in here; it knows rows, not estimates."""

from activeeval.campaigns.store.access import Person
from activeeval.campaigns.store.address import address_of, checked_name, file_url
from activeeval.campaigns.store.controls import Control
from activeeval.campaigns.store.importing import Unjudged
from activeeval.campaigns.store.lending import Chosen, OnSheet, OpenPlace
from activeeval.campaigns.store.opening import is_made, open_store
from activeeval.campaigns.store.rows import (
    LOOKS,
    Acknowledged,
    CampaignRow,
    Claimed,
    ItemTexts,
    JudgeAnswer,
    PlaceRow,
    SampleRow,
    UnitRow,
)
from activeeval.campaigns.store.store import Store
from activeeval.campaigns.store.stored_texts import GuidelinesRow, ItemPosition, TextCounts, TextRow, Wanted
from activeeval.campaigns.store.watches import MORE, REDRAWN, NightRow, WatchRow

__all__ = [
    "LOOKS",
    "MORE",
    "REDRAWN",
    "Acknowledged",
    "CampaignRow",
    "Chosen",
    "Claimed",
    "Control",
    "GuidelinesRow",
    "ItemPosition",
    "ItemTexts",
    "JudgeAnswer",
    "NightRow",
    "OnSheet",
    "OpenPlace",
    "Person",
    "PlaceRow",
    "SampleRow",
    "Store",
    "TextCounts",
    "TextRow",
    "UnitRow",
    "Unjudged",
    "Wanted",
    "WatchRow",
    "address_of",
    "checked_name",
    "file_url",
    "is_made",
    "open_store",
]
