"""Sheets of a watch that come back late, nights drawn anew, and dates and files that no night is drawn of."""

import csv
from datetime import date, timedelta
from pathlib import Path

import pytest
from watch_cases import (
    DATES,
    GRADES,
    NAME,
    PAIRS,
    Watch,
    fill_in,
    run_of,
    true_value,
    write_documents,
    write_qrels,
    write_run,
)

from activeeval.campaigns.batches import write_batches
from activeeval.campaigns.store import JudgeAnswer
from activeeval.core.errors import InputError
from activeeval.formats import files
from activeeval.formats.loading import load_run
from activeeval.monitoring import nights as drawing
from activeeval.monitoring.judged_labels import labels_of_step, labels_so_far, record_of_step
from activeeval.monitoring.late_sheets import import_sheets, share_labels
from activeeval.sampling.commands import sheet_options


def write_sheet(watch, night, path):
    write_batches(watch.store, watch.campaign(night), sheet_options.planned(str(path), force=False))
    return str(path)


def label_of(watch, pair):
    """Return the grade that an item has for the next night."""
    rows = watch.store.watches.nights(NAME)
    record = record_of_step(watch.store, NAME, rows[-1]).histories
    return labels_so_far(watch.store, NAME, rows, record, watch.settings)[pair]


def waits(watch, campaign):
    n = watch.store.waiting(campaign)
    return n["free"] + n["leased"]


def rows_in(path):
    with open(path, newline="") as held:
        return {(row["query_id"], row["doc_id"]) for row in csv.DictReader(held)}


@pytest.fixture
def late(tmp_path):
    """Return a watch of two nights, of which nobody has judged the first, with the sheets of both."""
    watch = Watch()
    watch.draw(1)
    sheets = [write_sheet(watch, 1, tmp_path / "1.csv")]
    watch.draw(2)
    sheets.append(write_sheet(watch, 2, tmp_path / "2.csv"))
    for sheet in sheets:
        fill_in(sheet)
    assert watch.asked(1) & watch.asked(2)  # what waits is asked for again
    return watch, sheets


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_sheet_that_is_late_counts_for_its_night_and_for_the_next(late, order):
    watch, sheets = late
    for k in order:
        ((row, taken),) = import_sheets(watch.store, NAME, [sheets[k]], "ann")
        assert (row.date, taken.stored + taken.repeated) == (DATES[k], len(rows_in(sheets[k])))
        share_labels(watch.store, NAME)
    assert [waits(watch, watch.campaign(night)) for night in (1, 2)] == [0, 0]
    first, second = watch.all_say()
    assert first.values[0].value is not None
    assert second.values[0].value is not None
    for campaign in (watch.campaign(1), watch.campaign(2)):
        assert watch.store.verify(campaign) == []


def test_late_sheets_say_what_sheets_in_time_say():
    """Catches labels of one night that are not the labels of another."""
    in_time, too_late = Watch.judged(), Watch()
    in_time.night(2)
    too_late.draw(1)
    too_late.draw(2)
    too_late.judge(1)
    assert share_labels(too_late.store, NAME) == {DATES[1]: len(too_late.asked(1) & too_late.asked(2))}
    too_late.judge(2)
    values = [[night.values[0].value for night in watch.all_say()] for watch in (in_time, too_late)]
    assert values[0] == pytest.approx(values[1], rel=0.05)
    assert share_labels(too_late.store, NAME) == {}


def test_both_sheets_at_once_are_stored_or_none(late):
    watch, sheets = late
    text = Path(sheets[1]).read_text()
    Path(sheets[1]).write_text(text.replace(",3,", ",9,", 1) if ",3," in text else text.replace(",2,", ",9,", 1))
    with pytest.raises(InputError):
        import_sheets(watch.store, NAME, sheets, "ann")
    assert waits(watch, watch.campaign(1)) == len(watch.asked(1))


def test_a_sheet_of_another_watch_is_refused_by_name(late, tmp_path):
    watch, _ = late
    other = Watch(seed=11)
    other.draw(1)
    sheet = write_sheet(other, 1, tmp_path / "other.csv")
    fill_in(sheet)
    with pytest.raises(InputError, match=r"other.csv: the sheet is of no night of watch quality, expected one that"):
        import_sheets(watch.store, NAME, [sheet], "ann")


