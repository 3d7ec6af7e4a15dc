"""Campaigns whose depths follow labels: what comes next is drawn when a judge finds nothing left."""

import csv
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict

import numpy as np
import pytest
from campaign_cases import changed
from following_case import Following, by_one_judge, estimate_of, judged_case, said_by
from naive import pool_of, random_lists, rankings_of

from activeeval import METHODS, NDCG, Campaign, InputError, StateError, Target
from activeeval.campaigns import assignments, draw
from activeeval.campaigns.batches import write_batches
from activeeval.campaigns.create_and_grow import create, grow, top_up
from activeeval.campaigns.exporting import FORMATS, export
from activeeval.campaigns.import_judgments import take_files
from activeeval.campaigns.overview import overview
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.report.next_steps import reached_sentence
from activeeval.campaigns.report.page import campaign_text
from activeeval.campaigns.status import estimates_of, progress_of, spent_by_block, status, step_of
from activeeval.campaigns.verifying import verify
from activeeval.core.campaign import Rules
from activeeval.core.campaign.joint_estimates import planned_weights, round_weights
from activeeval.core.results import Note
from activeeval.core.simulation.replications import replicate_with
from activeeval.inputs.budgets import Budget
from activeeval.inputs.texts import TextFile
from activeeval.report.message_lookup import text_of
from activeeval.sampling.estimate import estimate_judged
from activeeval.sampling.sheets import SheetPlan


def test_one_judge_comes_to_the_campaign_in_memory():
    case, state = judged_case(), by_one_judge()
    memory = case.in_memory()
    assert len(case.seen) == sum(len(unit.items) for unit in memory.units)
    assert [u.items for u in state.sample.campaign.units] == [u.items for u in memory.units]
    assert estimate_of(state) == memory.estimate()
    assert state.state.ended
    assert state.block == state.n_blocks == memory.n_complete_blocks
    assert state.batch > 3
    assert not state.goes_on
    assert verify(case.store, "week") == []


def test_the_end_is_the_repetition_of_the_same_key_at_nine_tenths():
    case = Following(looks="3", seed=4)
    case.judge("ann", "bob")
    state = case.state()
    assert state.block == state.n_blocks
    repeated = replicate_with(case.design(), case.labels, np.array([0.9 * case.budget]), [case.seed])
    assert estimate_of(state).value == repeated.values[0, 0]


def test_others_go_on_while_an_item_is_in_hand_and_nobody_is_asked_twice():
    case = Following()
    held = case.desk.claim("slow")
    assert case.judge("ann", "bob") > 6
    state = case.state()
    assert state.progress.waiting == 1
    assert not state.state.ended
    assert case.desk.claim("ann") is None
    case.desk.submit(held.token, case.answer(held))
    case.judge("ann", "bob")
    assert estimate_of(case.state()).value == estimate_of(by_one_judge()).value


def test_with_two_judges_an_item_the_next_follows_once_both_have_judged():
    case = Following(judges_per_item=2, policy="median", adjudicate=True)
    first = case.judge("ann")
    state = case.state()
    assert state.progress.judged == 0
    assert not state.state.ended
    assert sum(u.cost for u in state.units) <= case.budget * 0.5
    case.judge("bob", "ann")
    state = case.state()
    assert first > 4
    assert state.state.ended
    assert state.block == state.n_blocks
    assert estimate_of(state).value == estimate_of(by_one_judge()).value
    assert verify(case.store, "week") == []


def test_an_earlier_event_says_what_it_said_then():
    case = Following()
    said, going_on = {}, case.state()
    while case.judge("ann", upto=5):
        state, live = case.state(), going_on.refresh(case.store)
        assert (live.as_of, live.version, live.progress) == (state.as_of, state.version, state.progress)
        assert (said_by(live), live.block) == (said_by(state), state.block)
        said[state.as_of] = (said_by(state), state.block)
    assert len({block for _, block in said.values()}) > 2
    live = case.state().before()
    for seq, (estimate, block) in said.items():
        state = case.state(seq)
        live.follow(case.store.events("week", seq, since=live.log[-1] if live.log else None))
        for each in (state, live):
            assert each.block == block
            assert said_by(each) == estimate


def test_rates_stay_what_they_were_drawn_with_and_grades_are_those_of_now():
    case = Following()
    case.judge("ann", upto=16)
    state = case.state()
    before, version = state.sample.campaign.paths, state.version
    judged = [event for event in state.state.standing if event.kind == "judged"]
    for event in judged[:5]:
        changed(case.store, event)
    event = judged[7]
    case.store.retract("week", event.seq, "ann", "wrong tab")
    state = case.state()
    assert state.version == version
    assert np.array_equal(state.sample.campaign.paths.rates, before.rates)
    assert state.progress.waiting >= 1
    grades = {item: grade for item, grade in enumerate(state.sample.campaign.grades.tolist()) if grade >= 0}
    assert sum(grade != case.labels[item] for item, grade in grades.items()) == 5
    case.seen.clear()
    case.judge("ann", "bob")
    after = case.state()
    paths, kept, asked = after.sample.campaign.paths, before.rates > 0, before.batches > 0
    assert np.array_equal(paths.rates[kept], before.rates[kept])
    assert np.array_equal(paths.batches[asked], before.batches[asked])
    assert after.state.ended
    assert verify(case.store, "week") == []


