"""LiteLLM's completion functions exactly as they are: retries and errors their own.

Two things are settled before the import, and neither changes what a call does. Its price list is
the one that it comes with: the import itself would fetch a newer one from the real network
(litellm 1.106.2, litellm_core_utils/get_model_cost_map.py). And its advice where to get help is
not printed: every failure that a scenario plants would write two lines into the report.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm

from faultclock.subjects.asking import arguments, streamed, streamed_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.ports.provider import MODEL
from faultclock.subjects.reading import reply_of

_DISTRIBUTIONS = ("aiohttp", "httpx", "litellm", "openai")

litellm.suppress_debug_info = True
# Reads 200,000 words of a vocabulary that comes with the library, half a second of work. What a
# call that fails in mid-stream counts by is then there already in every run.
litellm.token_counter(model=MODEL, text="Hello")


@provider_adapter(
    id="litellm",
    title="LiteLLM acompletion as it is, async",
    distributions=_DISTRIBUTIONS,
)
async def litellm_async(request: ProviderRequest) -> Any:
    """Ask once through `acompletion`."""
    if not request.stream:
        return reply_of(await litellm.acompletion(**_arguments(request)))
    return await streamed_async(await litellm.acompletion(**_arguments(request), stream=True))


@provider_adapter(
    id="litellm-sync",
    title="LiteLLM completion as it is, blocking",
    distributions=_DISTRIBUTIONS,
)
def litellm_sync(request: ProviderRequest) -> Any:
    """Ask once through `completion`."""
    if not request.stream:
        return reply_of(litellm.completion(**_arguments(request)))
    return streamed(litellm.completion(**_arguments(request), stream=True))


def _arguments(request: ProviderRequest) -> dict[str, Any]:
    """Return what a completion is given; the prefix says which kind of provider is asked."""
    return {
        **arguments(request),
        "model": f"openai/{request.model}",
        "api_base": request.base_url,
        "api_key": request.api_key,
        "timeout": request.timeout_s,
    }
