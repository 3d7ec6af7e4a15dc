"""What a caller chooses of a pool, its rankings and its grade model, before any file is opened."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from activeeval.core.checks import LARGEST_SEED, one_of, whole_number
from activeeval.core.errors import ChoiceError
from activeeval.core.judgments.judging import GRADES, Judging
from activeeval.inputs.systems import CONTRASTS, checked_names

if TYPE_CHECKING:
    from activeeval.core.pool.keyed import Costs
    from activeeval.inputs.known_grades import KnownGrades

POOL_DEPTH = 100
"""As deep as the field pools runs: a thousand ranks of two runs make a pool of which the ideal of nDCG needs all."""

GRADER = "grader="
"""What stands before a grader's name where models are named."""
TRUSTS = ("auto", "model", "regressor", "off")
_OF_RUNS, _OF_LETOR = ("qrels", "pool_runs", "versus_run", "train_qrels"), ("scores", "versus_scores", "train")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """A pool with the rankings of one system or several, what it costs to judge, and a model of its grades.

    Fields are named as the options of the command line are.

    Attributes
    ----------
    letor, scores, versus_scores, train : sequence of str
        LETOR files of the pool, score files aligned with them, ranker by ranker, those of a second ranker, and LETOR
        files to train on.
    runs, pool_runs : sequence of str, Run, mapping or data frame
        The runs to evaluate, and others for features only: files, or what `activeeval.formats.loading.load_run` takes.
    names : sequence of str
        What the systems are called, in their order; by default their files.
    versus_run : as of ``runs``, or None
        The second of two runs.
    qrels, train_qrels : str, Judgments, Qrels, mapping, data frame or None
        Judgments of the pool, and judgments to train on: a file, or what
        `activeeval.formats.judgments.from_files.labels_of` takes.
    contrasts : {"all", "first"} or None
        Of several systems: which are compared; every pair, the default, or the first with each of the others.
    judged : sequence of str or KnownGrades
        What is known: it costs nothing and is not asked for again. Files of judgments, judged sheets or samples, or
        the grades themselves, as of another campaign.
    judged_policy : {"refuse", "majority", "median"}
        What several judges' different grades of a known item count as.
    index_update : float or None
        Compare with the ranking less this share of its items.
    ties : {"id", "rank", "input"}
        Order of equal scores in a run.
    pool_depth : int or None
        The rank at which lists end; the pool is what they hold then. By default `POOL_DEPTH` for runs without
        judgments and without an update of the index, else none.
    model : str, sequence of str or None
        forest, logit, uniform, scores or probs=FILE; several make a mixture.
    graders : sequence of path, data frame, Judgments or Grades
        Machines that graded the items, each as ``FILE[:cost=.01][:scale=0-3][:name=…][:made=RUN]``: models too.
    grader_trust : {"auto", "model", "regressor", "off"}
        What graders are for: the grade model, which says whom to judge (auto and model); a further column of fitted
        estimates beside another model, the uniform one by default; or nothing.
    tables : mapping of str to object
        What stands for a file that ``model`` names: a data frame, judgments, or of probabilities a function of the
        pool that returns an array of shape (n_items, n_grades).
    train_scores : sequence of str
        Scores of the files to train on, ranker by ranker as ``scores``, for the model of scores.
    machine_is_truth : bool
        Take what machines say in files of judgments for labels; every output says so.
    train_fraction : float or None
        Share of the queries that is set aside to train on.
    tune, query_factor : bool
    max_grade : int or None
        Largest grade of the scale; by default the largest label.
    unjudged : {"error", "irrelevant"}
    overhead : float
        Cost of turning to a query, in mean item costs.
    cost : str or Costs
        uniform, log-length:FEATURE, a file, or what one would hold.
    judging : Judging
        Items by grades, or whole queries by comparisons of two items; ``cost`` then follows from that.
    traffic : str or None
        A file that says how often each query is asked.
    queries : path, DrawnQueries or None
        In its place queries that were drawn from a log: they say how often, and with which chance each was drawn.
    defensive_share : float or None
    seed : int
    pool_parquet : str or None
        In place of files of runs a pool in parquet, as of `activeeval.scale.partitions`, some of whose ``runs`` are
        named.
    engine : str or Engine
        Who goes over its partitions, as of `activeeval.scale.engines.selection`.
    scratch : str or None
        A folder, or its address, where tables of the partitions are left that all workers reach.
    trust_ids : bool
        Do not look whether its query ids are unique.
    """

    letor: Sequence[str] = ()
    qrels: Any = None
    runs: Sequence[Any] = ()
    pool_runs: Sequence[Any] = ()
    scores: Sequence[str] = ()
    versus_scores: Sequence[str] = ()
    versus_run: Any = None
    names: Sequence[str] = ()
    contrasts: str | None = None
    index_update: float | None = None
    ties: str = "id"
    pool_depth: int | None = None
    model: str | Sequence[str] | None = None
    graders: Sequence[Any] = ()
    grader_trust: str = "auto"
    tables: Mapping[str, Any] = field(default_factory=dict)
    train: Sequence[str] = ()
    train_scores: Sequence[str] = ()
    train_qrels: Any = None
    judged: Sequence[str | KnownGrades] = ()
    judged_policy: str = "refuse"
    machine_is_truth: bool = False
    train_fraction: float | None = None
    tune: bool = False
    query_factor: bool = True
    max_grade: int | None = None
    unjudged: str = "error"
    overhead: float = 0.0
    cost: str | Costs = "uniform"
    judging: Judging = GRADES
    traffic: str | None = None
    queries: Any = None
    defensive_share: float | None = None
    seed: int = 0
    pool_parquet: str | None = None
    engine: Any = "here"
    scratch: str | None = None
    trust_ids: bool = False

    def check_files(self) -> None:
        """Raise ChoiceError where what is chosen does not go with a pool in files, or only with one."""
        if self.pool_parquet is None:
            name = next((name for name in _OF_FILES if self._differs(name)), None)
            if name is not None:
                raise ChoiceError(f"`{name}` is for `pool_parquet`", field=name)
            return
        foreign = next((name for name in _DEFAULTS if name not in _WITH_FILES and self._differs(name)), None)
        if foreign is not None:
            problem = f"`pool_parquet` says what is known of its pool: `{foreign}` is for `activeeval pool write`"
            raise ChoiceError(problem, field=foreign)
        self._check_systems()

    def _differs(self, name: str) -> bool:
        """Whether a choice was made that is not what is taken where nobody chooses."""
        value = getattr(self, name)
        return value != _DEFAULTS[name] and (_is_chosen(value) or isinstance(value, bool))

    def check(self, *, use_labels: bool) -> None:
        """Raise ChoiceError where choices contradict each other or one is missing.

        Parameters
        ----------
        use_labels : bool
            Whether the labels of the pool will be looked at.
        """
        self.check_files()
        self._check_pool()
        if sum((bool(self.versus_scores), self.versus_run is not None, self.index_update is not None)) > 1:
            problem = "give one ranking to compare with: `versus_scores`, `versus_run` or `index_update`"
            raise ChoiceError(problem, field="versus_run")
        self._check_systems()
        if sum((bool(self.train), self.train_qrels is not None, self.train_fraction is not None)) > 1:
            raise ChoiceError("give one of `train`, `train_qrels` and `train_fraction`", field="train")
        can_tune = self.train or self.train_qrels is not None or self.judged or self.train_fraction is not None
        if self.tune and not can_tune:
            problem = "`tune` needs labels to tune on: `train`, `train_qrels`, `train_fraction` or `judged`"
            raise ChoiceError(problem, field="tune")
        whole_number(self.seed, "seed", 0, LARGEST_SEED)
        if self.pool_depth is not None:
            whole_number(self.pool_depth, "`pool_depth`", 1)
        if self.pool_depth is not None and self.index_update is not None:
            problem = "`pool_depth` would cut the lists that `index_update` fills up again: give one of them"
            raise ChoiceError(problem, field="pool_depth")
        for name in self.models:
            kind, _, path = name.partition("=")
            if kind == "probs" and not path:
                raise ChoiceError("`model` probs=FILE needs the name of a file", field="model")
            if kind == "grades":
                raise ChoiceError(f"`model` {name}: a machine's grades are given as `graders` {path}", field="graders")
        one_of(self.grader_trust, TRUSTS, "`grader_trust`", error=ChoiceError)
        if self.graders and self.train:
            problem = "the graders say nothing of the files of `train`: learn with `train_fraction` or `train_qrels`"
            raise ChoiceError(problem, field="graders")
        if self.train_scores and not (self.train and "scores" in self.models):
            raise ChoiceError("`train_scores` is for `train` with `model` scores", field="train_scores")
        made = {"judged": bool(self.judged), "cost": self.cost != "uniform"}
        self.judging.check_choices([name for name, is_made in made.items() if is_made])
        if self.runs and use_labels and self.qrels is None:
            raise ChoiceError("`runs` needs `qrels` here: the labels of the pool", field="qrels")
        if self.runs and self.train_fraction is not None and self.qrels is None:
            raise ChoiceError("`train_fraction` needs `qrels`: labels to train on", field="qrels")

    def _check_pool(self) -> None:
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
        """Raise where it is not clear which systems there are, or one is there twice."""
        n = len(self.systems)
        if self.letor and len(self.letor) > 1 and len(self.scores) > 1 and len(self.scores) % len(self.letor):
            files = f"{len(self.scores)} score files for {len(self.letor)} LETOR files"
            problem = f"{files}, expected one each of every ranker, ranker by ranker, or one for all"
            raise ChoiceError(problem, field="scores")
        name, more = ("runs", "versus_run") if self.runs else ("scores", "versus_scores")
        if (self.versus_run is not None or self.versus_scores) and n > 2:
            problem = f"`{more}` is the second of two systems: with {n - 1} of `{name}` give it as `{name}` too"
            raise ChoiceError(problem, field=more)
        if self.index_update is not None and n > 1:
            raise ChoiceError(f"`index_update` is of one system, got {n}", field="index_update")
        checked_names(self.names, n, error=ChoiceError)
        seen: set[tuple[Hashable, ...]] = set()
        for number, system in enumerate(self.systems, 1):
            place = tuple(map(_place_of, system))
            if place in seen and n > 2:  # of two equal ones it is said that they do not differ
                which = system[0] if isinstance(system[0], str) else f"run {number}"
                raise ChoiceError(f"{which} is given twice, expected each system once", field=name)
            seen.add(place)
        if self.contrasts is not None:
            one_of(self.contrasts, CONTRASTS, "`contrasts`", error=ChoiceError)
        if self.contrasts is not None and n < 2:
            problem = f"`contrasts` is of several systems, got one: give `{name}` again"
            raise ChoiceError(problem, field="contrasts")

    @property
    def systems(self) -> list[tuple[Any, ...]]:
        """The files of each system, or what stands for them: its run, or its scores of each LETOR file."""
        if self.runs:
            return [(run,) for run in (*self.runs, *([] if self.versus_run is None else [self.versus_run]))]
        rankers = _by_ranker(self.scores, len(self.letor))
        return [*rankers, *([tuple(self.versus_scores)] if self.versus_scores else [])]

    @property
    def train_systems(self) -> list[tuple[str, ...]]:
        """The files of each ranker's scores of what trains a model."""
        return _by_ranker(self.train_scores, len(self.train))

    @property
    def depth(self) -> int | None:
        """The rank at which lists end, None where they do not."""
        if self.pool_depth is not None:
            return self.pool_depth
        return POOL_DEPTH if self.runs and self.qrels is None and self.index_update is None else None

    @property
    def models(self) -> tuple[str, ...]:
        """The grade models that are chosen, none where the default is to be taken."""
        return (self.model,) if isinstance(self.model, str) else tuple(self.model or ())


def _is_chosen(value: Any) -> bool:
    """Return whether a choice was made: something, or some of a sequence."""
    return bool(value) if isinstance(value, (str, list, tuple)) else value is not None


def _place_of(source: Any) -> Hashable:
    """Return what tells a source from others: where a file is, else which object it is."""
    return os.path.realpath(source) if isinstance(source, (str, os.PathLike)) else id(source)


def _by_ranker(scores: Sequence[str], n_files: int) -> list[tuple[str, ...]]:
    """Return score files ranker by ranker: one for each file, or one for all."""
    size = max(n_files if len(scores) > 1 else 1, 1)
    return [tuple(scores[k : k + size]) for k in range(0, len(scores), size)]


_OF_FILES = ("engine", "scratch", "trust_ids")
_OF_BOTH = ("runs", "versus_run", "contrasts", "max_grade", "defensive_share", "seed", "judging")
_WITH_FILES = ("pool_parquet", *_OF_FILES, *_OF_BOTH)
_DEFAULTS = {name: getattr(Choices(), name) for name in Choices.__dataclass_fields__}
"""What choices are where nobody chooses."""
