"""README and the pages that show commands, word for word: each is run in its order, and says what the page shows.

Pieces of Python are run too, in their order, in one namespace a page; what they print stands below them as well.
``python tests/test_pages.py`` writes the pages anew with what the commands say now, or those that are named.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import page_files
import pytest

from activeeval import cli
from activeeval.formats.graders.grader_grades import Grades
from activeeval.graders import Prompt
from activeeval.graders.prompts import questions
from activeeval.quickstart.example import write_example

# CI runs this module by itself: `make pages`
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("whole_rehearsals")]

DOCS = Path(__file__).resolve().parent.parent / "docs"
OUTPUTS, TASKS = DOCS / "outputs.md", DOCS / "five-tasks.md"
GRADERS = DOCS / "graders.md"
SHOWN = ("a-week.md", "gate.md", "nights.md", "campaigns.md", "page.md", "traffic.md", "scale.md")
HOW_TO = (
    *("how-many-judgments.md", "overheads-and-costs.md", "old-labels.md", "several-judges.md"),
    *("spreadsheets.md", "segments.md", "top-k.md", "learn-gains.md", "tune-a-ranker.md", "many-runs.md"),
    *("read-early.md", "in-python.md"),
)
GENERATED = [OUTPUTS, TASKS, GRADERS, *(DOCS / name for name in HOW_TO)]
"""Pages whose files `page_files.make_files` makes."""
EXAMPLES = [DOCS.parent / "README.md", DOCS / "faq.md"]
"""Pages whose files are those that `activeeval demo` leaves."""
PAGES = [*(DOCS / name for name in SHOWN), *GENERATED, *EXAMPLES]
NOT_HERE = {GRADERS, DOCS / "scale.md"}
"""Pages whose Python needs a service or a cluster: it is not run."""
STRICT = "dee"
"""The judge of the pages who often gives one grade less."""
FRAMES = """\
import pandas as pd
import activeeval as ae

new, old = (pd.read_csv(f"{name}.run", sep=" ", names=["query_id", "q0", "doc_id", "rank", "score", "tag"])
            for name in ("newer", "old"))
truth = pd.read_csv("truth.csv").rename(columns={"query": "query_id", "document": "doc_id"})

drawn = ae.sample(runs={"newer": new, "old": old}, measure="DCG@10", budget=150, max_grade=3, seed=5)
sheet = drawn.sheet().drop(columns="grade").merge(truth, on=["query_id", "doc_id"])  # the judge fills it in
answer = drawn.estimate(sheet)
print(answer)
print(answer.to_frame()[["measure", "direction", "value", "low", "high"]].round(3).to_string(index=False))
answer.plot().figure.savefig("answer.png")
"""
BLOCK = re.compile(r"^```(?P<kind>sh|python)\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<said>.*?)^```\n)?",
                   re.MULTILINE | re.DOTALL)  # fmt: skip
STEP = re.compile(r"^ *run: \|\n(?P<script>(?: {10}.*\n)+)", re.MULTILINE)
CODE = "; echo $?"
PIPED = re.compile(r" [|<>] ")
DIGITS = re.compile(r"\b\d+\.\d{10,}\b")
SAMPLE = re.compile(r"\b[0-9a-z-]{26,40}\b")
CHANGING = {
    re.compile(r"\b[0-9a-f]{40,64}\b"): "<digest>",
    re.compile(r"^activeeval: .* s so far\n", re.MULTILINE): "",
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|\+00:00)?"): "<time>",
}
"""What no two runs say alike."""


def said_by(commands, folder):
    """Run commands one by one as a terminal would, and return all that they print."""
    text = "".join(said_by_line(line, folder) for line in commands.replace("\\\n", " ").splitlines())
    for pattern, name in CHANGING.items():
        text = pattern.sub(name, text)
    return text


def said_by_line(line, folder):
    """Run one command: this package's own in this process, which has its kernels at hand, any other by a shell.

    What README says of `make` is left to CI, and to ``tests/follow_readme.py``.
    """
    if line.startswith("make "):
        return ""
    if line.startswith("judge "):
        for sheet in line.split()[1:]:
            page_files.judge(Path(folder, sheet), judged_by(sheet, folder))
        return ""
    if line.startswith("activeeval ") and not PIPED.search(line):
        with chdir(folder), redirect_stdout(StringIO()) as said, redirect_stderr(said):
            code = cli.run(shlex.split(line.removesuffix(CODE))[1:])
        printed = said.getvalue()
        if line.endswith(CODE):
            return f"{printed}{code}\n"
    else:
        environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(["bash", "-euc", line], cwd=folder, env=environment, check=False, **piped)
        code, printed = done.returncode, done.stdout
    assert code == 0, f"{line}\n{printed}"
    return printed


def judged_by(sheet, folder):
    """Return the grades that a sheet's judge gives: the true ones, one less for a third of the documents if strict."""
    truth = page_files.read_truth(folder)
    if not Path(sheet).stem.endswith(f"-{STRICT}"):
        return truth
    return {(query, doc): max(grade - (zlib.crc32(doc.encode()) % 3 == 0), 0) for (query, doc), grade in truth.items()}


def printed_by(code, names, folder):
    """Run a piece of Python in a folder, and return all that it prints; `names` are those of the pieces before."""
    with chdir(folder), redirect_stdout(StringIO()) as printed, redirect_stderr(printed):
        exec(compile(code, "<page>", "exec"), names)
    return printed.getvalue()


@cache
def made_files():
    """Make the files of a small generated collection, once; return their folder."""
    folder = tempfile.TemporaryDirectory()
    page_files.make_files(Path(folder.name), Path(sys.executable))
    write_beside(Path(folder.name))
    return folder


