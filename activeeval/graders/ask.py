"""Write batches of questions for a grader, one for each query–document pair of a sample or of runs."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.core.checks import file_name, texts
from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.pool import Rankings
from activeeval.core.results import Note
from activeeval.formats.graders.batch_answers import PAIRS
from activeeval.formats.loading import load_run
from activeeval.formats.sample_file import lists_of
from activeeval.formats.writing import AtomicFiles
from activeeval.graders.prompts import Prompt, questions
from activeeval.inputs.arguments import checked, runs_of
from activeeval.inputs.loading import from_tables
from activeeval.inputs.texts import texts_of
from activeeval.report.numbers import agreeing, counted
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.sampling.read_samples import read_sample
from activeeval.sampling.sample_result import Sample

_BATCH = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingPlan:
    """Questions for a grader: the pairs, the prompt, the model and the output file.

    Attributes
    ----------
    sample : str, Sample or None
        Ask about the pool of this sample. Give either `sample` or `runs`.
    runs : sequence
        Ask about the pool of these runs; each is a run or what `activeeval.formats.loading.load_run` reads.
    prompt : str
        Name of a built-in prompt, or a file.
    model : str
        Name of the language model, as its service calls it.
    documents, queries : str
        Files with a table of texts each: of the documents and of the queries.
    out : str
        Path of the batch, ends in .jsonl.
    top : int or None
        Ask about the first `top` places of each list; None for all places.
    """

    sample: str | Sample | None = None
    runs: Sequence[Any] = ()
    prompt: str = "umbrela"
    model: str
    documents: str
    queries: str
    out: str
    top: int | None = None

    @property
    def pairs_path(self) -> str:
        """Path of the table of pairs, in the folder of the batch."""
        return self.out.removesuffix(_BATCH) + PAIRS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WrittenBatch(PrintableResult):
    """Result of writing a batch of questions.

    Attributes
    ----------
    batch, pairs : str
        Paths of the file for the model and of the table that maps each question to its pair.
    questions : int
        Number of questions.
    queries : int
        Number of distinct queries in the questions.
    without_text : int
        Number of pairs without a question, because a text is missing.
    prompt_version, model : str
    letters : int
        Total length of all questions, in characters.
    notes : tuple of Note
    """

    batch: str
    pairs: str
    questions: int
    queries: int
    without_text: int
    prompt_version: str
    model: str
    letters: int
    notes: tuple[Note, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """Sentences about the files written and the pairs left out."""
        n_without = self.without_text
        left = f"; {counted(n_without, 'pair')} without a text {agreeing(n_without, 'is', 'are')} not asked about"
        n_asked = f"{counted(self.questions, 'question')} of {counted(self.queries, 'query')}"
        wrote = f"wrote {self.batch}: {n_asked}, {counted(self.letters, 'letter')}{left if n_without else ''}"
        return [wrote, f"{shlex.quote(self.pairs)} has the pair of each question: keep it beside the answers"]

    def rows(self) -> list[dict[str, Cell]]:
        """Convert to the one row of the command's JSON and CSV output."""
        return [{field.name: getattr(self, field.name) for field in fields(self) if field.name != "notes"}]


@checked
def ask_grader(
    about: Any,
    *,
    model: str,
    documents: str,
    queries: str,
    out: Any,
    prompt: str = "umbrela",
    top: int | None = None,
    force: bool = False,
) -> WrittenBatch:
    r"""Write a batch of questions for a language model, one for each query–document pair; no model is called.

    Parameters
    ----------
    about : Sample, or path, dict of dicts or data frame, a list of them, or a mapping of names to them
        A sample or runs; the questions cover its pool.
    model : str
        Name of the language model, as its service calls it.
    documents, queries : str
        Files with a table of texts each: of the documents and of the queries.
    out : path
        For example batch.jsonl; the table of pairs is written to the same folder.
    prompt : str
        "umbrela" (grades 0 to 3), or the file of a text with {query} and {passage}.
    top : int, optional
        Ask only about the first `top` places of each list.

    Raises
    ------
    InputError
        If a run, a text or the prompt cannot be read, an output file exists and not `force`, or no pair has both texts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     texts = {name: pathlib.Path(folder, f"{name}.csv") for name in ("documents", "queries")}
    ...     _ = texts["documents"].write_text("id,text\nd1,a page\nd2,another\n")
    ...     _ = texts["queries"].write_text("id,text\nq1,pages\n")
    ...     ask_grader(run, model="gpt-4o-mini", out=f"{folder}/batch.jsonl", **texts).questions
    2
    """
    (model_name,) = texts(model, "`model`")  # `checked` turns `model` into a tuple, as for grade models
    is_sample = isinstance(about, Sample)
    runs = [] if is_sample else [load_run(run) for run in runs_of(about)[0]]
    files = {"documents": str(documents), "queries": file_name(queries, "`queries`"), "out": os.fspath(out)}
    plan = AskingPlan(sample=about if is_sample else None, runs=runs, prompt=prompt, model=model_name, top=top, **files)
    return ask_graders(plan, force=force)


