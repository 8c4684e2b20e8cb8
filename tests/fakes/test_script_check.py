"""A scenario's own errors are looked at before anything runs; see also `test_provider`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.fakes.provider.provider import FakeProvider
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.provider_script import ProviderScript

MakeRig = Callable[..., Any]


@pytest.mark.parametrize(
    "odd",
    [
        {"headers": {"content-length": "3"}},
        {"headers": {"x y": "z"}},
        {"headers": {"x": "a\r\nb: c"}},
        {"content_type": "text/html; title=ü"},
    ],
)
def test_a_scenarios_own_error_that_cannot_be_sent_is_refused_at_once(
    odd: dict[str, Any], make_rig: MakeRig
) -> None:
    """A recording may hold anything, and a run must not end in the middle of it."""
    own = {"recorded": {"status": 429, "body": {"error": {}}, "source": "made up", **odd}}
    fault = {"kind": "http_error", "status": 429, "error": "recorded"}
    with pytest.raises(InputError, match="'recorded': the header"):
        make_rig(fault, payloads=own)


def test_an_error_that_cannot_stand_in_a_stream_is_refused_at_once() -> None:
    """In a stream of Bedrock's it needs a class, which an answer tells in a header."""
    own = {"status": 503, "body": {"message": "No."}, "source": "made up"}
    then = {"kind": "stream_error", "after_chunks": 1, "error": "recorded"}
    script = ProviderScript.model_validate(
        {
            "dialect": "bedrock-converse",
            "payloads": {"recorded": own},
            "faults": [{"id": "f", "then": then}],
        }
    )
    with pytest.raises(InputError, match="no error object"):
        FakeProvider(script, load_payloads("bedrock-converse"))


def test_a_page_with_a_good_status_is_no_refusal(make_rig: MakeRig) -> None:
    """A limit that refuses with a 200 would refuse nothing."""
    page = {"status": 200, "text": "Hi.", "content_type": "text/html", "source": "made up"}
    with pytest.raises(InputError, match="cannot refuse with 'page'"):
        make_rig(payloads={"page": page}, overload={"percent": 1, "error": "page"})
