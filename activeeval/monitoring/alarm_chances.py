"""Predict the power of a watch: the probability that a given loss raises the alarm.

The simulated bad night is the last night with a quarter of its result lists reversed. Its difference from the last
night is designed as a regular night, with all labels and the grade model learned from them: for a night's budget, for
the additional labels drawn on suspicion, and for both again on the next night. The planned standard errors of these
steps define a path of estimates with independent increments; the share of simulated paths that raise the alarm is the
probability.
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
"""One of this many lists is reversed on the simulated bad night."""
MARGINS, STANDARD_ERRORS = 3.0, 4.0
"""Size of the simulated loss, in margins; without a margin, in standard errors of the first interim analysis."""
PATHS = 20_000
"""Number of simulated paths: a probability is accurate to ± .007."""
_NIGHT, _BEFORE = "a bad night", "the night before"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmChance:
    """Probability that a loss raises the alarm.

    A night is a dated run of the watched index.

    Attributes
    ----------
    measure : str
    loss : float
        `MARGINS` margins; without a margin, `STANDARD_ERRORS` standard errors of the first interim analysis.
    same_night : float
        Probability of an alarm on the night of the loss.
    second_night : float or None
        Probability by the next night, if the loss persists; None if the only reference is the previous night.
    """

    measure: str
    loss: float
    same_night: float
    second_night: float | None


def expected_alarms(store: Store, name: str) -> list[AlarmChance]:
    """Compute, for each measure, the probability that a loss raises the alarm of watch `name`, from its labels so far.

    A measure is left out if it is exactly known and has no margin, because any loss then raises the alarm. The list is
    empty if no measure has a comparison with an earlier run. A night is a dated run of the watched index.

    Raises
    ------
    StateError
        If items of the last night are not judged, or nothing is judged yet.
    """
    settings, rows = Settings.of(store.watches.get(name).config), store.watches.nights(name)
    record = NightRecord.of(store.watches.payload(name, rows[-1].date), f"watch {name}, {rows[-1].date}")
    labels = labels_so_far(store, name, rows, record.histories, settings)
    runs = {_NIGHT: _turned(record.run), _BEFORE: record.run}
    max_grade = store.campaign(rows[0].campaign).max_grade
    case = case_of(runs, settings, record.known_grades, labels, max_grade)
    hand = in_hand(case.inputs.pool, record.histories, labels)  # labels so far, with their items' probabilities
    questions = [each for each in case.asked(settings.measures, ["run", "difference"]) if each.system == _NIGHT]
    changes = [k for k, each in enumerate(questions) if each.versus and each.target.matters.any()]
    if not changes:
        return []
    errors = _planned_errors(case, settings, [each.target for each in questions], hand)
    estimates = [each.estimate for each in answered(state_of(store, rows[-1].campaign))[0]]
    degrees = max(min(each.degrees_of_freedom for each in estimates), 1.0)
    # each measure is compared with the night before and, unless that is the reference, with the reference
    n_compared = len(changes) * (1 if settings.reference == "previous" else 2)
    out = []
    for k in changes:
        loss = MARGINS * settings.margin or STANDARD_ERRORS * float(errors[0, k])  # row 0: the night's own labels
        if loss == 0:
            continue
        same, second = chances(errors[:, k], loss, settings, n_compared, degrees)
        by_second = None if settings.reference == "previous" else second
        out.append(AlarmChance(measure=questions[k].target.name, loss=loss, same_night=same, second_night=by_second))
    return out


def chances(errors: Floats, loss: float, settings: Settings, n_compared: int, degrees: float) -> tuple[float, float]:
    """Simulate estimates of a loss on two nights; return the shares with an alarm by the first and by the second night.

    The estimates have mean −`loss` and independent increments. Both nights have two interim analyses: with the night's
    own labels, and with the labels on suspicion (further labels for a night that looks bad and is undecided). A night
    is a dated run of the watched index.

    Parameters
    ----------
    errors : ndarray, shape (6,)
        Planned standard errors: of the first night, and of it with the labels on suspicion; of the second night and
        of it with labels on suspicion, if the first night had none; the same two if it had some.
    loss : float
        Size of the loss, in the unit of the measure.
    settings : Settings
        Settings of the watch: margin, rate of false alarms, budget on suspicion.
    n_compared : int
        Number of differences compared with 0 on a night, among which the false-alarm rate is divided.
    degrees : float
        Degrees of freedom of the t distribution of estimates.
    """
    rng = np.random.default_rng(0)
    first = _estimates(errors[[0, 1]], loss, rng)
    alarm, is_more = _alarms_of(first, errors[[0, 1]], settings, n_compared, degrees)
    ends = np.where(is_more, first[1], first[0])  # last estimate of the first night, and its standard error
    end_errors = np.where(is_more, errors[1], errors[0])
    second = np.empty((2, PATHS))  # rows: interim analyses of the second night
    second_errors = np.where(is_more, errors[[4, 5]][:, None], errors[[2, 3]][:, None])
    for step in range(2):
        start, variance = (ends, end_errors**2) if step == 0 else (second[0], second_errors[0] ** 2)
        second[step] = _later_estimates(start, variance, np.minimum(second_errors[step] ** 2, variance), loss, rng)
    second_alarm, _ = _alarms_of(second, second_errors, settings, n_compared, degrees)
    return float(alarm.mean()), float((alarm | second_alarm).mean())


def _estimates(errors: Floats, loss: float, rng: np.random.Generator) -> Floats:
    """Simulate the estimates of both interim analyses of a night (a dated run), shape (2, PATHS).

    `errors`, shape (2,), has the standard errors with the night's own labels and with the labels on suspicion; the true
    difference is −`loss`.
    """
    first = -loss + errors[0] * rng.standard_normal(PATHS)
    variances = np.full(PATHS, errors[0] ** 2), np.full(PATHS, min(errors[1], errors[0]) ** 2)
    return np.stack([first, _later_estimates(first, *variances, loss, rng)])


def _later_estimates(start: Floats, variance: Floats, after: Floats, loss: float, rng: np.random.Generator) -> Floats:
    """Simulate estimates of smaller variance `after`, conditional on earlier estimates `start` of variance `variance`.

    All have shape (n_paths,). Earlier and later estimates have mean −`loss`, and their covariance is the smaller
    variance.
    """
    share = np.where(variance > 0, after / np.where(variance > 0, variance, 1.0), 1.0)
    noise = np.sqrt(np.maximum(after * (1 - share), 0.0)) * rng.standard_normal(start.size)
    return np.asarray(-loss + share * (start + loss) + noise)


def _alarms_of(
    estimates: Floats, errors: Floats, settings: Settings, n_compared: int, degrees: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Decide which paths raise the alarm on a night, and which get labels on suspicion; two arrays of shape (n_paths,).

    `estimates` and `errors` have the two interim analyses as rows: the night's own labels, and with the labels on
    suspicion. A path gets those labels if its 95 % interval lies below 0 without an alarm. `n_compared` is the number
    of earlier runs compared with, `degrees` are degrees of freedom of the t distribution. A night is a dated run of the
    watched index.
    """
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
    """Check which estimates raise the alarm: the interval lies below 0, and the loss is at least the margin.

    `estimates` and their standard `errors` have shape (n_paths,); `confidence` is that of the interval; `degrees` are
    degrees of freedom of the t distribution.
    """
    certain = estimates + float(t_quantile(confidence, degrees)) * errors < 0
    return np.asarray(certain & (estimates <= -settings.margin))


