"""``activeeval init``: whatever is answered, the commands that it prints are those to run."""

import io
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from cli_cases import grade_of
from cli_files import csv_rows, tables, write_csv, write_lines

from activeeval.cli.help import WIDTH
from activeeval.quickstart.commands.init_lines import folded, free_name

QUESTIONS = 6
VERDICTS = {"equal": 0, "better": 0, "equivalent": 0, "not worse": 0, "worse": 10, "undecided": 11}


@pytest.fixture
def answered(call, monkeypatch, folder):
    """Return a function from answers, as lines of a pipe, to what is printed for them."""
    write_lines(folder / "new one's.run", tables(np.random.default_rng(1))[1])
    judged = [f"q{query} 0 d{document} {grade_of(query, document)}" for query in range(1, 9) for document in range(9)]
    (folder / "old.qrels").write_text("\n".join(judged))
    (folder / "elsewhere.qrels").write_text("".join(f"elsewhere{k} 0 d1 {k % 3}\n" for k in range(20)))
    (folder / "zeros.qrels").write_text("".join(f"q{k} 0 d{k} 0\n" for k in range(1, 9)))
    for name, sign in (("long.run", 1), ("longer.run", -1)):  # forty documents of one query, three of the others
        sizes = {f"q{k}": 40 if k == 1 else 3 for k in range(1, 31)}
        rows = ((query, k) for query, size in sizes.items() for k in range(size))
        write_lines(folder / name, [f"{query} Q0 d{k} {k + 1} {-k * sign} x" for query, k in rows])

    def answer(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return call("init")

    return answer


def commands_in(text):
    """Yield the words of each command of a text, as a shell reads them."""
    for line in text.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            assert words[0] == "activeeval"
            yield words[1:]


def judge_all(folder):
    """Fill in every sheet in a folder."""
    for path in folder.glob("judging*.csv"):
        write_csv(path, [row | {"grade": grade_of(row["query_id"], row["doc_id"])} for row in csv_rows(path)])


SHEETS = ["plan", "sample", "estimate"]
CAMPAIGN = ["plan", "create", "next", "import", "status", "report", "compare"]
ANSWERS = {
    "one run, alone": (["a.run", "", "", "DCG@5 3", "20"], SHEETS),
    "two runs, judgments": (['"new one\'s.run" b.run', "old.qrels", "me", "DCG@5", "20%"], [*SHEETS, "compare"]),
    "three runs by a script": (["a.run b.run 'new one'\"'\"'s.run'", "none", "script", "P@5 3", "30"], SHEETS),
    "nDCG, whose sheets would follow from labels": (
        ["a.run b.run", "old.qrels", "me", "nDCG@5", "60%"],
        [*SHEETS, "compare"],
    ),
    "two people": (["a.run b.run", "", "Ann, bob", "DCG@5 3", "40"], [*SHEETS, "compare"]),
    "two people and a half-width": (["a.run b.run", "", "ann bob", "DCG@5 3", "±2.5"], CAMPAIGN),
    "judged already": (["a.run b.run", "q.qrels", "nobody", "nDCG@5"], ["score", "compare"]),
    "three runs, judged already": (['a.run b.run "new one\'s.run"', "q.qrels", "nobody", "nDCG@5"], ["score"]),
    "a margin": (["a.run b.run", "", "", "DCG@5 3", "40", "0.5"], [*SHEETS, "compare"]),
    "long and short lists": (["long.run longer.run", "", "", "nDCG@3 3", "±5"], CAMPAIGN),
}


def test_where_all_is_judged_nobody_is_asked_to_judge(answered, folder):
    runs = [(folder / name).read_text() for name in ("a.run", "b.run")]
    listed = {tuple(line.split()[:3:2]) for run in runs for line in run.splitlines()}
    (folder / "all.qrels").write_text("".join(f"{query} 0 {document} 1\n" for query, document in listed))
    by_hand, asked = (answered("a.run b.run", "all.qrels", who, "DCG@5", "0.5") for who in ("nobody", "ann"))
    assert (asked.code, asked.out) == (0, by_hand.out)
    assert asked.err == "all.qrels has every grade that DCG@5 needs: no judging is needed\n"


@pytest.mark.parametrize("name", ANSWERS)
def test_the_commands_work_as_they_are_printed(answered, call, folder, name):
    lines, names = ANSWERS[name]
    before = {path.name for path in folder.iterdir()}
    printed = answered(*lines)
    assert (printed.code, printed.err) == (0, "")
    assert max(map(len, printed.out.splitlines())) <= WIDTH
    assert {path.name for path in folder.iterdir()} == before
    commands = list(commands_in(printed.out))
    assert [words[words[0] == "campaign"] for words in commands] == names
    for words in commands:
        done = call(*words, *(("-o", "jsonl") if words[0] == "compare" else ()))
        expected = VERDICTS[json.loads(done.out)["verdict"]] if words[0] == "compare" else 0
        assert done.code == expected, (words, done.err)
        judge_all(folder)


ROWS = [line.split("\t") for line in Path(__file__).with_name("wrong-answers.tsv").read_text("utf-8").splitlines()[1:]]
WRONG = {says: json.loads(answers) for says, answers in ROWS}


@pytest.mark.parametrize("problem", WRONG)
def test_a_wrong_answer_of_a_pipe_is_one_line(answered, folder, problem):
    (folder / "same.run").write_bytes((folder / "a.run").read_bytes())
    answer = answered(*WRONG[problem])
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"activeeval: {problem}")
    assert answer.err.count("\n") == 1


