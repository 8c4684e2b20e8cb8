"""What a call ended with, as data that is the same on every machine."""

from __future__ import annotations

import enum
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import faultclock
from faultclock.subjects.locate import locate
from faultclock.subjects.outcome import (
    CHAIN_MAX,
    MESSAGE_MAX,
    TEXT_MAX,
    describe_exception,
    describe_reply,
    scrub,
)
from faultclock.subjects.ports import API_KEY, Reply, RunResult, ToolCall, TypedError


def raised(function: Any) -> BaseException:
    """Return what `function` raises."""
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def links(error: BaseException) -> list[str]:
    """Return the links of the chain."""
    return [item["link"] for item in describe_exception(error)]


def wrap(how: str) -> BaseException:
    """Return a KeyError that was raised around a ValueError, as `how` says."""

    def inner() -> None:
        try:
            raise ValueError("inner")
        except ValueError as error:
            if how == "from":
                raise KeyError("outer") from error
            if how == "from none":
                raise KeyError("outer") from None
            raise KeyError("outer")  # noqa: B904 - the case under test

    return raised(inner)


@pytest.mark.parametrize(
    ("how", "link"), [("from", "cause"), ("plain", "context"), ("from none", "suppressed")]
)
def test_the_link_says_how_an_error_was_wrapped(how: str, link: str) -> None:
    """`from`, while handling, and `from None` are three different things."""
    chain = describe_exception(wrap(how))
    assert [(item["type"], item["link"]) for item in chain] == [
        ("KeyError", "outer"),
        ("ValueError", link),
    ]


def test_typed_errors_carry_class_and_code() -> None:
    """Any exception with both attributes counts, one with only one of them does not."""

    class Half(Exception):
        error_class = "ProviderTransient"
        code = 429

    (typed,) = describe_exception(TypedError("ProviderTransient", "RateLimited", "later"))
    (half,) = describe_exception(Half())
    assert (typed["class"], typed["code"]) == ("ProviderTransient", "RateLimited")
    assert (half["class"], half["code"]) == (None, None)
    assert half["type"].endswith("Half")


def test_a_mapping_classifies_by_the_most_specific_type() -> None:
    """The order of its entries does not matter."""
    classify = {OSError: ("A", "Wide"), ConnectionResetError: ("A", "Narrow")}
    (item,) = describe_exception(ConnectionResetError(), classify)
    assert item["code"] == "Narrow"
    (item,) = describe_exception(ConnectionRefusedError(), classify)
    assert item["code"] == "Wide"
    (item,) = describe_exception(ValueError(), classify)
    assert item["code"] is None


def test_a_function_classifies_and_its_own_failure_is_data() -> None:
    """What `classify` raises joins the chain instead of ending the run."""
    (item,) = describe_exception(ValueError(), lambda error: ("A", "B"))
    assert (item["class"], item["code"]) == ("A", "B")
    chain = describe_exception(ValueError("it"), lambda error: error.nothing)
    assert [item["type"] for item in chain] == ["ValueError", "AttributeError"]
    assert chain[1]["message"].startswith("classify raised: ")


def test_a_cycle_of_causes_ends() -> None:
    """Each exception is told once."""
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert links(first) == ["outer", "cause"]


def test_a_long_chain_is_cut() -> None:
    """Retries that wrap their predecessor cannot fill a trace."""
    error: Exception = ValueError("0")
    for _ in range(500):
        outer = ValueError("x" * 10_000)
        outer.__cause__ = error
        error = outer
    chain = describe_exception(error)
    assert len(chain) == CHAIN_MAX
    assert max(len(item["message"]) for item in chain) == 2_000


@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 7), st.none() | st.integers(0, 7), st.booleans()),
        min_size=8,
        max_size=8,
    )
)
def test_any_web_of_causes_is_told_once_each(
    web: list[tuple[int | None, int | None, bool]],
) -> None:
    """However exceptions point at each other, the description ends and begins with the outer."""
    errors = [ValueError(str(index)) for index in range(8)]
    for error, (cause, context, hidden) in zip(errors, web, strict=True):
        error.__cause__ = None if cause is None else errors[cause]
        error.__context__ = None if context is None else errors[context]
        error.__suppress_context__ = hidden
    chain = describe_exception(errors[0])
    messages = [item["message"] for item in chain]
    assert len(set(messages)) == len(messages)
    assert [item["link"] for item in chain].count("outer") == 1
    assert (chain[0]["link"], chain[0]["message"]) == ("outer", "0")


def test_a_group_has_its_members_as_causes() -> None:
    """Task groups raise their failures together."""
    group = ExceptionGroup("two", [ValueError("1"), TypedError("A", "B", "2")])
    chain = describe_exception(group)
    assert [item["link"] for item in chain] == ["outer", "cause", "cause"]
    assert chain[2]["code"] == "B"


