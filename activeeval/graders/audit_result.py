"""Verb `audit`: assess graders with the human labels of a sample or a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from activeeval.core.estimation import check_scope
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.graders.audit import Audit, audit_judged
from activeeval.graders.audit_report import (
    audit_footnotes,
    audit_headline,
    audit_sentence,
    audit_table,
    skill_sentences,
)
from activeeval.inputs.arguments import checked, graders_of, measures_of, sources_of, warn_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.sampling.sample_judgments import judged_by
from activeeval.sampling.sample_result import Sample, check_sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AuditResult(PrintableResult):
    """Audit of graders against human labels; `audit` and `StoredCampaign.audit` return it.

    Attributes
    ----------
    audited : activeeval.graders.audit.Audit
        For each grader: rows, orders of systems, human grades by value, leniency and skill.
    frame_kind : str
        Library of the input frames, "" if there were none.
    """

    audited: Audit
    frame_kind: str = ""

    @property
    def sentences(self) -> list[str]:
        """Sentences that compare each grader with human labels."""
        return audit_headline(self.audited.graders)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """One row for each grader and question."""
        return audit_table(self.audited.rows)

    @property
    def footnotes(self) -> list[str]:
        """Skill of each grader, and definitions of the table's terms."""
        skills = [f"{grader.grader}: {' '.join(skill_sentences(grader))}" for grader in self.audited.graders]
        return [*skills, *audit_footnotes(self.audited.rows, self.audited.graders)]

    def rows(self) -> list[dict[str, Cell]]:
        """List one row for each grader and question, as in the command's JSON and CSV output."""
        return [asdict(row) | {"sentence": audit_sentence(row)} for row in self.audited.rows]


def audited_of(audited: Audit, frame_kind: str = "") -> AuditResult:
    """Convert an audit to a result, and issue its cautions as Python warnings.

    `frame_kind` is the library of the input frames, "" if there were none.
    """
    named = [(answer.title, answer.estimate.cautions) for answer in audited.answers]
    warn_of([*named, *((grader.grader, tuple(grader.cautions)) for grader in audited.graders)])
    return AuditResult(audited=audited, frame_kind=frame_kind)


@checked
def audit(
    sample: Sample,
    judged: Any,
    graders: Any,
    *,
    measure: Any = None,
    questions: Any = (),
    policy: str = "refuse",
    scope: str = "pool",
    confidence: float = 0.95,
) -> AuditResult:
    """Estimate the bias and skill of graders from the human labels of a sample, for each system and pair.

    Parameters
    ----------
    sample : Sample
    judged : data frame, path or Judgments, or a list of them
        Human labels, as `Sample.estimate` takes them.
    graders : path, data frame, Judgments or Grades, a list of them, or a dict of names to them
        Graders' grades of the items; a path may state properties of a grader, as ``llm.qrels:scale=0-3``.
    measure : str or measure, or a list of them
        By default the measures of the sample's design.
    questions : {"difference", "run", "versus"} or a list of them
        By default every system and pair that the sample supports.
    policy : {"refuse", "majority", "median", "mean-gain"}
        How grades of an item whose judges differ are combined; refuse raises an error.
    scope : {"pool", "population"}
        Estimate for these queries, or for all queries that these are a sample of.

    Raises
    ------
    InputError
        If the labels or grades cannot be read, a grader has no grade for the sample's items, or labels are a grader's.
    StateError
        If too little is judged for an estimate.

    Examples
    --------
    >>> from activeeval import sample
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(20)}
    >>> drawn = sample(run, measure="DCG@5", budget=60, max_grade=3, seed=1)
    >>> sheet = drawn.sheet("pandas")
    >>> sheet["grade"] = [int(document[1:]) % 4 for document in sheet["doc_id"]]
    >>> import pandas as pd
    >>> says = [(query, doc, min(int(doc[1:]), 3)) for query, docs in run.items() for doc in docs]
    >>> machine = pd.DataFrame(says, columns=["query_id", "doc_id", "grade"])
    >>> [row] = audit(drawn, sheet, {"llm": machine}).rows()
    >>> row["grader"], row["by_grader"] > row["corrected"]
    ('llm', True)
    """
    check_sample(sample)
    check_scope(scope)
    sources = sources_of(judged)
    drawn, progress, agreement = judged_by(sample.drawn, sources, policy)
    measures = [] if measure is None else measures_of(measure)[0]
    audited = audit_judged(
        ([drawn], progress, agreement), graders_of(graders), measures, tuple(questions or ()),
        policy=policy, scope=scope, confidence=confidence,
    )  # fmt: skip
    return audited_of(audited, sample.frame_kind or kind_of_frame(*sources))
