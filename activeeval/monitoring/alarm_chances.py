"""What a watch is going to see: how likely a loss raises the alarm, by the planned half-widths of a bad night.

A bad night is the last one with a quarter of its lists upside down. Its difference from the last night is designed as a
night is, with all labels in hand and by what they teach of grades: for the budget of a night, for the labels on
suspicion, and for both again on the next night. The planned standard errors of these steps make a path of estimates
whose steps are independent; how often it raises the alarm is counted over draws of such paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.campaigns.state import answered, state_of
from activeeval.campaigns.store import Store
from activeeval.core.design.carried_samples import EarlierLabels, going_on
from activeeval.core.interval_ends import t_quantile
from activeeval.core.measures import Target
from activeeval.core.types import Floats
from activeeval.formats.text.trec import Run
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.monitoring.cases import case_of
from activeeval.monitoring.judged_labels import labels_so_far
from activeeval.monitoring.night_outputs import NightRecord, in_hand
from activeeval.monitoring.series import PLAIN
from activeeval.monitoring.settings import Settings

TURNED = 4
"""One list of so many is upside down on a bad night."""
MARGINS, STANDARD_ERRORS = 3.0, 4.0
"""The loss that is looked for, in margins; without a margin in standard errors of the first look."""
PATHS = 20_000
"""Draws: a share is known to ± .007."""
_NIGHT, _BEFORE = "a bad night", "the night before"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmChance:
    """How likely a loss is to raise the alarm.

    Attributes
    ----------
    measure : str
    loss : float
        `MARGINS` margins; without a margin `STANDARD_ERRORS` of the first look.
    same_night : float
        The probability of an alarm on the night of the loss.
    second_night : float or None
        By the next night, if the loss stays; None where nights are compared with the night before alone.
    """

    measure: str
    loss: float
    same_night: float
    second_night: float | None


def expected_alarms(store: Store, name: str) -> list[AlarmChance]:
    """Compute by measure how likely a loss raises the alarm, with the labels of the watch so far.

    Of nothing that is exactly known and has no margin: any loss raises it.

    Raises
    ------
    StateError
        Where items of the last night wait, or nothing is judged yet.
    """
    settings, rows = Settings.of(store.watches.get(name).config), store.watches.nights(name)
    left = NightRecord.of(store.watches.payload(name, rows[-1].date), f"watch {name}, {rows[-1].date}")
    labels = labels_so_far(store, name, rows, left.held, settings)
    runs = {_NIGHT: _turned(left.run), _BEFORE: left.run}
    top = store.campaign(rows[0].campaign).max_grade
    case = case_of(runs, settings, left.known_grades, labels, top)
    hand = in_hand(case.inputs.pool, left.held, labels)
    asked = [each for each in case.asked(settings.measures, ["run", "difference"]) if each.system == _NIGHT]
    changes = [k for k, each in enumerate(asked) if each.versus and each.target.matters.any()]
    if not changes:
        return []
    errors = _planned_errors(case, settings, [each.target for each in asked], hand)
    estimates = [each.estimate for each in answered(state_of(store, rows[-1].campaign))[0]]
    degrees = max(min(each.degrees_of_freedom for each in estimates), 1.0)
    n_compared = len(changes) * (1 if settings.reference == "previous" else 2)
    out = []
    for k in changes:
        loss = MARGINS * settings.margin or STANDARD_ERRORS * float(errors[0, k])
        if loss == 0:
            continue
        same, second = chances(errors[:, k], loss, settings, n_compared, degrees)
        by_second = None if settings.reference == "previous" else second
        out.append(AlarmChance(measure=asked[k].target.name, loss=loss, same_night=same, second_night=by_second))
    return out


def chances(errors: Floats, loss: float, settings: Settings, n_compared: int, degrees: float) -> tuple[float, float]:
    """Count how often paths of estimates raise the alarm on the first night, and by the second.

    Parameters
    ----------
    errors : ndarray, shape (6,)
        Standard errors: of the first night's look and of that with labels on suspicion; of the second night's two looks
        without, and with, labels on suspicion on the first.
    """
    rng = np.random.default_rng(0)
    first = _estimates(errors[[0, 1]], loss, rng)
    alarm, is_more = _looked(first, errors[[0, 1]], settings, n_compared, degrees)
    ends = np.where(is_more, first[1], first[0])
    before = np.where(is_more, errors[1], errors[0])
    second = np.empty((2, PATHS))
    after = np.where(is_more, errors[[4, 5]][:, None], errors[[2, 3]][:, None])
    for step in range(2):
        start, variance = (ends, before**2) if step == 0 else (second[0], after[0] ** 2)
        second[step] = _next(start, variance, np.minimum(after[step] ** 2, variance), loss, rng)
    again, _ = _looked(second, after, settings, n_compared, degrees)
    return float(alarm.mean()), float((alarm | again).mean())


def _estimates(errors: Floats, loss: float, rng: np.random.Generator) -> Floats:
    """Draw the estimates of both looks of a night, shape (2, n_paths)."""
    first = -loss + errors[0] * rng.standard_normal(PATHS)
    variances = np.full(PATHS, errors[0] ** 2), np.full(PATHS, min(errors[1], errors[0]) ** 2)
    return np.stack([first, _next(first, *variances, loss, rng)])


def _next(start: Floats, variance: Floats, after: Floats, loss: float, rng: np.random.Generator) -> Floats:
    """Draw estimates of a smaller variance after estimates: the covariance of the two is the smaller variance."""
    share = np.where(variance > 0, after / np.where(variance > 0, variance, 1.0), 1.0)
    noise = np.sqrt(np.maximum(after * (1 - share), 0.0)) * rng.standard_normal(start.size)
    return np.asarray(-loss + share * (start + loss) + noise)


def _looked(
    estimates: Floats, errors: Floats, settings: Settings, n_compared: int, degrees: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Decide which paths raise the alarm on a night, and which get labels on suspicion."""
    first, second = (
        _is_alarm(estimates[look], errors[look], settings, settings.confidence(n_compared, look), degrees)
        for look in range(2)
    )
    looks_bad = estimates[0] + float(t_quantile(PLAIN, degrees)) * errors[0] < 0
    is_more = looks_bad & ~first & (settings.on_suspicion > 0)
    return first | (is_more & second), is_more