def test_a_hostile_exception_is_data() -> None:
    """Neither `__str__` nor a property can break the description."""

    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

        @property
        def error_class(self) -> str:
            raise RuntimeError("no")

    (item,) = describe_exception(Hostile())
    assert item["message"] == "<the message cannot be read: __str__ raised RuntimeError>"
    assert item["class"] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"bad key {API_KEY}!", "bad key <secret>!"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: <secret>"),
        ("GET /v1?access_token=hunter2&a=1", "GET /v1?access_token=<hidden>&a=1"),
        ("wrong password: hunter2", "wrong password: <hidden>"),
        ("{'client_secret': 'hunter2'}", "{'client_secret': '<hidden>'}"),
        ("https://me:hunter2@h.test/v1", "https://<secret>@h.test/v1"),
        ("max_tokens: expected an integer", None),
        ("requested tokens: 131072, total_tokens=262144", None),
        ("<C object at 0x7f00aa11bb22>", "<C object at 0x…>"),
        (
            "Cancelled via cancel scope 7f9bc4aa40e0; reason",
            "Cancelled via cancel scope 0x…; reason",
        ),
        ("Cancelled via cancel scope 1c2d3e0", "Cancelled via cancel scope 0x…"),
        ("object 55d0c4aa40e0 is gone", "object 0x… is gone"),
        ("request 123e4567-e89b-12d3-a456-426614174000", None),
        ("at 1767225600 s, 1767225600123 ms", None),
        ('File "/usr/lib/python3.11/ssl.py", line 3', 'File "…/ssl.py", line 3'),
        ("in /home/me/project/adapter.py:12", "in …/adapter.py:12"),
        ("C:\\Users\\me\\adapter.py failed", "…/adapter.py failed"),
        ("at ask (file:///home/me/app.mjs:3:5)", "at ask (…/app.mjs:3:5)"),
        ("at file:///C:/me/app.mjs:3:5", "at …/app.mjs:3:5"),
        ("in /srv/me/app.py", "in …/app.py"),
        ("https://api.openai.com/v1/chat/completions", None),
        ("with url: /v1/chat/completions (Caused by", None),
        ("a/b or c, 3/4 and 0x1f", None),
    ],
)
def test_messages_lose_what_differs_between_machines(text: str, expected: str | None) -> None:
    """Secrets, addresses and paths go; URLs and fractions stay."""
    assert scrub(text) == (text if expected is None else expected)


def test_the_current_folder_is_a_path_wherever_it_lies() -> None:
    """So are those that modules are imported from, such as a checkout of Faultclock."""
    assert scrub(f"in {Path.cwd()}/x/adapter.py") == "in …/adapter.py"
    assert scrub(f"in {faultclock.__file__}") == "in …/__init__.py"


def test_folders_that_modules_are_imported_from_are_known() -> None:
    """Such as a library that somebody works at, wherever it lies."""
    code = "from faultclock.subjects.outcome import scrub; print(scrub('in /zq/own/lib/a.py'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["/zq/own", *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "in …/a.py\n"


def test_the_folder_of_a_subject_is_known_once_it_is_loaded(tmp_path: Path) -> None:
    """Its name may be that of a person, and none of it is in the text of an error."""
    (tmp_path / "client.py").write_text(
        "from faultclock import provider_adapter\n\n@provider_adapter\ndef ask(request): pass\n"
    )
    locate(f"{tmp_path}/client.py", "ask")
    assert scrub(f"in {tmp_path}, not {tmp_path}/client.py") == "in …/, not …/client.py"


def test_named_secrets_are_taken_out() -> None:
    """Also those that look like nothing."""
    assert scrub("the word is swordfish", ("swordfish", "")) == "the word is <secret>"


@given(st.text())
def test_scrubbing_is_stable(text: str) -> None:
    """What was scrubbed once does not change again."""
    assert scrub(scrub(text)) == scrub(text)


def test_a_reply_is_text_digest_and_tool_calls() -> None:
    """A plain text and a Reply are the same answer; mappings pass for tool calls."""
    digest = hashlib.sha256(b"Hi").hexdigest()
    assert describe_reply("Hi") == {"text": "Hi", "text_sha256": digest, "tool_calls": []}
    assert describe_reply(Reply("Hi")) == describe_reply("Hi")
    calls = (ToolCall("a", "{}"), {"name": "b", "arguments": "[]"})
    described = describe_reply(Reply("", calls))  # type: ignore[arg-type]
    assert described["tool_calls"] == [
        {"name": "a", "arguments": "{}"},
        {"name": "b", "arguments": "[]"},
    ]


