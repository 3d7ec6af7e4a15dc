"""`activeeval watch`: nights by command, their exit codes, what is written, and what goes wrong."""

import json
import re
from datetime import date

import pytest
from watch_cases import DATES, GRADES, NAME, PAIRS, QUERIES, TOP, fill_in, run_of, write_qrels, write_run

from activeeval.campaigns.commands.options import named_again
from activeeval.campaigns.store import open_store
from activeeval.cli import run

INIT = ("--measure", "DCG@5", "--budget-per-night", 25, "--max-grade", TOP, "--seed", 7)


@pytest.fixture(scope="module")
def watch_files(tmp_path_factory):
    """Return the runs of some nights, all judgments and a watch without a night, as bytes by name."""
    made = tmp_path_factory.mktemp("watch")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for night in range(1, 5):
            write_run(made / f"{night}.run", run_of(night))
        write_run(made / "bad.run", run_of(1, upside_down=20))
        write_qrels(made / "all.qrels")
        assert run(["--quiet", "watch", "init", NAME, *map(str, INIT), "--margin", "0.3"]) == 0
    return {path.name: path.read_bytes() for path in made.iterdir()}


@pytest.fixture
def watch(call, folder, watch_files):
    """Write the files of a watch; return a function that calls its commands."""
    for name, content in watch_files.items():
        (folder / name).write_bytes(content)
    return lambda command, *arguments: call("watch", command, NAME, *arguments)


def night_of(watch, night, *options, run=None):
    return watch("night", "--run", run or f"{night}.run", "--date", DATES[night - 1], *options)


def stored(folder):
    """Return the nights that are stored, and the campaigns."""
    with open_store(f"sqlite:///{folder}/{NAME}.activeeval") as store:
        return [night.date for night in store.watches.nights(NAME)], store.campaigns()


def test_a_sheet_goes_out_and_comes_back(watch, folder):
    drawn = night_of(watch, 1, "--sheet", "tonight.csv")
    assert drawn.code == 11
    assert "items wait" in drawn.err
    assert fill_in("tonight.csv") > 10
    submitted = watch("submit", "tonight.csv", "--judge", "ann", "-o", "jsonl")
    assert submitted.code == 0, submitted.err
    (row,) = submitted.rows
    assert (row["kind"], row["date"], row["measure"], row["waiting"]) == ("night", DATES[0], "DCG@5", 0)
    assert row["low"] < row["value"] < row["high"]
    assert watch("status", "-o", "jsonl").rows == [row]
    assert watch("submit", "tonight.csv", "--judge", "ann").code == 0  # again: nothing new


def test_half_a_sheet_leaves_the_night_open_and_comes_back_on_the_next(watch, folder):
    night_of(watch, 1, "--sheet", "tonight.csv")
    n = fill_in("tonight.csv", limit=5)
    half = watch("submit", "tonight.csv", "--judge", "ann", "--price", "0.5CHF")
    assert f"{n - 5} judgments to come: " in half.err
    assert half.code == 11
    assert f"{n - 5} items wait" in half.err
    following = night_of(watch, 2, "--sheet", "next.csv")
    assert following.code == 11
    assert "left from an earlier night" in following.err
    assert "5 labels of earlier nights go on counting" in following.err


def test_an_oracle_judges_at_once_and_estimates_have_the_fields_that_checks_read(watch):
    for night in (1, 2, 3):
        said = night_of(watch, night, "--oracle", "all.qrels", "-o", "jsonl")
        assert said.err.count("Traceback") == 0
    rows = watch("estimate", "-o", "jsonl").rows
    nights, changes = ([row for row in rows if row["kind"] == kind] for kind in ("night", "change"))
    assert [row["date"] for row in nights] == DATES[:3]
    assert [(row["from"], row["to"]) for row in changes] == [(DATES[0], DATES[1]), (DATES[1], DATES[2])]
    assert {"date", "value", "low", "high", "judged", "known"} <= set(nights[0])
    assert {"from", "to", "value", "low", "high", "p_value", "alarm", "verdict", "scope"} <= set(changes[0])
    assert (changes[0]["false_alarms"], changes[0]["scope"]) == (1.0, "pool")
    assert changes[0]["other_high"] - changes[0]["other_low"] > changes[0]["high"] - changes[0]["low"]
    assert nights[0]["known"] == 0 < nights[1]["known"]
    span = watch("estimate", "--from", DATES[0], "--to", DATES[2], "-o", "jsonl").rows[-1]
    assert (span["kind"], span["from"], span["to"]) == ("change", DATES[0], DATES[2])
    text = watch("estimate", "--from", DATES[1])
    assert text.code == 0
    assert DATES[0] not in text.out
    assert DATES[2] in text.out