def _is_alarm(
    estimates: Floats, errors: Floats, settings: Settings, confidence: float, degrees: float
) -> NDArray[np.bool_]:
    certain = estimates + float(t_quantile(confidence, degrees)) * errors < 0
    return np.asarray(certain & (estimates <= -settings.margin))


def _planned_errors(case: PreparedCase, settings: Settings, targets: Sequence[Target], hand: EarlierLabels) -> Floats:
    """Plan the standard errors of all targets on the steps that `chances` takes, shape (6, n_targets)."""
    base = case.design(settings.method, targets)
    rows: list[Floats] = []

    def step(before: EarlierLabels, budget: float) -> EarlierLabels:
        design, probs = going_on(base, before, budget)
        rows.append(np.sqrt([float(reading.planned.at(np.ones(1))[0]) for reading in design.readings]))
        return replace(before, probs=probs)

    night = step(hand, settings.budget)
    more = step(night, settings.on_suspicion) if settings.on_suspicion else step(night, 1e-9)
    for start in (night, more):
        second = step(start, settings.budget)
        step(second, settings.on_suspicion or 1e-9)
    return np.array(rows)


def _turned(run: Run) -> Run:
    """Turn one list of `TURNED` upside down."""
    queries = {query: k for k, query in enumerate(dict.fromkeys(run.query_ids.tolist()))}
    is_turned = np.array([queries[query] % TURNED == 0 for query in run.query_ids.tolist()])
    return replace(run, scores=np.where(is_turned, -run.scores, run.scores), source=_NIGHT)
