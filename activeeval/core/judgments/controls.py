"""What a log says of controls: items whose grade is known, or was given before, that a judge meets among the others.

A judge cannot tell them apart, and what is said of them never counts as a label.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from activeeval.core.judgments.log import ANSWERS, Event, is_of_control

PairCheck = tuple[str, str]
"""A judge, and the key of a control."""
_STANDS = (*ANSWERS, "checked")
_SAYS = (*_STANDS, "deferred", "passed", "preferred")


@dataclass(slots=True)
class Checks:
    """What controls come to, event by event.

    Attributes
    ----------
    n_said : dict of str to int
        By judge how often he has said something of an item, of controls too; corrections are not counted.
    standing : dict of str to dict of int to Event
        By judge what he said of items that stands, of controls too, by event and in their order.
    posed : dict of str to Event
        By judge the control that waits for him.
    answers : dict of Checked to Event
        What stands of each control that was answered, or put off.
    put_off : dict of str to dict of str to Event
        By judge the controls that he has put off and not answered since, by key, as they were put off.
    """

    n_said: dict[str, int] = field(default_factory=dict)
    standing: dict[str, dict[int, Event]] = field(default_factory=dict)
    posed: dict[str, Event] = field(default_factory=dict)
    answers: dict[PairCheck, Event] = field(default_factory=dict)
    put_off: dict[str, dict[str, Event]] = field(default_factory=dict)

    def apply(self, event: Event) -> bool:
        """Take an event in; return whether it is of a control."""
        if event.kind in _SAYS and event.supersedes is None:
            self.n_said[event.judge] = self.n_said.get(event.judge, 0) + 1
        if event.supersedes is not None:
            for answers in self.standing.values():
                answers.pop(event.supersedes, None)
        if event.kind in _STANDS:
            self.standing.setdefault(event.judge, {})[event.seq] = event
        if not is_of_control(event):
            return False
        if event.kind == "control_shown":
            self.posed[event.judge] = event
            if event.supersedes is not None:  # the answer to it was taken back
                self.answers.pop((event.judge, str(event.body["item"])), None)
        elif event.kind in ("checked", "passed"):
            self._answer(event, str(event.body["item"]))
        return True

    def _answer(self, event: Event, item: str) -> None:
        waiting, put_off = self.posed.get(event.judge), self.put_off.setdefault(event.judge, {})
        if waiting is not None and waiting.body["item"] == item:  # else an earlier one was corrected meanwhile
            del self.posed[event.judge]
        self.answers[event.judge, item] = event
        put_off.pop(item, None)
        if event.kind == "passed":
            put_off[item] = event