def test_a_loss_ends_with_ten_and_a_page_says_so(watch, folder):
    assert night_of(watch, 1, "--judged", "all.qrels").code == 0
    lost = night_of(watch, 2, "--judged", "all.qrels", run="bad.run")
    assert lost.code == 10
    assert lost.out.startswith("ALARM: 2026-11-02 is worse than 2026-11-01 by ")
    assert "of differences that of 1 false alarm in 100 nights." in " ".join(lost.out.split())
    comment = watch("status", "-o", "markdown")
    assert comment.out.startswith("### quality, 2026-11-02: ALARM\n\nALARM: 2026-11-02 is worse than")
    assert watch("status").code == 10
    for code in (0, 1):  # nothing is overwritten
        assert watch("report", "--out", "month.md").code == code
    assert "ALARM" in (folder / "month.md").read_text()
    assert (folder / "month.png").read_bytes().startswith(b"\x89PNG")


# Suspicion

LOOKS_BAD = 0
"""A seed of which the second night looks bad and is undecided."""


@pytest.fixture
def suspicious(call, watch, folder):
    """Return the options of a watch whose second night looks bad and is undecided."""
    write_run(folder / "part.run", run_of(1, upside_down=7))
    for seed in (LOOKS_BAD, *range(20)):
        place = ("--db", f"sqlite:///s{seed}.db")
        some = (*INIT, "--budget-per-night", 16, "--seed", seed, "--margin", 0.3)
        assert call("watch", "init", "s", *place, *some).code == 0
        for night, tonight in ((1, "1.run"), (2, "part.run")):
            files = ("--run", tonight, "--date", DATES[night - 1], "--sheet", f"s{seed}-{night}.csv")
            call("watch", "night", "s", *place, *files)
            fill_in(f"s{seed}-{night}.csv")
            said = call("watch", "submit", "s", *place, f"s{seed}-{night}.csv", "--judge", "ann")
        if "looks bad" in said.err:
            return place, said, f"s{seed}-2-more.csv"
    raise AssertionError("no night looks bad")


def test_a_night_that_looks_bad_writes_a_second_sheet_and_is_decided_by_it(call, suspicious, folder):
    place, said, sheet = suspicious
    n = fill_in(sheet)
    assert said.code == 11
    assert f"the night looks bad: {n} more items are to be judged: campaign s.2026-11-02.more" in " ".join(
        said.err.split()
    )
    assert f"{n} items wait" in said.err
    decided = call("watch", "submit", "s", *place, sheet, "--judge", "ann", "-o", "jsonl")
    night, change = map(json.loads, decided.out.splitlines())
    assert (night["waiting"], night["date"]) == (0, DATES[1])
    assert decided.code == {"worse": 10, "undecided": 11}.get(change["verdict"], 0)
    assert call("watch", "status", "s", *place, "-o", "jsonl").out == decided.out
    assert call("watch", "submit", "s", *place).code == decided.code  # nothing more is drawn
    assert call("watch", "report", "s", *place, "--out", "s.md").code == 0
    assert (folder / "s.md").read_text().count("\n| 2026-") == 2


def test_a_watch_without_a_margin_says_what_that_means(call):
    made = call("watch", "init", "bare", *INIT)
    assert "without --margin nearly all nights without a change are undecided" in " ".join(made.err.split())
    assert "25 new labels a night, 50 more on suspicion" in " ".join(made.err.split())


