"""``activeeval grader``: ask graders (LLMs or other models) for grades."""

from __future__ import annotations

from typing import Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command, group
from activeeval.sampling.commands import sampling_options


@group()
def grader() -> None:
    """Ask graders, as a language model, for grades: they show where people should judge, and are never labels.

    \b
    activeeval grader ask week1.sample --model gpt-4o-mini --top 10 \\
        --documents docs.csv --queries queries.csv --out batch.jsonl
    """


@command()
@click.argument("sample", metavar="[SAMPLE]", required=False)
@input_options.run_option("runs", multiple=True, help="In place of a sample: a run; repeatable.")
@click.option(
    "--prompt",
    default="umbrela",
    metavar="umbrela|FILE",
    help="What is asked: grades 0 to 3; or a text with {query} and {passage}.",
)
@click.option("--model", required=True, metavar="NAME", help="The model, as its service calls it.")
@sampling_options.any_documents_option(required=True, help="A table of id and title, text or url.")
@sampling_options.any_queries_option(required=True, help="A table of id and text.")
@click.option("--top", type=click.IntRange(1), metavar="K", help="Only the first K places of each list. Default: all.")
@output.out_option(required=True, help="Batch to write, as batch.jsonl.")
@output.force_option
@output.output_option
def ask(force: bool, form: str, **options: Any) -> None:
    """Write a batch of questions for a language model: one about each pair of the pool of a SAMPLE, or of runs.

    Nothing is called. The batch (JSON lines, as OpenAI's batch service and vLLM's offline runner take it) goes to the
    model. A second file, batch.pairs.jsonl, has the pair of each question. Keep it beside the answers: they are joined
    by it.

    \b
    activeeval grader ask week1.sample --model gpt-4o-mini --top 10 \\
        --documents docs.csv --queries queries.csv --out batch.jsonl
    activeeval sample --run new.run --grader answers.jsonl:cost=.01 …
    """
    from activeeval.graders.ask import AskingPlan, ask_graders

    with input_options.worded():
        written = ask_graders(AskingPlan(**options), force=force)
    output.say_notes(written.notes)
    for line in written.sentences:
        output.say(line)
    output.emit_done(written.rows(), form)


grader.add_late("Commands", ask=("graders.commands.grader:ask", "Write a batch of questions for a language model"))
