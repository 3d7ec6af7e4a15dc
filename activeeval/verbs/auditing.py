"""What a machine's grades are worth, by people's labels of a sample or a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from activeeval.report.audits import (
    audit_footnotes,
    audit_headline,
    audit_sentence,
    audit_table,
    skill_sentences,
)
from activeeval.report.rendering import Cell
from activeeval.report.shown import Shown
from activeeval.tasks.audit import Audit
from activeeval.verbs.arguments import warn_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Audited(Shown):
    """Machines' grades held against people's labels: `Sample.audit` and `StoredCampaign.audit` return it.

    Attributes
    ----------
    audited : activeeval.tasks.audit.Audit
        All that is known: by machine its rows, orders, values beside people's grades, leniency and skill.
    frame_kind : str
        The library whose frames came in, "" where none did.
    """

    audited: Audit
    frame_kind: str = ""

    @property
    def sentences(self) -> list[str]:
        """What each machine alone says, and what people say."""
        return audit_headline(self.audited.graders)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """A row for each machine and question."""
        return audit_table(self.audited.rows)

    @property
    def footnotes(self) -> list[str]:
        """How far each machine tells people's grades, and what the words in the table mean."""
        skills = [f"{grader.grader}: {' '.join(skill_sentences(grader))}" for grader in self.audited.graders]
        return [*skills, *audit_footnotes(self.audited.rows, self.audited.graders)]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each machine and question, as the command line has it."""
        return [asdict(row) | {"sentence": audit_sentence(row)} for row in self.audited.rows]


def audited_of(audited: Audit, frame_kind: str = "") -> Audited:
    """Return an audit as a result, once its user is warned of what is to be wary of."""
    named = [(answer.title, answer.estimate.cautions) for answer in audited.answers]
    warn_of([*named, *((grader.grader, tuple(grader.cautions)) for grader in audited.graders)])
    return Audited(audited=audited, frame_kind=frame_kind)
