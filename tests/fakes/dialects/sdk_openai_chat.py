"""The openai SDK on OpenAI itself."""

from __future__ import annotations

from tests.fakes.dialects.openai_clients import OpenAIChatSdk

SDKS = (OpenAIChatSdk("openai-chat"),)
