"""Error models load under the readings that a person chose."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError, UnknownNameError
from faultclock.load.error_model import (
    check_error_model,
    load_error_model,
    model_ids,
)

MODEL = """\
id: mine
title: Mine
revision: "1"
source: {title: T, system: S, document: D, read_on: "2026-01-01"}
classes:
  - {id: Transient, recoverable: y, handler: h, disposition: retry, codes: [Busy], requirement: R-1}
signals:
  - {id: busy, when: {kinds: [http_error]}, class: Transient, code: Busy, requirement: R-1}
  - {id: rest, when: {kinds: [http_error]}, unmapped: silent, requirement: R-1}
policies:
  - id: wait
    applies_to: [Transient/Busy]
    attempts_max: 3
    backoff: {kind: fixed, base: 5s}
    requirements: {attempts: R-1, wait: R-1}
switches:
  - id: length
    question: How long?
    default: short
    because: It says so.
    options:
      - {id: short, means: Three., set: {policies.wait.attempts_max: 3}}
      - id: long
        means: Six.
        set: {policies.wait.attempts_max: 6, retry_after.unusable: immediate}
      - {id: fewer, means: No rest., set: {signals.rest: null}}
      - {id: other, means: Other rest., set: {signals.rest: {id: rest, when: {kinds: [deadline]},
          unmapped: silent, requirement: R-1}}}