def _planned_errors(case: PreparedCase, settings: Settings, targets: Sequence[Target], hand: EarlierLabels) -> Floats:
    """Plan the standard errors of all targets at the six steps of `chances`, shape (6, n_targets).

    Steps: the first night, and with labels on suspicion; then the second night, and with labels on suspicion, first if
    the first night had none, then if it had some. `hand` has the labels of earlier nights, with their inclusion
    probabilities. Steps without labels on suspicion are planned with a budget close to 0. A night is a dated run of the
    watched index.
    """
    base = case.design(settings.method, targets)
    rows: list[Floats] = []

    def step(before: EarlierLabels, budget: float) -> EarlierLabels:
        """Plan one further batch of labels beyond `before`, for a `budget` in mean items (average items).

        Append its standard errors to `rows`; return `before` with the new probabilities of items, shape (n_items,).
        """
        design, probs = going_on(base, before, budget)
        # at level 1 the rates of this design are the probabilities that items are drawn
        rows.append(np.sqrt([float(reading.planned.at(np.ones(1))[0]) for reading in design.readings]))
        return replace(before, probs=probs)

    night = step(hand, settings.budget)
    more = step(night, settings.on_suspicion) if settings.on_suspicion else step(night, 1e-9)
    for start in (night, more):
        second = step(start, settings.budget)
        step(second, settings.on_suspicion or 1e-9)
    return np.array(rows)


def _turned(run: Run) -> Run:
    """Reverse the result lists of every fourth query (`TURNED`) by the sign of the scores: the simulated bad night.

    A night is a dated run of the watched index.
    """
    queries = {query: k for k, query in enumerate(dict.fromkeys(run.query_ids.tolist()))}
    is_turned = np.array([queries[query] % TURNED == 0 for query in run.query_ids.tolist()])
    return replace(run, scores=np.where(is_turned, -run.scores, run.scores), source=_NIGHT)
