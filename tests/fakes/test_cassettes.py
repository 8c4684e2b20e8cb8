"""What was recorded of the fake provider still holds: a drift of its wire shape is caught.

Each case was recorded once over a real loopback socket with vcrpy; here the openai SDK replays
the cassette without any server, and must see what it sees of the provider today, in the rig of
this folder. To record again: `python -m tests.fakes.test_cassettes`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import vcr

from faultclock.load.payloads import load_payloads
from faultclock.load.resources import fixtures_root
from faultclock.model.scenario.provider_script import ProviderScript
from tests.fakes.loopback import LoopbackProvider

FOLDER = fixtures_root() / "cassettes" / "openai-chat"
RATE_LIMIT = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}
CASES: dict[str, tuple[bool, dict[str, Any] | None]] = {
    "good": (False, None),
    "good-stream": (True, None),
    "rate-limit-seconds": (False, {**RATE_LIMIT, "headers": {"retry-after": "20"}}),
    "rate-limit-date": (False, {**RATE_LIMIT, "headers": {"retry-after": {"http_date": "+30s"}}}),
    "quota": (False, {"kind": "http_error", "status": 429, "error": "insufficient_quota"}),
    "context-length": (
        False,
        {"kind": "http_error", "status": 400, "error": "context_length_exceeded"},
    ),
    "bad-gateway": (False, {"kind": "http_error", "status": 502, "error": "bad_gateway"}),
    "stream-error": (True, {"kind": "stream_error", "after_chunks": 3, "error": "server_error"}),
}
#: Headers of the client that say where it ran; the key goes with them.
_CLIENTS_OWN = ("authorization", "user-agent", "host", "accept-encoding")


def script_of(fault: dict[str, Any] | None) -> ProviderScript:
    """Return the script of a case: quick, because it was recorded in real time."""
    rules = [] if fault is None else [{"id": "fault", "then": fault}]
    return ProviderScript.model_validate(
        {"faults": rules, "think_time": "5ms", "chunk_interval": "2ms"}
    )


def observe(stream: bool, **client_options: Any) -> dict[str, Any]:
    """Return what the SDK makes of one call: the answer, or the exception and its response."""
    client = openai.OpenAI(api_key="sk-not-a-key", max_retries=0, **client_options)
    create: Callable[..., Any] = client.chat.completions.with_raw_response.create
    seen: dict[str, Any] = {}
    try:
        raw = create(
            model="gpt-simulated",
            messages=[{"role": "user", "content": "Say hello."}],
            stream=stream,
        )
        seen |= {"status": raw.status_code, "headers": shown(raw.headers), "chunks": []}
        parsed = raw.parse()
        for item in parsed if stream else [parsed]:
            seen["chunks"].append(item.model_dump(mode="json"))
    except openai.APIError as error:
        seen |= {"class": type(error).__name__, "message": str(error), "body": error.body}
        if isinstance(error, openai.APIStatusError):
            seen |= {"status": error.status_code, "headers": shown(error.response.headers)}
            seen["retry_after"] = error.response.headers.get("retry-after")
    finally:
        client.close()
    return seen


def shown(headers: httpx2.Headers) -> dict[str, str]:
    """Return the headers with lower-case names, without what frames the body on one hop."""
    framing = {"connection", "content-length", "transfer-encoding"}
    return {name.lower(): value for name, value in headers.items() if name.lower() not in framing}


def scrub(request: Any) -> Any:
    """Take out of a recorded request what says who asked, and where the fake listened."""
    if request.host == "127.0.0.1":
        request.uri = "https://api.openai.com" + request.path
    for name in list(request.headers):
        if name.lower() in _CLIENTS_OWN or name.lower().startswith("x-stainless"):
            del request.headers[name]
    return request


def recorder(mode: str) -> vcr.VCR:
    """Return a vcrpy that matches on everything the provider reads."""
    return vcr.VCR(
        record_mode=mode,
        before_record_request=scrub,
        match_on=["method", "scheme", "host", "path", "body"],
        cassette_library_dir=str(FOLDER),
    )


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_cassette_replays_as_the_provider_answers_today(
    name: str, make_rig: Callable[..., Any], wire: Any
) -> None:
    """Class, status, Retry-After, every header and every chunk."""
    stream, fault = CASES[name]
    with recorder("none").use_cassette(f"{name}.yaml") as cassette:
        replayed = observe(stream)
    assert cassette.all_played

    def answer(request: httpx2.Request) -> httpx2.Response:
        script = script_of(fault)
        rig = make_rig(*script.faults, think_time="5ms", chunk_interval="2ms", reply=script.reply)
        headers = "".join(f"{key}: {value}\r\n" for key, value in request.headers.items())
        head = f"{request.method} {request.url.path} HTTP/1.1\r\n{headers}\r\n"
        got = wire.parse(wire.received(rig.exchange(head.encode() + request.content)))
        assert got.whole
        return httpx2.Response(got.status, headers=got.headers, content=got.body)

    today = observe(stream, http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    assert replayed == today
    assert replayed.get("status", 200) == (fault or {}).get("status", 200)


def test_every_cassette_belongs_to_a_case_and_holds_no_secret() -> None:
    """Nothing unused is kept, and nothing says where it was recorded."""
    files = list(FOLDER.glob("*.yaml"))
    assert {file.stem for file in files} == CASES.keys()
    for file in files:
        text = file.read_text("utf-8").lower()
        for word in ("authorization", "sk-not-a-key", "127.0.0.1", "x-stainless"):
            assert word not in text, f"{word} in {file.name}"


def record() -> None:
    """Record every case again over a loopback socket."""
    payloads = load_payloads("openai-chat")
    for name, (stream, fault) in CASES.items():
        Path(FOLDER, f"{name}.yaml").unlink(missing_ok=True)
        with (
            LoopbackProvider(script_of(fault), payloads) as server,
            recorder("once").use_cassette(f"{name}.yaml"),
        ):
            observe(stream, base_url=server.base_url)


if __name__ == "__main__":
    record()
    sys.exit()
