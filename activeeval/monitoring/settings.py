"""Settings of a watch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import BytesIO
from typing import Any, Self

from numpy.typing import NDArray

from activeeval.campaigns.store import Store, WatchRow, checked_name
from activeeval.core.campaign import Rules
from activeeval.core.design.methods import Method, default_method
from activeeval.core.errors import InputError
from activeeval.core.estimation import check_scope
from activeeval.core.judgments.judging import judging_of
from activeeval.core.pool.texts import Texts
from activeeval.formats.arrays import pack, unpacked
from activeeval.formats.loading import load_run
from activeeval.formats.tables.segments import Segments, read_segments
from activeeval.inputs.choices import POOL_DEPTH
from activeeval.inputs.loading import sampled_measure
from activeeval.monitoring.night_outputs import run_arrays
from activeeval.sampling.draw import fresh_seed
from activeeval.sampling.options import halves_of
from activeeval.sampling.policies import policy_for
from activeeval.sampling.segment_budgets import SegmentGoals

OF_NIGHTS = ("first", "previous")
REFERENCE = "reference"
"""Name of the reference run, if it is not the run of a night."""
_SEGMENTS = ("segments.queries", "segments.names")
MOST_FALSE_ALARMS = 25
BUDGETS_ON_SUSPICION = 2.0
"""Default number of labels on suspicion, in budgets of a night. With three budgets in all, the half-width of a
difference shrinks to about 1 / √3, so that a loss just visible in the 95 % interval (1.96 standard errors) becomes 3.4
standard errors, beyond the threshold of an alarm (2.6 to 2.8)."""
SHARES_OF_LOOKS = (0.5, 0.5)
"""Shares of a night's false-alarm rate for its two interim analyses: its own labels, and with the labels on suspicion.
They add up to 1, so that the rate holds whatever the dependence of the two (Bonferroni)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a watch: measures, budget, and the rule for alarms.

    Attributes
    ----------
    measures : tuple of str
        For example DCG@10.
    budget : float
        New labels a night, on average; with half-widths, the upper limit.
    max_grade : int or None
        None takes the largest grade found on the first night.
    seed : int
        Seed of the random numbers that all nights share.
    margin : float
        The largest loss that does not matter, in the unit of the measure.
    scope : {"pool", "population"}
        Scope of verdicts: these queries, or the population from which they are sampled.
    false_alarms : float
        Largest number of false alarms in 100 nights without a change.
    budget_on_suspicion : float or None
        Additional labels, on average, for a night that looks bad and is undecided; 0 for none. None takes twice
        ``budget``.
    reference : str
        Comparison in addition to the previous night: first, previous, or the file of a run.
    judges_per_item : int
        How many judges each item waits for.
    policy : str
        How several judges' grades of an item become one: majority or median.
    pool_depth : int
        The rank at which lists end.
    models : tuple of str
        Grade models by name; empty learns from the labels of earlier nights.
    segments : str or None
        Name of the file of segments, whose content is stored with the watch.
    segment_half_widths : tuple of (str, float)
        Target half-widths of segments' intervals on every night; if there are none, the whole budget is spent.
    half_width : float or None
        Target half-width for all queries.
    """

    measures: tuple[str, ...]
    budget: float
    max_grade: int | None
    seed: int
    margin: float = 0.0
    scope: str = "pool"
    false_alarms: float = 1.0
    budget_on_suspicion: float | None = None
    reference: str = "previous"
    judges_per_item: int = 1
    policy: str = "majority"
    pool_depth: int = POOL_DEPTH
    models: tuple[str, ...] = ()
    segments: str | None = None
    segment_half_widths: tuple[tuple[str, float], ...] = ()
    half_width: float | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Read the settings from the stored configuration of a watch."""
        stored: dict[str, Any] = {field.name: config[field.name] for field in fields(cls) if field.name in config}
        stored["margin"] = stored.get("margin") or 0.0
        stored |= {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        stored["segment_half_widths"] = tuple((name, half) for name, half in stored["segment_half_widths"])
        return cls(**stored)

    @classmethod
    def chosen(cls, seed: int | None, policy: str | None, **options: Any) -> Self:
        """Build and check the settings of a new watch.

        Parameters
        ----------
        seed : int or None
            None generates a seed.
        policy : str or None
            None chooses one by the number of judges.
        options
            The other fields; `half_width` may also map segments to half-widths (None: all queries), or be such pairs.

        Raises
        ------
        InputError
            If a setting is not valid.
        """
        whole, parts = halves_of(options.get("half_width"))
        halves: dict[str, Any] = {"half_width": whole} | ({"segment_half_widths": tuple(parts)} if parts else {})
        settings = cls(
            seed=fresh_seed() if seed is None else seed,
            policy=checked_policy(policy, options["judges_per_item"], options["measures"]),
            **options | halves,
        )
        settings.check()
        return settings

    @property
    def rules(self) -> Rules:
        """Judging rules of each night (a dated run)."""
        return Rules(judges_per_item=self.judges_per_item, policy=self.policy)

    @property
    def method(self) -> Method:
        """Sampling method that suits the measures, for nights (dated runs) that continue each other."""
        return default_method(*map(sampled_measure, self.measures)).continuing

    @property
    def goals(self) -> SegmentGoals | None:
        """Target half-widths of every night (a dated run), overall and by segment; None if there are none."""
        if self.half_width is None and not self.segment_half_widths:
            return None
        if not self.segment_half_widths:
            return SegmentGoals(source=self.segments or "", half_widths={}, whole=self.half_width)
        return SegmentGoals.of(self.segments, self.segment_half_widths, self.half_width)

    @property
    def on_suspicion(self) -> float:
        """Additional labels for a night (a dated run) that looks bad and is undecided; 0 for none."""
        return BUDGETS_ON_SUSPICION * self.budget if self.budget_on_suspicion is None else self.budget_on_suspicion

    def confidence(self, n_compared: int, look: int = 0) -> float:
        """Compute the confidence of the interval that decides about a difference on a night (a dated run).

        A night raises a false alarm with probability at most ``false_alarms`` / 100. This is divided among its
        comparisons, each measure with each run (Bonferroni), and among its interim analyses (`SHARES_OF_LOOKS`). Only
        an interval below 0 raises an alarm, one of the two sides of an interval that misses 0: hence the factor 2.

        Parameters
        ----------
        n_compared : int
            Number of differences that are compared with 0 on this night.
        look : {0, 1}
            0 for the labels of the night, 1 with the labels on suspicion.
        """
        share = SHARES_OF_LOOKS[look] if self.on_suspicion else 1.0
        return 1 - 2 * share * self.false_alarms / 100 / max(n_compared, 1)

    def check(self) -> None:
        """Raise InputError if a setting is not valid."""
        if not self.measures:
            raise InputError("a watch needs a measure", field="measure")
        measured = [sampled_measure(text) for text in self.measures]
        if len({str(measure) for measure in measured}) < len(measured):
            raise InputError("a measure is named twice, expected each once", field="measure")
        if not judging_of(measured).has_grades:
            raise InputError("a watch needs a measure of grades, not of top-k judging", field="measure")
        if not (math.isfinite(self.budget) and self.budget > 0):
            raise InputError(f"the budget of a night must be a positive number, got {self.budget:g}", field="budget")
        if not 0 < self.false_alarms <= MOST_FALSE_ALARMS:
            problem = f"`false_alarms` in 100 nights must be above 0 and at most {MOST_FALSE_ALARMS}, got "
            raise InputError(f"{problem}{self.false_alarms:g}", field="false_alarms")
        check_scope(self.scope)
        for name, number in (("margin", self.margin), ("budget_on_suspicion", self.on_suspicion)):
            if not (math.isfinite(number) and number >= 0):
                raise InputError(f"`{name}` must be a number from 0 on, got {number:g}", field=name)
        if self.goals is not None:
            self.goals.of_part(None, 1)  # raises for an invalid half-width


def set_up(store: Store, name: str, settings: Settings) -> None:
    """Store a new watch (an index followed from night to night) under `name`.

    Raises
    ------
    InputError
        If the name is taken, the reference or the segments cannot be read, or a half-width is of an unknown segment.
    """
    settings.check()
    content = BytesIO()
    arrays: dict[str, NDArray[Any]] = {}
    if settings.reference not in OF_NIGHTS:
        arrays |= run_arrays(load_run(settings.reference), settings.pool_depth)
    if settings.segments is not None:
        segments = read_segments(settings.segments)
        if settings.goals is not None:
            settings.goals.check_known(segments)
        columns = (segments.query_ids, segments.names)
        arrays |= {field: column.array() for field, column in zip(_SEGMENTS, columns, strict=True)}
    if arrays:
        pack(arrays, content)
    store.watches.create(WatchRow(name=checked_name(name), config=asdict(settings), payload=content.getvalue()))


def segments_of(watch: WatchRow, settings: Settings) -> Segments | None:
    """Load the segments (groups of queries) of a watch from the store; None if it has none."""
    if settings.segments is None:
        return None
    arrays = unpacked(watch.payload, f"watch {watch.name}", _SEGMENTS, "segments")
    queries, names = (Texts.from_list(arrays[field].tolist()) for field in _SEGMENTS)
    return Segments(queries, names, settings.segments)


def checked_policy(policy: str | None, judges_per_item: int, measures: Sequence[str]) -> str:
    """Check the policy that reduces several judges' grades of an item to one; None chooses majority or median.

    The default is the majority for an odd number of judges, else the median. A night is a dated run of the watched
    index.

    Raises
    ------
    InputError
        If it is the mean gain, which is not a grade that the next night could reuse, or unknown.
    """
    chosen = policy or ("majority" if judges_per_item % 2 else "median")
    if chosen == "mean-gain":
        problem = "`policy` mean-gain: the next night reuses grades, and a mean gain is not a grade: expected "
        raise InputError(f"{problem}majority or median", field="policy")
    return policy_for(chosen, judges_per_item, False, measures)
