"""What a watch was set up for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import BytesIO
from typing import Any, Self

from numpy.typing import NDArray

from activeeval.campaigns.store import Store, WatchRow, checked_name
from activeeval.core.campaign import Rules
from activeeval.core.design.methods import default_method
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
"""What a run that is no night's is called among a night's."""
_SEGMENTS = ("segments.queries", "segments.names")
MOST_FALSE_ALARMS = 25
BUDGETS_ON_SUSPICION = 2.0
"""Labels on suspicion by default, in budgets of a night: with three budgets in all the half-width of a difference is
about 1 / √3 of what it was, so that a loss that the plain interval has just seen (1.96 standard errors) stands out by
3.4, beyond what an alarm takes (2.6 to 2.8)."""
SHARES_OF_LOOKS = (0.5, 0.5)
"""Of a night's false alarms: its first look, and the one with the labels on suspicion. They add up to 1, so that the
rate holds however the looks depend on each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a watch measures, for how much, and when it raises an alarm.

    Attributes
    ----------
    measures : tuple of str
    budget : float
        New labels a night, on average; at most, where half-widths are asked for.
    max_grade : int or None
        None takes the largest grade that the first night comes with.
    seed : int
        Of the numbers that all nights share.
    margin : float
        The largest loss that does not matter.
    scope : {"pool", "population"}
        What verdicts are about: these queries, or the queries that they are a sample of.
    false_alarms : float
        False alarms in 100 nights without a change, at most.
    budget_on_suspicion : float or None
        New labels, on average, that a night gets on top where it looks bad and its verdict is open; 0 for none. None
        takes twice ``budget``.
    reference : str
        What nights are compared with beside the night before: first, previous, or the file of a run.
    judges_per_item : int
    policy : str
    pool_depth : int
        The rank at which lists end.
    models : tuple of str
        Grade models by name; none takes what earlier nights teach.
    segments : str or None
        The file that says which queries are of which segment, as it was called: it is stored with the watch.
    segment_half_widths : tuple of (str, float)
        What the intervals of segments should come to on every night; none: the budget is spent.
    half_width : float or None
        What that of all queries should come to.
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
        """Return the settings of a stored watch."""
        stored: dict[str, Any] = {field.name: config[field.name] for field in fields(cls) if field.name in config}
        stored["margin"] = stored.get("margin") or 0.0
        stored |= {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        stored["segment_half_widths"] = tuple((name, half) for name, half in stored["segment_half_widths"])
        return cls(**stored)

    @classmethod
    def chosen(cls, seed: int | None, policy: str | None, **options: Any) -> Self:
        """Make the settings of a new watch, and check them; without a seed one of the system's.

        Raises
        ------
        InputError
            Where a watch cannot be so.
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
        """How each night is judged."""
        return Rules(judges_per_item=self.judges_per_item, policy=self.policy)

    @property
    def method(self) -> str:
        """How items are drawn."""
        return default_method(*map(sampled_measure, self.measures)).name

    @property
    def goals(self) -> SegmentGoals | None:
        """The half-widths that every night is to reach; None where there are none."""
        if self.half_width is None and not self.segment_half_widths:
            return None
        if not self.segment_half_widths:
            return SegmentGoals(source=self.segments or "", half_widths={}, whole=self.half_width)
        return SegmentGoals.of(self.segments, self.segment_half_widths, self.half_width)

    @property
    def on_suspicion(self) -> float:
        """New labels that a night gets on top where it looks bad and its verdict is open; 0 for none."""
        return BUDGETS_ON_SUSPICION * self.budget if self.budget_on_suspicion is None else self.budget_on_suspicion

    def confidence(self, n_compared: int, look: int = 0) -> float:
        """Return the confidence of the interval that decides a difference on a night.

        A night raises a false alarm with probability ``false_alarms`` / 100 at most: this is shared by its comparisons,
        each measure against each run (Bonferroni), and where the night may look twice by its looks (`SHARES_OF_LOOKS`).

        Parameters
        ----------
        n_compared : int
            Differences that are compared with 0 on this night.
        look : {0, 1}
            0 reads the labels of the night, 1 those on suspicion too.
        """
        share = SHARES_OF_LOOKS[look] if self.on_suspicion else 1.0
        return 1 - 2 * share * self.false_alarms / 100 / max(n_compared, 1)

    def check(self) -> None:
        """Raise InputError where a watch cannot be so."""
        if not self.measures:
            raise InputError("a watch needs a measure", field="measure")
        measured = [sampled_measure(text) for text in self.measures]
        if len({str(measure) for measure in measured}) < len(measured):
            raise InputError("a measure is named twice, expected each once", field="measure")
        if not judging_of(measured).has_grades:
            raise InputError("a watch is of measures of grades, not of top-k judging", field="measure")
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
            self.goals.of_part(None, 1)


def set_up(store: Store, name: str, settings: Settings) -> None:
    """Store a watch.

    Raises
    ------
    InputError
        Where the name is taken, the reference or the segments cannot be read, or a half-width is of none of these.
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
    """Return the segments that a watch was set up with; None without."""
    if settings.segments is None:
        return None
    arrays = unpacked(watch.payload, f"watch {watch.name}", _SEGMENTS, "segments")
    queries, names = (Texts.from_list(arrays[field].tolist()) for field in _SEGMENTS)
    return Segments(queries, names, settings.segments)


def checked_policy(policy: str | None, judges_per_item: int, measures: Sequence[str]) -> str:
    """Return what several judges' grades count as: a grade, as the next night takes it for the item's.

    Raises
    ------
    InputError
        Where it is the mean gain, which is no grade.
    """
    chosen = policy or ("majority" if judges_per_item % 2 else "median")
    if chosen == "mean-gain":
        problem = "`policy` mean-gain: the next night takes over grades, and a mean gain is none: majority or median"
        raise InputError(problem, field="policy")
    return policy_for(chosen, judges_per_item, False, measures)
