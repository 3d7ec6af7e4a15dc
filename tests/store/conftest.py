"""Stores of both databases."""

from __future__ import annotations

import pytest
from store_cases import Clock

from activeeval.store import open_store


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(made_url, clock):
    with open_store(made_url, clock=clock) as opened:
        yield opened
