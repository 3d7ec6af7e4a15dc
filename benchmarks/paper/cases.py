"""What the figures compare: rankings, and the grade model that the sampling distribution believes."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.training import LOGIT, RF_CLASS, RF_REG, SIZES, SVM, sized

UPDATE = "index update"
MEASURES = ("ERR", "DCG")
BUDGETS = (50.0, 100.0, 150.0, 200.0, 250.0, 300.0)
FEWEST_QUERIES = 1000
OWN_BUDGETS = (1, 5)
PAPER_METHODS = ("passive", "active", "active_uniD", "active_uniC")
REMOVED = 0.1


@dataclass(frozen=True)
class Case:
    """One ranking, or two to be compared; ``beliefs`` are the models whose mean p(grade | item) is believed."""

    figure: int
    title: str
    first: str
    second: str | None
    beliefs: tuple[str, ...]

    @property
    def has_own(self) -> bool:
        """Whether our own methods are run beside the paper's; of figure 5 only for the largest forest."""
        return self.figure != 5 or self.second == RF_CLASS

    @property
    def models(self) -> set[str]:
        """The models that must be trained."""
        return {self.first, self.second or self.first, *self.beliefs} - {UPDATE}

    @property
    def key(self) -> str:
        """A name for files."""
        return f"{self.figure}-{self.first}-{self.second or 'alone'}".replace(" ", "-").replace("%", "")


def _compared(first: str, second: str) -> Case:
    beliefs = tuple(name for name in (first, second) if name in (RF_CLASS, LOGIT))
    return Case(3, f"{first} vs. {second}", first, second, beliefs)


def _grown(size: float) -> Case:
    forests = (sized(SIZES[0]), sized(size))
    return Case(5, f"{SIZES[0]:.0%} vs. {size:.0%} of the rows", *forests, forests)


CASES = (
    *(Case(2, model, model, None, (model,)) for model in (RF_CLASS, LOGIT)),
    *(_compared(*pair) for pair in ((SVM, RF_CLASS), (SVM, LOGIT), (RF_REG, RF_CLASS), (RF_REG, LOGIT))),
    _compared(RF_CLASS, LOGIT),
    Case(4, UPDATE, RF_CLASS, UPDATE, (RF_CLASS,)),
    *(_grown(size) for size in SIZES[1:]),
)


def budgets_for(n_queries: int) -> tuple[float, ...]:
    """Return the paper's budgets in mean costs of a query, for small pools the same shares of a pool of 1,000."""
    scale = min(1.0, n_queries / FEWEST_QUERIES)
    return tuple(round(scale * budget, 1) for budget in BUDGETS)
