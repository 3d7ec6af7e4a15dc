"""Sections of a campaign's report on judges: cost, agreement, controls, skipped items."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.campaigns.report.agreement_messages import sentences_beside
from activeeval.campaigns.report.content import CampaignReport
from activeeval.campaigns.report.judges_content import Cost, DailyAnswers, JudgePair, SharedAgreement, SkippedByJudge
from activeeval.campaigns.report.phrases import amount_of, count, interval_of, p_of, percent
from activeeval.core.judgments.wilson_intervals import Share
from activeeval.report.numbers import counted, number
from activeeval.report.pages import Block, Heading, Lines, Paragraph, Table

_WHAT = {
    "known": "known, among the others",
    "repeated": "graded before, among the others",
    "swapped": "pairs compared before, with sides swapped",
}
_KINDS = {"deferred": "put off", "cannot": "cannot be judged"}


def gist_of_cost(summary: CampaignReport) -> str:
    """Summarize the cost in a few words: spent and planned cost, number of judges, measured hours."""
    head, n = summary.head, len(summary.cost.judges)
    hours = "" if head.hours is None else f", {head.hours:.1f} hours measured"
    return f"{amount_of(head.spent)} of {amount_of(head.budget)} {head.unit} spent, by {counted(n, 'judge')}{hours}"


def cost(summary: CampaignReport) -> list[Block]:
    """Build the report's section on the cost spent and the time taken, by block (part of the sample), judge and day."""
    costs, blocks = summary.cost, list[Block]()
    if not costs.judges:
        return [Paragraph("There are no judgments yet.")]
    rows = [[str(block.block), amount_of(block.cost), amount_of(block.spent)] for block in summary.design.blocks]
    blocks += [Table(["block", f"cost in {summary.head.unit}", "spent"], rows)]
    header = ["judge", "judged", "cannot", "changed", "put off", "late", "seconds: median", "mean", "timed", "hours"]
    rows = [
        [
            judge.judge,
            *map(count, (judge.judged, judge.cannot, judge.changed, judge.later, judge.late)),
            number(judge.seconds_median, 1),
            number(judge.seconds_mean, 1),
            count(judge.timed),
            number(judge.hours, 2),
        ]
        for judge in costs.judges
    ]
    blocks += [Table(header, rows), *_days(costs.days), *_model(costs)]
    return blocks


def _days(days: Sequence[DailyAnswers]) -> list[Block]:
    """Build the table of answers by day and judge."""
    judges = sorted({row.judge for row in days})
    counts = {(row.day, row.judge): row.answers for row in days}
    rows = [
        [day, *(count(counts.get((day, judge), 0)) for judge in judges)] for day in sorted({row.day for row in days})
    ]
    return [Paragraph("Answers by day (UTC):"), Table(["day", *judges], rows)] if rows else []


def _model(costs: Cost) -> list[Block]:
    """Build the table of the fitted cost model, or a sentence that there is none.

    The model has seconds for an item, its text length, its grade and the first item of a query.
    """
    model, of_all = costs.model, costs.all
    if model is None:
        return [
            Paragraph("No judgment has a time, so no cost model is fitted: times come with the answers (active_ms).")
        ]
    parts = [
        ("an item", model.item, model.item_std_error),
        ("each thousand letters of its text", model.length, model.length_std_error),
        ("each grade above 0", model.grade, model.grade_std_error),
        ("the first item of a query", model.query, model.query_std_error),
    ]
    rows = [[text, number(seconds, 1), number(error, 1)] for text, seconds, error in parts]
    sentence = (
        f"An item took {number(of_all.seconds_median, 1)} s (median; mean {number(of_all.seconds_mean, 1)} s, "
        f"{count(of_all.timed)} timed). Cost model fitted to the times of {counted(model.items, 'judgment')}, shrunk "
        "towards their mean if they are few:"
    )
    return [Paragraph(sentence), Table(["part", "seconds", "std error"], rows)]


def gist_of_agreement(summary: CampaignReport) -> str:
    """Summarize the agreement of judges in a few words: Krippendorff's alpha, and the items with equal grades."""
    figures = summary.agreement
    if not isinstance(figures, SharedAgreement):
        return "no item was graded by two judges"
    alike = f"{count(figures.n_alike)} of {counted(figures.n_items, 'item')} that several judged got one grade"
    return f"alpha {number(figures.alpha.value, 2)}, {alike}"


def agreement(summary: CampaignReport) -> list[Block]:
    """Build the section on the agreement of judges; empty without grades.

    It has the counts of grades by judge; if several judges graded an item, also coefficients and confusion matrices.
    """
    figures, blocks = summary.agreement, list[Block]()
    if not figures.histogram:
        return []
    rows = [[row.judge, *map(count, row.counts), count(sum(row.counts))] for row in figures.histogram]
    blocks += [Table(["grades given by", *map(str, figures.grades), "all"], rows)]
    if not isinstance(figures, SharedAgreement):
        return [*blocks, Paragraph("No item was graded by two judges: their agreement is unknown.")]
    alpha, confidence = figures.alpha, f"{figures.confidence:.0%}"
    ends = interval_of(alpha.low, alpha.high)
    late = ""
    if summary.head.judges_per_item == 1:
        late = " Each item needs one judge: these items have a second answer that came late."
    sentence = f"Krippendorff's alpha (ordinal) is {number(alpha.value, 3)}, {confidence} interval {ends}"
    ac1 = f"Gwet's AC1 is {number(figures.ac1.value, 3)}, {interval_of(figures.ac1.low, figures.ac1.high)}"
    blocks += [
        Paragraph(f"{sentence}, of {counted(figures.n_items, 'item')} of {counted(figures.n_queries, 'query')}.{late}"),
        Paragraph(f"{ac1}. 1 is full agreement, 0 agreement by chance; n/a means undefined."),
        *map(Paragraph, sentences_beside(figures)),
        Table(
            ["two judges", "weighted kappa", f"{confidence} interval", "raw agreement", "base rate", "items"],
            [_kappa(pair) for pair in figures.pairs],
        ),
    ]
    for pair in figures.pairs:
        first, second = pair.judges
        blocks += [Heading(f"{first} (rows) and {second} (columns)"), _confusion(pair, figures.grades)]
    return blocks


