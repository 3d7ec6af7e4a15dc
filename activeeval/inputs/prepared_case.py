"""Prepare cases: turn choices into inputs with a fitted grade model, ready for any method and measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from activeeval.core.checks import one_of
from activeeval.core.design import Design
from activeeval.core.design.methods import Method, find_method
from activeeval.core.errors import BudgetError, ChoiceError, InputError
from activeeval.core.judgments.judging import GRADES, Judging, judging_of
from activeeval.core.measures import Target, shown_name
from activeeval.core.results import Caution, Note
from activeeval.core.types import Ints
from activeeval.formats.graders.grader_grades import Grades
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.chosen_inputs import all_known, known_of, trained_inputs, weighed_inputs
from activeeval.inputs.grader_values import asked_about, counted_missing, distrusted, model_names, read_graders
from activeeval.inputs.judging_choice import cost_notes
from activeeval.inputs.loading import Inputs, ending_at, on_one_scale, sampled_measure
from activeeval.inputs.modelling import FitOptions, GradeBeliefs, believe
from activeeval.inputs.systems import QuestionTarget, asked_among, asked_of

_OF_MODELS = np.random.SeedSequence(0, spawn_key=(2,))
"""Fixed seed of grade models: they depend on the data alone, so that a model can be stored beside a pool."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedCase:
    """Inputs with their grade model.

    Attributes
    ----------
    inputs : Inputs
    beliefs : GradeBeliefs
    max_grade : int
        Largest grade of the scale.
    model : str
        Names of the grade models, separated by commas.
    seed : SeedSequence
        Seed of the samples.
    known : ndarray of int64, shape (n_items,), or None
        Known grades, −1 if unknown.
    stated_grade : int or None
        Largest grade stated by the caller.
    depth : int or None
        Rank at which lists were cut, the largest valid cutoff of measures; None if they were not.
    contrasts : {"all", "first"} or None
        Pairs of systems to compare; None means all.
    judging : Judging
        Judge items by grades, or queries by comparisons.
    graders : tuple of Grades
        Graders' grades of its items.
    notes : tuple of Note
        Notes for the caller.
    is_updated : bool
        True if a ranking is compared with itself after a simulated index update; lists can then not be cut.
    """

    inputs: Inputs
    beliefs: GradeBeliefs
    max_grade: int
    model: str
    seed: np.random.SeedSequence
    known: Ints | None = None
    stated_grade: int | None = None
    depth: int | None = None
    contrasts: str | None = None
    judging: Judging = GRADES
    graders: tuple[Grades, ...] = ()
    notes: tuple[Note | Caution, ...] = ()
    is_updated: bool = False

    @property
    def seed_number(self) -> int:
        """Seed that the user chose, the parent of `seed`."""
        return int(self.seed.entropy)  # type: ignore[arg-type]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return self.inputs.names

    @property
    def is_contest(self) -> bool:
        """True if there are more than two systems, so that a question covers each system or every pair."""
        return len(self.inputs.rankings) > 2

    @property
    def question(self) -> str:
        """Default question: "difference" for several rankings, "run" for one."""
        return "run" if self.inputs.versus is None else "difference"

    def target(self, measure: str, question: str | None = None) -> Target:
        """Build the target of a measure and a question; of several systems, for the first system or pair."""
        return self.targets([measure], [question or self.question])[0]

    def targets(self, measures: Sequence[str], questions: Sequence[str]) -> list[Target]:
        """Build the targets of measures and questions, see `asked`."""
        return [question.target for question in self.asked(measures, questions)]

    def asked(self, measures: Sequence[str], questions: Sequence[str] = ()) -> list[QuestionTarget]:
        """Combine each measure and question with its target, on one scale of grades and within the lists' depth.

        Parameters
        ----------
        measures : sequence of str
        questions : sequence of {"difference", "run", "versus"}
            By default `question`. With more than two systems "difference" covers every contrast, "run" every system.

        Raises
        ------
        InputError
            If a question needs a second ranking and there is none, or a measure does not cover the scale.
        """
        parsed = [sampled_measure(text) for text in measures]
        lists = self.inputs.rankings
        pairs = [(q, pair) for q in questions or [self.question] for pair in asked_of(q, len(lists), self.contrasts)]
        if judging_of(parsed).has_grades:
            parsed = on_one_scale(parsed, self.max_grade, self.stated_grade, "`max_grade` says")
        elif self.max_grade > (top := parsed[0].max_grade or self.max_grade):
            problem = f"the {top} best of a query have the grades 0 to {top}: `max_grade` {self.max_grade} is above"
            raise InputError(problem, field="max_grade")
        return [
            asked_among(ending_at(measure, self.depth), question, pair, lists, self.systems)
            for measure in parsed
            for question, pair in pairs
        ]

    def design(
        self,
        method: str | Method,
        targets: Target | Sequence[Target],
        defensive_share: float | None = None,
        *,
        budget: float | None = None,
        expected: bool = False,
        weights: str | Sequence[float] = "equal",
        adaptive_depth: str = "off",
        beside: Sequence[Target] = (),
    ) -> Design:
        """Design a sample of targets with a method, the grade model and the known grades.

        ``budget`` is in mean items: judging an item of mean cost costs 1. Methods that draw with replacement ignore
        known grades. ``expected`` meets the budget on average, not at most; a ``defensive_share`` ignores the model.

        Parameters
        ----------
        weights
            Balance between targets: "equal" (each loses the same share of precision), "sum" (minimal sum of variances),
            "minimax" (minimal largest loss), or numbers, those of the targets ``beside`` after the others.
        adaptive_depth
            When a query's depth is planned again: "each" (after each of its labels), "3" (after the first, the third
            and the ranked items), "1" (after the ranked items) or "off" (never).
        """
        target_list = [targets] if isinstance(targets, Target) else targets
        chosen = find_method(method) if isinstance(method, str) else method
        chosen = chosen.looking(adaptive_depth) if chosen.has_depths else chosen
        n_grades = self.n_grades(target_list[0])
        return chosen.design(
            target_list,
            **self.beliefs.for_method(chosen, n_grades),
            max_grade=n_grades - 1,
            budget=budget,
            expected=expected,
            judged=self.known if chosen.scheme.takes_known else None,
            weights=target_weights(weights, len(target_list)),
            defensive_share=defensive_share,
            beside=beside,
        )

    def asking_cost(self, *targets: Target) -> float:
        """Compute the price of asking the graders about the items that can change the targets.

        The unit is the mean item: judging an item of mean cost costs 1.
        """
        of_graders = asked_about(self.inputs, self.graders, targets, self.known)
        return sum((grader.cost or 0.0) * int(is_asked.sum()) for grader, is_asked in of_graders)

    def for_people(self, budget: Budget, *targets: Target) -> float:
        """Compute the budget that remains for human judges once the graders are paid, in costs of a mean item.

        Raises
        ------
        InputError
            If nothing remains.
        """
        whole, asking = budget.of(*targets, known=self.known), self.asking_cost(*targets)
        if asking >= whole:
            problem = f"asking the graders takes {asking:.4g} of a budget of {whole:.4g}: nothing is left for people"
            fewer = "ask fewer of them, " if sum(grader.cost is not None for grader in self.graders) > 1 else ""
            advice = f"{fewer}ask about the first places of each list, or state no price"
            raise InputError(f"{problem}; {advice}", field="graders")
        return whole - asking

    def refused(self, budget: Budget, problem: BudgetError, *targets: Target) -> BudgetError:
        """Rewrite a budget error in the budget's own units, with a budget (or depth, of lists to grade) that works."""
        can_cut = self.judging == GRADES and not self.is_updated
        cut = self.inputs.rankings if can_cut and self.inputs.is_of_lists else ()
        return budget.refused(problem, *targets, known=self.known, rankings=cut)

    def n_grades(self, target: Target) -> int:
        """Return the number of grades on the scale of a target."""
        return (target.measure.max_grade or self.max_grade) + 1


