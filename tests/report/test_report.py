"""Results as tables and pictures: each field where it belongs, figures with their errors, columns of a design."""

import html
import json
import math
import re

import numpy as np
import pytest
from naive import pool_of, random_probs, rankings_of

from activeeval import DCG, METHODS, Figure, InputError, Target
from activeeval.core.simulation import Summary
from activeeval.report import pages
from activeeval.report.pages import Table, html_page, markdown_page
from activeeval.report.pictures import line_style, plot_design, plot_errors
from activeeval.report.rendering import FORMATS, format_cell, render
from activeeval.report.rows import design_columns
from activeeval.sampling.simulation_tables import brief_rows, fitted, no_spread, plain_rows, simulation_sentence
from benchmarks.paper.pictures import STYLES


def summary(**fields):
    """Return one method at one budget with figures of its own."""
    given = {"method": "items", "interval": "t", "scope": "pool", "budget": 20.0, "repetitions": 100, "truth": 1.5}
    errors = {"rmse": (0.12345, 0.001), "mae": (0.1, 0.001), "bias": (-0.01, 0.002), "coverage": (0.951, 0.01)}
    errors |= {"width": (0.5, 0.01), "undetermined": (0.0, 0.0), "coverage_so_far": (0.94, 0.02)}
    errors |= {"less_spread": (0.02, 0.01), "queries": (17.26, 0.1), "items": (55.5, 0.3), "spent": (19.94, 0.01)}
    errors |= {"efficiency": (4.567, 0.25), "limit": (5.432, 0.3), "labels_saved": (0.7512, 0.02)}
    given |= {name: Figure(*figure) for name, figure in errors.items()}
    given |= {"spent_sd": 0.02, "spent_max": 20.0, "degrees_of_freedom": 12.0}
    given |= dict.fromkeys(("labels_saved_above", "selection_error"))
    return Summary(**(given | fields))


def test_intervals_are_too_short_three_standard_errors_below_their_level():
    """Of 400 repetitions .95 − 3 sqrt(.95 · .05 / 400) = .9173; of 10,000 .9435."""
    cases = ((400, 0.9175, False), (400, 0.915, True), (10_000, 0.942, True), (10_000, 0.966, False))
    for repetitions, coverage, is_short in cases:
        assert summary(repetitions=repetitions, coverage=Figure(coverage, 0.01)).is_too_short == is_short


# Rows


def test_a_summary_is_a_row_with_the_measure_first():
    row = {"measure": "ERR@10", **summary().row()}
    assert list(row)[:4] == ["measure", "method", "interval", "scope"]
    assert (row["measure"], row["rmse"], row["rmse_se"], row["spent_max"]) == ("ERR@10", 0.12345, 0.001, 20.0)
    assert (row["labels_saved"], row["selection_error"], row["selection_error_se"]) == (0.7512, None, None)
    short = {"measure": "ERR@10", **summary().row(with_errors=False)}
    assert [name for name in row if not name.endswith("_se")] == list(short)


def test_rows_for_reading_name_what_matters_and_leave_out_what_is_not_there():
    (row,) = plain_rows([summary()])
    assert list(row)[:3] == ["method", "budget", "rmse"]
    assert " ".join(row.values()) == "items 20 0.1235 −0.0100 0.951 0.500 17.3 56 19.9 20.0 4.57 (0.25) 5.43 75%"
    changes = {"undetermined": Figure(0.125, 0.03), "interval": "group-sequential", "labels_saved": None}
    (row,) = plain_rows([summary(**changes, selection_error=Figure(0.031, 0.002))])
    assert row["coverage"] == "0.951 (12.5% no spread)"
    assert (row["at every look"], row["labels saved"], row["wrong winner"]) == ("0.940", "", "0.031 (0.002)")


def test_brief_rows_fit_a_page_and_say_what_they_leave_out():
    wide = summary(method="items_population", undetermined=Figure(0.125, 0.03), selection_error=Figure(0.03, 0.002))
    rows = brief_rows([wide, summary(method="passive", limit=None)])
    assert (rows[0]["coverage"], rows[0]["wrong winner"], rows[1]["labels saved"]) == ("95.1% *", "3.0%", "")
    assert "at every look" not in rows[0]
    shown, left_out = fitted(rows, 80)
    assert max(map(len, render(shown, "text").splitlines())) <= 80
    assert left_out[:2] == ["items", "limit"]
    assert fitted(rows[1:], 200) == (rows[1:], [])
    assert no_spread([wide]).endswith("intervals mean nothing: 12.5% of items_population at 20.")
    assert no_spread([summary(undetermined=Figure(0.0, 0.0))]) == ""