def _kappa(pair: JudgePair) -> list[str]:
    """Build the table row of a pair of judges: weighted kappa, its interval, raw agreement, base rate and items."""
    kappa = pair.kappa
    judges = " and ".join(pair.judges)
    if kappa is None:
        return [judges, *["n/a"] * 4, count(pair.n)]
    shares = percent(kappa.raw_agreement), percent(kappa.base_rate)
    return [judges, number(kappa.value, 3), interval_of(kappa.low, kappa.high), *shares, count(pair.n)]


def _confusion(pair: JudgePair, grades: Sequence[int]) -> Table:
    """Build the confusion matrix of two judges: rows are the first judge's grades, columns the second's."""
    rows = [[f"grade {grade}", *map(count, line)] for grade, line in zip(grades, pair.table, strict=True)]
    return Table(["", *map(str, grades)], rows)


def gist_of_checked(summary: CampaignReport) -> str:
    """Count the expected answers to training items and controls (items with an expected answer), in a few words."""
    checked = summary.checked
    shares = [*(row.share for row in checked.training), *(row.share for row in checked.controls)]
    right, n = sum(share.right for share in shares), sum(share.n for share in shares)
    return f"{count(right)} of {count(n)} as expected" if n else "none yet"


def checked(summary: CampaignReport) -> list[Block]:
    """Build the section on training items and controls (items with an expected answer); empty if there were none."""
    figures = summary.checked
    rows = [[row.judge, "began with", *_expected(row.share), ""] for row in figures.training]
    rows += [[row.judge, _WHAT[row.what], *_expected(row.share), count(row.n_skipped)] for row in figures.controls]
    if not rows:
        return []
    return [
        Table(["judge", "items", "as expected", "95 % interval", "not graded"], rows),
        Paragraph("None of these answers counts as a label. Intervals are Wilson intervals of the share."),
    ]


def _expected(share: Share) -> list[str]:
    """Format a share of expected answers and its interval."""
    return [f"{count(share.right)} of {count(share.n)}", f"{percent(share.low)} to {percent(share.high)}"]


def gist_of_skipped(summary: CampaignReport) -> str:
    """Count deferred items and items that cannot be judged, in a few words."""
    judges = summary.skipped.judges
    later, cannot = sum(row.later for row in judges), sum(row.cannot for row in judges)
    return f"{count(later)} put off, {count(cannot)} cannot" if later or cannot else "nothing"


def skipped(summary: CampaignReport) -> list[Block]:
    """Build the section on items that judges deferred or could not judge, with a test for each judge."""
    figures, blocks = summary.skipped, list[Block]()
    if not any(row.later or row.cannot for row in figures.judges):
        return [Paragraph("No judge has deferred an item or could not judge one.")]
    for row in figures.judges:
        if row.is_named:
            blocks += [Paragraph(warning(row), is_warning=True)]
    header = ["judge", "put off", "cannot", "skipped of relevant items", "skipped of others", "test"]
    rows = [
        [
            row.judge,
            count(row.later),
            count(row.cannot),
            _share(row.skipped_relevant, row.n_relevant),
            _share(row.skipped_other, row.n_other),
            p_of(row.p_value),
        ]
        for row in figures.judges
    ]
    reasons = [
        f"{row.judge}, {_KINDS[row.kind]}: {row.reason or 'no reason given'} ({count(row.n)})"
        for row in figures.reasons
    ]
    n = len(figures.judges)
    return [
        *blocks,
        Table(header, rows),
        Paragraph(
            "Only items that the judge was shown and that have a grade now; relevant means a grade above 0. A judge "
            "is named if relevant items are skipped more often than others, by a test of the items and one of the "
            f"queries, each with p below 5 % / {n}: if no judge does so, fewer than one report in twenty names "
            "one. An item that was put off and then judged by any judge does no harm."
        ),
        Lines(reasons),
    ]


def warning(skips: SkippedByJudge) -> str:
    """Warn of a judge who skips relevant items, and of the effect on the estimate."""
    relevant, other = (_share(skips.skipped_relevant, skips.n_relevant), _share(skips.skipped_other, skips.n_other))
    return (
        f"{skips.judge} skips relevant items more often than others: {relevant} of those with a grade above 0, "
        f"{other} of the others. If no other judge grades them, the estimate is biased and its interval covers the "
        "true value less often than stated: check the items that wait and those that cannot be judged."
    )


def _share(n: int, of: int) -> str:
    """Format n of a total with its percentage; "n/a" if the total is 0."""
    return f"{percent(n / of)} ({count(n)} of {count(of)})" if of else "n/a"
