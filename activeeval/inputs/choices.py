"""Choices of the caller: pool, rankings, grade model and costs, checked before any file is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from activeeval.core.checks import LARGEST_SEED, one_of, whole_number
from activeeval.core.errors import ChoiceError
from activeeval.core.judgments.judging import GRADES, Judging
from activeeval.inputs.options import CONTRASTS, TRUSTS, PoolFields
from activeeval.inputs.systems import checked_names

POOL_DEPTH = 100
"""Default depth, as usual in TREC pooling: with 1,000 ranks of two runs nDCG's ideal ranking would need all of them."""

GRADER = "grader="
"""Prefix of a grader's name among grade models."""
TUNED, NO_FACTOR = "tune", "no-factor"
_OF_RUNS, _OF_LETOR = ("qrels", "pool_runs", "versus_run"), ("scores",)
_SETTINGS = re.compile(f"(:({TUNED}|{NO_FACTOR}))+$")
_ENGINE = re.compile(r",(scratch=[^,]+|trust-ids)(?=,|$)")
_SHARE = re.compile(r"(-?\d+(?:\.\d*)?|-?\.\d+)(%?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(PoolFields):
    """A pool with the rankings of one system or several, the costs of judging it, and a model of its grades.

    Attributes
    ----------
    tables : mapping of str to object
        Objects that replace files named in ``model``: a data frame, judgments, or, for probabilities, a function of
        the pool that returns an array of shape (n_items, n_grades).
    judging : Judging
        Judge items by grades, or whole queries by comparisons of two items; ``cost`` then follows from that.
    queries : path, DrawnQueries or None
        Alternative to ``traffic``: queries drawn from a log, with their frequencies and inclusion probabilities.
    """

    tables: Mapping[str, Any] = field(default_factory=dict)
    judging: Judging = GRADES
    queries: Any = None

    def check_files(self) -> None:
        """Raise ChoiceError if an option does not fit a pool in files, or is only for one."""
        self._check_engine()
        if self.pool_parquet is None:
            name = next((name for name in _OF_FILES if self._differs(name)), None)
            if name is not None:
                raise ChoiceError(f"`{name}` is for `pool_parquet`", field=name)
            return
        foreign = next((name for name in _DEFAULTS if name not in _WITH_FILES and self._differs(name)), None)
        if foreign is not None:
            problem = f"`{foreign}` is not for `pool_parquet`: give it to `activeeval pool write`"
            raise ChoiceError(problem, field=foreign)
        self._check_systems()

    def _check_engine(self) -> None:
        """Raise ChoiceError if the engine's name is followed by anything but scratch=DIR or trust-ids."""
        # an address of Spark may itself hold commas, between its hosts
        _, *rest = self.engine_name.split(",") if isinstance(self.engine, str) else [""]
        if wrong := [part for part in rest if not self.engine.startswith("spark://") or "=" in part]:
            problem = f"`engine`: {wrong[0]!r} is none of scratch=DIR and trust-ids, which go behind a comma each"
            raise ChoiceError(problem, field="engine")

    def _differs(self, name: str) -> bool:
        """Check whether an option is set to something other than its default."""
        value = getattr(self, name)
        return value != _DEFAULTS[name] and (_is_chosen(value) or isinstance(value, bool))

    def check(self, *, use_labels: bool) -> None:
        """Raise ChoiceError if options contradict each other or one is missing.

        Parameters
        ----------
        use_labels : bool
            True if labels of the pool will be used, as in simulations.
        """
        self.check_files()
        self._check_pool()
        if self.versus_run is not None and self.index_update is not None:
            raise ChoiceError("give one ranking to compare with: `versus_run` or `index_update`", field="versus_run")
        self._check_systems()
        if len(self.train) > 1 and any(map(_share_of, self.train)):
            files = ", ".join(map(str, self.train))
            raise ChoiceError(f"`train` takes files, or one share of the queries, got {files}", field="train")
        if self.train_share is None and not self.letor and len(self.train) > 1:
            raise ChoiceError(f"`train` is one file of judgments, or a share, got {len(self.train)}", field="train")
        if self.is_tuned and not (self.train or self.judged):
            raise ChoiceError("`model` …:tune needs labels to tune on: `train` or `judged`", field="model")
        whole_number(self.seed, "seed", 0, LARGEST_SEED)
        if self.pool_depth is not None:
            whole_number(self.pool_depth, "`pool_depth`", 1)
        if self.pool_depth is not None and self.index_update is not None:
            problem = "`pool_depth` would cut the lists that `index_update` fills up again: give one of them"
            raise ChoiceError(problem, field="pool_depth")
        self._check_models()
        one_of(self.grader_trust, TRUSTS, "`grader_trust`", error=ChoiceError)
        if self.graders and self.train_letor:
            problem = "the graders have no grades for the files of `train`: train with a share of the queries, as 40%"
            raise ChoiceError(problem, field="graders")
        if self.train_letor and "scores" in self.models:
            problem = "`model` scores has no scores of the files of `train`: give it a share of the queries, as 40%"
            raise ChoiceError(problem, field="train")
        is_set = {"judged": bool(self.judged), "cost": self.cost != "uniform"}
        self.judging.check_choices([name for name, value in is_set.items() if value])
        if self.runs and use_labels and self.qrels is None:
            raise ChoiceError("`runs` needs `qrels` here: the labels of the pool", field="qrels")
        if self.runs and self.train_share is not None and self.qrels is None:
            raise ChoiceError(
                "a share for `train` needs the labels of the pool, `qrels`: else give judgments of other queries",
                field="qrels",
            )

    def _check_models(self) -> None:
        """Raise ChoiceError if the name of a grade model is malformed, or it has no parameters to tune."""
        if self.is_tuned and set(self.models) == {"uniform"}:
            raise ChoiceError("`model` uniform:tune has no parameters to choose: leave :tune out", field="model")
        for name in self.models:
            kind, mark, path = name.partition("=")
            if ":" in kind and not mark:
                known = name.partition(":")[0] or "forest"
                problem = f"`model` {name}: expected {known}, with :tune or :no-factor behind it"
                raise ChoiceError(problem, field="model")
            if kind == "probs" and not path:
                raise ChoiceError("`model` probs=FILE needs the name of a file", field="model")
            if kind == "grades":
                raise ChoiceError(f"`model` {name}: give a grader's grades as `graders` {path}", field="graders")

    def _check_pool(self) -> None:
        """Raise ChoiceError unless either LETOR files or runs make the pool, with the options that belong to them."""
        if bool(self.letor) == bool(self.runs):
            problem = "give either `letor` with `scores`, or `runs` (with `qrels` to simulate)"
            raise ChoiceError(problem, field="runs")
        if self.letor and not self.scores:
            problem = "`letor` needs `scores`: one score file for each of `letor`, aligned with its lines"
            raise ChoiceError(problem, field="scores")
        for base, other, names in (("runs", "letor", _OF_RUNS), ("letor", "runs", _OF_LETOR)):
            foreign = next((name for name in names if _is_chosen(getattr(self, name))), None)
            if getattr(self, other) and foreign is not None:
                raise ChoiceError(f"`{foreign}` goes with `{base}`, not with `{other}`", field=foreign)
        if self.traffic is not None and self.queries is not None:
            raise ChoiceError("drawn `queries` say how often each is asked: leave `traffic` out", field="traffic")

    def _check_systems(self) -> None:
        """Raise ChoiceError if the number of systems does not fit the options, or a system is listed twice."""
        n = len(self.systems)
        if self.letor and len(self.letor) > 1 and len(self.scores) > 1 and len(self.scores) % len(self.letor):
            files = f"{len(self.scores)} score files for {len(self.letor)} LETOR files"
            problem = f"{files}, expected one each of every ranker, ranker by ranker, or one for all"
            raise ChoiceError(problem, field="scores")
        name = "runs" if self.runs else "scores"
        if self.versus_run is not None and n > 2:
            problem = f"`versus_run` is the second of two systems: with {n - 1} of `runs` give it as `runs` too"
            raise ChoiceError(problem, field="versus_run")
        if self.index_update is not None and n > 1:
            raise ChoiceError(f"`index_update` takes one system, got {n}", field="index_update")
        checked_names(self.names, n, error=ChoiceError)
        seen: set[tuple[Hashable, ...]] = set()
        for number, system in enumerate(self.systems, 1):
            place = tuple(map(_place_of, system))
            if place in seen and n > 2:  # two equal systems get a message of their own later
                which = system[0] if isinstance(system[0], str) else f"run {number}"
                raise ChoiceError(f"{which} is given twice, expected each system once", field=name)
            seen.add(place)
        if self.contrasts is not None:
            one_of(self.contrasts, CONTRASTS, "`contrasts`", error=ChoiceError)
        if self.contrasts is not None and n < 2:
            problem = f"`contrasts` needs several systems, got one: give `{name}` again"
            raise ChoiceError(problem, field="contrasts")

    @property
    def systems(self) -> list[tuple[Any, ...]]:
        """Sources of each system: its run, or its score file for each LETOR file."""
        if self.runs:
            return [(run,) for run in (*self.runs, *([] if self.versus_run is None else [self.versus_run]))]
        return _by_ranker(self.scores, len(self.letor))

    @property
    def train_share(self) -> float | None:
        """Share of the queries that trains the model and is not measured, 0.4 for "40%"; None if files train it."""
        return _share_of(self.train[0]) if len(self.train) == 1 else None

    @property
    def train_letor(self) -> Sequence[str]:
        """LETOR files that train the model."""
        return self.train if self.letor and self.train_share is None else ()

    @property
    def train_judgments(self) -> Any:
        """Judgments that train the model, in any form that `labels_of` accepts; None if there are none."""
        return None if self.letor or not self.train or self.train_share is not None else self.train[0]

    @property
    def depth(self) -> int | None:
        """Rank at which lists end; None if they are not cut."""
        if self.pool_depth is not None:
            return self.pool_depth
        return POOL_DEPTH if self.runs and self.qrels is None and self.index_update is None else None

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the grade models without settings such as ":tune"; () for the default."""
        return tuple(_SETTINGS.sub("", name) for name in self._named_models)

    @property
    def is_tuned(self) -> bool:
        """True if the models' parameters are tuned on half of the training data."""
        return any(TUNED in _settings_of(name) for name in self._named_models)

    @property
    def with_factor(self) -> bool:
        """True if the models learn the query factor (a random effect shared by the grades of a query)."""
        return not any(NO_FACTOR in _settings_of(name) for name in self._named_models)

    @property
    def _named_models(self) -> tuple[str, ...]:
        """Names of the chosen grade models with their settings, as "forest:tune"; () for the default."""
        return (self.model,) if isinstance(self.model, str) else tuple(self.model or ())

    @property
    def engine_name(self) -> Any:
        """Engine that processes the partitions of a pool in files, without its settings."""
        return _ENGINE.sub("", self.engine) if isinstance(self.engine, str) else self.engine

    @property
    def scratch(self) -> str | None:
        """Folder or address, reachable by all workers, for the partitions' tables; None if not set."""
        return next((text.removeprefix("scratch=") for text in self._of_engine if text.startswith("scratch=")), None)

    @property
    def trust_ids(self) -> bool:
        """True if the check for queries in two partitions is skipped."""
        return "trust-ids" in self._of_engine

    @property
    def _of_engine(self) -> list[str]:
        """Settings after the engine's name: "scratch=…" and "trust-ids"."""
        return _ENGINE.findall(self.engine) if isinstance(self.engine, str) else []


def _is_chosen(value: Any) -> bool:
    """Check whether an option is set: not None, and not an empty text or sequence."""
    return bool(value) if isinstance(value, (str, list, tuple)) else value is not None


def _place_of(source: Any) -> Hashable:
    """Return a key that identifies a source of a run: the file's real path, else the object's id."""
    return os.path.realpath(source) if isinstance(source, (str, os.PathLike)) else id(source)


def _settings_of(model: str) -> list[str]:
    """List the settings after a model's name, e.g. ``tune``."""
    match = _SETTINGS.search(model)
    return match[0].split(":")[1:] if match else []


def _share_of(source: Any) -> float | None:
    """Parse a share of the queries, named in place of training files, as "40%"; None if it is no share.

    ChoiceError is raised if the share is not between 0 and 1.
    """
    match = _SHARE.fullmatch(source) if isinstance(source, str) and not os.path.exists(source) else None
    if match is None and not isinstance(source, float):
        return None
    share = source if match is None else float(match[1]) / (100 if match[2] else 1)
    if not 0 < share < 1:
        raise ChoiceError(f"`train` takes a share between 0 and 1, as 40%, got {source}", field="train")
    return share


def _by_ranker(scores: Sequence[str], n_files: int) -> list[tuple[str, ...]]:
    """Group score files by ranker: one for each of the `n_files` LETOR files, or a single one for all of them."""
    size = max(n_files if len(scores) > 1 else 1, 1)
    return [tuple(scores[k : k + size]) for k in range(0, len(scores), size)]


_OF_FILES = ("engine",)
_OF_BOTH = ("runs", "versus_run", "contrasts", "max_grade", "defensive_share", "seed", "judging")
_WITH_FILES = ("pool_parquet", *_OF_FILES, *_OF_BOTH)
_DEFAULTS = {name: getattr(Choices(), name) for name in Choices.__dataclass_fields__}
"""Default of each option."""
