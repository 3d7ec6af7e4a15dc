"""Options are declared once: the command line, requests and arguments of verbs have the same fields."""

import pytest

from activeeval.cli.option_types import TYPES
from activeeval.core.checks import RENAMED, check_names
from activeeval.core.design.histories import LOOKS
from activeeval.core.errors import ChoiceError
from activeeval.core.estimation import SCOPES
from activeeval.core.grade_models.values import PLANNED_RHO
from activeeval.core.options import KINDS, declared
from activeeval.inputs.choices import Choices
from activeeval.inputs.options import IntervalFields, PoolFields
from activeeval.sampling.arguments import LabelledOptions, PoolOptions, QuestionOptions
from activeeval.sampling.options import DEPTHS, PlanFields, SampleFields, SimulateFields
from activeeval.sampling.plan_request import PlanRequest
from benchmarks.house import commands

OF_COMMANDS = dict.fromkeys(("sample", "campaign create"), (PoolFields, SampleFields))
OF_COMMANDS |= {"plan": (PoolFields, PlanFields), "simulate": (PoolFields, SimulateFields)}
LEFT_OUT = {name: {"index_update"} for name in OF_COMMANDS} | {"simulate": {"pool_parquet", "engine", "questions"}}


@pytest.mark.parametrize("name", OF_COMMANDS)
def test_a_command_has_an_option_for_each_field_and_hands_it_on_by_its_name(name):
    fields = [each for owner in OF_COMMANDS[name] for each in declared(owner).values()]
    flags = {each.name: each.flag for each in fields if each.name not in LEFT_OUT[name]}
    held = {parameter.name: max(parameter.opts, key=len) for parameter in commands()[name].params}
    assert {key: held.get(key) for key in flags} == flags
    assert not LEFT_OUT[name] & held.keys()


def test_what_help_does_not_wait_for_is_what_the_library_has():
    assert {*TYPES, "flag"} == {*KINDS}
    assert DEPTHS == LOOKS
    assert PlanFields().ask_skill == PLANNED_RHO
    assert declared(IntervalFields)["scope"].choices == SCOPES


def test_requests_hold_what_the_command_line_declares():
    assert declared(PlanRequest) == declared(PlanFields)
    assert declared(Choices) == declared(PoolFields)


@pytest.mark.parametrize("owner", [PoolFields, SampleFields, PlanFields, SimulateFields])
def test_every_field_says_what_it_is(owner):
    for each in declared(owner).values():
        assert each.help.endswith((".", "?", "Or:")), each.name
        assert each.kind in KINDS
        assert each.flag.startswith("--")
        assert not each.choices or each.default is None or each.default == () or each.default in each.choices


def test_arguments_of_verbs_are_fields():
    """A probability model and drawn queries come as objects in Python alone."""
    fields = declared(PoolFields).keys() | declared(SampleFields).keys() | {"grade_probs", "queries"}
    for arguments in (PoolOptions, QuestionOptions, LabelledOptions):
        assert arguments.__annotations__.keys() <= fields


@pytest.mark.parametrize(
    ("train", "share"), [("40%", 0.4), ("0.4", 0.4), (".4", 0.4), (0.4, 0.4), ("12.5%", 0.125), ("old.qrels", None)]
)
def test_a_share_of_the_queries_is_told_from_a_file(train, share):
    assert Choices(train=(train,)).train_share == pytest.approx(share)
    assert (Choices(train=(train,)).train_judgments is None) == (share is not None)


def test_a_file_that_is_called_like_a_share_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "0.4").write_text("q1 0 d1 1\n")
    assert Choices(train=("0.4",)).train_share is None


@pytest.mark.parametrize("train", ["0%", "100%", "1", "-0.5", "250%", 1.0])
def test_a_share_is_between_0_and_1(train):
    with pytest.raises(ChoiceError, match="`train` takes a share between 0 and 1, as 40%, got"):
        _ = Choices(train=(train,)).train_share


def test_what_stands_behind_a_model_is_no_part_of_its_name():
    chosen = Choices(model=["forest:tune:no-factor", "probs=a:tune.csv"])
    assert chosen.models == ("forest", "probs=a:tune.csv")
    assert (chosen.is_tuned, chosen.with_factor) == (True, False)
    assert (Choices(model="forest").is_tuned, Choices().with_factor) == (False, True)


@pytest.mark.parametrize(
    ("engine", "parts"),
    [
        ("here", ("here", None, False)),
        ("processes:8,trust-ids", ("processes:8", None, True)),
        ("spark://a:7077,b:7077,scratch=s3://bucket/scratch", ("spark://a:7077,b:7077", "s3://bucket/scratch", False)),
        ("dask,scratch=/mnt/x,trust-ids", ("dask", "/mnt/x", True)),
    ],
)
def test_an_engine_and_what_it_is_told(engine, parts):
    chosen = Choices(engine=engine)
    assert (chosen.engine_name, chosen.scratch, chosen.trust_ids) == parts


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_keyword_argument_is_refused_with_the_new_one(old):
    with pytest.raises(TypeError, match=f"'{old}' is gone: use "):
        check_names({old: 1}, PoolOptions)


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"engine": "threads:2,foo=1"}, "`engine`: 'foo=1' is none of scratch=DIR and trust-ids"),
        ({"engine": "here,scratch="}, "`engine`: 'scratch=' is none of scratch=DIR"),
        ({"engine": "here,trust_ids"}, "`engine`: 'trust_ids' is none of"),
        ({"runs": ("a.run",), "model": "forest:tuned"}, "`model` forest:tuned: expected forest, with :tune or"),
        ({"runs": ("a.run",), "model": "uniform:tune", "train": ("t",)}, "`model` uniform:tune has no parameters"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_stands_behind_a_name_and_means_nothing_is_refused(chosen, problem):
    with pytest.raises(ChoiceError) as refused:
        Choices(**chosen).check(use_labels=False)
    assert problem in str(refused.value)
