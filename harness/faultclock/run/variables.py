"""Environment variables that clients read by themselves: in every run the same ones.

A proxy, a base URL or a retry setting of the machine would change what a client does, and a trace
would differ between machines. A key is there for every usual provider, so that code which makes
its client when it is imported can be imported. The names are those that the libraries read, as
installed: `openai` 3.54, `anthropic` 2.12, `google-genai` 3.4, `botocore` 1.44.5, `mistralai` 3.7,
`cohere` 7.3, `ollama` 0.6.3, `langchain-openai` 1.7.3, `requests` 2.34, `aiohttp` 3.14,
`huggingface_hub` 2.4. Whatever else stands in the environment is the subject's own business and
stays as it is.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, MutableMapping
from types import MappingProxyType

from faultclock.subjects.ports import API_KEY

#: What every run finds: keys that open nothing, and no file of the machine.
FIXED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "ANTHROPIC_API_KEY",
                "AZURE_OPENAI_API_KEY",
                "CEREBRAS_API_KEY",
                "COHERE_API_KEY",
                "CO_API_KEY",
                "DEEPSEEK_API_KEY",
                "FIREWORKS_API_KEY",
                "GEMINI_API_KEY",
                "GOOGLE_API_KEY",
                "GROQ_API_KEY",
                "MISTRAL_API_KEY",
                "NVIDIA_API_KEY",
                "OLLAMA_API_KEY",
                "OPENAI_API_KEY",
                "OPENROUTER_API_KEY",
                "PERPLEXITY_API_KEY",
                "TOGETHER_API_KEY",
                "XAI_API_KEY",
            ),
            API_KEY,
        ),
        # Code that is imported as it is reads these two beside its key.
        "AZURE_OPENAI_ENDPOINT": "https://simulated.openai.azure.com",
        "OPENAI_API_VERSION": "2024-10-21",
        "AWS_ACCESS_KEY_ID": "AKIASIMULATED0000000",
        "AWS_SECRET_ACCESS_KEY": API_KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        # huggingface_hub takes what begins so for one of its own.
        "HF_TOKEN": f"hf_{API_KEY}",
        # What a framework sends beside a call is no part of it: openai-agents its traces to the
        # provider's own host (0.20.0, agents/tracing/processors.py), by a thread that outlives
        # the call; CrewAI asks for its newest version (1.15.30, utilities/version.py); Agno counts
        # its runs (3.1.10, agent/_init.py, 64).
        "OPENAI_AGENTS_DISABLE_TRACING": "true",
        "AGNO_TELEMETRY": "false",
        "CREWAI_DISABLE_VERSION_CHECK": "true",
        # requests and aiohttp put what they find there into the Authorization header.
        "NETRC": os.devnull,
    }
)
#: Beginnings of names that no run sees.
_TAKEN_PREFIXES = ("AWS_", "GOOGLE_GENAI_", "LANGCHAIN_", "LANGSMITH_")
#: Names that no run sees; proxies are named in either case.
TAKEN = frozenset(
    {
        "ALL_PROXY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_LOG",
        "ANTHROPIC_OPEN_TELEMETRY",
        "AZURE_OPENAI_AD_TOKEN",
        "CO_API_URL",
        "CO_BASE_URL",
        "CURL_CA_BUNDLE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_VERTEX_BASE_URL",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "MISTRAL_DEBUG",
        "NO_PROXY",
        "OLLAMA_BASE_URL",
        "OLLAMA_HOST",
        "OPENAI_ADMIN_KEY",
        "OPENAI_API_BASE",
        "OPENAI_API_TYPE",
        "OPENAI_BASE_URL",
        "OPENAI_CUSTOM_HEADERS",
        "OPENAI_LOG",
        "OPENAI_ORGANIZATION",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_PROXY",
        "REQUESTS_CA_BUNDLE",
        "SSLKEYLOGFILE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
    }
)


def settle(environment: MutableMapping[str, str]) -> None:
    """Make `environment` what every run finds. It is changed in place."""
    for name in taken_away(environment):
        del environment[name]
    environment.update(FIXED)


def silence() -> None:
    """Let no library complain about the keys that are set here beside each other."""
    logging.getLogger("google_genai._api_client").addFilter(_is_not_about_our_keys)


def _is_not_about_our_keys(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Both GOOGLE_API_KEY and GEMINI_API_KEY")


def taken_away(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that are set there and that no run sees, sorted."""
    return tuple(
        sorted(
            name
            for name in environment
            if name not in FIXED
            and (name.upper() in TAKEN or name.upper().startswith(_TAKEN_PREFIXES))
        )
    )
