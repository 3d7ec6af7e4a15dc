"""What happens on a night of a watch: it is drawn, judged where grades are at hand, looked at again where it is bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from activeeval.campaigns.import_judgments import ImportedFile
from activeeval.campaigns.scripted_judge import ScriptedAnswers, judge_all
from activeeval.campaigns.store import NightRow, Store
from activeeval.core.judgments import Judgments
from activeeval.monitoring.late_sheets import share_labels, take_sheets
from activeeval.monitoring.night_inputs import NightInputs, last_night
from activeeval.monitoring.night_outputs import Pair
from activeeval.monitoring.nights import NightDraw, draw_more, draw_night
from activeeval.monitoring.series import last_says

Progress = Callable[[str], object]
ORACLE = "oracle"
"""The judge who says what a file says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStep:
    """What was done on a night.

    Attributes
    ----------
    drawn, more : NightDraw or None
        For the night, and on suspicion.
    files : sequence of (NightRow, TakenFile)
        Judgments that came in, each for its night.
    shared : dict of str to int
        How many judgments nights have taken over from one another, by step.
    """

    drawn: NightDraw | None = None
    more: NightDraw | None = None
    files: Sequence[tuple[NightRow, ImportedFile]] = ()
    shared: dict[str, int] = field(default_factory=dict)


Begun = Callable[[WatchStep], object]


def take_night(
    store: Store,
    name: str,
    tonight: NightInputs,
    script: ScriptedAnswers | None = None,
    *,
    progress: Progress = lambda what: None,
    begun: Begun = lambda step: None,
) -> WatchStep:
    """Draw a night; with a scripted judge judge it, and draw and judge the labels on suspicion where it looks bad.

    Parameters
    ----------
    begun : callable
        Takes what is stored before anything later can fail.
    """
    if script is not None:
        tonight = replace(tonight, largest=max(script.grades.values(), default=0), answers=script.grades)
    drawn = draw_night(store, name, tonight, progress=progress)
    begun(WatchStep(drawn=drawn))
    if script is None:
        return WatchStep(drawn=drawn)
    _judge(store, drawn, script)
    shared = share_labels(store, name)
    more = suspected(store, name, script.grades, progress=progress)
    if more is not None:
        _judge(store, more, script)
    return WatchStep(drawn=drawn, more=more, shared=shared)


def take_judgments(
    store: Store,
    name: str,
    sources: Sequence[str] | Mapping[str, str | Judgments],
    judge: str | None = None,
    *,
    machine_is_truth: bool = False,
    progress: Progress = lambda what: None,
    begun: Begun = lambda step: None,
) -> WatchStep:
    """Take judgments in, and draw the labels on suspicion where the last night is judged and looks bad.

    Parameters
    ----------
    sources
        As of `activeeval.campaigns.import_judgments.take_files`; none where they came by a page.
    begun : callable
        As of `take_night`.
    """
    last_night(store, name)
    how = {"machine_is_truth": machine_is_truth}
    files = take_sheets(store, name, sources, judge, **how) if sources else []
    shared = share_labels(store, name, is_corrected=bool(sources))
    begun(WatchStep(files=files, shared=shared))
    return WatchStep(files=files, shared=shared, more=suspected(store, name, None, progress=progress))


def suspected(
    store: Store, name: str, grades: Mapping[Pair, int] | None, *, progress: Progress = lambda what: None
) -> NightDraw | None:
    """Draw the labels on suspicion where the last night looks bad; None where it does not."""
    return draw_more(store, name, grades, progress=progress) if last_says(store, name).looks_bad else None


def _judge(store: Store, drawn: NightDraw, script: ScriptedAnswers) -> None:
    for _ in judge_all(store, drawn.campaign, ORACLE, script.grades, machine=script.machine):
        pass
