"""What a watch was set up for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import BytesIO
from typing import Any, Self

from activeeval.campaign import Rules
from activeeval.cases.choices import POOL_DEPTH
from activeeval.cases.inputs import sampled_measure
from activeeval.design.methods import default_method
from activeeval.errors import InputError
from activeeval.io.arrays import pack
from activeeval.io.loading import load_run
from activeeval.judgments.judging import judging_of
from activeeval.store import Store, WatchRow, checked_name
from activeeval.tasks.campaigns.making import policy_for
from activeeval.tasks.watching.leaving import run_arrays

OF_NIGHTS = ("first", "previous")
REFERENCE = "reference"
"""What a run that is no night's is called among a night's."""
LONGEST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a watch measures, for how much, and when it is to raise an alarm.

    Attributes
    ----------
    measures : tuple of str
    budget : float
        New labels a night, on average.
    max_grade : int or None
        None takes the largest grade that the first night comes with.
    seed : int
        Of the numbers that all nights share.
    nights : int
        For how many nights together its bands hold and its alarms are false with probability .05 at most.
    margin : float or None
        A loss that does not matter; None where no verdict was asked for.
    reference : str
        What nights are compared with beside the night before: first, previous, or the file of a run.
    judges_per_item : int
    policy : str
    pool_depth : int
        The rank at which lists end.
    models : tuple of str
        Grade models by name; none takes what earlier nights teach.
    """

    measures: tuple[str, ...]
    budget: float
    max_grade: int | None
    seed: int
    nights: int = 90
    margin: float | None = None
    reference: str = "previous"
    judges_per_item: int = 1
    policy: str = "majority"
    pool_depth: int = POOL_DEPTH
    models: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Return the settings of a stored watch."""
        stored: dict[str, Any] = {field.name: config[field.name] for field in fields(cls)}
        stored |= {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        return cls(**stored)

    @property
    def rules(self) -> Rules:
        """How each night is judged."""
        return Rules(judges_per_item=self.judges_per_item, policy=self.policy)

    @property
    def method(self) -> str:
        """How items are drawn."""
        return default_method(*map(sampled_measure, self.measures)).name

    def n_compared(self, n_runs: int) -> int:
        """Return how often a watch may raise an alarm: each measure against each of so many runs on every night."""
        return self.nights * len(self.measures) * max(n_runs, 1)

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
        if not 1 <= self.nights <= LONGEST:
            raise InputError(f"`nights` must be from 1 to {LONGEST}, got {self.nights}", field="nights")
        if self.margin is not None and not (math.isfinite(self.margin) and self.margin >= 0):
            raise InputError(f"`margin` must be a number from 0 on, got {self.margin:g}", field="margin")


def set_up(store: Store, name: str, settings: Settings) -> None:
    """Store a watch.

    Raises
    ------
    InputError
        Where the name is taken, or the reference cannot be read.
    """
    settings.check()
    content = BytesIO()
    if settings.reference not in OF_NIGHTS:
        run = load_run(settings.reference)
        pack(run_arrays(run, settings.pool_depth), content)
    store.watches.create(WatchRow(name=checked_name(name), config=asdict(settings), payload=content.getvalue()))


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