def prepare(
    choices: Choices,
    *,
    use_labels: bool,
    measures: Sequence[str] = (),
    progress: Callable[[str], object] = lambda step: None,
    taught: Mapping[tuple[str, str], int] | None = None,
) -> PreparedCase:
    """Read the files, set costs, set training queries aside and fit the grade model.

    Parameters
    ----------
    choices : Choices
    use_labels : bool
        If False, no label of the pool is used, only those of the training rows.
    measures : sequence of str
        Measures to estimate, if known: graders' missing grades are then also counted among the items that matter.
    progress : callable
        Called with a text that names the next step.
    taught : mapping of (query, document) to int, optional
        Grades that train the model without counting as known, e.g. labels of earlier samples that remain in use.

    Raises
    ------
    ChoiceError
        If choices contradict each other or one is missing.
    InputError
        If a file or a number is wrong.
    """
    choices.check(use_labels=use_labels)
    *streams, _, seed = np.random.SeedSequence(choices.seed).spawn(4)  # the third is not used: see `_OF_MODELS`
    split_rng, update_rng = map(np.random.default_rng, streams)
    progress("reading the files")
    graders = read_graders(choices.graders)
    inputs, depth = trained_inputs(choices, graders, split_rng)
    notes = list(inputs.notes)
    if inputs.training is not None and (n_left_out := inputs.training.n_left_out):
        notes.append(Note("left out of training", {"n": n_left_out}))
    if not use_labels:
        inputs = inputs.without_labels()
    elif not (inputs.grades >= 0).any():
        raise InputError("no item of the pool is judged, so there is no truth to compare with")
    elif priced := tuple(grader.name for grader in graders if grader.cost):
        notes.append(Note("asking apart", {"names": priced}))
    weighed = weighed_inputs(choices, inputs, update_rng)
    notes += [*weighed.notes[len(inputs.notes) :], *cost_notes(choices.judging, weighed.pool)]
    inputs = weighed
    known, known_notes = known_of(choices, inputs)
    notes += known_notes
    if (known is not None or taught) and inputs.training is None:
        inputs = inputs.taught_by(all_known(inputs, known, taught or {}))
    if choices.is_tuned and inputs.training is None:
        raise ChoiceError("`model` …:tune has nothing to tune on: the known grades are too few", field="model")
    models, max_grade, beliefs = _fitted(choices, graders, inputs, known, progress)
    case = PreparedCase(
        inputs=inputs,
        beliefs=beliefs,
        max_grade=max_grade,
        model=", ".join(models),
        seed=seed,
        known=known,
        stated_grade=choices.max_grade,
        depth=depth,
        contrasts=choices.contrasts,
        judging=choices.judging,
        graders=() if choices.grader_trust == "off" else graders,
        notes=(*notes, *beliefs.notes),
        is_updated=choices.index_update is not None,
    )
    if not (measures and graders):
        return case
    return replace(case, notes=counted_missing(case.notes, inputs, graders, case.targets(measures, ())))


