"""The shipped sets say what is so: a fact that changes asks for a set of a new revision.

What a reference keeps is not run here. It follows from the facts that are compared, and the
program that freezes the sets sees to the rest.
"""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.requirement_set import (
    load_requirement_set,
    model_digest,
    requirement_digest,
    set_digest,
    set_ids,
)
from faultclock.model.report.conformance import PastSet
from tests.certify.levels.freeze import facts_of, references_of, scenarios_for, successor
from tests.certify.levels.levels_page import BEGINS, ENDS, PAGE, table
from tests.warm.listing import all_scenarios

_FREEZE = (
    "a fact has changed: run `python -m tests.certify.levels.freeze MODEL`, and commit the new set."
    " If all sets have changed, a field of a model class is new: name it in the SPARSE of its"
    " class, so that a model which does not use it stays what it was"
)


def test_every_document_has_a_set() -> None:
    """A claim can be made about each of them; nobody conforms to the common demands yet."""
    assert set(set_ids()) == set(model_ids()) - {"common"}


@pytest.mark.parametrize("model_id", set_ids())
def test_a_set_is_of_the_model_as_it_is(model_id: str) -> None:
    """Every rule of the model under its default readings, and the words of every sentence."""
    set_, model = load_requirement_set(model_id), load_error_model(model_id)
    assert set_.model_revision == model.revision
    assert set_.model_digest == model_digest(model), _FREEZE
    known = {item.id: item for item in model.requirements}
    for of in set_.roles.values():
        told = [item.id for item in of.requirements]
        assert sorted([*told, *of.elsewhere, *of.excluded]) == sorted(known), _FREEZE
        for item in of.requirements:
            assert item.digest == requirement_digest(known[item.id]), _FREEZE
            assert item.level == known[item.id].level
        assert set(of.excluded) == {item.id for item in known.values() if item.excluded}


@pytest.mark.parametrize("model_id", set_ids())
def test_a_set_is_of_the_scenarios_as_they_are(model_id: str) -> None:
    """Neither one more nor one less, and each with the content and the variants that it has."""
    set_ = load_requirement_set(model_id)
    assert {role: of.reference for role, of in set_.roles.items()} == references_of(model_id)
    for role, of in set_.roles.items():
        found = facts_of(scenarios_for(all_scenarios(), role, model_id))
        assert of.scenarios == found, _FREEZE
        ids = {item.id for item in of.scenarios}
        assert {*of.hardening.crash_sweep, *of.hardening.jitter} <= ids


def test_a_changed_set_is_the_next_revision_and_remembers_the_one_before() -> None:
    """A digest in an old certificate still says which set it was given by."""
    old = load_requirement_set("afk")
    assert successor(old.model_copy(update={"revision": 1, "history": ()})) is None
    other = old.model_copy(update={"model_digest": "0" * 64})
    new = successor(other)
    assert new is not None
    assert new.revision == old.revision + 1
    assert new.history[-1] == PastSet(revision=old.revision, digest=set_digest(old))


def test_the_page_has_the_figures_of_the_sets() -> None:
    """The table of the page is made from the sets: `python -m tests.certify.levels.levels_page`."""
    text = PAGE.read_text("utf-8")
    assert text.partition(BEGINS)[2].partition(ENDS)[0] == table()
