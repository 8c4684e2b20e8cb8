"""What the machine says to clients reaches no run, and keys are there that open nothing."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.trace.trace import trace_lines
from faultclock.run.variables import FIXED, TAKEN, settle, silence, taken_away
from faultclock.subjects.ports import API_KEY
from tests.subjects.clients.simulated import recorded

NAMES = st.sampled_from([*sorted(TAKEN), *FIXED, "https_proxy", "AWS_PROFILE", "PATH", "MY_MODEL"])


@given(st.dictionaries(NAMES, st.text(max_size=5)))
def test_every_environment_becomes_the_same_but_for_the_subjects_own(found: dict[str, str]) -> None:
    """What no client reads by itself stays as it is."""
    own = {name: value for name, value in found.items() if name in ("PATH", "MY_MODEL")}
    settle(found)
    assert found == {**own, **FIXED}
    assert taken_away(found) == ()


def test_the_keys_open_nothing() -> None:
    """A real key of the machine never comes into a run."""
    environment = {"OPENAI_API_KEY": "sk-real", "AWS_SECRET_ACCESS_KEY": "real"}
    settle(environment)
    assert set(environment.values()) >= {API_KEY}
    assert not {"sk-real", "real"} & set(environment.values())


def test_two_keys_for_one_service_are_no_reason_to_complain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Google's SDK warns of what a person did not do."""
    silence()
    logger = logging.getLogger("google_genai._api_client")
    logger.warning("Both GOOGLE_API_KEY and GEMINI_API_KEY are set. Using GOOGLE_API_KEY.")
    logger.warning("Something else.")
    assert caplog.messages == ["Something else."]


@pytest.mark.parametrize(
    ("subject", "name", "value"),
    [
        ("openai-async", "OPENAI_BASE_URL", "https://elsewhere.example.com/v1"),
        ("openai-async", "OPENAI_ORG_ID", "org-mine"),
        ("requests-retry", "HTTPS_PROXY", "http://proxy.example.com:3128"),
        ("bedrock", "AWS_MAX_ATTEMPTS", "9"),
    ],
)
def test_a_trace_does_not_tell_whose_machine_it_was(
    subject: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, whatever is set there."""
    before = "".join(trace_lines(recorded(subject)))
    monkeypatch.setenv(name, value)
    settle(os.environ)
    assert "".join(trace_lines(recorded(subject))) == before


def test_a_netrc_of_the_machine_adds_no_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """requests would put its password where the key is."""
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    (request,) = recorded("requests-retry").of_kind("http.request")
    assert request.payload["headers"]["authorization"] == "<scrubbed>"
    assert "".join(trace_lines(recorded("requests-retry")))
