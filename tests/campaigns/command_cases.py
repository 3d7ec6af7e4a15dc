"""Campaigns that the command line makes of the small inputs: their options, and files that are made once."""

from pathlib import Path

import pytest
from cli_cases import RUN, write_oracle

MADE = (*RUN, "--measure", "DCG@5", "--budget", "60", "--seed", 3)
OPTIONS = {"runs": ("a.run",), "max_grade": 3, "seed": 3}
RANKED = (*RUN, "--measure", "kNDCG(k=3)@5", "--budget", "40%", "--seed", 2)
AGAIN = ("create", "--redraw", *RUN, "--measure", "DCG@5", "--seed", 5)


def once(stored, name, make):
    """Make the file of a campaign, or write what an earlier test has made."""
    path = Path(f"{name.partition(' ')[0]}.activeeval")
    if name in stored:
        path.write_bytes(stored[name])
    else:
        make()
        stored[name] = path.read_bytes()


def estimate_row(campaign, *options):
    return campaign("estimate", *options, "-o", "jsonl").rows[0]


def exported(campaign, form, path):
    assert campaign("export", "--format", form, "--out", path, "--force").code == 0


@pytest.fixture
def oracle(folder):
    return write_oracle(folder)


@pytest.fixture(scope="session")
def stored():
    """Return the files of campaigns that tests have made so far."""
    return {}


@pytest.fixture
def campaign(call, oracle, stored):
    """Make a campaign of 60 items, w, and return a function that calls one of its commands."""
    once(stored, "w", lambda: call("campaign", "create", "w", *MADE))
    return lambda command, *arguments: call("campaign", command, "w", *arguments)


@pytest.fixture
def ranked(call, oracle, stored):
    """Make a campaign of comparisons, t."""
    once(stored, "t", lambda: call("campaign", "create", "t", *RANKED))


@pytest.fixture
def judged(campaign, oracle, stored):
    """Have the campaign judged whole; return a function that calls one of its commands."""
    once(stored, "w judged", lambda: campaign("judge", "--judge", "ann", "--oracle", oracle))
    return campaign