WRONG = [
    (("night", "--run", "none.run", "--date", DATES[1]), "none.run"),
    (("night", "--run", "2.run", "--date", DATES[1], "--oracle", "few.qrels"), "has no grade"),
    (("night", "--run", "2.run", "--date", DATES[1], "--judged", "empty.qrels"), "empty.qrels"),
    (("night", "--run", "2.run", "--date", DATES[1], "--sheet", "all.qrels"), "all.qrels"),
    (("submit", "none.csv"), "none.csv"),
    (("estimate", "--from", "2026-01-01"), "has no night of 2026-01-01: its nights are from 2026-11-01"),
    (("report", "--out", "page.pdf"), ".md"),
]


def test_what_is_wrong_is_one_line_and_nothing_is_stored(watch, folder):
    write_qrels(folder / "few.qrels", PAIRS[:3])
    (folder / "empty.qrels").write_text("")
    night_of(watch, 1, "--oracle", "all.qrels")
    before = stored(folder)
    for arguments, says in WRONG:
        refused = watch(*arguments)
        assert refused.code == 1
        assert says in refused.err.splitlines()[-1]
        assert "Traceback" not in refused.err
        assert stored(folder) == before


def test_holes_of_a_night_without_a_judgment_are_a_line(watch):
    for options, problem in (
        (("--unjudged-bounds", "-o", "markdown"), "--unjudged-bounds prints text or rows: leave out -o markdown"),
        (("--more", 5), "--more goes with --unjudged-bounds"),
    ):
        said = watch("status", *options)
        assert (said.code, said.out, problem in said.err) == (2, "", True)
    for code, problem in ((1, f"watch {NAME} has no night yet"), (11, "no item of its lists is judged yet")):
        said = watch("status", "--unjudged-bounds")
        assert (said.code, said.out, problem in said.err) == (code, "", True)
        night_of(watch, 1)


@pytest.mark.parametrize("as_oracle", [False, True])
def test_machines_that_are_taken_for_truth_are_told_of_on_every_later_night(watch, folder, as_oracle):
    rows = [f"{q},{d},{GRADES[q, d]},llm,machine" for q, d in (PAIRS if as_oracle else PAIRS[:40])]
    (folder / "llm.csv").write_text("\n".join(["query_id,doc_id,grade,judge,kind", *rows]) + "\n")
    first = night_of(watch, 1, "--oracle" if as_oracle else "--judged", "llm.csv", "--machine-is-truth")
    assert first.err.count("grades of a grader are used as labels") == 1
    later = night_of(watch, 2, "--oracle", "all.qrels")
    for said in (later, watch("status"), watch("estimate")):
        assert re.search(r"llm\.csv: \d+ grades of a grader are used as labels", " ".join(said.err.split()))
    for options in ((), ("--unjudged-bounds",)):
        lines = watch("status", "-o", "jsonl", *options).out.splitlines()
        assert lines
        assert all(json.loads(line)["machine_is_truth"] for line in lines)
    assert "grades of a grader are used as labels" in watch("status", "-o", "markdown").out


def test_the_default_date_is_today_and_of_people_no_machine_is_told_of(watch):
    (row,) = watch("night", "--run", "1.run", "--oracle", "all.qrels", "-o", "jsonl").rows
    assert row["date"] == date.today().isoformat()
    assert "machine" not in watch("status", "-o", "jsonl").out + watch("status").err


def test_commands_that_are_printed_name_a_store_without_its_password():
    assert named_again(None) == ""
    assert named_again("nights.db") == " --db nights.db"
    assert "secret" not in named_again("postgresql://bob:secret@db.example/nights")


# By segment


HALVES = ("--segments", "segments.csv", "--half-width", "mobile=3", "--half-width", "desktop=3")
PARTS = ("parts", "--db", "sqlite:///parts.db")


