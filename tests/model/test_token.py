"""Tokens: the coordinates of a run as a text, and what a text that is none is told."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.token import coordinates_of, is_token, token_of
from faultclock.model.tape import Tape

texts = st.text(st.characters(codec="utf-8"), max_size=30)
digests = st.one_of(st.binary(min_size=32, max_size=32).map(bytes.hex), texts)
tapes = st.dictionaries(
    st.one_of(
        texts,
        st.builds(
            "{}/{}/timer/1/Task-{}".format,
            st.sampled_from(("schedule", "latency")),
            st.integers(1, 3),
            st.integers(1, 12),
        ),
    ),
    st.dictionaries(
        st.integers(0, 2_000), st.one_of(st.integers(0, 9), st.integers(0, 2**64)), max_size=6
    ),
    max_size=8,
).map(Tape.of)
places = st.builds(
    Coordinates,
    scenario=texts,
    scenario_digest=digests,
    variant=st.none() | texts,
    subject=texts,
    seed=st.integers(0, 2**32 - 1),
    tape=tapes,
)


def place(tape: Tape | None = None) -> Coordinates:
    """Return coordinates as they usually are."""
    return Coordinates(
        scenario="rate-limits/retry-after-integer",
        scenario_digest=hashlib.sha256(b"a scenario").hexdigest(),
        subject="openai-async",
        seed=0,
        tape=tape or Tape(),
    )


def with_choices(count: int) -> Coordinates:
    """Return coordinates with so many deviations, spread over lanes as in a run of ten calls."""
    lanes = [f"timer/1/Task-{number}" for number in range(1, 11)] + ["loop/1", "net/c1/client"]
    choices: dict[str, dict[int, int]] = {}
    for number in range(count):
        lane = lanes[number * 7 % len(lanes)]
        step = number // len(lanes) * 2 + number % 2
        choices.setdefault(f"schedule/1/{lane}", {})[step] = 1 + number * number % 5
    return place(Tape.of(choices))


@given(where=places)
@settings(max_examples=25, deadline=None)
def test_a_token_leads_back_to_its_coordinates(where: Coordinates) -> None:
    """Whatever is in them; and a shell or an address takes it as one word."""
    token = token_of(where)
    assert coordinates_of(token) == where
    assert re.fullmatch(r"fc2\.[A-Za-z0-9_-]+", token)
    assert is_token(token)


def test_equal_coordinates_give_the_same_token_for_ever() -> None:
    """On every machine and with every later version: who has written one down keeps it."""
    where = place(Tape.of({"schedule/1/timer/1/Task-3": {2: 1}}))
    assert token_of(where) == PROMISED
    assert coordinates_of(PROMISED) == where


PROMISED = (
    "fc2.XmV4FgHG9JpOZzo6vgrdpLeDm3-GZWLUQUMp9yr1lk7owsu6Rh9yYXRlLWxpbWl0cy9yZXRyeS1h"
    "ZnRlci1pbnRlZ2VyDG9wZW5haS1hc3luYwAAGgBzY2hlZHVsZS8xL3RpbWVyLzEvVGFzay0zAQIBAA"
)


@pytest.mark.parametrize(("choices", "most"), [(0, 120), (1, 160), (5, 195), (300, 1040)])
def test_a_token_is_short_where_the_tape_is(choices: int, most: int) -> None:
    """Most of a short one is the digest of the scenario."""
    assert len(token_of(with_choices(choices))) <= most


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_typo_is_told_as_one(data: st.DataObject) -> None:
    """One wrong, one missing, one too many, two exchanged: the checksum tells."""
    token = token_of(with_choices(3))
    at = data.draw(st.integers(5, len(token) - 1))
    letter = data.draw(st.sampled_from("AZaz09-_"))
    mistyped = data.draw(
        st.sampled_from(
            [
                token[:at] + letter + token[at + 1 :],
                token[:at] + token[at + 1 :],
                token[:at] + letter + token[at:],
                token[: at - 1] + token[at : at + 1] + token[at - 1 : at] + token[at + 1 :],
                token[:at],
            ]
        )
    )
    if mistyped == token:
        return
    with pytest.raises(ValueError, match="the token is mistyped"):
        coordinates_of(mistyped)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "this is not a token: a token begins with fc2."),
        ("traces/x.jsonl", "this is not a token"),
        ("fc1.abcd", "begins with fc1., and this Faultclock reads those with fc2."),
        ("fc2.", "its checksum shows"),
        ("fc2.A", "its checksum shows"),
        ("fc2.ab%cd", "no token has the character '%'"),
        ("fc2.ab+/cd", "no token has the character '+'"),
        ("fc2." + "A" * (1 << 24), "no token is as long as that"),
    ],
)
def test_what_is_no_token_is_told_why(text: str, told: str) -> None:
    """In one sentence."""
    with pytest.raises(ValueError, match=re.escape(told)) as caught:
        coordinates_of(text)
    assert "\n" not in str(caught.value)


def test_a_token_may_come_with_white_space() -> None:
    """As mail and terminals break lines."""
    token = token_of(with_choices(5))
    assert coordinates_of(f"  {token[:40]}\n  {token[40:]}\n") == with_choices(5)


def made_by_hand(body: bytes) -> str:
    """Return a token whose checksum is right, whatever is in it."""
    whole = hashlib.sha256(b"fc2." + body).digest()[:4] + body
    return "fc2." + base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "body",
    [
        b"\x00",
        b"\x01" + b"d" * 32,
        b"\x00\x05abc",
        b"\xff" * 40,
        # Claims a gigabyte.
        b"\x00\xff\xff\xff\xff\x03abc",
        # A stream whose choices never end, and a number that never does.
        b"\x00\x01a\x01b\x00\x00\x02\x00x\xff\xff\xff\xff\xff\x07",
        b"\x00" + b"\xff" * 5_000,
        # A text that is not UTF-8.
        b"\x00\x02\xff\xfe\x00\x00\x00\x00",
    ],
)
def test_what_nobody_has_written_is_refused_whatever_its_checksum(body: bytes) -> None:
    """A bomb, a torn one, nonsense: in one sentence, and at once."""
    with pytest.raises(ValueError, match="the token") as caught:
        coordinates_of(made_by_hand(body))
    assert "\n" not in str(caught.value)


@given(body=st.binary(min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_nonsense_is_never_anything_but_a_sentence(body: bytes) -> None:
    """No other error comes out; should it be a run, its token is what was read."""
    token = made_by_hand(body)
    try:
        found = coordinates_of(token)
    except ValueError:
        return
    assert token_of(found) == token


def test_a_token_of_a_huge_tape_is_still_one() -> None:
    """Nothing of it is left out."""
    tape = Tape.of({f"schedule/1/timer/1/{number}": {0: 2**40} for number in range(4_000)})
    token = token_of(place(tape))
    assert coordinates_of(token).tape == tape
