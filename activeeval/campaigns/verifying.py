"""Verify a campaign: its log is intact, its sample follows from seed and ids, its units are those drawn."""

from __future__ import annotations

from dataclasses import dataclass

from activeeval.campaigns.store import Store, UnitRow
from activeeval.campaigns.versions import rounds_of, unpacked_version
from activeeval.core.campaign import Campaign
from activeeval.core.campaign.probabilities import item_probabilities
from activeeval.core.errors import ActiveEvalError, InputError
from activeeval.report.numbers import counted
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell

_MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VerificationResult(PrintableResult):
    """Result of verifying a campaign.

    Attributes
    ----------
    campaign : str
    head : str
        ``SEQ:DIGEST`` of the last event. If kept elsewhere, it shows later whether the log was cut off or rewritten.
    problems : tuple of str
        Empty if the log is intact and the sample is reproduced.
    """

    campaign: str
    head: str
    problems: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """True if there are no problems."""
        return not self.problems

    @property
    def sentences(self) -> list[str]:
        """The problems, or a sentence that there are none."""
        events = counted(int(self.head.partition(":")[0]), "event")
        well = f"campaign {self.campaign}: {events}, the log is whole and replay is identical"
        return list(self.problems) or [well]

    def rows(self) -> list[dict[str, Cell]]:
        """Build the row that the command line prints."""
        problems = " | ".join(self.problems)
        return [{"campaign": self.campaign, "is_whole": self.is_whole, "head": self.head, "problems": problems}]


def verified(store: Store, name: str, head: str | None = None) -> VerificationResult:
    """Verify a campaign; return its problems with the head of its log.

    ``head`` is the ``SEQ:DIGEST`` of the last event at an earlier time, which must still be in the log; None for none.
    """
    problems = tuple(verify(store, name, head))
    return VerificationResult(campaign=name, head=head_of(store, name), problems=problems)


def head_of(store: Store, name: str) -> str:
    """Return ``SEQ:DIGEST`` of the last event; the digest covers all events up to it."""
    last = store.last_seq(name)
    return f"{last}:{store.digest_at(name, last) or ''}"


def verify(store: Store, name: str, head: str | None = None) -> list[str]:
    """List what is wrong with a campaign, one line each; empty if its log is intact and its sample is reproduced.

    The stored sample, whose digest is checked, is drawn again from its random key (of the seed) and ids; each unit
    (items judged together) must equal the stored one.

    Parameters
    ----------
    head : str, optional
        ``SEQ:DIGEST`` of the last event at an earlier time (`head_of`): the log then must be the beginning of the log
        now. Without it, a log that was cut off at the end or rewritten from its first event is not detected.

    Raises
    ------
    InputError
        If the head has another form, or there is no such campaign.
    """
    problems = list(store.verify(name)) + ([] if head is None else _since(store, name, head))
    versions, units = store.samples(name), store.units(name)
    lost = sorted({unit.version for unit in units} - {row.version for row in versions})
    problems += [f"version {version} of the sample is missing, but units of it are stored" for version in lost]
    # numbers of the last unit and block of the earlier rounds (samples), after which those of a round continue
    offset, stored = (0, 0), list[UnitRow]()
    for of_round in rounds_of([row for row in versions if row.digest]):
        for row in of_round:
            stored = [unit for unit in units if of_round[0].version <= unit.version <= row.version]
            try:
                sample, digest = unpacked_version(of_round, row, f"version {row.version}")
            except ActiveEvalError as problem:
                problems.append(str(problem))
                continue
            if digest != row.digest:
                problems.append(f"version {row.version}: the sample's id is {digest}, the store says {row.digest}")
            problems += _differences(sample.campaign, stored, row.version, *offset)
        offset = (stored[-1].number, stored[-1].block) if stored else offset
    return problems


def _since(store: Store, name: str, head: str) -> list[str]:
    """Check that the log contains the event with this head (``SEQ:DIGEST``).

    Return a list with the problem, or an empty list. Raises InputError if the head has another form.
    """
    number, _, digest = head.partition(":")
    if not number.isdecimal():
        raise InputError(f"the head of a log is SEQ:DIGEST, as `campaign verify` prints it, got {head!r}")
    last, seq = store.last_seq(name), int(number)
    if seq > last:
        return [f"the log ends with event {last}: event {seq}, its head earlier, is missing"]
    if seq and store.digest_at(name, seq) != digest:
        return [f"event {seq} is not the earlier head of the log"]
    return []


def _differences(campaign: Campaign, stored: list[UnitRow], version: int, n_units: int, n_blocks: int) -> list[str]:
    """List the units (items judged together) of a sample that differ from the stored ones.

    At most `_MOST`, then the number of the others.

    Parameters
    ----------
    campaign : Campaign
        The sample, drawn again.
    stored : list of UnitRow
        The stored units of its round (sample of the campaign).
    version : int
        Version of the sample, for messages.
    n_units, n_blocks : int
        Units and blocks (parts of a sample) of earlier rounds, after which the stored numbers continue.
    """
    planned = campaign.planned
    if len(planned) != len(stored):
        return [f"version {version}: the sample has {counted(len(planned), 'unit')}, the store {len(stored)}"]
    problems, probs = [], item_probabilities(campaign)
    for unit, row in zip(planned, stored, strict=True):
        docs = [doc for place in row.places for doc in place.members or [place.doc_id]]
        theirs = (row.number - n_units, row.block - n_blocks, row.query_id, sorted(docs))
        stored_probs = {place.probability for place in row.places}
        if (unit.number, unit.block, unit.query_id, sorted(unit.item_ids)) != theirs:
            problems.append(f"version {version}: unit {row.number} is not the one that the sample gives")
        # probabilities are those of the version with which a unit was drawn
        elif row.version == version and stored_probs != set(probs[list(unit.items)].tolist()):
            problems.append(f"version {version}: unit {row.number} has other probabilities than the sample gives")
    return problems[:_MOST] + ([f"version {version}: {len(problems) - _MOST} more"] if len(problems) > _MOST else [])
