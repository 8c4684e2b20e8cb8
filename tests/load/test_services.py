"""Files of other hosts: what they say, and each mistake with its place."""

from __future__ import annotations

import pytest

from faultclock.errors import SourceError
from faultclock.load.services import services_in
from faultclock.load.yaml_file import parse_document
from faultclock.model.scenario.service_host import (
    ServiceHost,
    would_answer,
    would_answer_in_one_line,
)


def read(text: str) -> tuple[ServiceHost, ...]:
    """Return the hosts of a file."""
    return services_in(parse_document(text.encode(), "hosts.yaml"))


_GOOD = "services:\n  - host: api.example.com\n    answers: [{request: GET /now, body: {at: 3}}]\n"


def test_a_host_is_a_name_with_or_without_a_port() -> None:
    """Without one it is every port."""
    (every,) = read(_GOOD)
    (one,) = read(_GOOD.replace("api.example.com", '"localhost:8080"'))
    assert (every.name, every.port) == ("api.example.com", None)
    assert (one.name, one.port) == ("localhost", 8080)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("services: []\n", "hosts.yaml:1:11: `services` has too few entries"),
        (_GOOD.replace("request", "requst"), "hosts.yaml:3:16"),
        (_GOOD.replace("{at: 3}", "{at: 3}, status: 99"), "hosts.yaml:3:58"),
        (_GOOD.replace("answers:", "answer:"), "hosts.yaml:3:5"),
        ("services: [{host: a.example.com}]\n", "exactly one of answers and mcp"),
        ("services: [{mcp: {tools: []}}]\n", "exactly one of host and command"),
        (_GOOD + _GOOD.removeprefix("services:\n"), "two services have the place"),
        (
            _GOOD + "    faults: [{id: a, then: {kind: http_error, status: 500, error: bussy}}]\n",
            "hosts.yaml:4:67: http-json has no error 'bussy'",
        ),
    ],
)
def test_a_mistake_has_its_place(text: str, said: str) -> None:
    """A key, a value, or a name that leads nowhere."""
    with pytest.raises(SourceError) as caught:
        read(text)
    assert said in str(caught.value)


def test_a_host_with_a_mistake_is_still_a_host() -> None:
    """That there are too few of them is no second problem."""
    with pytest.raises(SourceError) as caught:
        read(_GOOD.replace("host:", "hst:"))
    assert "did you mean `host`?" in str(caught.value)
    assert "too few" not in str(caught.value)


def test_the_lines_that_would_answer_are_a_services_file() -> None:
    """So a person can take them as they are."""
    asked = [("a.example.com", "GET /x"), ("a.example.com", "POST /x"), ("b.example.com", "GET /")]
    first, second = read(would_answer(asked))
    assert [answer.request for answer in first.answers] == ["GET /x", "POST /x"]
    assert (second.host, second.answers[0].request) == ("b.example.com", "GET /")
    assert read(would_answer_in_one_line("b.example.com", "GET /")) == (second,)
