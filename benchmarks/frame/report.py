"""Figures with their targets, printed and as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
REACHED = {True: "reached", False: "**not reached**", None: ""}


def figure(name: str, value: float, unit: str, *, at_most=None, at_least=None, **details) -> Row:
    """Make a measured figure, with its target, if it has one, and whether it is reached."""
    row = {"what": name, "value": float(value), "unit": unit}
    bounds = [f"{sign} {bound:g}" for sign, bound in ((">=", at_least), ("<=", at_most)) if bound is not None]
    if bounds:
        is_enough, is_small = at_least is None or value >= at_least, at_most is None or value <= at_most
        row |= {"target": ", ".join(bounds), "reached": bool(is_enough and is_small)}
    return row | details


def show(title: str, rows: Iterable[Row]) -> None:
    """Print the figures of a section as a table."""
    print(f"\n{title}")
    for row in rows:
        if "missing" in row:
            print(f"  {row['what']:52} {row['missing']}", flush=True)
            continue
        value = f"{row['value']:.2g}" if 0 < abs(row["value"]) < 0.01 else f"{row['value']:,.2f}"
        target = f"target {row['target']}" if "target" in row else ""
        verdict = {True: "reached", False: "NOT REACHED"}.get(row.get("reached"), "")
        note = row.get("note", "")
        print(f"  {row['what']:52} {value:>12} {row['unit']:8} {target:16} {verdict:12} {note}".rstrip(), flush=True)


def table(head: Sequence[Any], rows: Iterable[Iterable[Any]]) -> list[str]:
    """Write rows of cells as the lines of a table in Markdown."""
    return ["| " + " | ".join(map(str, line)) + " |" for line in (head, ["---"] * len(head), *rows)]


def pivoted(cells: Mapping[tuple[str, Any], str], corner: str, named: str = "{}") -> list[str]:
    """Write cells by the names of their line and of their column as a table; columns in ascending order."""
    columns = sorted({column for _, column in cells})
    lines = dict.fromkeys(line for line, _ in cells)
    rows = ([line, *(cells.get((line, column), "") for column in columns)] for line in lines)
    return table([corner, *(named.format(column) for column in columns)], rows)


def figures_table(rows: Iterable[Row]) -> list[str]:
    """Write the figures of a section as a table."""
    return table(["what", "", "bar", "", "times ours", ""], map(_cells, rows))


def _cells(row: Row) -> tuple[str, ...]:
    if "missing" in row:
        return row["what"], "", "", "", "", row["missing"]
    value = f"{row['value']:.3g}" if row["value"] < 100 else f"{row['value']:,.0f}"
    ratio = f"{row['ratio']:,.3g}" if "ratio" in row else ""
    verdict = REACHED[row.get("reached")]
    return row["what"], f"{value} {row['unit']}", row.get("target", ""), verdict, ratio, row.get("note", "")


def section_tables(sections: Mapping[str, Row], commit: str | None = None) -> list[str]:
    """Write the figures of sections, each with its title, as tables; say which ones are of another commit than all."""
    return [
        line
        for section in sections.values()
        for line in (f"### {section['title']}", "", *_apart(section, commit), *figures_table(section["figures"]), "")
    ]


def _apart(section: Row, commit: str | None) -> list[str]:
    """Write the origin of a section that was not made with the others, and the load of the machine."""
    of_another = commit and section.get("git_commit", commit) != commit
    parts = [f"commit {section['git_commit']}, {section['date'][:10]}"] if of_another else []
    parts += [f"load of the machine {section['load']:g}"] if "load" in section else []
    return [f"({'; '.join(parts)})", ""] if parts else []


def sections_of(result: Row) -> str:
    """Write a result that holds nothing but figures, in sections or not, after how often it was repeated."""
    if "sections" not in result:
        return "\n".join(figures_table(result["figures"]))
    lead = ""
    if "repetitions" in result:
        of_pool = f"{result['pool']}, " if "pool" in result else ""
        lead = f"{of_pool}{result['repetitions']:,} repetitions; ± is the Monte-Carlo standard error.\n\n"
    return lead + "\n".join(section_tables(result["sections"], result["git_commit"])).rstrip()


def origin(result: Row) -> str:
    """Write which command made a result, of which commit, and when."""
    return f"`{result['command']}`, commit {result['git_commit']}, {result['date'][:10]}"


def plus_minus(value: float, error: float, form: str = ".2f") -> str:
    """Write a value and its standard error."""
    return f"{value:{form}} ± {error:{form.removeprefix('+')}}"
