"""Money and hours: in plans, samples, campaigns and watches; what a price cannot be."""

from __future__ import annotations

import re

import pytest
from cli_files import json_rows

from activeeval.core.errors import InputError
from activeeval.core.planning.prices import Price
from activeeval.sampling.prices import price_words

RUNS = ("--run", "a.run", "--versus-run", "b.run", "--max-grade", "3", "--measure", "DCG@5")


@pytest.mark.parametrize(
    ("price", "n", "words"),
    [
        (Price(per_judgment=0.4), 300, "120 EUR"),
        (Price(per_judgment=0.4, currency="CHF"), 3, "1.20 CHF"),
        (Price(seconds=36), 100, "1 hours"),
        (Price(seconds=36, hourly_rate=30), 100, "30 EUR, 1 hours"),
        (Price(per_judgment=0.5, seconds=36), 100, "50 EUR, 1 hours"),
        (Price(hourly_rate=30), 100, ""),
        (Price(hourly_rate=30).timed(36), 100, "30 EUR, 1 hours"),
        (Price(seconds=72).timed(36), 100, "2 hours"),
        (None, 100, ""),
    ],
)
def test_words(price, n, words):
    assert price_words(price, n) == words


@pytest.mark.parametrize("each", [0.1, 0.3, 0.4, 0.7, 1 / 3])
def test_money_buys_back_what_it_paid_for(each):
    price = Price(per_judgment=each)
    assert [price.judgments_for(price.money(n)) for n in (1, 3, 200, 12_345)] == [1, 3, 200, 12_345]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: Price(per_judgment=0.0), "`per_judgment` must be a positive number, got 0"),
        (lambda: Price(seconds=float("inf")), "`seconds` must be a positive number, got inf"),
        (lambda: Price(per_judgment=1.0, hourly_rate=2.0), "the price of a judgment or an hourly rate, not both"),
        (lambda: Price(seconds=9.0).judgments_for(10), "money needs a price"),
        (lambda: Price(per_judgment=2.0).judgments_for(1), "1 EUR pay for no judgment, one costs 2"),
    ],
)
def test_what_a_price_cannot_be(made, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        made()


def test_a_plan_is_told_in_money_and_hours(call):
    asked = ("plan", *RUNS, "--method", "items", "-o", "jsonl")
    paid = json_rows(call(*asked, "--seconds-per-item", "90", "--hourly-rate", "24", "--money", "60").out)
    plain = json_rows(call(*asked, "--budget", "100").out)
    assert [row["half_width"] for row in paid] == [row["half_width"] for row in plain]
    assert {(row["budget"], row["money"], row["hours"], row["currency"]) for row in paid} == {(100, 60, 2.5, "EUR")}
    read = call("plan", *RUNS, "--price-per-judgment", "0.4", "--money", "40", "--currency", "CHF")
    assert "40 CHF pay for 100 judgments" in read.err
    assert re.search(r"budget +CHF +half-width", read.out)


def test_a_sample_is_told_in_money_and_hours(call):
    files = ("--out", "w.sample", "--sheet", "w.csv", "--force")
    done = call(
        "sample", *RUNS, "--budget", "40", "--seed", "1", *files, "--price-per-judgment", "0.5", "--seconds", "90"
    )
    assert "40 judgments: 20 EUR, 1 hours" in done.err
    shared = ("--judge", "ann", "--judge", "bob", "--overlap", "10")
    done = call("sample", *RUNS, "--budget", "40", "--seed", "1", *files, *shared, "--price-per-judgment", "0.5")
    assert "50 gradings: 25 EUR" in done.err
    grown = call("top-up", "w.sample", "--budget", "10", "--out", "v.sample", "--sheet", "v.csv", "--hourly-rate", "9",
                 "--seconds", "40")  # fmt: skip
    assert "10 judgments: 1 EUR, 0.11 hours" in grown.err


def test_a_campaign_and_a_watch_are_told_too(call):
    assert call("campaign", "create", "c", *RUNS, "--budget", "40", "--seed", "1").code == 0
    far = call("campaign", "status", "c", "--price-per-judgment", "0.5")
    assert "40 answers to come: 20 EUR" in far.err
    page = call("campaign", "report", "c", "--out", "c.md", "--force", "--price-per-judgment", "0.5")
    assert "40 answers to come: 20 EUR" in page.err
    without = call("campaign", "status", "c", "--hourly-rate", "9")
    assert "EUR" not in without.err  # no clock has told what an item takes
    assert call("watch", "init", "w", "--measure", "DCG@5", "--budget-per-night", "30", "--max-grade", "3").code == 0
    night = call("watch", "night", "w", "--run", "a.run", "--date", "2026-11-02", "--price-per-judgment", "0.5")
    assert night.code == 11
    (n,) = re.findall(r"(\d+) judgments to come: ([\d.]+) EUR", night.err)
    assert float(n[1]) == int(n[0]) / 2
    assert f"{n[0]} judgments to come: {n[1]} EUR" in call("watch", "status", "w", "--price-per-judgment", "0.5").err
    page = call("watch", "report", "w", "--out", "w.md", "--force", "--price-per-judgment", "0.5")
    assert f"{n[0]} judgments to come: {n[1]} EUR" in page.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--price-per-judgment", "0"), "--price-per-judgment"),
        (("--price-per-judgment", "-1"), "--price-per-judgment"),
        (("--seconds-per-item", "nan"), "is not a finite number"),
        (("--money", "400"), "--money needs a price"),
        (("--money", "1", "--price-per-judgment", "2"), "--money: 1 EUR pay for no judgment, one costs 2"),
        (("--price-per-judgment", "1", "--hourly-rate", "2"), "not both"),
    ],
)
def test_a_price_that_is_none_is_one_line(call, options, problem):
    done = call("plan", *RUNS, *options)
    assert (done.code > 0, done.out) == (True, "")
    assert problem in done.err


@pytest.mark.parametrize(
    "asked", [("watch", "submit", "w", "s.csv"), ("watch", "report", "w", "--out", "p.md"), ("campaign", "report", "c")]
)
def test_a_price_of_nothing_is_refused_everywhere(call, asked):
    done = call(*asked, "--price-per-judgment", "0")
    assert (done.code > 0, done.out) == (True, "")
    assert "--price-per-judgment" in done.err
    assert "No such option" not in done.err
