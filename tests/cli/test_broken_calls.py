"""Every wrong call gets its exit code and one clear line, and leaves nothing half written."""

import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from broken_calls import BROKEN_CALLS
from patience import PATIENCE_S


def arguments_of(line):
    """Split a command where quotes belong to measures, not to a shell."""
    splitter = shlex.shlex(line, posix=False)
    splitter.whitespace_split, splitter.quotes, splitter.commenters = True, "", ""
    return list(splitter)


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_corpus_is_large():
    assert len(BROKEN_CALLS) >= 100
    names = [case[0] for case in BROKEN_CALLS]
    assert len(set(names)) == len(names)


@pytest.fixture(scope="session")
def kept():
    return {}


@pytest.fixture
def drawn(call, folder, kept):
    """Return a function to the content of a sample that was really drawn, once for all tests."""

    def draw():
        if not kept:
            options = ("--max-grade", 3, "--budget", 20, "--seed", 1, "--out", "kept.sample", "--sheet", "kept.csv")
            assert call("--quiet", "sample", "--run", "a.run", *options).code == 0
            kept["sample"] = (folder / "kept.sample").read_bytes()
        return kept["sample"]

    return draw


@pytest.mark.parametrize(
    ("code", "line", "expected", "files"), [case[1:] for case in BROKEN_CALLS], ids=[case[0] for case in BROKEN_CALLS]
)
def test_a_broken_call_is_one_clear_line(call, folder, drawn, code, line, expected, files):
    for name in ("folder.csv", "folder.png"):
        (folder / name).mkdir()
    for name in ("full.csv", "full.png"):
        (folder / name).symlink_to("/dev/full")
    for name, content in files.items():
        content = content() if callable(content) else drawn() if content is None else content
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = listing(folder)
    answer = call(*arguments_of(line))
    assert answer.code == code, answer
    assert "Traceback" not in answer.err
    *talk, last = answer.err.splitlines()
    if code == 1:
        assert re.fullmatch(f"activeeval: {expected}", last), last
        assert all(told.startswith(("activeeval: no training data: ", "activeeval: a.run: ")) for told in talk), talk
        assert not talk or "--quiet" not in line
    else:
        assert re.fullmatch(f"Error: {expected}", last), last
        assert talk[0].startswith("Usage: activeeval")
    assert listing(folder) == before


RISE, EQUAL = "the scores rise with the ranks", "all 3 scores are equal"
ODD_RUNS = {
    "q1 Q0 d0 1 1 r\nq1 Q0 d1 2 2 r\nq2 Q0 d1 1 -5 r\n": RISE,
    "q1 Q0 d1 2 2 r\nq1 Q0 d0 1 1 r\n": RISE,
    "q1 Q0 d0 1 1 r\nq1 Q0 d1 2 1 r\nq2 Q0 d1 1 1 r\n": EQUAL,
    "q1 Q0 d0 1 1 r\nq1 Q0 d1 2 2 r\nq1 Q0 d2 3 1 r\n": "",
    "q1 Q0 d0 1 1 r\nq2 Q0 d1 2 2 r\n": "",
    "q1 Q0 d0 1 1 r\nq2 Q0 d1 1 1 r\n": "",
    "q1 Q0 d0 1 1 r\nq1 Q0 d1 1 2 r\n": "",
    "".join(f"q1 Q0 d{k} {k + 1} {k} r\n" for k in range(1500)): RISE,
    "".join(f"q1 Q0 d{k} {k + 1} {k if k < 1200 else -k} r\n" for k in range(1500)): "",
}


READ_BY = [
    "score q.qrels x.run P@2",
    "compare x.run y.run --qrels q.qrels --unjudged irrelevant --explain",
    "sample --run x.run --max-grade 3 --budget 2 --out x.sample --sheet x.csv --force",
    "coherence DCG RBP --qrels q.qrels --run x.run --versus-run y.run",
]


