"""The real clients that come bound, as a list that can be read without importing one.

A new one is a file beside this one and an entry here. Titles are repeated from the bindings.
"""

from __future__ import annotations

from faultclock.subjects.shipped_entry import Shipped

#: What a client does in the real world and not here; its module says why.
_UPLOADS_TRACES = (
    "It uploads a trace of each run to the provider's own host, where it would be taken for an"
    " attempt: tracing is off."
)
_PROBES_ITS_PEER = (
    "It lets the system probe a silent peer (TCP keep-alive and TCP_USER_TIMEOUT, 120 s): here the"
    " options are taken and nothing is probed, so only its deadline ends a silence."
)
_FETCHES_PRICES = (
    "It fetches its price list from the network when it is imported: it has the list that it"
    " comes with."
)

#: By id, in the order in which they are listed.
CLIENTS = {
    "openai-async": Shipped(
        "subjects.clients.openai_sdk:openai_async",
        "OpenAI SDK as it is, async",
        needs=("openai",),
        extra="openai",
    ),
    "openai-sync": Shipped(
        "subjects.clients.openai_sdk:openai_sync",
        "OpenAI SDK as it is, blocking",
        needs=("openai",),
        extra="openai",
    ),
    "openai-stud": Shipped(
        "subjects.clients.openai_stud:openai_stud",
        "OpenAI SDK with tenacity, by the stud-cli model",
        needs=("openai", "httpx2", "tenacity"),
        extra="openai",
    ),
    "azure-openai": Shipped(
        "subjects.clients.azure_openai_sdk:azure_openai",
        "OpenAI SDK for Azure as it is, async",
        needs=("openai",),
        extra="openai",
        dialect="azure-openai",
    ),
    "azure-openai-sync": Shipped(
        "subjects.clients.azure_openai_sdk:azure_openai_sync",
        "OpenAI SDK for Azure as it is, blocking",
        needs=("openai",),
        extra="openai",
        dialect="azure-openai",
    ),
    "openai-agent": Shipped(
        "subjects.clients.openai_agent:openai_agent",
        "Small agent on the OpenAI SDK, as many are written",
        role="runtime",
        needs=("openai",),
        extra="openai",
    ),
    "httpx2-tenacity": Shipped(
        "subjects.clients.httpx2_tenacity:httpx2_tenacity",
        "httpx2 with tenacity's @retry, async",
        needs=("httpx2", "tenacity"),
        extra="tenacity",
    ),
    "httpx2-tenacity-sync": Shipped(
        "subjects.clients.httpx2_tenacity:httpx2_tenacity_sync",
        "httpx2 with tenacity's @retry, blocking",
        needs=("httpx2", "tenacity"),
        extra="tenacity",
    ),
    "stamina": Shipped(
        "subjects.clients.stamina_client:stamina_async",
        "httpx2 with stamina's @retry, async",
        needs=("httpx2", "stamina"),
        extra="stamina",
    ),
    "stamina-sync": Shipped(
        "subjects.clients.stamina_client:stamina_sync",
        "httpx2 with stamina's @retry, blocking",
        needs=("httpx2", "stamina"),
        extra="stamina",
    ),
    "requests-retry": Shipped(
        "subjects.clients.requests_retry:requests_retry",
        "requests with urllib3's Retry, blocking",
        needs=("requests", "urllib3"),
        extra="requests",
    ),
    "aiohttp": Shipped(
        "subjects.clients.aiohttp_client:aiohttp_client",
        "aiohttp as it is, async",
        needs=("aiohttp",),
        extra="aiohttp",
    ),
    "anthropic": Shipped(
        "subjects.clients.anthropic_sdk:anthropic_async",
        "Anthropic SDK as it is, async",
        needs=("anthropic",),
        extra="anthropic",
        dialect="anthropic-messages",
    ),
    "anthropic-sync": Shipped(
        "subjects.clients.anthropic_sdk:anthropic_sync",
        "Anthropic SDK as it is, blocking",
        needs=("anthropic",),
        extra="anthropic",
        dialect="anthropic-messages",
    ),
    "bedrock": Shipped(
        "subjects.clients.bedrock_boto3:bedrock",
        "boto3 on Bedrock Converse as it is, blocking",
        needs=("boto3", "botocore"),
        extra="bedrock",
        dialect="bedrock-converse",
    ),
    "google-genai": Shipped(
        "subjects.clients.google_genai_sdk:google_genai",
        "Google Gen AI SDK as it is, async",
        needs=("google.genai", "aiohttp"),
        extra="google-genai",
        dialect="gemini-generate-content",
    ),
    "google-genai-sync": Shipped(
        "subjects.clients.google_genai_sdk:google_genai_sync",
        "Google Gen AI SDK as it is, blocking",
        needs=("google.genai", "httpx2"),
        extra="google-genai",
        dialect="gemini-generate-content",
    ),
    "pydantic-ai": Shipped(
        "subjects.clients.pydantic_ai_agent:pydantic_ai",
        "Pydantic AI agent on the OpenAI SDK as it is, async",
        needs=("pydantic_ai", "openai"),
        extra="pydantic-ai",
    ),
    "pydantic-ai-sync": Shipped(
        "subjects.clients.pydantic_ai_agent:pydantic_ai_sync",
        "Pydantic AI agent on the OpenAI SDK as it is, blocking",
        needs=("pydantic_ai", "openai"),
        extra="pydantic-ai",
    ),
    "langchain-openai": Shipped(
        "subjects.clients.langchain_openai_chat:langchain_openai",
        "LangChain ChatOpenAI as it is, async",
        needs=("langchain_openai", "langchain_core", "pydantic"),
        extra="langchain-openai",
        cannot=(_PROBES_ITS_PEER,),
    ),
    "langchain-openai-sync": Shipped(
        "subjects.clients.langchain_openai_chat:langchain_openai_sync",
        "LangChain ChatOpenAI as it is, blocking",
        needs=("langchain_openai", "langchain_core", "pydantic"),
        extra="langchain-openai",
        cannot=(_PROBES_ITS_PEER,),
    ),
    "openai-agents": Shipped(
        "subjects.clients.openai_agents_runner:openai_agents",
        "OpenAI Agents SDK on its chat completions model as it is, async",
        needs=("agents", "openai"),
        extra="openai-agents",
        cannot=(_UPLOADS_TRACES,),
    ),
    "openai-agents-sync": Shipped(
        "subjects.clients.openai_agents_runner:openai_agents_sync",
        "OpenAI Agents SDK on its chat completions model as it is, blocking",
        needs=("agents", "openai"),
        extra="openai-agents",
        cannot=(_UPLOADS_TRACES,),
    ),
    "litellm": Shipped(
        "subjects.clients.litellm_completion:litellm_async",
        "LiteLLM acompletion as it is, async",
        needs=("litellm",),
        extra="litellm",
        cannot=(_FETCHES_PRICES,),
    ),
    "litellm-sync": Shipped(
        "subjects.clients.litellm_completion:litellm_sync",
        "LiteLLM completion as it is, blocking",
        needs=("litellm",),
        extra="litellm",
        cannot=(_FETCHES_PRICES,),
    ),
    "ollama": Shipped(
        "subjects.clients.ollama_sdk:ollama_async",
        "Ollama SDK as it is, async",
        needs=("ollama",),
        extra="ollama",
        dialect="ollama",
    ),
    "ollama-sync": Shipped(
        "subjects.clients.ollama_sdk:ollama_sync",
        "Ollama SDK as it is, blocking",
        needs=("ollama",),
        extra="ollama",
        dialect="ollama",
    ),
    "cohere": Shipped(
        "subjects.clients.cohere_sdk:cohere_async",
        "Cohere SDK as it is, async",
        needs=("cohere",),
        extra="cohere",
        dialect="cohere",
    ),
    "cohere-sync": Shipped(
        "subjects.clients.cohere_sdk:cohere_sync",
        "Cohere SDK as it is, blocking",
        needs=("cohere",),
        extra="cohere",
        dialect="cohere",
    ),
    "mistralai": Shipped(
        "subjects.clients.mistralai_sdk:mistralai_async",
        "Mistral SDK as it is, async",
        needs=("mistralai.client",),
        extra="mistralai",
        dialect="mistral",
    ),
    "mistralai-sync": Shipped(
        "subjects.clients.mistralai_sdk:mistralai_sync",
        "Mistral SDK as it is, blocking",
        needs=("mistralai.client",),
        extra="mistralai",
        dialect="mistral",
    ),
}