def test_a_simulation_is_told_in_a_sentence():
    passive = summary(method="passive", rmse=Figure(0.25, 0.01))
    assert simulation_sentence("DCG@10", "a − b", [passive, summary()], "judgments") == (
        "DCG@10, a − b, 20 judgments: items has RMSE 0.12, 4.57 times as efficient as random queries judged whole "
        "(RMSE 0.25); its 95 % intervals held the truth in 95.1 % of 100 repetitions."
    )
    assert "passive has RMSE 0.25; its" in simulation_sentence("DCG", "a", [passive], "judgments")


def test_what_is_saved_at_least_stands_where_passive_never_reaches_the_precision():
    least = summary(labels_saved=None, labels_saved_above=0.875)
    assert plain_rows([least])[0]["labels saved"] == "> 88%"
    text = render(plain_rows([least, summary()]), "text").splitlines()
    assert (text[1][-5:], text[2][-5:]) == ("> 88%", "  75%")  # both stand right, as numbers do


def test_methods_without_a_limit_leave_it_blank_and_out_where_none_has_one():
    assert [row["limit"] for row in plain_rows([summary(method="passive", limit=None), summary()])] == ["", "5.43"]
    assert "limit" not in plain_rows([summary(limit=None)])[0]


def case(overhead=1.5):
    random = np.random.default_rng(0)
    lengths = [3, 2, 4, 1]
    pool = pool_of(lengths, item_costs=random.uniform(0.5, 2, 10), query_costs=[overhead] * 4)
    lists = [[0, 1, 2], [], [3, 0], [0]]
    return Target(DCG([0, 1, 3]), rankings_of(pool, lists)), random_probs(random, 10, 3)


@pytest.mark.parametrize("method", ["passive", "random", "active", "whole", "depth", "items"])
def test_columns_of_a_design_add_up_to_what_it_costs(method):
    target, probs = case()
    design = METHODS[method].design(target, probs)
    budget = 0.6 * design.cost
    columns = design_columns(design.with_budget(budget))
    assert columns["query_id"].tolist() == ["q0", "q1", "q2", "q3"]
    counts = [3, 0, 2, 1] if method != "passive" else columns["n_items"].tolist()
    assert columns["n_items"].tolist() == counts
    unit = target.pool.item_costs.mean()
    own = [[0, 1, 2], [], [8, 5], [9]]
    costs = [sum(target.pool.item_costs[z] for z in items) + 1.5 * bool(items) for items in own]
    assert columns["cost"] * unit == pytest.approx(costs)
    is_drawn = columns["sampling_prob"] > 0
    np.testing.assert_allclose((columns["weight"] * columns["sampling_prob"])[is_drawn], 0.25)
    if method in ("passive", "active"):
        assert columns["sampling_prob"].sum() == pytest.approx(1)
        assert columns["expected_cost"] == pytest.approx(columns["sampling_prob"] * columns["cost"])
    else:
        assert columns["expected_cost"].sum() == pytest.approx(budget, rel=1e-6)
    has_model = method not in ("passive", "random")
    assert np.all(np.isfinite(columns["mean"])) == has_model
    if has_model:
        moments = target.moments(probs)
        assert columns["mean"] == pytest.approx(moments.mean, rel=0.35 if method == "depth" else 1e-6, abs=1e-12)


def test_the_overhead_of_items_is_paid_where_at_least_one_comes():
    """Σ λ a + λ_0 π (1 − Π (1 − a/π)), item by item; where turning is free a query is always in."""
    for overhead in (0.02, 0.0):
        target, probs = case(overhead)
        design = METHODS["items"].design(target, probs, budget=3.0)
        columns, (pi, a), order = design_columns(design), design.inclusion_probs, design.order
        expected = []
        for q in range(4):
            own = range(order.offsets[q], order.offsets[q + 1])
            none = math.prod(1 - a[i] / pi[q] for i in own)
            expected.append(sum(a[i] * order.costs[i] for i in own) + order.overheads[q] * pi[q] * (1 - none))
        assert columns["expected_cost"] == pytest.approx(expected)
        assert sum(expected) == pytest.approx(3.0, rel=1e-6)
        assert overhead == 0 or pi[0] * order.overheads[0] > 1.05 * (expected[0] - a[:3] @ order.costs[:3])


# Texts

ROWS = [{"name": "a_b", "value": 1.23456, "n": 3}, {"name": "c|d\te", "value": math.inf, "more": None}]


def test_a_table_for_people():
    lines = render(ROWS, "text").splitlines()
    assert [" ".join(line.split()) for line in lines] == ["name value n more", "a_b 1.2346 3", "c|d e inf"]
    assert lines[0].index("value") + len("value") == lines[1].index("1.2346") + 6  # numbers stand to the right


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("tsv", "name\tvalue\tn\tmore\na_b\t1.23456\t3\t\nc|d e\tinf\t\t"),
        ("md", f"| name | value | n | more |\n{'| --- ' * 4}|\n| a_b | 1.2346 | 3 |  |\n| c\\|d\te | inf |  |  |"),
    ],
)
def test_tables_for_programs(form, expected):
    assert render(ROWS, form) == expected