@pytest.mark.parametrize(("content", "expected"), ODD_RUNS.items(), ids=map(str, range(len(ODD_RUNS))))
def test_scores_that_tell_no_order_or_the_wrong_one_are_said(call, folder, content, expected):
    (folder / "x.run").write_text(content)
    (folder / "y.run").write_text("q1 Q0 d0 1 2 r\nq1 Q0 d1 2 1 r\nq2 Q0 d1 1 3 r\n")
    for line in READ_BY if content in list(ODD_RUNS)[1:4] else READ_BY[:1]:
        answer = call(*line.split())
        assert answer.code == (11 if line.startswith("compare") else 0), answer  # equal values of unlike lists are open
        told = [text for text in answer.err.splitlines() if "x.run: the scores" in text or "x.run: all" in text]
        level = "warning: " if "rise" in expected else "note: "
        level = level if line.startswith("compare") else ""  # said of the estimate that it gives
        assert len(told) == bool(expected)
        assert all(text.startswith(f"activeeval: {level}x.run: {expected}") for text in told)


def test_an_error_that_spans_lines_is_one_line(call, folder):
    (folder / "a\nb.run").mkdir()
    assert call("score", "q.qrels", "a\nb.run", "P@2").err == "activeeval: a b.run: holds no file, expected runs\n"


def test_version(call):
    assert call("score", "-h").out == call("score", "--help").out
    assert call("--version").out.startswith("activeeval, version ")


def test_nobody_who_reads_the_talk_ends_no_work(start, folder):
    """Behind `2>&1 | head -1` no sample was written, and the exit code was 0."""
    process = start(
        *["sample", "--run", "a.run", "--max-grade", "3", "--budget", "20", "--out", "t.sample", "--sheet", "t.csv"]
    )
    process.stderr.close()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE_S) == 0
    assert (folder / "t.sample").exists()
    assert (folder / "t.csv").exists()


def test_a_closed_pipe_is_silent_and_a_full_disk_under_stdout_one_line(start):
    process = start("--quiet", "score", "q.qrels", "a.run", "P@2", "-q")
    process.stdout.close()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    with open("/dev/full", "w") as full:
        process = start("--quiet", "score", "q.qrels", "a.run", "P@2", stdout=full)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert err == "activeeval: stdout: No space left on device\n"


def test_ctrl_c_is_one_line_and_leaves_no_file(start, folder):
    before = listing(folder)
    budgets = [x for budget in range(10, 80) for x in ("--budget", budget)]
    options = ("--letor", "a.txt", "--scores", "a.score", "--repetitions", 10**7, *budgets, "--plot", "x.png")
    process = start("simulate", *options)
    assert any("uniform grade model" in line for line in iter(process.stderr.readline, ""))  # behind a first use
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (1, "", "activeeval: interrupted\n")
    assert listing(folder) == before


INTERRUPTED = (1, "activeeval: interrupted")
ENDS = {
    # Python ends a module by the signal where one came while a string was run, as dataclasses run theirs
    "an interrupt inside of exec": ("exec('signal.raise_signal(signal.SIGINT)')", INTERRUPTED),
    "an interrupt that compiled code takes for a failed import": (
        "try:\n        signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n        raise ImportError('compiled._code failed to import') from None",
        INTERRUPTED,
    ),
    "a failed import without an interrupt": ("raise ImportError('lacking')", (1, "ImportError: lacking")),
}


@pytest.mark.parametrize("how", ENDS)
def test_an_interrupt_is_one_line_and_an_error_is_none(folder, how):
    work, ends = ENDS[how]
    text = f"import signal\nfrom activeeval import cli\n\ndef ended(*_):\n    {work}\n\ncli.cli.invoke = ended\n"
    (folder / "module.py").write_text(f"{text}cli.main()\n")
    command = [sys.executable, "-m", "module", "times"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert (process.returncode, process.stderr.splitlines()[-1]) == ends
    assert ends != INTERRUPTED or "Traceback" not in process.stderr
