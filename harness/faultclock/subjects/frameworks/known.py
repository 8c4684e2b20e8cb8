"""Which objects are agents of a framework, and which file here takes them.

They are recognised by the names of their classes, so no framework is imported that the user's own
code has not imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.foreign import Export
from faultclock.subjects.ports import Surroundings


class Framework(Protocol):
    """What a file of a framework has; `AgentTarget` asks for more where it is there."""

    def tools_of(self, agent: Any) -> Iterable[ToolScript | None]:
        """Return what the agent's own tools declare of themselves."""
        ...

    def live(self, agent: Any, surroundings: Surroundings) -> Any:
        """Return the runtime of one life: an object with `run_turn`."""
        ...


class Known(Struct, frozen=True, kw_only=True):
    """The agents of one framework.

    Attributes:
        package: the package of their classes; for one of another language, as its host says it.
        kinds: names of the classes.
        file: the module here that takes it.
        name: of the framework, as its documentation writes it.
        extra: of the distribution that installs it; empty for one that no package of Python has.
        distributions: names of the libraries whose versions belong in a trace; a program of another
            language says its own.
        style: whether its turns are coroutines.
        session: what the check does for an agent that has nothing of its own to keep its session,
            and the user's own program has to do; empty: nothing.
        remedies: which of its options mends a broken requirement of `common`, by the id of that.
            Each stands in the source of the versions in docs/agents.md.
        models: the same, where it depends on the class of the agent's `model`, by its name.
        mcp_remedies: the same, of an agent with MCP servers alone.
        unreachable: hosts that the framework asks for itself, for a newer version, say: they
            have no address in a run, as behind a firewall.
        streams: whether it asks for streams; True: a turn is made with its streaming call where a
            scenario asks for one.
        deps: whether its runs are given something beside the text: `live` takes it, and `check`
            says before that whether the agent can be run with it.
    """

    package: str
    kinds: tuple[str, ...]
    file: str
    name: str
    extra: str
    distributions: tuple[str, ...]
    style: Literal["async", "sync"] = "async"
    session: str = ""
    remedies: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    mcp_remedies: Mapping[str, str] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    streams: bool | Literal["always"] = False
    deps: bool = False

    def framework(self) -> Framework:
        """Import the file that takes it; the framework itself is imported already."""
        module: Any = importlib.import_module(f"faultclock.subjects.frameworks.{self.file}")
        return module  # type: ignore[no-any-return]