def run_page(page):
    """Yield what the page shows and what its commands say, block by block."""
    with tempfile.TemporaryDirectory() as folder:
        if page in GENERATED:
            shutil.copytree(made_files().name, folder, dirs_exist_ok=True)
        if page in EXAMPLES:
            write_example(folder)
        for script in ("week.py", "page.py", "nights.py", "traffic.py"):
            shutil.copy(DOCS / script, folder)
        names = {"__name__": page.stem}
        for block in BLOCK.finditer(page.read_text()):
            if block["kind"] == "sh":
                yield block, said_by(block["commands"], folder)
            elif page not in NOT_HERE:
                yield block, printed_by(block["commands"], names, folder)


def write_beside(folder):
    """Write the texts that judges read, what a machine says of the documents, and a piece of Python."""
    truth = page_files.read_truth(folder)
    queries = [{"id": query, "text": f"what people ask with {query}"} for query in dict.fromkeys(q for q, _ in truth)]
    documents = [{"id": doc, "title": f"Title of {doc}", "text": f"What {doc} says."} for _, doc in truth]
    for name, rows in (("queries", queries), ("documents", documents)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "frames.py").write_text(FRAMES)
    graded = [f"{query} 0 {doc} {machine_grade(query, doc, grade)}\n" for (query, doc), grade in truth.items()]
    (folder / "llm.qrels").write_text("".join(graded))


def machine_grade(query, doc, grade):
    """Return what a machine says that is lenient, and sure of little: one grade up or two in half of the cases."""
    return min(int(grade) + (0, 0, 0, 1, 1, 2)[zlib.crc32(f"{query} {doc}".encode()) % 6], 3)


def plain(text):
    """Return text without what hangs on the last bits of what a machine computes: ids of samples, the 13th digit."""
    return DIGITS.sub(lambda number: f"{float(number[0]):.12f}", SAMPLE.sub("<sample>", text or ""))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_what_its_commands_say(page):
    blocks = list(run_page(page))
    assert blocks
    for block, said in blocks:
        assert plain(said) == plain(block["said"]), block["commands"]


def test_every_how_to_page_is_run():
    listed = re.findall(r"^[^`\n]+ <([a-z-]+)>$", (DOCS / "how-to.md").read_text(), re.MULTILINE)
    assert set(HOW_TO) <= {f"{name}.md" for name in listed}
    assert {DOCS / f"{name}.md" for name in listed} <= set(PAGES)


@pytest.mark.parametrize(("candidate", "code"), [("worse.run", 10), ("new.run", 0), ("main.run", 0), ("gone.run", 1)])
def test_the_step_of_a_pipeline_passes_and_fails_as_the_page_says(tmp_path, candidate, code):
    (script,) = STEP.findall((DOCS / "gate.md").read_text())
    shutil.copy(DOCS / "week.py", tmp_path)
    said_by("python week.py files\npython week.py qrels\n", tmp_path)
    shutil.copy(tmp_path / "old.run", tmp_path / "main.run")
    turned = [line.split() for line in (tmp_path / "old.run").read_text().splitlines()]
    lines = [f"{q} Q0 {d} {rank} {-float(score)} worse" for q, _, d, rank, score, _ in turned]
    (tmp_path / "worse.run").write_text("\n".join(lines))
    if (tmp_path / candidate).exists():
        shutil.copy(tmp_path / candidate, tmp_path / "branch.run")
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = ["bash", "-eo", "pipefail", "-c", dedent(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, **piped)
    assert done.returncode == code, done.stdout
    assert (code == 1) == ("branch.run: no such file" in done.stdout)


def rewrite(page):
    """Write a page anew."""
    text, parts, end = page.read_text(), [], 0
    for block, said in run_page(page):
        shown = f"\n```text\n{said}```\n" if said else ""
        parts += [text[end : block.start()], f"```{block['kind']}\n{block['commands']}```\n{shown}"]
        end = block.end()
    page.write_text("".join([*parts, text[end:]]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*", help="by name, as a-week; default: all")
    asked = parser.parse_args()
    for one in PAGES:
        if not asked.pages or one.stem in asked.pages:
            rewrite(one)


def test_the_live_client_of_the_page_writes_what_is_read(tmp_path, monkeypatch):
    """Catches a snippet that no longer fits the questions, or the reader of the answers."""

    class Client:
        def __init__(self):
            self.chat, self.completions = self, self

        def create(self, model, messages, **_):
            grade = len(messages[0]["content"]) % 4
            message = {"role": "assistant", "content": f"##final score: {grade}"}
            body = {"model": model, "choices": [{"index": 0, "message": message}]}
            return SimpleNamespace(model_dump=lambda: body)

    (snippet,) = re.findall(r"```python\n(.*?)```", GRADERS.read_text(), re.DOTALL)
    assert len([line for line in snippet.splitlines() if line]) <= 15
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(OpenAI=Client))
    asked = list(
        questions([("q1", "d1"), ("q1", "d2")], [("flea", "A."), ("flea", "Bb.")], Prompt.named("umbrela"), "m")
    )
    Path("batch.jsonl").write_text("".join(f"{json.dumps(each.request())}\n" for each in asked))
    Path("batch.pairs.jsonl").write_text("".join(f"{json.dumps(each.pair())}\n" for each in asked))
    exec(snippet, {})
    graded = Grades.read("answers.jsonl")
    assert graded.item_ids.tolist() == ["d1", "d2"]
    assert graded.values.tolist() == [len(each.text) % 4 for each in asked]
