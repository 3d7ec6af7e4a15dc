"""The steps of a night: draw it, judge it if a scripted judge is given, draw labels on suspicion if it looks bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from activeeval.campaigns.import_judgments import ImportedFile
from activeeval.campaigns.scripted_judge import ScriptedAnswers, judge_all
from activeeval.campaigns.store import NightRow, Store
from activeeval.core.judgments import Judgments
from activeeval.monitoring.late_sheets import import_sheets, share_labels
from activeeval.monitoring.night_inputs import NightInputs, last_night
from activeeval.monitoring.night_outputs import Pair
from activeeval.monitoring.nights import NightDraw, draw_more, draw_night
from activeeval.monitoring.series import estimate_last_night

Progress = Callable[[str], object]
ORACLE = "oracle"
"""Name of the scripted judge, whose answers come from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStep:
    """Changes that one call made to a watch.

    A night is a dated run of the watched index.

    Attributes
    ----------
    drawn, more : NightDraw or None
        Samples drawn for the night, and on suspicion.
    files : sequence of (NightRow, ImportedFile)
        Imported judgments, each with its night.
    shared : dict of str to int
        Number of judgments copied from other nights, by step.
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
    """Draw a night of watch `name`; with a scripted judge also judge it, and draw further labels if it looks bad.

    A night is a dated run of the watched index.

    Parameters
    ----------
    script : ScriptedAnswers, optional
        The grades with which a scripted judge answers.
    progress : callable
        Called with a text that names the next step.
    begun : callable
        Called with what was drawn as soon as it is stored, before anything later can fail.
    """
    if script is not None:
        tonight = replace(tonight, largest=max(script.grades.values(), default=0), answers=script.grades)
    drawn = draw_night(store, name, tonight, progress=progress)
    begun(WatchStep(drawn=drawn))
    if script is None:
        return WatchStep(drawn=drawn)
    _judge(store, drawn, script)
    shared = share_labels(store, name)
    more = draw_if_suspicious(store, name, script.grades, progress=progress)
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
    """Import judgments, and draw labels on suspicion (further labels) if the last night is judged and looks bad.

    A night is a dated run of the watched index.

    Parameters
    ----------
    sources : sequence of str, or mapping of str to str or Judgments
        Files; or by display name, files or judgments in memory. Empty if the judgments are in the store already.
    judge : str, optional
        Name of the judge, for sources that name none.
    machine_is_truth : bool
        Accept graders' grades in the sources as labels.
    begun : callable
        Called with the result of the import, before labels on suspicion are drawn.
    """
    last_night(store, name)
    how = {"machine_is_truth": machine_is_truth}
    files = import_sheets(store, name, sources, judge, **how) if sources else []
    shared = share_labels(store, name, is_corrected=bool(sources))
    begun(WatchStep(files=files, shared=shared))
    return WatchStep(files=files, shared=shared, more=draw_if_suspicious(store, name, None, progress=progress))


def draw_if_suspicious(
    store: Store, name: str, grades: Mapping[Pair, int] | None, *, progress: Progress = lambda what: None
) -> NightDraw | None:
    """Draw labels on suspicion (further labels) if the last night (a dated run) looks bad; otherwise return None.

    `grades` are the answers of a scripted judge, None if people judge.
    """
    return draw_more(store, name, grades, progress=progress) if estimate_last_night(store, name).looks_bad else None


def _judge(store: Store, drawn: NightDraw, script: ScriptedAnswers) -> None:
    """Judge all items of a drawn sample with a scripted judge, and store the grades."""
    for _ in judge_all(store, drawn.campaign, ORACLE, script.grades, machine=script.machine):
        pass