def test_of_two_that_draw_at_once_one_draws():
    case = Following()
    while (item := case.store.claim("week", "ann")) is not None:
        case.store.submit("week", item.token, case.answer(item))
    first, second = case.state(), case.state()
    assert (first.progress.waiting, first.state.ended, first.goes_on) == (0, "", True)
    samples = [draw.next_of(state) for state in (first, second)]
    grow(case.store, "week", samples[0], "batch", {}, version=first.version + 1)
    with pytest.raises(StateError, match="the next version of this sample is 3"):
        grow(case.store, "week", samples[1], "batch", {}, version=second.version + 1)
    assert case.desk.claim("bob") is not None
    case.judge("ann", "bob", "cy")
    assert estimate_of(case.state()).value == estimate_of(by_one_judge()).value
    assert verify(case.store, "week") == []


def test_threads_that_judge_at_once_never_get_an_item_twice(made_url):
    case = Following(made_url)

    def judge(name):
        answers = []
        while (item := case.desk.claim(name)) is not None:
            answers.append((item.query_id, item.doc_id))
            case.desk.submit(item.token, case.answer(item))
        return answers

    with ThreadPoolExecutor(2) as threads:  # who finds nothing while the other has something in hand comes again
        seen = [pair for _ in range(3) for pairs in threads.map(judge, ("ann", "bob")) for pair in pairs]
    state = case.state()
    assert len(set(seen)) == len(seen)
    assert state.state.ended
    assert estimate_of(state).value == estimate_of(by_one_judge()).value
    assert verify(case.store, "week") == []
    case.store.close()


def test_sheets_go_out_batch_by_batch(tmp_path):
    case = Following()
    for n in range(by_one_judge().batch):
        path = str(tmp_path / f"batch{n}.csv")
        (sheet,) = write_batches(case.store, "week", SheetPlan(path=path))
        assert sheet.block == n + 1
        fill(path, case.grades)
        (taken,) = take_files(case.store, "week", [path], "ann")
        assert taken.stored == sheet.items
    assert estimate_of(case.state()) == estimate_of(by_one_judge())
    with pytest.raises(InputError, match="no item waits, all are judged"):
        write_batches(case.store, "week", SheetPlan(path=str(tmp_path / "more.csv")))


def fill(path, grades):
    with open(path, newline="") as handle:
        header, *rows = list(csv.reader(handle))
    at = [header.index(name) for name in ("query_id", "doc_id", "grade")]
    for row in rows:
        row[at[2]] = grades[row[at[0]], row[at[1]]]
    with open(path, "w", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])


def test_a_top_up_goes_on_with_the_same_paths():
    case = Following()
    case.judge("ann")
    before = case.state()
    topped_up, _ = top_up(case.store, "week", Budget.parse("20"))
    assert topped_up.campaign.drawn_design.budget == 56
    case.judge("ann")
    state = case.state()
    assert (state.block, state.n_blocks, before.n_blocks) == (4, 4, 3)
    assert estimate_of(state).value == estimate_of(by_one_judge(budget=56.0)).value
    assert verify(case.store, "week") == []
    assert progress_of(state).budget == 56


def test_a_top_up_while_all_follows_from_what_waits_says_so():
    case = Following(budget=27.0)
    case.judge("ann", upto=3)
    while case.desk.claim(f"judge {case.clock.now}") is not None:
        pass
    with pytest.raises(StateError, match="items wait, from which follows what comes next"):
        top_up(case.store, "week", Budget.parse("0.5"))
    assert verify(case.store, "week") == []


def test_a_further_round_may_follow_labels_too():
    case = Following()
    case.judge("ann", upto=9)
    with pytest.raises(StateError, match="a round is drawn once the previous rounds are completely judged"):
        case.redraw(30.0)
    case.judge("ann")
    case.redraw(30.0)
    live = case.state()
    weights = round_weights([sample.campaign for sample in live.rounds])
    case.judge("bob", "cy")
    state = case.state()
    first = state.rounds[0].campaign.drawn_design
    planned = planned_weights(first, [case.budget, 30.0])
    assert np.array_equal(round_weights([sample.campaign for sample in state.rounds]), planned)
    assert np.array_equal(weights, planned)
    assert len(state.rounds) == len(state.read) == 2
    assert state.block == state.n_blocks
    assert estimate_of(state) == estimate_of(live.refresh(case.store))
    assert verify(case.store, "week") == []
    changed(case.store, [event for event in state.log if event.kind == "judged"][4])
    assert case.state().n_corrected == 1
    assert estimate_of(live.refresh(case.store)) == estimate_of(case.state())


