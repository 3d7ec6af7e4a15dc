"""State of controls, derived from the event log: items with a known or earlier grade, mixed among a judge's items.

A judge cannot distinguish them from other items, and their answers never count as labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from activeeval.core.judgments.log import ANSWERS, Event, is_of_control

PairCheck = tuple[str, str]
"""A judge and the key of a control."""
_VALID_ANSWERS = (*ANSWERS, "checked")
_COUNTED_ANSWERS = (*_VALID_ANSWERS, "deferred", "passed", "preferred")


@dataclass(slots=True)
class Checks:
    """State of the controls after the events so far.

    A control is an item whose grade is known, shown among others to check a judge; its answer never counts as a label.

    Attributes
    ----------
    n_said : dict of str to int
        Number of answers of each judge, including controls; corrections are not counted.
    standing : dict of str to dict of int to Event
        Valid answers of each judge, including controls, by event number and in their order.
    posed : dict of str to Event
        The open control of each judge, if any.
    answers : dict of PairCheck to Event
        The valid answer or deferral of each control.
    put_off : dict of str to dict of str to Event
        Deferred controls of each judge without a later answer, by key, in the order of deferral.
    """

    n_said: dict[str, int] = field(default_factory=dict)
    standing: dict[str, dict[int, Event]] = field(default_factory=dict)
    posed: dict[str, Event] = field(default_factory=dict)
    answers: dict[PairCheck, Event] = field(default_factory=dict)
    put_off: dict[str, dict[str, Event]] = field(default_factory=dict)

    def apply(self, event: Event) -> bool:
        """Update counts and answers with an event of the log; return True if it concerns a control.

        A control is an item whose grade is known, shown among others to check a judge. An event that ``supersedes`` an
        earlier one (its number) retracts that answer. Kinds of controls: "control_shown", "checked" (answered) and
        "passed" (deferred).

        Updated are, by judge: the number of answers (`n_said`), the valid answers by event number (`standing`), the
        open control (`posed`) and deferred ones (`put_off`); and the answer of each judge and control (`answers`).
        """
        if event.kind in _COUNTED_ANSWERS and event.supersedes is None:
            self.n_said[event.judge] = self.n_said.get(event.judge, 0) + 1
        if event.supersedes is not None:
            for answers in self.standing.values():
                answers.pop(event.supersedes, None)
        if event.kind in _VALID_ANSWERS:
            self.standing.setdefault(event.judge, {})[event.seq] = event
        if not is_of_control(event):
            return False
        if event.kind == "control_shown":
            self.posed[event.judge] = event
            if event.supersedes is not None:  # the control is shown again after its answer was retracted
                self.answers.pop((event.judge, str(event.body["item"])), None)
        elif event.kind in ("checked", "passed"):
            self._answer(event, str(event.body["item"]))
        return True

    def _answer(self, event: Event, item: str) -> None:
        """Record an answer or deferral of a control (item with a known grade), given by its key ``item``.

        The control is no longer open (``posed``); deferred ones are listed by judge in ``put_off``.
        """
        open_control, put_off = self.posed.get(event.judge), self.put_off.setdefault(event.judge, {})
        if open_control is not None and open_control.body["item"] == item:  # else an earlier control was corrected
            del self.posed[event.judge]
        self.answers[event.judge, item] = event
        put_off.pop(item, None)
        if event.kind == "passed":
            put_off[item] = event