def target_weights(weights: str | Sequence[float], n_targets: int) -> Sequence[float] | Literal["minimax"] | None:
    """Convert weights of targets, a word or numbers, to the argument of `Method.design`.

    An unknown word raises InputError.
    """
    if not isinstance(weights, str):
        return weights
    words: dict[str, Sequence[float] | Literal["minimax"] | None]
    words = {"equal": None, "sum": [1.0] * n_targets, "minimax": "minimax"}
    return words[one_of(weights, words, "`weights`")]


def check_fits(measures: Sequence[str], methods: Sequence[str]) -> None:
    """Raise InputError for an unknown measure or method, or a method that does not fit a measure; reads no file."""
    parsed = [sampled_measure(text) for text in measures]
    for method in map(find_method, methods):
        for measure in parsed:
            if not method.fits(measure):
                kind = "additive measures (DCG, RBP, P)" if method.stage.name == "items" else "measures of grades"
                raise InputError(f"method {method.name!r} is for {kind}, not for {shown_name(measure)}")


def _fitted(
    choices: Choices, graders: Sequence[Grades], inputs: Inputs, known: Ints | None, progress: Callable[[str], object]
) -> tuple[tuple[str, ...], int, GradeBeliefs]:
    """Fit the grade models; return their names, the largest grade, and the fitted model with notes.

    Under ``grader_trust="auto"`` graders that known grades contradict only become regressors of estimates.
    """
    models, regressors = _models(choices, graders, inputs)
    max_grade, notes = _max_grade(choices, inputs, models, known), list[Note]()
    if known is not None and choices.grader_trust == "auto":
        unreliable, notes = distrusted(inputs, graders, known, max_grade)
        models, regressors = _models(choices, graders, inputs, unreliable)
    notes += _training_notes(choices, inputs, known)
    rng = np.random.default_rng(_OF_MODELS)
    fitting: FitOptions = {"known": known, "tune": choices.is_tuned, "progress": progress}
    fitting["with_factor"] = choices.with_factor
    beliefs = believe(inputs, models, max_grade, rng, **fitting)
    extra = beliefs.extra_probs
    if regressors:
        extra = (*extra, believe(inputs, regressors, max_grade, rng, **fitting).probs)
    return models, max_grade, replace(beliefs, extra_probs=extra, notes=(*notes, *beliefs.notes))


def _models(
    choices: Choices, graders: Sequence[Grades], inputs: Inputs, distrusted: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the grade models, and of graders that are only regressors of estimates.

    Among these are the graders in `distrusted`.
    """
    names = model_names(graders)
    regressors = tuple(name for name in names if choices.grader_trust == "regressor" or name in distrusted)
    as_models = tuple(name for name in names if name not in regressors and choices.grader_trust != "off")
    chosen = (*choices.models, *as_models)
    return chosen or ("uniform" if inputs.training is None else "forest",), regressors


def _training_notes(choices: Choices, inputs: Inputs, known: Ints | None) -> list[Note]:
    """Note how many known grades train the model, or that there is no training data."""
    rows = inputs.training
    if rows is not None and rows.items is not None and choices.models != ("uniform",):
        sizes = {"n_grades": rows.grades.size, "n_queries": np.unique(rows.queries).size}
        return [Note("learned from known", sizes)]
    if rows is not None or choices.models or choices.graders:
        return []
    return [Note("no training data", {"n_known": None if known is None else int((known >= 0).sum())})]


def _max_grade(choices: Choices, inputs: Inputs, models: Sequence[str], known: Ints | None) -> int:
    """Determine the largest grade of the scale; raise InputError if it is contradictory or unknown."""
    seen = inputs.max_grade if inputs.has_labels else 0
    seen = seen if known is None else max(seen, int(known.max()))
    tables = [inputs.looked_at(name, inputs.features) for name in models if name.startswith("probs=")]
    top: int = max(seen, *(table.shape[1] - 1 for table in tables), choices.max_grade or 0)
    if choices.max_grade is not None and top > choices.max_grade:
        problem = f"labels or probabilities go up to grade {top}, above `max_grade` {choices.max_grade}"
        raise InputError(problem, field="max_grade")
    if top == 0:
        raise ChoiceError(
            "`max_grade` is needed: no label of the pool is read, and no other input has the largest grade",
            field="max_grade",
        )
    return top
