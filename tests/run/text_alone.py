"""A client of Anthropic's API that reads the text of an answer, and not why it stopped."""

from __future__ import annotations

import anthropic

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest


@provider_adapter(id="text-alone", title="Reads the text alone", dialect="anthropic-messages")
def text_alone(request: ProviderRequest) -> str:
    """Return the text of the answer, whole or as a stream."""
    client = anthropic.Anthropic(api_key=request.api_key, base_url=request.base_url)
    asked = {
        "model": request.model,
        "max_tokens": 1_024,
        "messages": [{"role": "user", "content": "Hi."}],
    }
    with client:
        if not request.stream:
            return "".join(block.text for block in client.messages.create(**asked).content)
        with client.messages.stream(**asked) as stream:
            return "".join(stream.text_stream)
