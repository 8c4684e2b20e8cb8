"""What holds for every shipped model: no sentence is lost, and none is judged for show."""

from __future__ import annotations

from functools import cache

import pytest

from harness.load.error_model import check_error_model, load_error_model, model_ids
from harness.model.error_model import ErrorModel
from harness.run.kill_matrix import check_entries

MODELS = model_ids()
#: It judges logs of other systems: what fails it lies in `fixtures/foreign-logs`.
OF_LOGS = {"backoff.declared"}


@cache
def _model(id_: str) -> ErrorModel:
    return load_error_model(id_)


def test_the_five_documents_are_carried() -> None:
    """Each by a file of its own."""
    assert set(MODELS) == {"stud-cli", "relavium", "afk", "kode-sdk", "error-matrix"}


@pytest.mark.parametrize("id_", MODELS)
def test_it_is_right_under_each_of_its_readings(id_: str) -> None:
    """A switch that breaks its own model would only be found by whoever needs it."""
    model = check_error_model(id_)
    assert model.switches
    assert all(len(switch.because.split()) >= 8 for switch in model.switches)


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
