"""The action for pipelines: its steps run in bash, with a stub in the place of the forge's own command."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ACTION = Path(__file__).parents[2] / "action" / "action.yml"
STEPS = {step["id"]: step for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "id" in step}
GH = """\
#!/usr/bin/env bash
printf '%s\\n' "$*" >> calls.txt
for word in "$@"; do case $word in body=@*) cp "${word#body=@}" body.md ;; esac; done
[[ $* == *--paginate* ]] && [ -f earlier.txt ] && cat earlier.txt
exit "${GH_CODE:-0}"
"""
STUB = """\
#!/usr/bin/env bash
printf '%s\\n' "$@" > asked.txt
echo "### Search quality: something"
echo "activeeval: a note" >&2
exit "${STUB_CODE:-0}"
"""
MARKER = "<!-- activeeval: search quality -->"


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def runner(tmp_path):
    """Return a function that runs a step as a runner does, in a folder with stubs."""
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "gh", GH)
    script(tmp_path / "bin" / "activeeval", STUB)
    files = {
        name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH", "GITHUB_ENV")
    }

    def run(step, **environment):
        path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
        known = os.environ | files | {"PATH": path, "PLACE": str(tmp_path), "GITHUB_REPOSITORY": "team/search"}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]]
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.run(command, cwd=tmp_path, env=known | environment, check=False, **piped)

    run.folder = tmp_path
    return run


def outputs(folder):
    return dict(line.split("=", 1) for line in (folder / "GITHUB_OUTPUT").read_text().splitlines())


def judged(runner, code=0, **asked):
    inputs = {"COMMAND": "gate", "OLD": "old.run", "NEW": "new.run", "WATCH": "", "ARGUMENTS": "", **asked}
    return runner("judge", STUB_CODE=str(code), **inputs)


@pytest.mark.parametrize("code", [0, 10, 11])
def test_the_verdict_is_an_output_and_ends_the_job_as_it_should(runner, code):
    assert judged(runner, code).returncode == 0
    assert outputs(runner.folder) == {"exit-code": str(code), "comment": str(runner.folder / "comment.md")}
    assert (runner.folder / "GITHUB_STEP_SUMMARY").read_text() == "### Search quality: something\n"
    done = runner("verdict", CODE=str(code))
    assert done.returncode == (10 if code == 10 else 0)
    assert ("::warning::" in done.stdout, "::error::" in done.stdout) == (code == 11, code == 10)


def test_what_goes_wrong_is_the_comment_and_fails(runner):
    assert judged(runner, 1).returncode == 0
    assert (runner.folder / "comment.md").read_text() == (
        "### Search quality: nothing can be said\n\n    activeeval: a note\n"
    )
    assert runner("verdict", CODE="1").returncode == 1
    assert judged(runner, COMMAND="guess").returncode == 2


@pytest.mark.parametrize(
    ("inputs", "asked"),
    [
        (
            {"ARGUMENTS": "--qrels 'my qrels.txt' --measure nDCG@10\n--margin 0.01"},
            ["compare", "old.run", "new.run", "--qrels", "my qrels.txt", "--measure", "nDCG@10", "--margin", "0.01"],
        ),
        ({"NEW": "a $(touch x).run"}, ["compare", "old.run", "a $(touch x).run"]),
        (
            {"COMMAND": "night", "WATCH": "quality", "ARGUMENTS": "--db sqlite:///q.db"},
            ["watch", "night", "quality", "--run", "new.run", "--db", "sqlite:///q.db"],
        ),
    ],
)
def test_inputs_are_arguments_and_nothing_else(runner, inputs, asked):
    assert judged(runner, **inputs).returncode == 0
    assert (runner.folder / "asked.txt").read_text().splitlines() == [*asked, "-o", "markdown"]
    assert not (runner.folder / "x").exists()


def commented(runner, **environment):
    (runner.folder / "comment.md").write_text("### Search quality: worse\n")
    named = {"COMMENT": str(runner.folder / "comment.md"), "PULL": "12", "MARKER": MARKER, "DETAILS": "https://x/run/1"}
    return runner("comment", **named, **environment)


def test_a_first_comment_is_written(runner):
    assert commented(runner).returncode == 0
    calls = (runner.folder / "calls.txt").read_text().splitlines()
    assert len(calls) == 2
    assert calls[1].startswith("api --method POST repos/team/search/issues/12/comments -F body=@")
    text = (runner.folder / "body.md").read_text()
    assert text == f"{MARKER}\n### Search quality: worse\n\n[The whole run](https://x/run/1)\n"


def test_the_comment_is_written_anew_where_it_stands(runner):
    (runner.folder / "earlier.txt").write_text("77\n99\n")
    assert commented(runner).returncode == 0
    calls = (runner.folder / "calls.txt").read_text().splitlines()
    assert "startswith(env.MARKER)" in calls[0]
    assert calls[1].startswith("api --method PATCH repos/team/search/issues/comments/77 -F body=@")


def test_a_token_that_may_not_write_is_a_warning(runner):
    done = commented(runner, GH_CODE="1")
    assert done.returncode == 0
    assert "::warning::search quality: the comment could not be written" in done.stdout


def test_an_environment_that_was_restored_is_taken(runner):
    place = runner.folder / "place"
    (place / "venv" / "bin").mkdir(parents=True)
    script(place / "venv" / "bin" / "python", STUB)
    assert runner("install", PLACE=str(place), PACKAGE="activeeval-ir").returncode == 0
    assert (runner.folder / "asked.txt").read_text().split() == ["-m", "pip", "install", "--quiet", "activeeval-ir"]
    assert (runner.folder / "GITHUB_ENV").read_text() == f"NUMBA_CACHE_DIR={place}/numba\n"
    assert (runner.folder / "GITHUB_PATH").read_text() == f"{place}/venv/bin\n"


def test_every_input_is_used_and_every_step_names_its_shell():
    text, action = ACTION.read_text(), yaml.safe_load(ACTION.read_text())
    assert [name for name in action["inputs"] if f"inputs.{name} " not in text] == []
    assert all("shell" in step for step in action["runs"]["steps"] if "run" in step)
    # what a caller hands in comes by the environment: nothing of it is pasted into a script
    assert [step["id"] for step in STEPS.values() if "${{" in step["run"]] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_stubs_stand_before_everything_else(runner):
    done = judged(runner)
    assert done.stdout == "activeeval: a note\n"