requirements:
  - {id: R-1, level: MUST, place: p, sentence: s, checks: [backoff.attempts, backoff.wait]}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a file that holds MODEL."""
    file = tmp_path / "mine.yaml"
    file.write_text(MODEL)
    return str(file)


@pytest.mark.parametrize("id_", model_ids())
def test_every_shipped_model_loads_under_each_reading(id_: str) -> None:
    """Also under readings that no scenario run chooses."""
    assert check_error_model(id_).id == id_


def test_stud_cli_is_shipped() -> None:
    """It is the model of the first use."""
    assert "stud-cli" in model_ids()


def test_a_shipped_model_is_read_once_and_a_file_each_time(path: str) -> None:
    """What a person has just changed counts; each choice of readings is a model of its own."""
    assert load_error_model("stud-cli", {}) is load_error_model("stud-cli")
    read = load_error_model("stud-cli", {"cut-answers": "unmapped"})
    assert read != load_error_model("stud-cli")
    file = Path(path)
    title = load_error_model(path).title
    file.write_text(file.read_text("utf-8").replace(f"title: {title}", "title: Another"), "utf-8")
    assert load_error_model(path).title == "Another"


def test_the_default_reading_holds_where_none_is_chosen(path: str) -> None:
    """Its `set` is applied like any other."""
    Path(path).write_text(MODEL.replace("attempts_max: 3\n", "attempts_max: 9\n"))
    model = load_error_model(path)
    assert model.policies[0].attempts_max == 3


def test_a_chosen_reading_changes_what_it_names(path: str) -> None:
    """List elements are named by id; a mapping that the file leaves out is made."""
    model = load_error_model(path, {"length": "long"})
    assert model.policies[0].attempts_max == 6
    assert model.retry_after.unusable == "immediate"


def test_a_reading_takes_out_or_replaces_a_list_element(path: str) -> None:
    """Null takes it out."""
    fewer = load_error_model(path, {"length": "fewer"})
    assert [rule.id for rule in fewer.signals] == ["busy"]
    other = load_error_model(path, {"length": "other"})
    assert other.signals[1].when.kinds == ("deadline",)


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        ({"lenght": "long"}, "unknown switch 'lenght'\n  did you mean 'length'"),
        ({"length": "lnog"}, "unknown reading of length 'lnog'\n  did you mean 'long'"),
    ],
)
def test_an_unknown_reading_is_met_with_near_names(
    path: str, readings: dict[str, str], words: str
) -> None:
    """A typo must not run under the default silently."""
    with pytest.raises(UnknownNameError, match=words):
        load_error_model(path, readings)


def test_an_unknown_model_is_met_with_the_known_ones() -> None:
    """Ids and files share one argument."""
    with pytest.raises(UnknownNameError, match="did you mean 'stud-cli'"):
        load_error_model("stud-cly")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("policies.wiat.attempts_max", "there is no `wiat`"),
        ("policies.wiat", "there is no `wiat`"),
        ("title.deep", "there is no `title`"),
    ],
)
def test_a_reading_that_sets_what_is_not_there_is_told_at_its_place(
    path: str, target: str, reason: str
) -> None:
    """The problem stands in the option that says so."""
    Path(path).write_text(MODEL.replace("{policies.wait.attempts_max: 3}", f"{{{target}: 3}}"))
    with pytest.raises(SourceError) as caught:
        load_error_model(path)
    (problem,) = caught.value.problems
    assert problem.line == 22
    assert problem.message == f"`{target}` cannot be set: {reason}"


def test_a_reading_that_breaks_the_model_is_refused_by_the_check(path: str) -> None:
    """Loading under the default alone would not see it."""
    Path(path).write_text(MODEL.replace("attempts_max: 6", "attempts_max: 0"))
    load_error_model(path)
    with pytest.raises(SourceError, match="`attempts_max` should be at least 1"):
        check_error_model(path)


def test_malformed_switches_are_problems_like_others(path: str) -> None:
    """They are read before the rest, but not trusted."""
    Path(path).write_text(MODEL.replace("    default: short\n", ""))
    with pytest.raises(SourceError, match="the key `default` is missing"):
        load_error_model(path)


def test_a_dangling_requirement_is_told_where_it_is_cited(path: str) -> None:
    """The message of a whole-file rule points at the line that it quotes."""
    Path(path).write_text(MODEL.replace("unmapped: silent, requirement: R-1}\npol",
                                        "unmapped: silent, requirement: R-9}\npol"))  # fmt: skip
    with pytest.raises(SourceError) as caught:
        load_error_model(path)
    (problem,) = caught.value.problems
    assert problem.line == 9
    assert problem.message == "rest: there is no requirement 'R-9'"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("class: Transient,", "class: Transiend,", ":8:52: signal busy: there is no class"),
        ("code: Busy,", "code: Bussy,", ":8:69: signal busy: the class Transient has no code"),
        ("[Transient/Busy]", "[Transient/Bussy]", ":12:18: policy wait: the classes have no"),
        ("id: rest, when", "id: busy, when", ":9:10: two of signals have the id 'busy'"),
        ("{id: fewer,", "{id: long,", ":26:14: two of the options of length have the id 'long'"),
        (
            "[http_error]}, class",
            "[http_error], statuses: [5xx]}, class",
            "neither a status nor a range",
        ),
        (
            "[http_error]}, class",
            "[http_error], statuses: [599-500]}, class",
            "'599-500' is neither a status nor a range\n  write 429 or 500-599",
        ),
        (
            "[http_error]}, class",
            "[tool_exceptoin]}, class",
            "`kinds` cannot be 'tool_exceptoin'\n  did you mean `tool_exception`?",
        ),
        ("sentence: s,", "sentence: s, shown_with: R-9,", "shown_with of R-1: there is no require"),
        ("sentence: s,", "sentence: s, shown_with: R-1,", "'R-1' is shown with another one itself"),
    ],
)
def test_a_slip_in_a_rule_is_told_at_its_place(
    path: str, before: str, after: str, told: str
) -> None:
    """A rule for what cannot be would hold for nothing, and nobody would know."""
    assert before in MODEL
    Path(path).write_text(MODEL.replace(before, after, 1))
    with pytest.raises(SourceError) as caught:
        load_error_model(path)
    assert told in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("check", "what"), [("backoff.attempts", "attempts"), ("backoff.wait", "wait")]
)
def test_a_policy_whose_figures_nobody_would_judge_is_refused(
    path: str, check: str, what: str
) -> None:
    """Its sentence has to name what judges how often and after what wait."""
    kept = {"attempts": "backoff.wait", "wait": "backoff.attempts"}[what]
    text = MODEL.replace("checks: [backoff.attempts, backoff.wait]", f"checks: [{kept}]")
    Path(path).write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=f"policies wait: R-1 names none of {check}") as caught:
        load_error_model(path)
    assert f"so nothing would judge its {what}" in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("{policies.wait.attempts_max: 6, retry_after.unusable: immediate}", "{}", ":23:13: with"),
        (
            "set: {policies.wait.attempts_max: 6,",
            "set: {policies.wait.attempts_maxx: 6,",
            ":25:44: with length=long: unknown key `attempts_maxx`\n  did you mean",
        ),
        (
            "policies.wait.attempts_max: 6",
            "policies.nobody.attempts_max: 6",
            ":25:45: with length=long: `policies.nobody.attempts_max` cannot be set: there is no",
        ),
        (
            "switches:",
            "events: {sent: {kinds: [net.sended]}}\nswitches:",
            ":16:25: sent: there are no events of the kind 'net.sended'\n  write net.sent",
        ),
        (
            "switches:",
            "ordering:\n  - {id: o, pattern: absence, event: {kinds: [net.sended]}, says: s,\n"
            "     scope: {after: {kinds: [net.closd]}}, requirement: R-1}\nswitches:",
            ":17:47: o: there are no events of the kind 'net.sended'\n  write net.sent",
        ),
    ],
)
def test_what_only_a_reading_or_a_rule_of_order_gets_wrong_is_found(
    path: str, before: str, after: str, told: str
) -> None:
    """No run under the default reading would ever show it."""
    assert before in MODEL
    judged = MODEL.replace("backoff.wait]", "backoff.wait, ordering.o]")
    text = judged.replace(before, after, 1)
    Path(path).write_text(text)
    with pytest.raises(SourceError) as caught:
        check_error_model(path)
    assert told in str(caught.value)
