"""Campaigns that are judged, and their reports."""

import random

from campaign_cases import Case

from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.store import JudgeAnswer

NASTY = "<script>alert('x')</script> & \"more\" | *b* `c`"


SMALL = {"n": 12, "budget": 24.0}


def report_of(case, **options):
    return summary(case.store, "week", **options)


def finished(*judges, says=None, **options):
    case = Case(**SMALL | options)
    case.judge(*(judges or ("ann",)), says=says)
    return case


def wavering(case, judge, item):
    """Return a grade that judges sometimes see differently."""
    dice = random.Random(f"{judge} {item.query_id} {item.doc_id}").random()
    grade = case.grade(item.query_id, item.doc_id)
    return JudgeAnswer(kind="judged", grade=min(2, grade + (dice < 0.2)), active_ms=1000 + round(9000 * dice))
