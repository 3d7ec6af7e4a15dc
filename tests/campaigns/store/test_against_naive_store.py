"""The store does what plain lists do, whatever is asked of it in whatever order."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from store_cases import make_campaign, make_units

from activeeval.campaigns.store import JudgeAnswer, SampleRow
from activeeval.core.errors import InputError, StateError
from tests.naive_store import NaiveStore

JUDGES = st.sampled_from(["ann", "bob", "cyd"])
SAID = st.one_of(
    st.builds(JudgeAnswer, kind=st.just("judged"), grade=st.integers(0, 2)),
    st.builds(JudgeAnswer, kind=st.just("cannot"), reason=st.sampled_from(["", "gone"])),
)
SAID_OF_CLAIM = st.one_of(SAID, st.just(JudgeAnswer(kind="deferred")))
KEYS = st.sampled_from([None, None, None, "k1", "k2"])
LINES = st.tuples(st.integers(1, 7), st.integers(0, 2), SAID, KEYS)
TOKENS = st.integers(0, 40)
COMMANDS = st.one_of(
    st.tuples(st.just("claim"), JUDGES),
    st.tuples(st.just("submit"), TOKENS, SAID_OF_CLAIM, KEYS),
    st.tuples(st.just("submit_and_claim"), TOKENS, SAID_OF_CLAIM, KEYS),
    st.tuples(st.just("submit_and_claim"), st.just(0), SAID_OF_CLAIM, st.none()),
    st.tuples(st.just("record"), JUDGES, st.lists(LINES, max_size=4)),
    st.tuples(st.just("retract"), st.integers(1, 60)),
    st.tuples(st.just("sleep"), st.sampled_from([1, 899, 900, 901, 2000])),
    st.tuples(st.just("grow")),
    st.tuples(st.just("rebuild")),
)
STRICT = st.sampled_from([False, False, True])
NAMES = (f"campaign {i}" for i in itertools.count())


class Pair:
    """A campaign in the store and in plain lists, asked the same."""

    def __init__(self, store, clock, k=1, strict_order=False, units=(4, 2)):
        self.store, self.clock, self.name = store, clock, next(NAMES)
        units = make_units(*units)
        make_campaign(store, units, k=k, name=self.name, strict_order=strict_order)
        self.naive = NaiveStore(store.campaign(self.name), units, clock)
        self.tokens = []
        self.versions = 1

    def claim(self, judge):
        self.same_claim(self.store.claim(self.name, judge), judge)

    def same_claim(self, got, judge):
        token = "none" if got is None else got.token
        assert got == self.naive.claim(judge, token)
        if got is not None:
            self.tokens.insert(0, (token, judge))

    def work_off(self, judge):
        n = -1
        while n < len(self.tokens):
            n = len(self.tokens)
            self.claim(judge)
            self.submit(0, JudgeAnswer(kind="judged", grade=1)) if n < len(self.tokens) else None

    def submit(self, i, said, key=None):
        token, _ = self.token(i)
        self.same(lambda: self.store.submit(self.name, token, said, key), lambda: self.naive.submit(token, said, key))

    def submit_and_claim(self, i, said, key=None):
        token, judge = self.token(i)
        both = self.same(
            lambda: self.store.submit_and_claim(self.name, token, said, key),
            lambda: (self.naive.submit(token, said, key), None),
            part=lambda answer: answer[0],
        )
        if both is not None:
            self.same_claim(both[1], judge)

    def token(self, i):
        return self.tokens[i] if i < len(self.tokens) else ("unknown", "")

    def record(self, judge, lines):
        said = [(f"q{number % 3}", f"d{number}-{j}", said, key) for number, j, said, key in lines]
        self.same(lambda: self.store.record(self.name, judge, said), lambda: self.naive.record(judge, said))

    def retract(self, seq):
        self.same(lambda: self.store.retract(self.name, seq, "x", "y"), lambda: self.naive.retract(seq, "x", "y"))

    def sleep(self, seconds):
        self.clock.sleep(seconds)

    def grow(self):
        self.versions += 1
        more = make_units(1, 2, first=3 + self.versions, version=self.versions)
        sample = SampleRow(version=self.versions, digest=f"sample {self.versions}", payload=b"")
        last = self.store.grow(self.name, sample, more)
        self.naive.draw(more, sample=f"sample {self.versions}")
        assert last == len(self.naive.log)

    def rebuild(self, _=None):
        self.store.rebuild(self.name)

    def same(self, asked, plainly, part=lambda answer: answer):
        got, error = outcome(asked)
        expected, expected_error = outcome(plainly)
        assert error is expected_error
        if error is None:
            assert without_digests(part(got)) == without_digests(part(expected))
        return got

    def check(self):
        events = self.store.events(self.name)
        assert [replace(event, digest="") for event in events] == self.naive.log
        assert self.store.waiting(self.name) == self.naive.waiting()
        assert self.store.verify(self.name) == []


def outcome(asked):
    try:
        return asked(), None
    except (InputError, StateError) as error:
        return None, InputError if isinstance(error, InputError) else StateError


def without_digests(answers):
    if isinstance(answers, list):
        return [without_digests(answer) for answer in answers]
    return replace(answers, event=replace(answers.event, digest=""))


def follow(pair, commands):
    for name, *arguments in commands:
        getattr(pair, name)(*arguments)
    pair.check()


ROWS = [line.split("\t") for line in Path(__file__).with_name("scripts.tsv").read_text("utf-8").splitlines()[1:]]
SCRIPTS = {what: (json.loads(options), commands) for what, options, commands in ROWS}
SAYS = {"later": JudgeAnswer(kind="deferred"), "cannot": JudgeAnswer(kind="cannot")}


def commands_in(script):
    """Yield the commands of a script: to what, by whom, said what (a grade of 1 where nothing else is), under a key."""
    for name, of, *rest in map(str.split, script.split(", ")):
        number = rest.pop(0) if name == "record" else of
        said, key = [*rest, None, None][:2]
        said = SAYS.get(said) or JudgeAnswer(kind="judged", grade=int(said or 1))
        if name == "record":
            yield name, of, [(int(number), 0, said, key)]
        elif name.startswith("submit"):
            yield name, int(of), said, key
        else:
            yield name, of if of.isalpha() else float(of) if "." in of else int(of)


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_one_remembers_is_done_as_plain_lists_do_it(each_store, clock, name):
    options, script = SCRIPTS[name]
    follow(Pair(each_store, clock, **options), commands_in(script))


few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@few
@given(k=st.integers(1, 3), strict_order=STRICT, commands=st.lists(COMMANDS, max_size=25))
def test_the_store_is_its_naive_form(each_store, clock, k, strict_order, commands):
    follow(Pair(each_store, clock, k, strict_order), commands)


@pytest.mark.slow
@settings(few, max_examples=250)
@given(k=st.integers(1, 3), strict_order=STRICT, commands=st.lists(COMMANDS, min_size=20, max_size=80))
def test_the_store_is_its_naive_form_for_long(each_store, clock, k, strict_order, commands):
    follow(Pair(each_store, clock, k, strict_order), commands)
