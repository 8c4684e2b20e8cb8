"""Three recorders, one kind of exchange; what each of them leaves out or bends is told."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import pytest

from faultclock.errors import SourceError
from faultclock.load.located.tree import Place
from faultclock.recordings.exchange import OddityKind, Recording
from faultclock.recordings.formats import read_recording
from tests.recordings.builders import CHAT, cassette, interaction
from tests.recordings.planted import ODD


def read(content: bytes) -> Recording:
    """Return the recording."""
    return read_recording(content, "folder/tape.yaml")


def one(changed: dict[str, Any]) -> Recording:
    """Return a recording of one interaction whose answer is changed so."""
    item = interaction(400, {"error": {}})
    item["response"].update(changed)
    return read(cassette(item))


def told(recording: Recording) -> list[OddityKind]:
    """Return the kinds of oddities, by place."""
    return [oddity.kind for oddity in recording.oddities]


def test_a_cassette_of_vcrpy_is_read() -> None:
    """Names of headers are in lower case, the body is bytes, the time is that of the Date."""
    item = interaction(
        429, '{"error": 1}', at="10:00:07", told={"Retry-After": "2"}, headers={"X-A": "b"}
    )
    recording = read(cassette(item))
    (got,) = recording.exchanges
    assert (recording.name, recording.format) == ("tape.yaml", "a cassette of vcrpy")
    assert (got.method, got.url, got.status) == ("POST", CHAT, 429)
    assert got.request_headers == (("x-a", "b"),)
    assert ("retry-after", "2") in got.response_headers
    assert got.response_body == b'{"error": 1}'
    assert got.answered_at_s == 1_772_445_607
    assert not got.exact
    assert list(recording.oddities) == []


def test_a_cassette_of_vcr_is_read() -> None:
    """Base64 is undone, and `recorded_at` tells the time where no Date does."""
    recording = read((ODD / "ruby.yaml").read_bytes())
    first, second = recording.exchanges
    assert recording.format == "a cassette of VCR (Ruby)"
    assert (first.method, first.status, second.status) == ("POST", 429, 200)
    assert json.loads(first.response_body or b"")["error"]["code"] == "rate_limit_exceeded"
    assert (second.answered_at_s or 0) - (first.answered_at_s or 0) == 4
    assert told(recording) == [OddityKind.BINARY_VALUE, OddityKind.FOREIGN_TAG]


def test_a_har_file_is_read() -> None:
    """Its clock is finer than a second, its bodies are out of their compression already."""
    recording = read((ODD / "browser.har").read_bytes())
    first, failed, good, page = recording.exchanges
    assert recording.format == "a HAR file"
    assert (first.status, failed.status, good.status, page.status) == (500, None, 200, 200)
    assert first.exact
    assert first.wait_ns == 640_250_000
    assert first.answered_at_s == pytest.approx(1_767_693_600.25 + 0.64225)
    assert b"request ID" in (first.response_body or b"")
    assert failed.failure == "net::ERR_CONNECTION_RESET"


def test_an_old_cassette_is_a_list() -> None:
    """Before vcrpy had versions, there was nothing around the interactions."""
    item = interaction(404, {"error": {}})
    recording = read(json.dumps([item]).encode())
    assert recording.format == "a cassette of an old vcrpy"
    assert [item.status for item in recording.exchanges] == [404]


def test_the_shape_of_old_httpx_cassettes_is_read() -> None:
    """They have `content` and `status_code`."""
    item = interaction()
    item["response"] = {"content": "{}", "headers": {"a": "b"}, "status_code": 503}
    (got,) = read(cassette(item)).exchanges
    assert (got.status, got.response_body) == (503, b"{}")


def test_a_json_body_in_base64_is_read() -> None:
    """A serializer for JSON writes bytes that are no text so."""
    coded = base64.b64encode(b'{"error": {}}').decode()
    (got,) = one({"body": {"base64_string": coded}}).exchanges
    assert got.response_body == b'{"error": {}}'


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"headers": {}}, OddityKind.EMPTY_HEADERS),
        ({"headers": None}, OddityKind.EMPTY_HEADERS),
        ({"headers": "x"}, OddityKind.ODD_SHAPE),
        ({"headers": [["a", "b"], 3]}, OddityKind.ODD_SHAPE),
        ({"headers": {"A": ["1", "2"], "content-type": ["application/json"]}}, "duplicate-header"),
        ({"headers": {"date": ["x"]}}, OddityKind.NO_CONTENT_TYPE),
        ({"headers": {"content-type": ["text/html"]}}, OddityKind.WRONG_CONTENT_TYPE),
        ({"body": {"string": "<html>"}}, OddityKind.HTML_BODY),
        ({"body": {"string": "<!DOCTYPE html>"}}, OddityKind.WRONG_CONTENT_TYPE),
        ({"body": {"string": "not json"}}, OddityKind.WRONG_CONTENT_TYPE),
        ({"body": {"string": "data: {}\n\n"}}, OddityKind.WRONG_CONTENT_TYPE),
        ({"body": None}, OddityKind.MISSING_BODY),
        ({"body": {}}, OddityKind.MISSING_BODY),
        ({"body": {"string": None}}, OddityKind.MISSING_BODY),
        ({"body": {"string": ["a"]}}, OddityKind.ODD_SHAPE),
        ({"body": {"base64_string": "x"}}, OddityKind.ODD_SHAPE),
        ({"parsed_body": {"error": {}}}, OddityKind.PARSED_BODY),
        ({"status": None}, OddityKind.NO_RESPONSE),
        ({"status": {"code": 0}}, OddityKind.NO_RESPONSE),
        ({"status": {"code": 304}}, OddityKind.ODD_STATUS),
        ({"status": {"code": 999}}, OddityKind.ODD_STATUS),
        ({"status": {"code": 4.5}}, OddityKind.ODD_STATUS),
        ({"headers": {"content-length": ["99"], "content-type": ["json"]}}, "length-disagrees"),
    ],
)
def test_an_oddity_of_an_answer_is_told(changed: dict[str, Any], kind: str) -> None:
    """Each by its kind, at a line of the answer."""
    recording = one(changed)
    found = [oddity for oddity in recording.oddities if oddity.kind == kind]
    assert found, told(recording)
    assert found[0].place.line > 10


def test_an_entry_without_a_request_is_told_and_left_out() -> None:
    """Whatever else stands there."""
    recording = read(cassette({"response": {}}, 3, None, interaction(400, {})))
    assert len(recording.exchanges) == 1
    assert told(recording).count(OddityKind.ODD_SHAPE) >= 3


def test_an_answer_that_was_not_recorded_is_told() -> None:
    """The exchange is there, with no status."""
    item = interaction()
    item["response"] = None
    recording = read(cassette(item))
    assert [got.status for got in recording.exchanges] == [None]
    assert told(recording) == [OddityKind.NO_RESPONSE]


def test_a_recording_of_nothing_is_told() -> None:
    """It is a recording all the same."""
    recording = read(cassette())
    assert told(recording) == [OddityKind.EMPTY_RECORDING]


@pytest.mark.parametrize(
    "content",
    [b"a: 1", b"[1, 2]", b'{"interactions": 3}', b'{"log": {}}', b"http_interactions: x", b"{}"],
)
def test_what_is_no_recording_is_refused(content: bytes) -> None:
    """With the place, and with what would have been one."""
    with pytest.raises(SourceError, match=r"folder/tape\.yaml:1:1: this is not a recording"):
        read(content)


def test_an_entry_that_the_end_of_the_file_cut_is_left_out() -> None:
    """The ones before it are read."""
    content = cassette(interaction(400, {}), interaction(401, {}))
    recording = read(content[: content.rindex(b'"response"') + 20])
    assert [got.status for got in recording.exchanges] == [400]
    assert told(recording) == [OddityKind.CUT_OFF]


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b'{"error": {}}', mtime=0)),
        ("deflate", zlib.compress(b'{"error": {}}')),
        ("deflate", zlib.compress(b'{"error": {}}')[2:-4]),
        ("gzip", b'{"error": {}}'),
        ("br", b'{"error": {}}'),
        ("zstd, identity", b'{"error": {}}'),
        ("", gzip.compress(b'{"error": {}}', mtime=0)),
    ],
)
def test_a_compressed_body_is_unpacked_and_a_plain_one_taken(encoding: str, packed: bytes) -> None:
    """Recorders that unpack a body often keep the header."""
    headers = {"content-type": ["application/json"], "content-encoding": [encoding]}
    body = {"base64_string": base64.b64encode(packed).decode()}
    recording = one({"headers": headers, "body": body})
    assert recording.exchanges[0].response_body == b'{"error": {}}'
    assert OddityKind.COMPRESSED_BODY in told(recording)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "rot13"])
def test_a_body_that_cannot_be_unpacked_is_told_and_left_out(encoding: str) -> None:
    """Its first bytes may be right and the rest rubbish."""
    magic = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}.get(encoding, b"\x99")
    headers = {"content-type": ["application/json"], "content-encoding": [encoding]}
    body = {"base64_string": base64.b64encode(magic + b"\xff" * 20).decode()}
    recording = one({"headers": headers, "body": body})
    assert recording.exchanges[0].response_body is None
    assert OddityKind.UNREADABLE_BODY in told(recording)


def test_a_bomb_of_zeros_is_bounded() -> None:
    """What unpacks to a hundred megabytes is no answer of a provider."""
    packed = base64.b64encode(gzip.compress(b"0" * 100_000_000, 1)).decode()
    headers = {"content-encoding": ["gzip"]}
    recording = one({"headers": headers, "body": {"base64_string": packed}})
    assert len(recording.exchanges[0].response_body or b"") == 8_000_000


def test_equal_oddities_of_one_exchange_are_told_once_with_their_number() -> None:
    """A cassette whose every header is a tag has one line, not thirteen."""
    request = b"request: {method: GET, uri: x, headers: {a: !!binary YQ==, b: !!binary Yg==}}"
    recording = read(b"interactions:\n- " + request + b"\n- " + request)
    oddity, other = (item for item in recording.oddities if item.kind == OddityKind.BINARY_VALUE)
    assert other.place.line == 3
    assert oddity.kind == OddityKind.BINARY_VALUE
    assert oddity.message.endswith("(and 1 more like it)")
    assert oddity.place == Place(2, 47)
