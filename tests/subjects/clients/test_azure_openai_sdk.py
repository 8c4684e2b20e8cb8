"""What the OpenAI SDK's client for Azure does, as it is: the same as the other one, elsewhere."""

from __future__ import annotations

import pytest

from tests.subjects.clients.simulated import error, play, recorded

SUBJECTS = ("azure-openai", "azure-openai-sync")

pytestmark = pytest.mark.parametrize("subject", SUBJECTS)


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."


def test_it_asks_the_deployment_and_shows_its_key_in_azures_header(subject: str) -> None:
    """The path names the deployment, and the key is no bearer token."""
    (request,) = recorded(subject).of_kind("http.request")
    target, headers = request.payload["target"], request.payload["headers"]
    assert target.startswith("/openai/deployments/")
    assert "api-version=" in target
    assert headers["api-key"] == "<scrubbed>"


def test_a_rate_limit_is_retried_after_the_milliseconds_that_azure_tells(subject: str) -> None:
    """Its header beside the standard one is the finer of the two."""
    limited = error(429, "rate_limit_exceeded", retry_after="3", retry_after_ms="2500")
    done = play(subject, limited)
    assert done.attempts == 2
    assert done.waits_s == (2.5,)


def test_a_deployment_that_is_not_there_is_not_found(subject: str) -> None:
    """By the SDK's class for the status."""
    done = play(subject, error(404, "model_not_found"))
    assert done.attempts == 1
    assert done.raised[0][0] == "openai.NotFoundError"
