"""Commands that follow from the answers to ``activeeval init``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from activeeval.cli.help import WIDTH
from activeeval.cli.option_names import option_words
from activeeval.core.errors import ActiveEvalError

if TYPE_CHECKING:
    from activeeval.inputs.prepared_case import PreparedCase

NONE, ME, NOBODY, SCRIPT = "none", "me", "nobody", "script"
_INDENT = "    "
_GATE = "is the new run worse: exit code 0 no, 10 yes, 11 not certain"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitAnswers:
    """Answers to the questions of `activeeval init`.

    Attributes
    ----------
    runs : tuple of str
        Files of runs, the new one first.
    judged : str or None
        File of judgments.
    judges : tuple of str
        Names; or one of `ME`, `NOBODY`, `SCRIPT`.
    measure : str
    max_grade : int or None
        None takes it from the judgments.
    goal : (str, str)
        Parameter, budget or half_width, and its value; empty without sampling.
    margin : str
        Largest difference that does not matter; "" if nothing is compared.
    """

    runs: tuple[str, ...]
    judged: str | None
    judges: tuple[str, ...]
    measure: str
    max_grade: int | None
    goal: tuple[str, str] = ("", "")
    margin: str = ""

    def case(self) -> PreparedCase:
        """Prepare the inputs of the commands, without training a model; raise the errors that the commands would raise.

        If the judgments hold every item that the measure needs, the inputs are those for the judge `NOBODY`.

        Raises
        ------
        InputError
            If files are inconsistent, the largest grade is unknown, or no label can change the measure.
        """
        from activeeval.inputs.budgets import is_all_known, whole_cost
        from activeeval.inputs.choices import Choices
        from activeeval.inputs.prepared_case import prepare
        from activeeval.inputs.systems import check_differ

        by_all = self.judges == (NOBODY,)
        judged: dict[str, Any] = {"qrels": self.judged, "unjudged": "irrelevant"} if by_all else {"model": "uniform"}
        if self.judged and not by_all:
            judged["judged"] = (self.judged,)
        choices = Choices(**self.named_runs, **judged, max_grade=self.max_grade)
        case = prepare(choices, use_labels=by_all, measures=[self.measure])
        requested = case.asked([self.measure])
        if not by_all:
            check_differ(requested)
            targets = [request.target for request in requested]
            if is_all_known(*targets, known=case.known):
                return replace(self, judges=(NOBODY,)).case()
            whole_cost(*targets, known=case.known)
        return case

    @property
    def named_runs(self) -> dict[str, Any]:
        """Runs by parameter name: of two, the second is the baseline (versus_run).

        Others are compared with each other.
        """
        new, *others = self.runs
        return {"runs": (new,), "versus_run": others[0]} if len(others) == 1 else {"runs": self.runs}

    @property
    def in_campaign(self) -> bool:
        """True if the answers need a stored campaign: a half-width, which `sample` does not support."""
        return self.goal[0] == "half_width"

    def sheets(self, name: str) -> dict[str, str]:
        """Map each judge to the file name of the sheet, NAME.csv for a single judge."""
        from activeeval.sampling.sheets import SheetPlan

        plan = SheetPlan(path=f"{name}.csv", judges=self.judges)
        return dict(zip(self.judges, plan.paths, strict=True))

    @property
    def drawing(self) -> list[str]:
        """Words of the options that select the pool, the measure and the budget, with all items in one batch."""
        pool = option_words(**self.named_runs, judged=self.judged, max_grade=self.max_grade, measure=self.measure)
        return [
            *pool,
            *option_words(**dict([self.goal])),
            *option_words(adaptive_depth="off" if _follows_labels(self.measure) else ""),
        ]


def free_name() -> str:
    """Find a base name that no file of a sample or campaign in this folder uses."""
    taken = {entry.name.split(".")[0].split("-")[0] for entry in Path().glob("judging*")}
    return next(name for k in range(len(taken) + 1) if (name := f"judging{k + 1 if k else ''}") not in taken)


def lines_of(start: InitAnswers, name: str) -> Iterator[str]:
    """Yield the commands for the answers `start`, each preceded by a comment on its purpose.

    `name` is the base name of the files and of the campaign.
    """
    new, *others = start.runs
    if start.judges == (NOBODY,):
        yield from _score_steps(start)
        return
    yield from _step("what to expect, before anybody judges", "plan", *start.drawing)
    yield from _campaign_steps(start, name) if start.in_campaign else _sample_steps(start, name)
    if len(others) == 1:
        drawn = {"sample": f"{name}.sample", "sheet": start.sheets(name).values()}
        source = option_words(**({"campaign": name} if start.in_campaign else drawn))
        yield from _step(_GATE, "compare", others[0], new, *source, *option_words(scope="pool", margin=start.margin))


def _score_steps(start: InitAnswers) -> Iterator[str]:
    """Yield the commands for complete judgments: score, and compare."""
    new, *others = start.runs
    more = option_words(versus=others[0]) if len(others) == 1 else option_words(runs=others)
    yield from _step("the scores", "score", str(start.judged), new, start.measure, *more)
    if len(others) == 1:
        judged = option_words(qrels=start.judged, measure=start.measure, unjudged="irrelevant", margin=start.margin)
        yield from _step(_GATE, "compare", others[0], new, *judged)


def _sample_steps(start: InitAnswers, name: str) -> Iterator[str]:
    """Yield the commands for a sample in files."""
    sample, sheets = f"{name}.sample", start.sheets(name)
    files = option_words(judge=sheets if len(sheets) > 1 else (), out=sample, sheet=f"{name}.csv")
    yield from _step(f"draw what to judge{_in_one(start)}", "sample", *start.drawing, *files)
    for judge, sheet in sheets.items():
        subject = {ME: "you fill", SCRIPT: "your script fills"}.get(judge, f"{judge} fills")
        yield f"# {subject} in the column grade of {shlex.quote(sheet)}"
    yield from _step("then", "estimate", sample, *sheets.values())


def _in_one(start: InitAnswers) -> str:
    """Write the remark that the sample is drawn in one sheet; "" if its measure has only one sheet anyway."""
    in_one = ", in one sheet (without --adaptive-depth off: several, fewer labels)"
    return in_one if _follows_labels(start.measure) else ""


def _follows_labels(measure: str) -> bool:
    """Check whether samples for this measure are drawn batch by batch, as labels decide what is judged next."""
    from activeeval.core.measures import parse_measure
    from activeeval.sampling.adaptive_depth import FOLLOWING

    try:
        return isinstance(parse_measure(measure), FOLLOWING)
    except ActiveEvalError:  # a measure that needs the scale to be parsed never follows labels
        return False


def _campaign_steps(start: InitAnswers, name: str) -> Iterator[str]:
    """Yield the commands for a stored campaign."""
    about = f"draw and store what to judge{_in_one(start)}"
    yield from _step(about, "campaign", "create", name, *start.drawing)
    sheets = start.sheets(name)
    whose = "a sheet for each judge" if len(sheets) > 1 else "a sheet"
    about = f"block by block: {whose}, whose column grade is filled in, and back"
    yield from _step(about, "campaign", "next", name, *option_words(judge=sheets, out=f"{name}.csv"))
    yield from _step(None, "campaign", "import", name, *sheets.values())
    yield from _step("how far it is, and a page for the team", "campaign", "status", name)
    yield from _step(None, "campaign", "report", name)


def _step(about: str | None, *words: str) -> Iterator[str]:
    """Yield a comment on the purpose (none if `about` is None) and a command, folded into lines for pasting."""
    if about is not None:
        yield f"# {about}"
    yield from folded(["activeeval", *words])


def folded(words: Sequence[str], width: int = WIDTH) -> Iterator[str]:
    r"""Yield the lines of a shell command, folded between options to lines of at most `width` characters.

    Examples
    --------
    >>> print(*folded(["activeeval", "plan", "--run", "new one.run", "--budget", "200"], 44), sep="\n")
    activeeval plan --run 'new one.run' \
        --budget 200
    """
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("-") and " " not in parts[-1] and not word.startswith("-"):
            parts[-1] += f" {shlex.quote(word)}"
        else:
            parts.append(shlex.quote(word))
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 3 > width:
            yield f"{line} \\"
            line = _INDENT + part
        else:
            line += f" {part}"
    yield line
