"""Lists, for people and for programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command_line import faultclock

KINDS = ("scenarios", "models", "maps", "dialects", "subjects", "checks", "requirements")


def listed(kind: str, *options: str) -> list[dict[str, Any]]:
    """Return what `list KIND --json` prints."""
    result = faultclock("list", kind, "--json", *options)
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_a_list_of_objects_each_with_its_own_id(kind: str) -> None:
    """Programs may rely on it."""
    ids = [entry["id"] for entry in listed(kind)]
    assert ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_names_every_id_of_the_json(kind: str) -> None:
    """Both are of the same facts, where all of it is asked for."""
    text = faultclock("list", kind, "--long").stdout
    assert all(entry["id"] in text for entry in listed(kind))


def test_models_show_their_switches_and_default_readings() -> None:
    """That is where a person learns what --reading takes."""
    (stud,) = [entry for entry in listed("models") if entry["id"] == "stud-cli"]
    switch = stud["switches"][0]
    text = faultclock("list", "models", "stud-cli").stdout
    assert f"    {switch['id']}: {switch['question']}" in text
    assert f"      * {switch['default']}:" in text


def test_the_default_model_is_marked_and_the_others_name_their_document() -> None:
    """Exactly one is the default: the one that is no document's."""
    (default,) = [entry["id"] for entry in listed("models") if entry["is_default"]]
    assert [entry["id"] for entry in listed("models") if not entry["is_of_a_document"]] == [default]
    lines = faultclock("list", "models", "--long").stdout.splitlines()
    (line,) = [line for line in lines if "(the default)" in line]
    assert line.startswith("common (the default)  What any provider and any user would demand: ")
    assert 'stud-cli  stud-cli Error Model: wiki page "Error Model" of stud-cli' in lines


@pytest.mark.parametrize(
    ("kind", "lines_max"), [("models", 24), ("scenarios", 40), ("subjects", 70)]
)
def test_a_list_is_short_unless_all_of_it_is_asked_for(kind: str, lines_max: int) -> None:
    """It fits on a screen or two, says how to see the rest, and leaves out no model or family."""
    text = faultclock("list", kind).stdout
    assert len(text.splitlines()) <= lines_max
    assert "--long" in text
    wanted = {"models": "id", "scenarios": "family"}.get(kind)
    assert all(entry[wanted] in text for entry in listed(kind) if wanted)
    if kind == "models":
        assert max(map(len, text.splitlines())) <= 80


def test_a_name_shows_one_thing_or_one_family_in_full() -> None:
    """For people and as JSON."""
    text = faultclock("list", "scenarios", "rate-limits").stdout
    assert "rate-limits/retry-after-integer" in text
    assert "provider-transient" not in text
    assert [entry["id"] for entry in listed("models", "common")] == ["common"]
    both = listed("scenarios", "rate-limits/retry-after-integer", "common")
    assert {entry["family"] for entry in both} == {"rate-limits", "common"}


def test_an_unknown_name_is_met_with_near_ones() -> None:
    """Code 2."""
    for words, near in (
        (("models", "commn"), "common"),
        (("scenarios", "rate-limit"), "rate-limits"),
        (("scenarios", "rate-limits/retry-after-intger"), "rate-limits/retry-after-integer"),
    ):
        result = faultclock("list", *words)
        assert result.exit_code == 2
        assert near in result.stderr


def test_without_a_kind_the_kinds_are_listed() -> None:
    """Each with what it is."""
    text = faultclock("list").stdout
    assert all(f"  {kind} " in text for kind in KINDS)
    kinds = json.loads(faultclock("list", "--json").stdout)
    assert {kind["id"] for kind in kinds} == set(KINDS)


def test_scenarios_and_subjects_say_their_role() -> None:
    """A subject runs the scenarios of its own role, so a person has to see which that is."""
    for kind in ("scenarios", "subjects"):
        roles = {entry["role"] for entry in listed(kind)}
        assert roles == {"provider_adapter", "runtime", "tool", "session_store", "extension"}
        text = faultclock("list", kind, "--long").stdout
        assert all(role.replace("_", " ") in text for role in roles)


def test_a_miniature_says_what_it_fails() -> None:
    """The list is the catalogue of known defects."""
    minis = [entry for entry in listed("subjects") if entry["kind"] == "miniature"]
    assert minis
    assert all(entry["fails"] for entry in minis)


def test_requirements_are_of_the_model_that_is_asked_for() -> None:
    """The neutral one if none is named; an unknown model is met with the known ones."""
    assert {entry["model"] for entry in listed("requirements")} == {"common"}
    assert {entry["model"] for entry in listed("requirements", "--model", "afk")} == {"afk"}
    result = faultclock("list", "requirements", "--model", "stud-cly")
    assert result.exit_code == 2
    assert "did you mean 'stud-cli'" in result.stderr


def test_a_miniature_stands_beside_the_checks_of_its_own_model_alone() -> None:
    """By another model it may be right, and then it would show nothing."""
    named = {name for entry in listed("checks", "--model", "afk") for name in entry["miniatures"]}
    assert named
    assert all(name.startswith("mini-afk-") for name in named)


def test_a_check_names_its_level_its_sentences_and_what_is_made_to_fail_it() -> None:
    """The kill matrix is read here, and only the evidence has no sentence that asks for it."""
    checks = {entry["id"]: entry for entry in listed("checks", "--model", "stud-cli")}
    told = checks["approvals.respected"]
    assert told["level"] == "MUST"
    assert told["requirements"]
    assert "mini-runtime-one-yes-for-all" in told["miniatures"]
    assert checks["evidence.no-leaks"]["level"] is None
    bare = [name for name, entry in checks.items() if not entry["miniatures"]]
    # Logs of other systems fail the one; what fails the other would end the process of the tests.
    assert set(bare) == {"backoff.declared", "evidence.whole"}