def test_lines_of_json_keep_all_digits_and_leave_out_what_is_infinite():
    lines = [json.loads(line) for line in render(ROWS, "jsonl").splitlines()]
    assert lines == [ROWS[0], ROWS[1] | {"value": None}]


def test_latex_escapes_and_unknown_formats_are_refused():
    text = render(ROWS, "latex")
    head = "\\begin{tabular}{llll}\n  name & value & n & more \\\\\n  \\hline\n  a\\_b & 1.2346 & 3 &  \\\\"
    assert text.startswith(head)
    assert set(FORMATS) == {"text", "jsonl", "tsv", "md", "latex"}
    with pytest.raises(InputError, match="unknown format 'html'; known: text, jsonl, tsv, md, latex"):
        render(ROWS, "html")
    cells = [format_cell(v, None) for v in (0.1, 1e300, -math.inf, math.nan, None, 7)]
    assert cells == ["0.1", "1e+300", "-inf", "nan", "", "7"]


# Pictures


def test_pictures_are_drawn_and_their_names_say_how(tmp_path):
    panels = {"ERR": [summary(), summary(budget=40.0), summary(method="passive")]}
    target, probs = case()
    design = METHODS["whole"].design(target, probs, budget=9)
    plot_errors(panels, tmp_path / "errors.png")
    plot_design(design, tmp_path / "design.svg")
    assert (tmp_path / "errors.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (tmp_path / "design.svg").read_text()
    with pytest.raises(InputError, match=r"expected a picture's name that ends in \.png, \.svg, \.pdf"):
        plot_errors(panels, tmp_path / "errors.txt")
    with pytest.raises(InputError, match="method 'random' uses no model, so there is no expected performance to draw"):
        plot_design(METHODS["random"].design(target, budget=9), tmp_path / "design.png")


def test_every_method_has_one_look_of_its_own_in_all_pictures():
    looks = [line_style(method) for method in METHODS]
    assert len({look["color"] for look in looks}) == len({look["marker"] for look in looks}) == len(METHODS)
    assert all(style == line_style(name) for name, style in STYLES.items())
    assert line_style("one of the reader's own")["color"] not in {look["color"] for look in looks}


def test_a_panel_has_six_lines_at_most_and_one_legend(tmp_path, monkeypatch):
    """Passive and the five with the least error; every method in the legend once."""
    errors = {name: 0.1 + 0.01 * k for k, name in enumerate(METHODS)} | {"passive": 9.0}
    rows = [summary(method=name, budget=b, rmse=Figure(e)) for name, e in errors.items() for b in (20.0, 40.0)]
    figures = []
    monkeypatch.setattr("activeeval.report.pictures.save_figure", lambda figure, path: figures.append(figure))
    plot_errors({"ERR": rows, "DCG": rows}, tmp_path / "errors.png")
    best = ["passive", *sorted(errors, key=errors.get)[:5]]
    for axis in figures[0].axes:
        assert len(axis.containers) == 6
        assert axis.get_legend() is None
    (legend,) = figures[0].legends
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(best)


def test_pages_escape_what_they_show_and_keep_pictures():
    hostile = "<script>alert('{{ 7 * 7 }}')</script> & \"so on\"\x1b[2J\u202e"
    charts = pages.Charts([pages.Chart('<svg id="a"></svg>', hostile)])
    blocks = [
        pages.Heading(hostile),
        pages.Paragraph(hostile),
        pages.Lines([hostile]),
        Table([hostile, "n"], [[hostile, "1.5"]]),
    ]
    blocks += [
        pages.NextStep(hostile, hostile, "so"),
        pages.SideBySide([pages.Paragraph(hostile, is_headline=True)], charts),
    ]
    page = html_page(hostile, [pages.Section(hostile, hostile, blocks)])
    shown = r"<script>alert('{{ 7 * 7 }}')</script> & " + r'"so on"\x1b[2J\u202e'
    assert [html.unescape(text) for text in re.findall(">([^<]*)<", page)].count(shown) == 13
    assert "<script" not in page
    assert '<svg id="a"></svg>' in page
    assert '<td class="number">1.5</td>' in page
    assert "49" not in page


def test_a_table_shows_ten_rows_before_all():
    rows = [[f"r{k}", "1"] for k in range(12)]
    page = html_page("A page", [Table(["row", "n"], rows), Table(["row", "n"], rows[:10]), Table(["", ""], rows)])
    assert page.count("<details") == 1
    shown, _, folded = page.partition("all 12 rows")
    assert shown.count("<td>r9</td>") == 1
    assert "<td>r10</td>" not in shown
    assert folded.count("<td>r11</td>") == 2
    assert markdown_page("A page", [Table(["row", "n"], rows)]).count("| r") == 13
