"""``activeeval pool``: write pools in files, for several processes or machines."""

from __future__ import annotations

from typing import Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command, group
from activeeval.cli.waiting import tell
from activeeval.inputs.options import FILES, PoolFields


@group()
def pool() -> None:
    """Write pools to parquet, in partitions for several processes or machines.

    \b
    activeeval pool write --run new.run --versus-run old.run --max-grade 3 --out pool
    activeeval sample --pool-parquet 'pool/*.parquet' --run new --versus-run old --budget 200 \\
        --engine processes:8 --out week1.sample --sheet week1.csv
    """


pool.add_late("Write", write=("sampling.commands.pool:write", "Write a pool to parquet"))


@command()
@input_options.options_of(PoolFields, leave_out=(*FILES, "contrasts", "index_update", "defensive_share"))
@click.option("--partitions", type=click.IntRange(1), default=8, show_default=True, metavar="N",
              help="Number of files.")  # fmt: skip
@output.out_option(required=True, metavar="DIR", help="Folder to write, or its address.")
@output.force_option
@output.output_option
def write(partitions: int, out: str, force: bool, form: str, **options: Any) -> None:
    """Write the pool of some runs to parquet, with the grade probabilities of each document.

    `sample`, `plan`, `top-up` and `campaign create` take it as --pool-parquet 'DIR/*.parquet' and draw the same sample
    as from the runs. docs/scale.md lists the columns, so that other programs can write such files.

    \b
    activeeval pool write --run new.run --versus-run old.run --max-grade 3 --partitions 8 --out pool
    """
    from activeeval.inputs.choices import Choices
    from activeeval.sampling.pool_files import write_partitions

    with input_options.worded():
        written = write_partitions(Choices(**options), out, partitions, force=force, progress=tell)
    output.say_notes(written.notes)
    output.say(written.sentences[0])
    output.emit_done(written.rows(), form)