@pytest.mark.parametrize(
    ("text", "reason", "noted"),
    [
        ("Hi", "completed", {}),
        ("Hi", "incomplete", {"finish_reason": "incomplete"}),
        ("", "completed", {"finish_reason": "completed"}),
        ("", None, {}),
    ],
)
def test_a_result_of_a_run_says_why_the_model_stopped_as_a_reply_does(
    text: str, reason: str | None, noted: dict[str, str]
) -> None:
    """A caller of AFK reads it in `llm_response`, beside the text."""
    described = describe_reply(RunResult(text=text, finish_reason=reason))
    reply = describe_reply(Reply(text, (), reason))
    assert described.pop("result")["state"] == "completed"
    assert described == reply == {**describe_reply(text), **noted}


@pytest.mark.parametrize("value", [None, 7, b"Hi", Reply(None)])  # type: ignore[arg-type]
def test_anything_else_has_no_text_but_a_type(value: object) -> None:
    """A subject that returns nonsense is data."""
    described = describe_reply(value)
    assert described["text"] is None
    assert described["type"].endswith(type(value).__name__)


@given(st.text())
def test_every_text_has_a_digest(text: str) -> None:
    """Lone surrogates included."""
    assert len(describe_reply(text)["text_sha256"]) == 64
    assert describe_reply("\ud800")["text_sha256"] is not None


class Word(enum.StrEnum):
    """A class name as many programs have it."""

    TRANSIENT = "ProviderTransient"


class Pretender(str):
    """Equal to everything."""

    __slots__ = ()

    def __eq__(self, _other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __str__(self) -> str:
        return self


@pytest.mark.parametrize(
    "text", [Word.TRANSIENT, Pretender("ProviderTransient")], ids=["enum", "pretender"]
)
def test_what_is_recorded_is_made_of_plain_texts(text: str) -> None:
    """A member of an enum cannot be read without its class, and may compare as it likes."""
    error = TypedError(text, text, text)
    (own,) = describe_exception(error)
    (given,) = describe_exception(ValueError(text), lambda _: (text, text))
    reply = describe_reply(Reply(text, (ToolCall(text, text),)))
    values = [own["class"], own["code"], own["message"], given["class"], given["code"]]
    values += [reply["text"], *reply["tool_calls"][0].values(), describe_reply(text)["text"]]
    assert {type(value) for value in values} == {str}
    assert set(values) == {"ProviderTransient"}


class Hostile(Exception):
    """Answers every question with another exception."""

    def __getattribute__(self, _name: str) -> Any:
        raise KeyboardInterrupt

    def __str__(self) -> str:
        raise SystemExit(0)


class Faceless(Exception):
    """Has no class, cause or context that can be asked for."""

    __cause__ = __context__ = property(lambda _: 1 / 0)  # type: ignore[assignment]
    __class__ = property(lambda _: 1 / 0)  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Hostile, Faceless])
def test_an_exception_that_refuses_every_question_is_data(kind: type[Exception]) -> None:
    """Even where it raises what no `except Exception` catches."""

    def hostile() -> None:
        try:
            raise ValueError("inner")
        except ValueError as error:
            raise kind from error

    outer, inner = describe_exception(raised(hostile))
    assert (outer["type"], outer["class"]) == (f"{__name__}.{kind.__name__}", None)
    assert (inner["message"], inner["link"]) == ("inner", "cause")


def test_a_classifier_may_raise_anything() -> None:
    """It is the binding's code."""

    def classify(_: BaseException) -> tuple[str, str]:
        raise SystemExit(1)

    chain = describe_exception(ValueError("x"), classify)
    assert chain[1]["message"] == "classify raised: 1"


def test_a_huge_message_is_cut_before_it_is_searched() -> None:
    """Twenty million characters would take seconds."""
    (item,) = describe_exception(ValueError("y" * 20_000_000))
    assert item["message"] == "y" * (MESSAGE_MAX - 1) + "…"


def test_a_huge_text_is_cut_and_its_digest_is_of_the_whole() -> None:
    """A trace is evidence, not a dump."""
    text = "x" * (TEXT_MAX + 1)
    described = describe_reply(text)
    assert described["text"] == "x" * TEXT_MAX + "…"
    assert described["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_a_key_in_a_reply_is_not_recorded() -> None:
    """The digest still tells one text from another."""
    assert describe_reply(f"Your key is {API_KEY}.")["text"] == "Your key is <secret>."


def test_tool_calls_that_cannot_be_read_are_told() -> None:
    """None is an empty list, as some SDKs have it; anything else that is none is a problem."""
    assert describe_reply(Reply("Hi", None)) == describe_reply("Hi")  # type: ignore[arg-type]
    described = describe_reply(Reply("Hi", 5))  # type: ignore[arg-type]
    assert described["problem"] == "the reply cannot be read: TypeError"
    assert described["tool_calls"] == []