FRAMEWORKS = (
    Known(
        package="agents",
        kinds=("Agent",),
        file="openai_agents",
        name="OpenAI Agents SDK",
        extra="openai-agents",
        distributions=("openai-agents",),
        session="gave it a Session: your own program must pass one to Runner.run",
        remedies={
            "COMMON-END-03": "In the OpenAI Agents SDK: function_tool(timeout=30), of a tool that"
            " is async.",
            "COMMON-RESULT-05": "In the OpenAI Agents SDK, where the tool does not exist:"
            ' RunConfig(tool_not_found_behavior="return_error_to_model"); where it raises:'
            " no failure_error_function=None.",
            "COMMON-SECRET-02": "In the OpenAI Agents SDK:"
            " function_tool(failure_error_function=...).",
        },
        streams=True,
        deps=True,
    ),
    Known(
        package="pydantic_ai",
        kinds=("AbstractAgent",),
        file="pydantic_ai_agents",
        name="Pydantic AI",
        extra="pydantic-ai",
        distributions=("pydantic-ai-slim",),
        session="stored its messages: your own program must, and pass message_history",
        remedies={
            "COMMON-END-03": "In Pydantic AI: Agent(tool_timeout=30).",
            "COMMON-ANSWER-01": "In Pydantic AI, where a stream ends early: an output_validator"
            " that raises if ctx.messages[-1].finish_reason is None, unless ctx.partial_output.",
            "COMMON-RESULT-05": "In Pydantic AI: Agent(capabilities=[hooks]) with a"
            " pydantic_ai.capabilities.Hooks() whose on.tool_execute_error raises ToolFailed.",
        },
        streams=True,
        deps=True,
    ),
    Known(
        package="langgraph",
        kinds=("Pregel",),
        file="langgraph_graphs",
        name="LangGraph",
        extra="langgraph",
        distributions=("langgraph",),
        session="gave it a checkpointer: your own program must",
        remedies={
            "COMMON-END-01": 'In LangChain: init_chat_model("openai:...", timeout=60).',
            "COMMON-EFFECT-01": "In LangGraph: a node that interrupts runs again from its beginning"
            " at each answer. Do other work in another node, and send each call of a tool to a node"
            ' of its own, as create_agent does: Send("tools", [call]).',
            "COMMON-END-03": "In LangChain: an awrap_tool_call hook, of a middleware or of"
            " ToolNode, that awaits the call by asyncio.wait_for and returns a ToolMessage at the"
            " TimeoutError. step_timeout of the compiled graph ends the whole turn instead.",
            "COMMON-END-04": "In LangChain: ModelCallLimitMiddleware(run_limit=25); in LangGraph:"
            " recursion_limit in the configuration, which is 10,000 steps by default.",
            "COMMON-RETRY-01": 'In LangChain: init_chat_model("openai:...", max_retries=0). With'
            ' create_agent, ModelRetryMiddleware(retry_on=..., on_failure="error") retries the'
            " rest: retry_on is a function that returns getattr(error, 'is_retryable', False), and"
            ' False where error.code is "insufficient_quota".',
            "COMMON-RESULT-01": "In LangChain: put a ToolMessage behind each message for each of"
            " [*message.tool_calls, *message.invalid_tool_calls] that has none. A cancel leaves"
            " such calls, and so do arguments that break off. With create_agent that is a"
            " before_agent hook, in a graph of your own the node before the model is asked.",
            "COMMON-RESULT-05": "In LangChain:"
            " ToolErrorMiddleware(lambda error, request: type(error).__name__); in a graph of your"
            " own: ToolNode(handle_tool_errors=...), with a function that words the error.",
            "COMMON-SECRET-02": "In LangGraph: ToolNode(handle_tool_errors=...), with a function"
            " that words the error.",
        },
        mcp_remedies={
            "COMMON-END-01": "For an MCP server:"
            " session_kwargs={'read_timeout_seconds': timedelta(seconds=30)}.",
        },
        streams=True,
        deps=True,
    ),
    Known(
        package="agno",
        kinds=("Agent",),
        file="agno_agents",
        name="Agno",
        extra="agno",
        distributions=("agno",),
        session="gave it a db that lasts: your own program must",
    ),
    Known(
        package="strands",
        kinds=("Agent",),
        file="strands_agents",
        name="Strands",
        extra="strands",
        distributions=("strands-agents",),
        session="gave it a session manager: your own program must",
        remedies={
            "COMMON-END-04": 'In Strands: limits={"turns": 25} beside the prompt.',
            **dict.fromkeys(
                ("COMMON-HINT-01", "COMMON-LAYER-01", "COMMON-RETRY-01"),
                "In Strands: Agent(retry_strategy=ModelRetryStrategy(max_attempts=1)), which leaves"
                " the attempts of the model's own SDK.",
            ),
        },
        models={
            "OpenAIModel": {
                "COMMON-RETRY-01": "In Strands: OpenAIModel(client_args={'max_retries': 0}) and"
                " Agent(retry_strategy=ModelRetryStrategy(max_attempts=1)).",
                **dict.fromkeys(
                    ("COMMON-HINT-01", "COMMON-LAYER-01"),
                    "In Strands: Agent(retry_strategy=ModelRetryStrategy(max_attempts=1)), which"
                    " leaves the three attempts of the OpenAI SDK.",
                ),
            },
            # botocore 1.44.5, retries/standard.py, reads `x-amz-retry-after` and no Retry-After.
            "BedrockModel": {
                **dict.fromkeys(
                    ("COMMON-HINT-01", "COMMON-RETRY-01"),
                    "In Strands: Config(retries={'total_max_attempts': 1}) as the"
                    " boto_client_config of BedrockModel, and"
                    " Agent(retry_strategy=ModelRetryStrategy(max_attempts=1)): neither botocore"
                    " nor Strands reads Retry-After.",
                ),
                "COMMON-LAYER-01": "In Strands: Config(retries={'total_max_attempts': 1}) as the"
                " boto_client_config of BedrockModel, which leaves the six attempts of Strands.",
            },
        },
        streams="always",
    ),
    Known(
        package="crewai",
        kinds=("Crew", "Agent"),
        file="crewai_crews",
        name="CrewAI",
        extra="crewai",
        distributions=("crewai",),
        remedies={
            **dict.fromkeys(
                ("COMMON-LAYER-01", "COMMON-RETRY-01"),
                "In CrewAI: Agent(max_retry_limit=0) and LLM(max_retries=0), which leaves the"
                " attempts of CrewAI's own at a 429.",
            ),
        },
        style="sync",
    ),
    Known(
        package="llama_index",
        kinds=("BaseWorkflowAgent", "AgentWorkflow"),
        file="llama_index_agents",
        name="LlamaIndex",
        extra="llama-index",
        distributions=("llama-index-core",),
        session="stored its memory: your own program must, and pass it as memory",
        streams="always",
    ),
    Known(
        package="autogen_agentchat",
        kinds=("AssistantAgent",),
        file="autogen_agents",
        name="AutoGen",
        extra="autogen",
        distributions=("autogen-agentchat",),
        session="stored what save_state returns: your own program must, and call load_state",
    ),
    Known(
        package="google.adk",
        kinds=("BaseAgent",),
        file="google_adk_agents",
        name="Google ADK",
        extra="google-adk",
        distributions=("google-adk",),
        session="stored its session: your own program must give the Runner a session"
        " service that lasts",
        remedies={
            "COMMON-END-01": "In Google ADK: Gemini(client_kwargs={"
            "'http_options': HttpOptions(timeout=60_000)}), in milliseconds.",
            "COMMON-END-04": "In Google ADK: RunConfig(max_llm_calls=25), which is 500 by default.",
            "COMMON-RESULT-05": "In Google ADK: Agent(on_tool_error_callback=...), which returns"
            " the result that the model gets.",
            # google-genai 3.4, _api_client.py, `retry_args`: tenacity's wait_exponential_jitter.
            "COMMON-RETRY-02": "In Google ADK: Gemini(retry_options=HttpRetryOptions(attempts=3))."
            " It reads no Retry-After, and repeats a used-up quota: where either matters, leave 429"
            " out of its http_status_codes, and retry that yourself.",
        },
    ),
    Known(
        package="smolagents",
        kinds=("MultiStepAgent",),
        file="smolagents_agents",
        name="smolagents",
        extra="smolagents",
        distributions=("smolagents",),
        session="stored the steps of its memory: your own program must",
        remedies={
            "COMMON-RETRY-01": "In smolagents: OpenAIModel(retry=False,"
            " client_kwargs={'max_retries': 0}).",
            **dict.fromkeys(
                ("COMMON-HINT-01", "COMMON-LAYER-01"),
                "In smolagents: OpenAIModel(retry=False), which leaves the three attempts of the"
                " OpenAI SDK.",
            ),
        },
        # A list of harnesses (huggingface_hub 1.x, utils/_detect_agent.py, 196).
        unreachable=("huggingface.co",),
        style="sync",
    ),
    Known(
        package="afk",
        kinds=("BaseAgent",),
        file="afk",
        name="AFK",
        extra="",
        distributions=("afk-py",),
        session="stored its memory: your own program must give the Runner a memory_store"
        " that lasts",
        remedies={
            "COMMON-END-03": "In AFK: @tool(timeout=30).",
            "COMMON-LAYER-01": "In AFK: AFK_LLM_MAX_RETRIES=0 in the environment, which leaves the"
            " three attempts of the OpenAI SDK.",
        },
    ),
    Known(
        package="@openai/agents",
        kinds=("Agent",),
        file="foreign_agents",
        name="OpenAI Agents SDK for Node",
        extra="",
        distributions=(),
        session="gave it a session: your own program must pass one to run",
        remedies={
            "COMMON-END-03": "In the OpenAI Agents SDK: tool({ timeoutMs: 30_000, ... }).",
            "COMMON-RESULT-05": "In the OpenAI Agents SDK, where the tool does not exist:"
            ' run(agent, input, { toolNotFoundBehavior: "return_error_to_model" }).',
        },
        style="sync",
        streams=True,
    ),
    Known(
        package="@langchain/langgraph",
        kinds=("Pregel",),
        file="foreign_agents",
        name="LangGraph for Node",
        extra="",
        distributions=(),
        session="gave it a checkpointer: your own program must",
        style="sync",
        streams=True,
    ),
)
#: Modules whose distribution has another name.
_INSTALLED_BY: Mapping[str, str] = {
    "bs4": "beautifulsoup4",
    "dotenv": "python-dotenv",
    "strands_tools": "strands-agents-tools",
    "yaml": "pyyaml",
}
#: A package that many distributions share.
_NAMESPACE = "google."
_BY_CLASS: Mapping[tuple[str, str], Known] = {
    (item.package, kind): item for item in FRAMEWORKS for kind in item.kinds
}


def distribution_of(module: str) -> str:
    """Return what installs a module: for most modules that is the first part of its own name."""
    for item in FRAMEWORKS:
        if module == item.package or module.startswith(f"{item.package}."):
            return item.distributions[0]
    parts = 2 if module.startswith(_NAMESPACE) else 1
    name = "-".join(module.split(".")[:parts])
    return _INSTALLED_BY.get(name, name)


def agent_of(target: object) -> Known | None:
    """Return which framework `target` is an agent of; None where it is none."""
    if isinstance(target, Export):
        said = target.agent or {}
        return _BY_CLASS.get((said.get("package", ""), said.get("kind", "")))
    kinds = type(target).__mro__
    found = (_BY_CLASS.get((_package_of(kind), kind.__name__)) for kind in kinds)
    return next((known for known in found if known is not None), None)


def framework_of(target: object) -> Known | None:
    """Return the framework whose class `target` is an object of, an agent or not; or None."""
    package = _package_of(type(target))
    return next((item for item in FRAMEWORKS if item.package == package), None)


def _package_of(kind: type) -> str:
    module = str(kind.__module__)
    parts = 2 if module.startswith(_NAMESPACE) else 1
    return ".".join(module.split(".")[:parts])