@pytest.mark.parametrize("waits_still", [True, False])
def test_a_judge_s_correction_is_the_same_on_all_nights(late, waits_still):
    watch, sheets = late
    import_sheets(watch.store, NAME, sheets[:1] if waits_still else sheets, "ann")
    share_labels(watch.store, NAME)
    shared = sorted(watch.asked(1) & watch.asked(2))[0]
    grade = (GRADES[shared] + 1) % 4
    watch.store.record_all(watch.campaign(1), [("ann", [(*shared, JudgeAnswer(kind="judged", grade=grade))])])
    assert label_of(watch, shared) == grade
    share_labels(watch.store, NAME, is_corrected=True)
    (there,) = [
        event.grade
        for event in watch.store.events(watch.campaign(2))
        if (event.query_id, event.doc_id) == shared and event.supersedes is not None
    ]
    assert there == grade
    assert share_labels(watch.store, NAME, is_corrected=True) == {}


def test_half_a_run_is_drawn_anew_and_its_labels_go_on_counting():
    watch, whole = Watch.judged(reference="first", budget=90.0, margin=2.0), run_of(2)
    bad = watch.night(2, half_of(whole))
    assert (bad.n_missing, bad.exit_code) == (10, 10)  # lists that are missing count as 0
    drawn = watch.draw(2, whole, replaces=True)
    assert drawn.campaign == f"{NAME}.{DATES[1]}.redrawn-01"
    assert drawn.n_in_hand >= len(watch.asked(1)) / 2
    watch.judge_campaign(drawn.campaign)
    says = watch.says()
    assert (says.date, says.before, says.n_missing, says.exit_code) == (DATES[1], DATES[0], 0, 0)
    assert [night.date for night in watch.all_say()] == DATES[:2]
    assert says.values[0].value == pytest.approx(true_value(whole))
    # the store keeps both, and a third one
    watch.draw(2, whole, replaces=True)
    redrawn = [f"{DATES[1]}.redrawn-{k:02d}" for k in (1, 2)]
    assert [row.date for row in watch.store.watches.nights(NAME)] == [*DATES[:2], *redrawn]
    assert watch.night(3).before == DATES[1]


def half_of(run, n=10):
    return dict(list(run.items())[:n])


def test_a_first_night_drawn_anew_is_what_later_ones_are_compared_with():
    watch = Watch(reference="first")
    watch.night(1, half_of(run_of(1), 5))
    watch.draw(1, run_of(1), replaces=True)  # of queries that the half run did not have
    watch.judge_campaign(f"{NAME}.{DATES[0]}.redrawn-01")
    watch.night(2, run_of(1))
    says = watch.says()
    assert (says.n_queries, [change.verdict for change in says.changes]) == (20, ["equal"])


def test_a_first_night_drawn_anew_may_have_another_scale(tmp_path):
    few, all_grades = tmp_path / "few.qrels", tmp_path / "all.qrels"
    few.write_text("".join(f"{q} 0 {d} {min(g, 1)}\n" for (q, d), g in GRADES.items()))
    write_qrels(all_grades)
    watch = Watch(max_grade=None)
    watch.draw(1, judged=[str(few)])
    drawn = watch.draw(1, judged=[str(all_grades)], replaces=True)
    assert watch.store.campaign(drawn.campaign).max_grade == 3


@pytest.mark.parametrize("has_texts_first", [True, False])
def test_what_was_drawn_for_a_wrong_text_does_not_count_for_the_right_one(tmp_path, has_texts_first):
    """Catches grades of another text, which made exact values that are wrong."""
    right, wrong = tmp_path / "right.jsonl", tmp_path / "wrong.jsonl"
    write_documents(right)
    write_documents(wrong, changed={doc for _, doc in PAIRS})
    watch = Watch(budget=90.0)
    watch.night(1, documents=str(right) if has_texts_first else None)
    n_by_wrong = watch.draw(2, documents=str(wrong)).n_in_hand
    others = {pair: 3 - grade for pair, grade in GRADES.items()}
    watch.judge_campaign(watch.campaign(2), grades=others)
    drawn = watch.draw(2, documents=str(right), replaces=True)
    if has_texts_first:
        assert (drawn.n_changed, drawn.n_in_hand > n_by_wrong) == (0, True)
    watch.judge_campaign(drawn.campaign)
    value, truth = watch.says().values[0], true_value(run_of(2))
    assert value.low - 1e-9 <= truth <= value.high + 1e-9
    assert share_labels(watch.store, NAME, is_corrected=True) == {}