class Typed(io.StringIO):
    """What somebody types."""

    def isatty(self):
        return True


def test_a_terminal_asks_again(call, folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", Typed("gone.run\na.run\n\n\nfoo\nDCG@5\nDCG@5 3\n0.1 %\n10 %\n"))
    answer = call("init")
    assert answer.code == 0, answer.err
    assert "Error: gone.run: no such file" in answer.err
    assert "Error: unknown measure 'foo'" in answer.err
    assert "Error: no judgment tells the largest grade" in answer.err
    assert "does not pay for the most expensive unit" in answer.err
    assert "[DCG@10 3]" in answer.err
    assert all(f"{k}. " in answer.err for k in range(1, QUESTIONS))
    assert "activeeval sample --run a.run --max-grade 3 --measure DCG@5 --budget 10%" in answer.out


def test_what_is_written_takes_no_name_that_is_taken(folder):
    for name, taken in (("judging", "judging-ann.csv"), ("judging2", "judging2.activeeval"), ("judging3", "x")):
        assert free_name() == name
        (folder / taken).touch()


def test_a_file_that_looks_like_an_option_is_none(answered, folder):
    (folder / "-x.run").write_bytes((folder / "a.run").read_bytes())
    assert "--run ./-x.run" in answered("-x.run").out


@pytest.mark.parametrize("width", [20, 40, 100])
def test_folded_lines_are_one_command(width):
    words = ["activeeval", "plan", "--run", "a b.run", "--measure", "nDCG(dcg='exp-log2')@10", "--force", "x"]
    lines = list(folded(words, width))
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == words
    assert max(map(len, lines)) <= max(width, len("    --measure 'nDCG(dcg='\"'\"'exp-log2'\"'\"')@10' \\"))


def test_two_runs_are_asked_which_difference_does_not_matter(answered):
    """A hundredth of the best value is proposed: of nDCG .01, of DCG@5 and grade 3 about .2."""
    for measure, margin in (("nDCG@5 3", "0.01"), ("DCG@5 3", "0.2")):
        (compared,) = (words for words in commands_in(answered("a.run b.run", "", "", measure, "60%").out)
                       if words[0] == "compare")  # fmt: skip
        assert compared[compared.index("--margin") + 1] == margin
    assert "--margin" not in answered("a.run", "", "", "nDCG@5 3", "60%").out
