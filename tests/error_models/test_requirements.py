"""What holds for every shipped model: no sentence is lost, and none is judged for show."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from faultclock.load.error_model import check_error_model, load_error_model, model_ids
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.run.kill_matrix import check_entries

MODELS = model_ids()
#: It judges logs of other systems: what fails it lies in `fixtures/foreign-logs`.
OF_LOGS = {"backoff.declared"}


@cache
def _model(id_: str) -> ErrorModel:
    return load_error_model(id_)


def test_five_documents_and_the_common_demands_are_carried() -> None:
    """Each by a file of its own."""
    assert set(MODELS) == {"common", "stud-cli", "relavium", "afk", "kode-sdk", "error-matrix"}


@pytest.mark.parametrize("id_", MODELS)
def test_it_is_right_under_each_of_its_readings(id_: str) -> None:
    """A switch that breaks its own model would only be found by whoever needs it."""
    # What is in our own words contradicts itself nowhere, and needs no reading.
    assert bool(check_error_model(id_).switches) == (id_ != "common")


@pytest.mark.parametrize("id_", MODELS)
def test_every_reading_but_the_default_is_another_model(id_: str) -> None:
    """An option that changes nothing is none, and the default is what is read without a word."""
    model = _model(id_)
    for switch in model.switches:
        for option in switch.options:
            read = load_error_model(id_, {switch.id: option.id})
            assert (read == model) == (option.id == switch.default), (switch.id, option.id)


@pytest.mark.parametrize("id_", MODELS)
def test_every_switch_argues_its_default(id_: str) -> None:
    """A question, what each answer means, and a sentence on why the document is read so."""
    for switch in _model(id_).switches:
        assert "?" in switch.question, switch.id
        assert switch.because.endswith("."), switch.id
        assert len(switch.because.split()) >= 8, switch.id
        assert all(option.means.endswith(".") for option in switch.options), switch.id


@pytest.mark.parametrize("id_", MODELS)
def test_every_check_that_a_sentence_names_exists_and_can_fail(id_: str) -> None:
    """For each there is a shipped subject that is wrong in one way, and this check says so."""
    model = _model(id_)
    entries = {entry.id: entry for entry in check_entries(model)}
    named = {check for requirement in model.requirements for check in requirement.checks}
    assert sorted(named - entries.keys()) == []
    unshown = {name for name in named if not entries[name].miniatures}
    assert sorted(unshown - OF_LOGS) == []


@pytest.mark.parametrize("id_", MODELS)
def test_a_sentence_that_is_left_out_says_why(id_: str) -> None:
    """In words that a reader of the document can weigh."""
    for requirement in _model(id_).requirements:
        if requirement.excluded is not None:
            assert len(requirement.excluded.split()) >= 5, requirement.id


@pytest.mark.parametrize("id_", MODELS)
def test_no_two_sentences_are_one(id_: str) -> None:
    """Each place of the document is carried once."""
    places = [(item.document, item.place, item.sentence) for item in _model(id_).requirements]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("id_", MODELS)
def test_a_sentence_is_quoted_whole_unless_it_stands_elsewhere(id_: str) -> None:
    """What is given in other words is not of the model's own document, and says of which."""
    for requirement in _model(id_).requirements:
        assert requirement.sentence == requirement.sentence.strip(), requirement.id
        assert requirement.wording != "paraphrased" or requirement.document, requirement.id


@pytest.mark.parametrize("id_", MODELS)
def test_every_sentence_that_is_judged_can_be_cited(id_: str) -> None:
    """A rule, a policy or a class leads a finding to it; else it would never be exercised."""
    model = _model(id_)
    cited = set(_cited(model.model_dump()))
    assert {item.id for item in model.requirements if item.checks} <= cited


def _cited(value: object) -> Iterator[str]:
    """Yield what stands under `requirement`, `requirements` or `rules` anywhere below."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key == "requirement":
                yield below
            elif key in ("requirements", "rules") and isinstance(below, dict):
                yield from (item for item in below.values() if isinstance(item, str))
            else:
                yield from _cited(below)
    elif isinstance(value, (list, tuple)):
        for below in value:
            yield from _cited(below)


def test_each_common_demand_says_its_harm_and_what_it_rests_on() -> None:
    """A harm, what it does, what to change, and two public sources or a public bug."""
    for requirement in _model("common").requirements:
        assert requirement.wording == "own", requirement.id
        assert requirement.harm is not None, requirement.id
        assert requirement.does.endswith("."), requirement.id
        assert requirement.change.endswith("."), requirement.id
        bugs = [source for source in requirement.sources if source.startswith("Bug: ")]
        assert bugs or len(requirement.sources) >= 2, requirement.id
        for source in requirement.sources:
            assert "https://" in source or "#" in source, source
