"""Every test of the network runs under the patches and leaves the process as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

# Clients are imported before the patches so that their lazy parts do not load inside a world.
import aiohttp  # noqa: F401  # isort: skip
import httpx  # noqa: F401  # isort: skip
import httpx2  # noqa: F401  # isort: skip
import openai  # noqa: F401  # isort: skip
import requests  # noqa: F401  # isort: skip

from faultclock.sim.patches import installed


@pytest.fixture(autouse=True, scope="package")
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.fixture(autouse=True)
def _api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-simulated")
    for proxy in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(proxy, raising=False)