def test_nights_by_segment_have_rows_a_table_and_a_page(call, watch, folder):
    rows = (f"{query},{('mobile', 'desktop')[k % 2]}\n" for k, query in enumerate(QUERIES))
    (folder / "segments.csv").write_text("query_id,segment\n" + "".join(rows))
    options = (*HALVES, "--half-width", 2, "--budget-per-night", 200, "--margin", 5, "-o", "jsonl")
    made = call("watch", "init", *PARTS, *INIT, *options)
    assert made.rows[0]["segment_half_widths"] == [["mobile", 3], ["desktop", 3]]
    (folder / "segments.csv").unlink()  # it is stored with the watch
    for night in (1, 2):
        run = ("--run", f"{night}.run", "--date", DATES[night - 1], "--oracle", "all.qrels")
        said = call("watch", "night", *PARTS, *run)
        assert said.code == 0, said.err
        words = " ".join(said.err.split())
        assert "± 3 for mobile, ± 3 for desktop, ± 2 for all: about" in words
        assert "new labels tonight, of the 200 that a night may cost" in words
    assert "of all segments they hold at once" in " ".join(said.out.split())
    rows = call("watch", "estimate", *PARTS, "-o", "jsonl").rows
    assert [row["kind"] for row in rows if row["kind"] != "segment"] == ["night", "night", "change"]
    parts = [row for row in rows if row["kind"] == "segment"]
    assert [(row["date"], row["segment"]) for row in parts[-2:]] == [(DATES[1], "mobile"), (DATES[1], "desktop")]
    assert all(row["low"] < row["value"] < row["high"] and row["goal"] == 3 for row in parts)
    assert call("watch", "status", *PARTS, "-o", "jsonl").rows[-2:] == parts[-2:]
    assert "desktop" in call("watch", "status", *PARTS).out
    assert call("watch", "report", *PARTS, "--out", "parts.md").code == 0
    assert f"## Segments on {DATES[1]}" in (folder / "parts.md").read_text()


@pytest.mark.parametrize("is_imported", [False, True])
def test_commands_take_late_sheets_and_draw_a_night_anew(call, watch, folder, is_imported):
    """Also judgments that are imported into the campaign of an old night count for the new one."""
    write_run(folder / "half.run", dict(list(run_of(2).items())[:10]))
    for night in (1, 2):
        assert night_of(watch, night, "--sheet", f"{night}.csv").code == 11
        fill_in(f"{night}.csv")
    if is_imported:
        assert watch("submit", "2.csv", "--judge", "ann").code != 1
        db = f"sqlite:///{folder}/{NAME}.activeeval"
        assert call("campaign", "import", f"{NAME}.{DATES[0]}", "1.csv", "--judge", "ann", "--db", db).code == 0
        status = watch("status")
        assert "wait" not in status.err, status.err
        return
    late = watch("submit", "1.csv", "--judge", "ann")
    words = " ".join(late.err.split())
    assert f"judgments stored for {DATES[0]}, 0 were there already" in words
    assert f"of other nights count for {DATES[1]} too: the same items in the same texts" in words
    assert f"{DATES[0]}: DCG@5" in words  # what the night says that is complete now
    assert watch("submit", "2.csv", "--judge", "ann").code != 1
    again = night_of(watch, 2, run="half.run")
    assert (again.code, "exists already: --replace redraws it" in " ".join(again.err.split())) == (1, True)
    redrawn = night_of(watch, 2, "--replace", "--oracle", "all.qrels", run="half.run")
    assert redrawn.code == 10, redrawn.err  # lists that are missing count as 0
    dates, campaigns = stored(folder)
    assert {f"{DATES[1]}.redrawn-01", DATES[1]} <= set(dates)
    assert {f"{NAME}.{date}" for date in dates} <= set(campaigns)


@pytest.mark.parametrize("by_sharing", [True, False])
def test_an_alarm_of_a_night_whose_sheet_is_late_is_an_alarm(watch, folder, by_sharing):
    """The items of a night that waits stand on the next night's sheet too, which completes both."""
    night_of(watch, 1, "--oracle", "all.qrels")
    for night in (2, 3):
        night_of(watch, night, "--sheet", f"{night}.csv", run="bad.run")
        fill_in(f"{night}.csv")
    late = watch("submit", "3.csv" if by_sharing else "2.csv", "--judge", "ann")
    assert late.code == 10
    assert f"ALARM: {DATES[1]} is worse than {DATES[0]}" in " ".join(late.err.split())