def ask_graders(plan: AskingPlan, *, force: bool = False) -> WrittenBatch:
    """Write a batch of questions for a language model and the table of their query–document pairs; on an error neither.

    Raises
    ------
    ChoiceError
        If neither a sample nor a run is given, or both are.
    InputError
        If an output file exists and not `force`, no pair has both texts, or the prompt lacks a placeholder.
    """
    _check(plan, force=force)
    prompt = Prompt.read(plan.prompt)
    pairs = _pairs(plan)
    columns, notes = texts_of(pairs, plan.out, plan.documents, plan.queries)
    # a document's passage is its title and text, or, if the table has neither, its address
    passages = [columns[name] for name in ("title", "text") if name in columns] or [columns.get("url", [])]
    joined = ("\n".join(part for part in parts if part) for parts in zip(*passages, strict=True))
    batch = list(questions(pairs, zip(columns["query"], joined, strict=True), prompt, plan.model))
    if not batch:
        raise InputError(f"{plan.out}: no pair has the texts of both its query and its document")
    with AtomicFiles() as files:
        for path, rows in ((plan.out, (q.request() for q in batch)), (plan.pairs_path, (q.pair() for q in batch))):
            with files.open(path) as handle:
                handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return WrittenBatch(
        batch=plan.out,
        pairs=plan.pairs_path,
        questions=len(batch),
        queries=len({question.asked.query_id for question in batch}),
        without_text=len(pairs) - len(batch),
        prompt_version=prompt.version,
        model=plan.model,
        letters=sum(len(question.text) for question in batch),
        notes=tuple(notes),
    )


def _check(plan: AskingPlan, *, force: bool) -> None:
    """Raise an error if `plan` names both or neither of a sample and runs, its output is not .jsonl, or a file exists.

    The first is a ChoiceError, the others are InputErrors.
    """
    if (plan.sample is None) == (not plan.runs):
        raise ChoiceError("give a sample, or by `runs` those that make the pool", field="runs")
    if not plan.out.endswith(_BATCH):
        raise InputError(f"{plan.out}: expected a name that ends in {_BATCH}", field="out")
    existing = [path for path in (plan.out, plan.pairs_path) if Path(path).exists()]
    if existing and not force:
        raise InputError(f"{existing[0]}: is there already; `force` writes it anew", field="force")


def _pairs(plan: AskingPlan) -> list[tuple[str, str]]:
    """List the (query id, document id) pairs in the first `plan.top` places of any list, in the order of the pool."""
    rankings: Sequence[Rankings]
    if plan.sample is not None:
        sample = plan.sample.drawn if isinstance(plan.sample, Sample) else read_sample(plan.sample)[0]
        pool, rankings = sample.campaign.design.pool, lists_of(sample.campaign.design)
    else:
        inputs = from_tables(None, [load_run(path) for path in plan.runs], evaluated=len(plan.runs))
        pool, rankings = inputs.pool, inputs.rankings
    is_asked = np.zeros(pool.n_items, dtype=np.bool_)
    for ranking in rankings:
        is_asked[ranking.items if plan.top is None else ranking.items[ranking.ranks <= plan.top]] = True
    rows = np.flatnonzero(is_asked)
    queries, items = pool.query_texts[pool.item_queries[rows]], pool.item_texts[rows]
    return list(zip(queries.tolist(), items.tolist(), strict=True))
