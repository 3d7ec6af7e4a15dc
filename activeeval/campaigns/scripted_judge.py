"""A scripted judge: claims and submits one item or comparison after another, with the grades that a file has."""

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
    """An answer that the store has acknowledged, and the token it was given with."""

    acknowledged: Acknowledged
    token: str


class ScriptedAnswers(NamedTuple):
    """What a scripted judge says.

    Attributes
    ----------
    grades : dict
        By query and document; of ranks the better one has the larger.
    machine : str
        The file, where a machine says them and is taken for a person.
    notes : tuple of Caution or Note
    """

    grades: dict[Pair, int]
    machine: str = ""
    notes: tuple[Caution | Note, ...] = ()


def script_of(source: str | Judgments, *, machine_is_truth: bool = False) -> ScriptedAnswers:
    """Make a scripted judge of judgments, of a file or in memory.

    Plain text is read line by line: the compiled readers take a second to start, and whoever runs a scripted judge
    again and again waits for that each time.

    Raises
    ------
    InputError
        Where the file cannot be read, or holds neither grades nor ranks.
    """
    judgments = held_or_read(source, is_plain=not machine_is_truth, machine_is_truth=machine_is_truth)
    machine = judgments.source if judgments.n_of_machines else ""
    if not judgments.holds("truth"):
        return ScriptedAnswers(judgments.graded_pairs(), machine, judgments.notes())
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
    """Claim and submit until nothing is left or so many are judged; yield each answer once it is acknowledged.

    Of top-k judging these are comparisons: a tie where two grades are equal.

    Parameters
    ----------
    machine : str
        The file of a machine that is taken for a person: each answer keeps it.

    Raises
    ------
    InputError
        Where the truth has no grade of an item that is asked for, unless such items are irrelevant.
    """
    desk = desk_of(store, name)
    item = desk.claim(judge) if limit is None or limit > 0 else None
    n_done = 0
    while item is not None:
        docs = desk.documents(item)
        grades = [truth.get((item.query_id, doc), -1) for doc in docs]
        if min(grades) < 0 and unjudged == "error":
            pairs = [(u.query_id, doc) for u in store.units(name) for p in u.places for doc in p.members or [p.doc_id]]
            n_missing = sum(truth.get(pair, -1) < 0 for pair in pairs)
            first = f"document {docs[grades.index(min(grades))]!r} of query {item.query_id!r}"
            raise InputError(f"{first} is asked for and has no grade ({counted(n_missing, 'such item')}): expected one")
        n_done += 1
        judgment = desk.answer(docs, [max(grade, 0) for grade in grades]).of_machine(machine)
        if limit is not None and n_done == limit:
            yield AcceptedAnswer(desk.submit(item.token, judgment), item.token)
            return
        done, following = desk.submit_and_claim(item.token, judgment)
        yield AcceptedAnswer(done, item.token)
        item = following