def test_what_cannot_hold_is_refused_in_a_line():
    with pytest.raises(InputError, match="`strict_order` uses items below the lowest waiting one"):
        Following(strict_order=True)
    plain = Following(looks="off")
    plain.judge("ann")
    plain.looks = "each"
    with pytest.raises(InputError, match="was made without `adaptive_depth`"):
        plain.redraw(40.0)


def test_status_report_and_exports_read_it_at_any_time(tmp_path):
    early = Following()
    early.judge("ann", upto=10)
    for case in (early, judged_case()):
        state = case.state()
        far = status(state, case.store)
        assert sum(spent_by_block(state).values()) == pytest.approx(far.progress.spent)
        said = reached_sentence(far.reached)
        assert f"this is batch {state.batch}, " in said or state.block == state.n_blocks
        report = summary(case.store, "week")
        assert len(report.design.blocks) == state.n_blocks
        assert sum(block.items for block in report.design.blocks) == sum(state.progress)
        for form in FORMATS:
            is_early = form in ("prels", "weights") and not state.block
            with pytest.raises(StateError, match="no block is complete") if is_early else nullcontext():
                export(case.store, "week", form, tmp_path / f"{form}.csv")
    assert far.progress.waiting == 0
    assert "all 3 blocks are complete" in said
    assert step_of(state, []).kind == "done"
    ends = [block.complete_as_of for block in report.design.blocks]
    assert ends == sorted(ends)
    assert len(report.readings) >= 2
    inside = [unit for unit in state.sample.campaign.units if unit.level < state.level]
    with open(tmp_path / "weights.csv", newline="") as handle:
        assert sum(1 for _ in csv.DictReader(handle)) == sum(len(unit.items) for unit in inside)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_waits_the_sample_is_completed_within_its_budget(seed):
    """Long queries of which nothing is known: what is asked ahead may all turn out not to be needed."""
    random = np.random.default_rng(seed)
    lengths = random.integers(8, 31, 40).tolist()
    pool = pool_of(lengths)
    target = Target(NDCG("exp", cutoff=5), rankings_of(pool, random_lists(random, lengths, least=6)))
    labels = random.choice(3, size=pool.n_items, p=(0.8, 0.15, 0.05))
    design = METHODS["depth"].looking("each").design(target, np.full((pool.n_items, 3), 1 / 3), max_grade=2)
    campaign = Campaign(design, 90.0, rng=seed, by_batches=True, surely=True)
    held, share = [], random.uniform(0.1, 0.9)
    while True:
        while (unit := campaign.ask()) is not None:
            held.append(unit)
        if not held:
            break
        told = [unit for unit in held if random.random() < share] or held[:1]
        for unit in told:
            campaign.tell(unit, labels[list(unit.items)].tolist())
        held = [unit for unit in held if unit not in told]
    assert campaign.ended
    assert campaign.n_complete_blocks == len(campaign.drawn_design.blocks)
    assert campaign.spent <= 90.0
    known = replicate_with(design, labels, np.array([81.0]), [np.random.SeedSequence(seed)])
    assert campaign.estimate().value == known.values[0, 0]


def test_what_comes_later_has_the_texts_of_the_same_table(tmp_path):
    case, table = Following(), tmp_path / "documents.csv"
    names = [str(doc) for doc in dict.fromkeys(case.pool.item_texts.tolist())]
    table.write_text("id,title\n" + "".join(f"{doc},Title {doc}\n" for doc in names))
    texts = {"title": [f"Title {doc}" for _, doc in case.sample.pairs]}
    beside = {"texts": {"documents": asdict(TextFile.of(str(table)))}}
    create(case.store, "read", case.sample, Rules(), texts=texts, beside=beside)
    n_first = len(case.sample.pairs)
    for n in range(n_first + 5):
        item = assignments.desk_of(case.store, "read").claim("ann")
        assert item.text == {"title": f"Title {item.doc_id}"}, n
        assignments.desk_of(case.store, "read").submit(item.token, case.answer(item))
    table.rename(tmp_path / "elsewhere.csv")
    while (item := case.store.claim("read", "ann")) is not None:
        case.store.submit("read", item.token, case.answer(item))
    with pytest.raises(InputError, match="the texts of the documents are no longer in "):
        assignments.desk_of(case.store, "read").claim("ann")


def test_what_is_judged_and_not_read_is_told_wherever_an_answer_is():
    early, case, state = Following(), judged_case(), by_one_judge()
    assert "unread" not in status(early.state(), early.store).row()
    n = state.sample.campaign.n_unread
    assert n > 0
    far, said = status(state, case.store), text_of(Note("judged beyond", {"n": n}))
    assert (far.n_unread, far.row()["unread"], estimates_of(state).n_unread) == (n, n, n)
    assert said in overview(state, case.store).cautions
    told = summary(case.store, "week")
    assert said in [note.text for note in told.notes]
    assert str(said) in campaign_text(told, ".md")
    together = estimate_judged(state.read, state.progress, state.agreement)
    assert (together.n_unread, together.notes[-1]) == (n, Note("judged beyond", {"n": n}))
