"""A subject is examined before it is judged."""

from __future__ import annotations

from collections.abc import Callable

from harness.run.doctor import examine
from harness.subjects.binding import Binding, provider_adapter
from harness.subjects.ports import ProviderRequest
from tests.run.conftest import Payloads


def test_a_healthy_subject_has_no_problem(
    bound: Callable[[str], Binding], payloads: Payloads
) -> None:
    """It answers both tasks, and asked the provider for each."""
    examination = examine(bound("reference"), payloads)
    assert examination.problems == ()
    assert set(examination.answers.values()) == {"returned"}
    assert examination.requests == 2


def test_an_adapter_that_ignores_streaming_is_told(
    bound: Callable[[str], Binding], payloads: Payloads
) -> None:
    """Faults inside a stream would never be met."""

    @provider_adapter(id="deaf")
    async def deaf(request: ProviderRequest) -> object:
        from dataclasses import replace

        return await bound("reference").invoke_async(replace(request, stream=False))

    assert any("ignores request.stream" in item for item in examine(deaf, payloads).problems)


def test_an_adapter_that_asks_nobody_is_told(payloads: Payloads) -> None:
    """A canned answer looks healthy from outside."""

    @provider_adapter(id="canned")
    def canned(request: ProviderRequest) -> str:
        return "Hello."

    assert any("no request" in item for item in examine(canned, payloads).problems)


def test_an_adapter_that_fails_is_quoted(payloads: Payloads) -> None:
    """With the error that it raised on a healthy provider."""

    @provider_adapter(id="broken")
    def broken(request: ProviderRequest) -> str:
        raise RuntimeError("no key configured")

    problems = examine(broken, payloads).problems
    assert any("no key configured" in item for item in problems)
