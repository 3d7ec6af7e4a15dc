"""One way to run an experiment: options, measuring, printing, and storing with where the figures come from."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.frame.report import Row, show
from benchmarks.machine import ROOT, describe, store

RESULTS = ROOT / "benchmarks" / "results"
ORIGIN = ("command", "date", "git_commit")
Options = argparse.Namespace
Section = tuple[str, Callable[[Options], Iterable[Row] | Row]]


class Experiment:
    """An experiment that a command runs.

    Parameters
    ----------
    spec : ModuleSpec
        Of the module: names the command, and the file of the result unless ``out`` does.
    doc : str
        The module's docstring, the help of the command.
    measure : callable, optional
        Takes the options and makes the parts of the result, its ``rows`` among them.
    sections : mapping of str to (title, callable), optional
        In place of ``measure``. Each callable makes the figures of a section, or a mapping that holds them and more;
        ``--only`` chooses sections, and keeps the stored ones that it does not choose.
    report : callable, optional
        Writes a result as text, to print it.
    is_written : bool
        Whether the text is written beside the result too, in Markdown.
    packages : sequence of str
        Further packages whose versions are stored.
    row_keys : sequence of str
        What identifies a question: stored rows of questions that are not asked again are kept.
    out : Path, optional
        The file of the result.
    **options
        The options of the command by name. A number or text is a default, a tuple lists the choices of an option that
        is repeatable (all by default), False is a switch, None a path, and a mapping is given to argparse as it is.
    """

    def __init__(
        self,
        spec: ModuleSpec,
        doc: str,
        measure: Callable[[Options], Row] | None = None,
        /,
        *,
        sections: Mapping[str, Section] | None = None,
        report: Callable[[Row], str] | None = None,
        is_written: bool = False,
        packages: Sequence[str] = (),
        row_keys: Sequence[str] = (),
        out: Path | None = None,
        **options: Any,
    ) -> None:
        self.module = spec.name.removesuffix(".__main__")
        self.doc, self.measure, self.sections = doc, measure, dict(sections or {})
        self.report, self.is_written = report, is_written
        self.packages, self.row_keys, self.options = tuple(packages), tuple(row_keys), options
        self.out = out or RESULTS / f"{self.module.rpartition('.')[2].replace('_', '-')}.json"

    def main(self, arguments: Sequence[str] | None = None) -> Row:
        """Read the options, measure, print and store; return the result."""
        options = self.parse(arguments)
        result = describe(self.module, self.packages) | self._setting(options)
        started = time.perf_counter()
        if self.measure is None:
            self._measure_sections(options, result)
        else:
            result |= self.measure(options)
            show(self.doc.partition("\n")[0], result.get("figures", []))
        result.setdefault("seconds", round(time.perf_counter() - started))
        if self.row_keys:
            result["rows"] = merged(stored(options.out).get("rows", []), result["rows"], self.row_keys)
        text = self.report(result) if self.report else None
        if text is not None:
            print(text)
        store(options.out, result)
        if text is not None and self.is_written:
            options.out.with_suffix(".md").write_text(f"{text}\n")
        return result

    def parse(self, arguments: Sequence[str] | None = None) -> Options:
        """Read the options of the command."""
        parser = argparse.ArgumentParser(
            prog=f"python -m {self.module}", description=self.doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--out", type=Path, default=self.out)
        if self.sections:
            parser.add_argument("--only", action="append", choices=list(self.sections), help="repeatable; default: all")
        for name, value in self.options.items():
            parser.add_argument(f"--{name.replace('_', '-')}", **_argument(value))
        options = parser.parse_args(arguments)
        for name, value in self.options.items():
            if isinstance(value, tuple):
                setattr(options, name, tuple(getattr(options, name) or value))
        return options

    def _setting(self, options: Options) -> Row:
        """Collect the options that are stored: plain values."""
        plain = (bool, int, float, str, tuple)
        return {name: value for name in self.options if isinstance(value := getattr(options, name), plain)}

    def _measure_sections(self, options: Options, result: Row) -> None:
        """Measure section by section, and store after each."""
        kept = stored(options.out).get("sections", {}) if options.only else {}
        for name in options.only or self.sections:
            title, measure = self.sections[name]
            found = measure(options)
            section = found if isinstance(found, dict) else {"figures": list(found)}
            kept[name] = {"title": title, **{key: result[key] for key in ORIGIN}, **section}
            show(kept[name]["title"], kept[name]["figures"])
            result["sections"] = {key: kept[key] for key in self.sections if key in kept}
            store(options.out, result)


def _argument(value: Any) -> dict[str, Any]:
    """Translate the value of an option into arguments of argparse."""
    if isinstance(value, dict):
        return value
    if value is None:
        return {"type": Path}
    if value is False:
        return {"action": "store_true"}
    if isinstance(value, tuple):
        choices = value if isinstance(value[0], str) else None
        return {"action": "append", "type": type(value[0]), "choices": choices, "help": f"repeatable; default: {value}"}
    return {"type": type(value), "default": value, "help": f"default: {value}"}


def stored(path: Path) -> Row:
    """Read a stored result; an empty one where there is none."""
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def merged(earlier: Iterable[Row], fresh: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Put fresh rows behind those earlier ones whose questions were not asked again."""
    asked = {tuple(row[key] for key in keys) for row in fresh}
    return [row for row in earlier if tuple(row[key] for key in keys) not in asked] + list(fresh)


def spread(work: Callable[..., Iterable[Row]], cases: Iterable[tuple[Any, ...]], jobs: int) -> list[Row]:
    """Work on cases in several processes, and join their rows in the order of the cases."""
    return [row for rows in Parallel(n_jobs=jobs)(delayed(_listed)(work, *case) for case in cases) for row in rows]


def _listed(work: Callable[..., Iterable[Row]], *case: Any) -> list[Row]:
    return list(work(*case))
