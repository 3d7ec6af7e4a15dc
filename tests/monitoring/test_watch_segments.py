"""Half-widths by segment in a watch: what nights draw for them, what they say by segment, and what is refused."""

from pathlib import Path

import pytest
from campaigns.store.store_cases import complaint
from watch_cases import NAME, QUERIES, Watch, run_of, settings, true_value, write_qrels

from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import open_store
from activeeval.core.errors import InputError
from activeeval.monitoring.night_rows import rows_of
from activeeval.monitoring.settings import segments_of, set_up
from activeeval.sampling.answers import by_segment

PARTS = {"desktop": QUERIES[::2], "mobile": QUERIES[1::2]}
HALVES = (("mobile", 1.2), ("desktop", 1.2))


@pytest.fixture
def table(tmp_path):
    """Write which query is of which segment, and return where."""
    return write_table(tmp_path / "segments.csv", PARTS)


def write_table(path, parts):
    rows = [f"{query},{name}\n" for name, queries in parts.items() for query in queries]
    path.write_text("query_id,segment\n" + "".join(rows))
    return str(path)


def watched(table, **changed):
    return Watch(**{"segments": table, "segment_half_widths": HALVES, "budget": 400.0} | changed)


def notes_of(drawn):
    return {note.code: note.numbers for note in drawn.notes}


def truth(night, name):
    """Return the true value of a segment, in plain Python."""
    return true_value({query: docs for query, docs in run_of(night).items() if query in PARTS[name]})


def goals_of(night):
    return [row["goal"] for row in rows_of(night) if row["kind"] == "segment"]


# What is drawn


def test_nights_come_to_their_half_widths_for_fewer_labels_each(table):
    """Before any label nobody knows how grades lie, and the first night may fall short; the third is there."""
    half, n_new = 0.15, []
    watch = watched(table, measures=("nDCG@5",), segment_half_widths=(("mobile", half), ("desktop", half)))
    for night in (1, 2, 3):
        drawn = watch.draw(night)
        n_new.append(drawn.n_new)
        assert notes_of(drawn)["night enough"]["needed"] < 400
        watch.judge(night)
    says = watch.says()
    assert [value.segment for value in says.segments] == list(PARTS)
    assert goals_of(says) == [half, half]
    assert n_new[0] > n_new[1] > n_new[2]
    assert max((value.high - value.low) / 2 for value in says.segments) < 1.1 * half
    again = watch.draw(4, run_of(3))
    assert (again.n_new, again.n_pending) == (0, 0)


def test_a_budget_that_does_not_pay_is_spent_and_says_what_it_lacks(table):
    """The same that a watch without such a budget would need, to a label."""
    short, rich = watched(table, budget=25.0).draw(1), watched(table).draw(1)
    numbers = notes_of(short)["night too dear"]
    assert (numbers["needed"], numbers["budget"]) == (notes_of(rich)["night enough"]["needed"], 25.0)
    assert 10 < short.n_new < 40
    assert notes_of(short)["hardly read"]["segments"] == ("mobile", "desktop")


def test_a_segment_to_be_known_well_gets_the_labels(table):
    n_judged = []
    for halves in ((("mobile", 0.6), ("desktop", 6.0)), (("mobile", 6.0), ("desktop", 0.6))):
        watch = watched(table, segment_half_widths=halves)
        watch.draw(1)
        n_judged.append(sum(query in PARTS["mobile"] for query, _ in watch.asked(1)))
    assert n_judged[0] > 2 * n_judged[1]


def test_the_whole_may_have_a_half_width_of_its_own_or_alone(table):
    alone = Watch(budget=400.0, half_width=0.8)
    alone.night(1)
    says = alone.night(2)
    assert not says.segments
    assert 0.4 < (says.values[0].high - says.values[0].low) / 2 < 0.88
    beside = watched(table, half_width=0.4).draw(1)
    assert beside.n_new > watched(table).draw(1).n_new


def test_all_grades_given_need_nothing(table, tmp_path):
    write_qrels(tmp_path / "all.qrels")
    watch = watched(table)
    drawn = watch.draw(1, judged=(str(tmp_path / "all.qrels"),))
    assert drawn.n_new == 0
    assert set(notes_of(drawn)) == {"night in hand"}
    for value in watch.says().segments:
        assert value.value == pytest.approx(truth(1, value.segment), rel=1e-6)


def test_a_lasting_loss_is_an_alarm_all_the_same(table):
    """The difference has its share: what half-widths in segments take is enough to see a loss of two fifths."""
    watch = watched(table, margin=0.05, reference="first")
    watch.night(1)
    says = watch.night(2, run_of(1, upside_down=20))
    assert any(change.verdict == "worse" for change in says.changes)


