"""Money and hours: in plans, samples, campaigns and watches; what a price cannot be."""

import re

import pytest
from cli_files import json_rows

import activeeval as ae
from activeeval.core.errors import InputError
from activeeval.core.planning.prices import Price
from activeeval.sampling.prices import price_of, price_words

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


@pytest.mark.parametrize(
    ("said", "price"),
    [
        ("0.40", Price(per_judgment=0.4)),
        (" .4 USD ", Price(per_judgment=0.4, currency="USD")),
        ("1e-1€", Price(per_judgment=0.1, currency="€")),
        ("seconds=25, hour=18 ,currency=CHF", Price(seconds=25, hourly_rate=18, currency="CHF")),
        ("each=0.5,seconds=36", Price(per_judgment=0.5, seconds=36)),
    ],
)
def test_a_price_is_read_as_it_is_written(said, price):
    assert price_of(said) == price


@pytest.mark.parametrize("each", [0.1, 0.3, 0.4, 0.7, 1 / 3])
def test_money_buys_back_what_it_paid_for(each):
    price = Price(per_judgment=each)
    assert [price.judgments_for(price.money(n)) for n in (1, 3, 200, 12_345)] == [1, 3, 200, 12_345]


def test_a_plan_is_told_in_money_and_hours(call):
    asked = ("plan", *RUNS, "--method", "items", "-o", "jsonl")
    paid = json_rows(call(*asked, "--price", "seconds=90,hour=24", "--budget", "60EUR").out)
    plain = json_rows(call(*asked, "--budget", "100").out)
    assert [row["half_width"] for row in paid] == [row["half_width"] for row in plain]
    assert {(row["budget"], row["money"], row["hours"], row["currency"]) for row in paid} == {(100, 60, 2.5, "EUR")}
    read = call("plan", *RUNS, "--price", "0.4CHF", "--budget", "40 CHF")
    assert "40 CHF pay for 100 judgments" in read.err
    assert re.search(r"budget +CHF +half-width", read.out)


def test_a_campaign_and_a_watch_are_told_too(call):
    assert call("campaign", "create", "c", *RUNS, "--budget", "40", "--seed", "1").code == 0
    for command in (("status", "c"), ("report", "c", "--out", "c.json")):
        assert "40 answers to come: 20 EUR" in call("campaign", *command, "--price", "0.5").err
    without = call("campaign", "status", "c", "--price", "hour=9")
    assert "EUR" not in without.err  # no clock has told what an item takes
    assert call("watch", "init", "w", "--measure", "DCG@5", "--budget-per-night", "30", "--max-grade", "3").code == 0
    night = call("watch", "night", "w", "--run", "a.run", "--date", "2026-11-02", "--price", "0.5")
    assert night.code == 11
    ((n, money),) = re.findall(r"(\d+) judgments to come: ([\d.]+) EUR", night.err)
    assert float(money) == int(n) / 2
    for command in (("status", "w"), ("report", "w", "--out", "w.md")):
        assert f"{n} judgments to come: {money} EUR" in call("watch", *command, "--price", "0.5").err


@pytest.mark.usefixtures("call")
def test_python_takes_prices_as_the_command_line_does():
    asked = {"runs": ["a.run", "b.run"], "measure": "DCG@5", "max_grade": 3, "budget": "20CHF"}
    paid = ae.plan(**asked, price="0.4CHF")
    assert (paid.budget, paid.price) == (50, Price(per_judgment=0.4, currency="CHF"))
    with pytest.raises(InputError, match="an amount of money needs `price`"):
        ae.plan(**asked)
