"""The environment in which a program finds the served provider instead of the real one.

Which variables a client reads is read off the clients themselves: `openai` 3.54 (`_client.py`,
`lib/azure.py`), `anthropic` 2.12 (`_client.py`), `google-genai` 3.4 (`_base_url.py`,
`_api_client.py`), `botocore` 1.44.5 (`configprovider.py`), `ollama` 0.6.3 (`_client.py`), `cohere`
7.3 (`client.py`). A client that reads none gets its base URL from the program, which has it in
FAULTCLOCK_BASE_URL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.subjects.ports import API_KEY

_OPENAI = {"OPENAI_BASE_URL": "{base_url}", "OPENAI_API_KEY": "{key}"}
#: Dialect to variables and what they hold. An API that is spoken by the OpenAI client has its own.
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "openai-compatible": _OPENAI,
    "openrouter": {**_OPENAI, "OPENROUTER_API_KEY": "{key}"},
    "deepseek": {**_OPENAI, "DEEPSEEK_API_KEY": "{key}"},
    "azure-openai": {
        "AZURE_OPENAI_ENDPOINT": "{base_url}",
        "AZURE_OPENAI_API_KEY": "{key}",
        "OPENAI_API_VERSION": "2024-10-21",
    },
    "anthropic-messages": {"ANTHROPIC_BASE_URL": "{base_url}", "ANTHROPIC_API_KEY": "{key}"},
    "gemini-generate-content": {"GOOGLE_GEMINI_BASE_URL": "{base_url}", "GEMINI_API_KEY": "{key}"},
    "bedrock-converse": {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{base_url}",
        "AWS_ACCESS_KEY_ID": "AKIASIMULATED0000000",
        "AWS_SECRET_ACCESS_KEY": "{key}",
        "AWS_DEFAULT_REGION": "us-east-1",
    },
    "ollama": {"OLLAMA_HOST": "{base_url}"},
    "mistral": {"MISTRAL_API_KEY": "{key}"},
    "cohere": {"CO_API_URL": "{base_url}", "CO_API_KEY": "{key}"},
}
#: Clients that know of a proxy would ask it for the provider on this machine, too.
_NO_PROXY = "127.0.0.1,localhost"


def environment(dialect: str | None, base_url: str, by_call: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which the clients of `dialect` find the provider.

    Args:
        base_url: for a program that has one base URL.
        by_call: the base URL of each call, for a program that makes several.
    """
    own = _VARIABLES.get(dialect or DEFAULT_DIALECT, {})
    return {
        **{name: text.format(base_url=base_url, key=API_KEY) for name, text in own.items()},
        "FAULTCLOCK_BASE_URL": base_url,
        "FAULTCLOCK_CALLS": json.dumps(dict(by_call), separators=(",", ":")),
        "NO_PROXY": _NO_PROXY,
        "no_proxy": _NO_PROXY,
    }
