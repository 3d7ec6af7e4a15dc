"""Cases: choices turned into inputs with a grade model, ready for any method and measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from activeeval.core.checks import one_of
from activeeval.core.design import Design
from activeeval.core.design.methods import find_method
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
"""Grade models follow from the data alone, a seed chooses what is drawn: a model may be stored beside a pool."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedCase:
    """Inputs with their grade model.

    Attributes
    ----------
    inputs : Inputs
    beliefs : GradeBeliefs
    max_grade : int
        The largest grade of the scale.
    model : str
        Of which kind the grade model is.
    seed : SeedSequence
        For what is drawn of it.
    known : ndarray of int64, shape (n_items,), or None
        Grades that are known already, −1 where none is.
    stated_grade : int or None
        The largest grade that the caller names.
    depth : int or None
        The rank at which lists were cut, so that no measure counts deeper; None where none was.
    contrasts : {"all", "first"} or None
        Which of several systems are compared; None is all.
    judging : Judging
        Items by grades, or queries by comparisons.
    graders : tuple of Grades
        The machines that graded its items.
    notes : tuple of Note
        What the caller should be told.
    is_updated : bool
        Whether it compares a ranking with itself after a simulated index update, so that lists cannot be cut.
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
        """The seed that was chosen, of which `seed` is a child."""
        return int(self.seed.entropy)  # type: ignore[arg-type]

    @property
    def systems(self) -> tuple[str, ...]:
        """What the systems are called."""
        return self.inputs.names

    @property
    def is_contest(self) -> bool:
        """Whether there are more than two systems, so that a question is asked of each or of every two."""
        return len(self.inputs.rankings) > 2

    @property
    def question(self) -> str:
        """What is asked where nobody says: the differences of several rankings, else the one."""
        return "run" if self.inputs.versus is None else "difference"

    def target(self, measure: str, question: str | None = None) -> Target:
        """Return what a measure string and a question ask to estimate; of several systems their first contrast."""
        return self.targets([measure], [question or self.question])[0]

    def targets(self, measures: Sequence[str], questions: Sequence[str]) -> list[Target]:
        """Return the targets of `asked`."""
        return [asked.target for asked in self.asked(measures, questions)]

    def asked(self, measures: Sequence[str], questions: Sequence[str] = ()) -> list[QuestionTarget]:
        """Return each measure and question with its target, of one scale; where lists were cut none counts deeper.

        Parameters
        ----------
        measures : sequence of str
        questions : sequence of {"difference", "run", "versus"}
            By default `question`. Of more than two systems a difference is every contrast, ``run`` each of them.

        Raises
        ------
        InputError
            Where there is no second ranking to ask of, or a measure does not know every grade of the scale.
        """
        asked = [sampled_measure(text) for text in measures]
        lists = self.inputs.rankings
        pairs = [(q, pair) for q in questions or [self.question] for pair in asked_of(q, len(lists), self.contrasts)]
        if judging_of(asked).has_grades:
            asked = on_one_scale(asked, self.max_grade, self.stated_grade, "`max_grade` says")
        elif self.max_grade > (top := asked[0].max_grade or self.max_grade):
            problem = f"the {top} best of a query have the grades 0 to {top}: `max_grade` {self.max_grade} is above"
            raise InputError(problem, field="max_grade")
        return [
            asked_among(ending_at(measure, self.depth), question, pair, lists, self.systems)
            for measure in asked
            for question, pair in pairs
        ]

    def design(
        self,
        method: str,
        targets: Target | Sequence[Target],
        defensive_share: float | None = None,
        *,
        budget: float | None = None,
        expected: bool = False,
        weights: str | Sequence[float] = "equal",
        adaptive_depth: str = "off",
        beside: Sequence[Target] = (),
    ) -> Design:
        """Return a method's design for targets with what is believed and known of grades; ``budget`` in mean items.

        Draws with replacement take no notice of what is known.

        Parameters
        ----------
        weights
            How targets are balanced: all lose the same share of precision (equal), the sum of their variances (sum) or
            the largest loss of any (minimax) is least; or numbers, those of targets that count ``beside`` behind the
            others'.
        adaptive_depth
            As of `activeeval.core.design.Method.looking`.
        """
        chosen, asked = find_method(method), [targets] if isinstance(targets, Target) else targets
        chosen = chosen.looking(adaptive_depth) if chosen.has_depths else chosen
        n_grades = self.n_grades(asked[0])
        beliefs = self.beliefs.for_method(chosen, n_grades)
        return chosen.design(
            asked,
            **beliefs,
            max_grade=n_grades - 1,
            budget=budget,
            expected=expected,
            judged=self.known if chosen.scheme.takes_known else None,
            weights=target_weights(weights, len(asked)),
            defensive_share=defensive_share,
            beside=beside,
        )

    def asking_cost(self, *targets: Target) -> float:
        """Return what asking the graders that have a price takes of a budget for targets, in mean items."""
        of_graders = asked_about(self.inputs, self.graders, targets, self.known)
        return sum((grader.cost or 0.0) * int(is_asked.sum()) for grader, is_asked in of_graders)

    def for_people(self, budget: Budget, *targets: Target) -> float:
        """Return what is left of a budget for people, in mean items, once graders that have a price are paid.

        Raises
        ------
        InputError
            Where nothing is.
        """
        whole, asking = budget.of(*targets, known=self.known), self.asking_cost(*targets)
        if asking >= whole:
            problem = f"asking the graders takes {asking:.4g} of a budget of {whole:.4g}: nothing is left for people"
            fewer = "ask fewer of them, " if sum(grader.cost is not None for grader in self.graders) > 1 else ""
            advice = f"{fewer}ask about the first places of each list, or state no price"
            raise InputError(f"{problem}; {advice}", field="graders")
        return whole - asking

    def refused(self, budget: Budget, problem: BudgetError, *targets: Target) -> BudgetError:
        """Word a refusal as the budget was given, with what works; see `Budget.refused`."""
        can_cut = self.judging == GRADES and not self.is_updated
        cut = self.inputs.rankings if can_cut and self.inputs.is_of_lists else ()
        return budget.refused(problem, *targets, known=self.known, rankings=cut)

    def n_grades(self, target: Target) -> int:
        """Return how many grades the scale of a target has."""
        return (target.measure.max_grade or self.max_grade) + 1


def prepare(
    choices: Choices,
    *,
    use_labels: bool,
    measures: Sequence[str] = (),
    progress: Callable[[str], object] = lambda what: None,
    taught: Mapping[tuple[str, str], int] | None = None,
) -> PreparedCase:
    """Read the files, set costs, set training queries aside, fit the model.

    Parameters
    ----------
    choices : Choices
    use_labels : bool
        Without, no label of the pool is looked at, only those of the training rows.
    measures : sequence of str
        What will be asked, as far as it is known: what graders lack is counted of the items that can change that.
    progress : callable
        Told what is next.
    taught : mapping of (query, document) to int, optional
        Grades that teach a model and are not taken for known, as those of earlier samples that go on counting.

    Raises
    ------
    ChoiceError
        Where choices contradict each other or one is missing.
    InputError
        Where a file or a number is wrong.
    """
    choices.check(use_labels=use_labels)
    *streams, _, seed = np.random.SeedSequence(choices.seed).spawn(4)
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
    """Convert the weights of targets, a word or numbers, to the argument of `Method.design`."""
    if not isinstance(weights, str):
        return weights
    words: dict[str, Sequence[float] | Literal["minimax"] | None]
    words = {"equal": None, "sum": [1.0] * n_targets, "minimax": "minimax"}
    return words[one_of(weights, words, "`weights`")]


def check_fits(measures: Sequence[str], methods: Sequence[str]) -> None:
    """Raise where a measure or a method is not on offer, or one not for the other, before any file is read."""
    asked = [sampled_measure(text) for text in measures]
    for method in map(find_method, methods):
        for measure in asked:
            if not method.fits(measure):
                kind = "additive measures (DCG, RBP, P)" if method.stage.name == "items" else "measures of grades"
                raise InputError(f"method {method.name!r} is for {kind}, not for {shown_name(measure)}")


def _fitted(
    choices: Choices, graders: Sequence[Grades], inputs: Inputs, known: Ints | None, progress: Callable[[str], object]
) -> tuple[tuple[str, ...], int, GradeBeliefs]:
    """Return the names of the grade models, the largest grade, and what the models say with all that is to note."""
    models, regressors = _models(choices, graders, inputs)
    max_grade, notes = _max_grade(choices, inputs, models, known), list[Note]()
    if known is not None and choices.grader_trust == "auto":
        low, notes = distrusted(inputs, graders, known, max_grade)
        models, regressors = _models(choices, graders, inputs, low)
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
    """Return the grade models, and the graders that only estimates are fitted to."""
    names = model_names(graders)
    is_regressor = [choices.grader_trust == "regressor" or name in distrusted for name in names]
    regressors = tuple(name for name, is_one in zip(names, is_regressor, strict=True) if is_one)
    as_models = tuple(name for name in names if name not in regressors and choices.grader_trust != "off")
    chosen = (*choices.models, *as_models)
    return chosen or ("uniform" if inputs.training is None else "forest",), regressors


def _training_notes(choices: Choices, inputs: Inputs, known: Ints | None) -> list[Note]:
    """Return what the model learns of known grades, or that there is nothing to learn from."""
    rows = inputs.training
    if rows is not None and rows.items is not None and choices.models != ("uniform",):
        sizes = {"n_grades": rows.grades.size, "n_queries": np.unique(rows.queries).size}
        return [Note("learned from known", sizes)]
    if rows is not None or choices.models or choices.graders:
        return []
    return [Note("no training data", {"n_known": None if known is None else int((known >= 0).sum())})]


def _max_grade(choices: Choices, inputs: Inputs, models: Sequence[str], known: Ints | None) -> int:
    seen = inputs.max_grade if inputs.has_labels else 0
    seen = seen if known is None else max(seen, int(known.max()))
    tables = [inputs.looked_at(name, inputs.features) for name in models if name.startswith("probs=")]
    top: int = max(seen, *(table.shape[1] - 1 for table in tables), choices.max_grade or 0)
    if choices.max_grade is not None and top > choices.max_grade:
        problem = f"labels or probabilities go up to grade {top}, above `max_grade` {choices.max_grade}"
        raise InputError(problem, field="max_grade")
    if top == 0:
        raise ChoiceError(
            "`max_grade` is needed: no label of the pool is looked at, and nothing else tells the largest grade",
            field="max_grade",
        )
    return top