def test_a_label_of_a_replaced_drawing_counts_where_its_text_is_the_same(tmp_path):
    """Late sheets of a drawing that was replaced go on counting, those of a wrong text do not."""
    right, wrong = tmp_path / "right.jsonl", tmp_path / "wrong.jsonl"
    write_documents(right)
    changed = {doc for _, doc in PAIRS[::2]}
    write_documents(wrong, changed=changed)
    watch = Watch(budget=60.0)
    watch.night(1, documents=str(right))
    watch.draw(2, documents=str(wrong))
    sheet = write_sheet(watch, 2, tmp_path / "wrong.csv")
    drawn = watch.draw(2, documents=str(right), replaces=True)
    both = watch.items_of(drawn.campaign) & watch.asked(2)
    fill_in(sheet)
    import_sheets(watch.store, NAME, [sheet], "ann")
    common = {(query, doc) for query, doc in both if doc not in changed or doc not in run_of(2)[query]}
    assert common < both
    assert share_labels(watch.store, NAME).get(f"{DATES[1]}.redrawn-01", 0) == len(common)


def test_what_a_lead_decides_goes_on_counting_where_the_grades_are_shared():
    """Of two judges' grades the lower one counts, until a lead decides."""
    watch = Watch(judges_per_item=2, policy="median", budget=40.0)
    watch.draw(1)
    watch.draw(2)
    pair = sorted(watch.asked(1) & watch.asked(2))[0]
    for judge, grade in (("ann", 0), ("bob", 2)):
        watch.store.record_all(watch.campaign(1), [(judge, [(*pair, JudgeAnswer(kind="judged", grade=grade))])])
    night = watch.store.watches.nights(NAME)[0]
    assert labels_of_step(watch.store, night, watch.settings)[pair].grade == 0
    last = [event.seq for event in watch.store.events(watch.campaign(1)) if event.kind == "judged"][-1]
    watch.store.adjudicate(watch.campaign(1), last, "lead", 2, "it is")
    assert labels_of_step(watch.store, night, watch.settings)[pair].grade == 2
    share_labels(watch.store, NAME)
    assert label_of(watch, pair) == 2


@pytest.mark.parametrize(
    ("night", "says"),
    [
        (1, "2026-11-01 cannot be redrawn: the night of 2026-11-02 depends on it"),
        (3, "watch quality has no night of 2026-11-03 to replace: the last is 2026-11-02"),
    ],
)
def test_what_later_nights_count_on_is_not_drawn_anew(night, says):
    watch = Watch.judged()
    watch.draw(2)
    with pytest.raises(InputError, match=says):
        watch.draw(night, replaces=True)
    with pytest.raises(InputError, match=r"the night of 2026-11-02 exists already: `replace` redraws it"):
        watch.draw(2)
    assert len(watch.store.watches.nights(NAME)) == 2
    with pytest.raises(InputError, match="to replace: it has none yet"):
        Watch().draw(1, replaces=True)


@pytest.mark.parametrize("ahead", [32, (date(9999, 12, 31) - date.today()).days])
def test_a_night_far_ahead_is_refused(ahead):
    """Catches a mistyped date, after which no night could be drawn any more."""
    watch = Watch()
    far = (date.today() + timedelta(days=ahead)).isoformat()
    tonight = drawing.NightInputs(run=run_of(1), date=far)
    with pytest.raises(InputError, match=rf"{far} is {ahead:,} days ahead, and earlier nights could not"):
        drawing.draw_night(watch.store, NAME, tonight)
    assert not watch.store.watches.nights(NAME)
    near = drawing.NightInputs(run=run_of(1), date=(date.today() + timedelta(days=2)).isoformat())
    assert drawing.draw_night(watch.store, NAME, near).n_new


@pytest.mark.parametrize("at", ["while it is read", "while the night is drawn"])
def test_a_run_that_is_still_being_written_is_refused(at, tmp_path, monkeypatch):
    run = tmp_path / "tonight.run"
    write_run(run, run_of(1))
    watch = Watch()

    def grow():
        with run.open("a") as out:
            out.write("q0 Q0 another 99 -9.0 made\n")

    if at == "while it is read":
        states = iter([files.FileStamp._state(run), (0, 0, 0)])
        monkeypatch.setattr(files.FileStamp, "_state", staticmethod(lambda path: next(states, None)))
        with pytest.raises(InputError, match=r"tonight.run: has changed while it was read, as if it were still being"):
            load_run(run)
        return
    case_of = drawing.case_of
    monkeypatch.setattr(drawing, "case_of", lambda *arguments: (grow(), case_of(*arguments))[1])
    with pytest.raises(InputError, match="try again once it is complete"):
        watch.draw(1, run)
    assert watch.is_stored(1) == (False, False)
    monkeypatch.setattr(drawing, "case_of", case_of)
    assert watch.draw(1, run).n_new