# What is said


def test_segments_alone_are_only_read(table):
    """The same items are drawn as without, and each night has its values by segment."""
    plain, read = Watch(budget=60.0), watched(table, segment_half_widths=(), budget=60.0)
    assert read.draw(1).notes == ()
    plain.draw(1)
    assert read.asked(1) == plain.asked(1)
    read.judge(1)
    plain.judge(1)
    assert goals_of(read.says()) == [None, None]
    assert read.says().values == plain.says().values
    assert not plain.says().segments


def test_intervals_of_segments_are_those_of_estimates_by_segment(table):
    """Once all items are judged, whatever became of the table: it is stored with the watch."""
    watch = watched(table)
    Path(table).unlink()
    watch.draw(1)
    assert not watch.says().segments  # while items wait
    watch.judge(1)
    stored = watch.store.watches.get(NAME)
    sample = state_of(watch.store, watch.campaign(1)).read[0]
    answers, _ = by_segment(sample, sample.made_for, segments_of(stored, watch.settings))
    for value, answer in zip(watch.says().segments, answers, strict=True):
        assert answer.interval.confidence == pytest.approx(0.975)
        assert (value.value, value.segment) == (answer.estimate.value, answer.segment)
        assert (value.low, value.high) == answer.estimate.bounds(answer.interval)


def test_segments_cover_their_truths(table):
    """Of 2 seeds with 2 nights of 2 segments: were 8 intervals missed in 2.5 %, more than 2 were with P = 8e-4."""
    missed = []
    for seed in range(2):
        watch = watched(table, seed=seed, segment_half_widths=(("mobile", 1.8), ("desktop", 1.8)))
        for night in (1, 2):
            for value in watch.night(night).segments:
                missed.append(not value.low - 1e-9 <= truth(night, value.segment) <= value.high + 1e-9)
    assert len(missed) == 8
    assert sum(missed) <= 2


def test_a_query_of_no_segment_counts_for_the_whole_alone(tmp_path):
    """It is said how many there are; nothing else is asked of them, and the whole is read."""
    few = {name: queries[1:] for name, queries in PARTS.items()}
    watch = watched(write_table(tmp_path / "segments.csv", few))
    assert notes_of(watch.draw(1))["outside segments"] == {"n": 2}
    watch.judge(1)
    assert watch.says().values[0].value is not None


# Refused


CANNOT_BE = [
    ({"segment_half_widths": (("mobil", 1.0),)}, "no segment 'mobil'; did you mean mobile?"),
    ({"segment_half_widths": (("mobile", 1.0), ("mobile", 2.0))}, "mobile is given twice"),
    ({"segment_half_widths": (("mobile", 0.0),)}, "must be a positive number, got 0.0"),
    ({"segment_half_widths": (("mobile", float("nan")),)}, "must be a positive number, got nan"),
    ({"segments": None}, "needs `segments`"),
    ({"segments": "nowhere.csv"}, "nowhere.csv"),
    ({"half_width": -1.0}, "the half-width must be a positive number, got -1.0"),
    ({"half_width": float("nan"), "segment_half_widths": ()}, "must be a positive number, got nan"),
]


def test_half_widths_that_cannot_be_are_refused_and_nothing_is_stored(table):
    for changed, says in CANNOT_BE:
        is_not_set_up({"segments": table, "segment_half_widths": HALVES} | changed, says)


def is_not_set_up(chosen, says):
    """Check that a watch with some settings is refused with a text, and nothing stored."""
    with open_store("sqlite://", create=True) as store:
        assert says in complaint(InputError, lambda: set_up(store, NAME, settings(**chosen)))
        assert store.watches.names() == []


@pytest.mark.parametrize(
    ("row", "says"),
    [("q1,\n", "column segment: is empty"), (",mobile\n", "column query"), ("q1,mobile\nq1,mobile\n", "already")],
)
def test_a_table_that_says_no_segment_is_refused(tmp_path, row, says):
    (tmp_path / "bad.csv").write_text("query_id,segment\nq0,mobile\n" + row)
    is_not_set_up({"segments": str(tmp_path / "bad.csv"), "segment_half_widths": (("mobile", 1.0),)}, says)


def test_a_segment_of_which_the_night_has_no_query_is_refused_and_nothing_is_stored(tmp_path):
    table = write_table(tmp_path / "segments.csv", PARTS | {"tablet": ["z1", "z2"]})
    watch = watched(table, segment_half_widths=(*HALVES, ("tablet", 1.0)))
    assert "holds no query of segment tablet" in complaint(InputError, lambda: watch.draw(1))
    assert watch.is_stored(1) == (False, False)
