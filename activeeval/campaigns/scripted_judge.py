"""A scripted judge: claims and answers items or comparisons one after another, with the grades of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from activeeval.campaigns.assignments import desk_of
from activeeval.campaigns.store import Acknowledged, Store
from activeeval.core.errors import InputError
from activeeval.core.judgments import Judgments
from activeeval.core.results import Caution, Note
from activeeval.formats.judgments.from_files import held_or_read
from activeeval.report.numbers import counted

Pair = tuple[str, str]


class AcceptedAnswer(NamedTuple):
    """An answer that the store has acknowledged, with its token."""

    acknowledged: Acknowledged
    token: str


class ScriptedAnswers(NamedTuple):
    """Answers of a scripted judge.

    Attributes
    ----------
    grades : dict
        Grade by (query, document); for ranks, the better document has the larger grade.
    machine : str
        The file, if the grades are those of a grader (an LLM or other model) and count as a judge's; else empty.
    notes : tuple of Caution or Note
        Remarks on the source.
    """

    grades: dict[Pair, int]
    machine: str = ""
    notes: tuple[Caution | Note, ...] = ()


def script_of(source: str | Judgments, *, machine_is_truth: bool = False) -> ScriptedAnswers:
    """Read the answers of a scripted judge from judgments, in a file or in memory.

    Plain text is parsed line by line: the compiled readers take a second to start, which would delay each run.

    Parameters
    ----------
    source : str or Judgments
        Path, or judgments in memory.
    machine_is_truth : bool
        True to accept a grader's (an LLM's or other model's) grades as a judge's.

    Raises
    ------
    InputError
        If the file cannot be read, or has neither grades nor ranks.
    """
    judgments = held_or_read(source, is_plain=not machine_is_truth, machine_is_truth=machine_is_truth)
    machine = judgments.source if judgments.n_of_machines else ""
    if not judgments.holds("truth"):
        return ScriptedAnswers(judgments.graded_pairs(), machine, judgments.notes())
    # a truth has the ranks of a query's top documents (`ranked`), those below them and discarded (`bad`) ones; ranks
    # become grades: 1 for the last of the top documents, 0 for the others
    ranked = {
        (query, doc): grade
        for query, truth in judgments.truths().items()
        for doc, grade in {
            **dict.fromkeys((*truth.below, *truth.bad), 0),
            **{doc: len(truth.top) + 1 - rank for rank, doc in truth.ranked},
        }.items()
    }
    return ScriptedAnswers(ranked, machine, judgments.notes())


def judge_all(
    store: Store,
    name: str,
    judge: str,
    truth: Mapping[Pair, int],
    *,
    limit: int | None = None,
    unjudged: str = "error",
    machine: str = "",
) -> Iterator[AcceptedAnswer]:
    """Claim and submit until nothing is left or ``limit`` items are judged; yield each answer once it is stored.

    In top-k judging the answers are comparisons of two documents: a tie if their grades are equal.

    Parameters
    ----------
    truth : mapping of (str, str) to int
        Grades by (query, document).
    limit : int, optional
        Maximum number of items; by default all that are left.
    unjudged : {"error", "irrelevant"}
        What to do with a claimed item without a grade: raise InputError, or give grade 0.
    machine : str
        File of a grader (an LLM or other model) whose grades count as a judge's; stored with each answer.

    Raises
    ------
    InputError
        If ``truth`` has no grade of a claimed item and ``unjudged`` is "error".
    """
    desk = desk_of(store, name)
    item = desk.claim(judge) if limit is None or limit > 0 else None
    n_done = 0
    while item is not None:
        docs = desk.documents(item)  # ids of the one document, or of the two to compare
        grades = [truth.get((item.query_id, doc), -1) for doc in docs]
        if min(grades) < 0 and unjudged == "error":
            # all documents that may be asked for: members of a query that is judged as a whole, else the single item
            pairs = [(u.query_id, doc) for u in store.units(name) for p in u.places for doc in p.members or [p.doc_id]]
            n_missing = sum(truth.get(pair, -1) < 0 for pair in pairs)
            first = f"document {docs[grades.index(min(grades))]!r} of query {item.query_id!r}"
            raise InputError(f"{first} has no grade ({counted(n_missing, 'such item')} in the campaign): expected one")
        n_done += 1
        judgment = desk.answer(docs, [max(grade, 0) for grade in grades]).of_machine(machine)
        if limit is not None and n_done == limit:
            yield AcceptedAnswer(desk.submit(item.token, judgment), item.token)
            return
        done, following = desk.submit_and_claim(item.token, judgment)
        yield AcceptedAnswer(done, item.token)
        item = following
