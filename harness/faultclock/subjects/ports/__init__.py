"""The ports: how a subject meets the world, one module for each side of it.

provider        a provider adapter is given a ProviderRequest
tool            a tool is given a ToolRequest; a runtime is given Tools
interaction     the person, as a runtime sees them
store           the session store, as a runtime sees it or as a subject
state_machine   what an attached state machine decides
extension       the four phases of an extension
services        policy engine, hooks, telemetry, queue, archive and a chain of providers
workflow        the nodes or stages of a turn, where it is no conversation
runtime         a runtime is given Surroundings
host            what every subject can say of itself
"""

from faultclock.model.error_model.failure_rules import RunState
from faultclock.model.scenario.interaction_script import InteractionKind
from faultclock.model.scenario.mishap import CancelScope
from faultclock.model.scenario.port_values import (
    InteractionAnswer,
    InteractionRequest,
    Slot,
    ToolProblem,
    ToolResult,
)
from faultclock.model.scenario.services_script import HookSlot
from faultclock.model.typed_error import TypedError
from faultclock.subjects.ports.extension import (
    Extension,
    ExtensionContract,
    ExtensionHost,
    SlotDecision,
)
from faultclock.subjects.ports.host import Host
from faultclock.subjects.ports.interaction import Interactor
from faultclock.subjects.ports.provider import (
    API_KEY,
    BASE_URL,
    MODEL,
    OPENAI_ALIKE,
    ProviderRequest,
    Reply,
    ToolCall,
)
from faultclock.subjects.ports.runtime import Limits, RunResult, Runtime, Surroundings
from faultclock.subjects.ports.services import (
    Archive,
    Hook,
    Policy,
    ProviderTarget,
    Queue,
    TelemetrySink,
)
from faultclock.subjects.ports.state_machine import Next, Stage, StateMachine
from faultclock.subjects.ports.store import SessionStore, StoreSurroundings
from faultclock.subjects.ports.tool import (
    CancelSignal,
    Tool,
    ToolContract,
    ToolRequest,
    ToolRetryRule,
)
from faultclock.subjects.ports.workflow import Node, NodeRetryRule, SandboxError, Workflow

__all__ = [
    "API_KEY",
    "BASE_URL",
    "MODEL",
    "OPENAI_ALIKE",
    "Archive",
    "CancelScope",
    "CancelSignal",
    "Extension",
    "ExtensionContract",
    "ExtensionHost",
    "Hook",
    "HookSlot",
    "Host",
    "InteractionAnswer",
    "InteractionKind",
    "InteractionRequest",
    "Interactor",
    "Limits",
    "Next",
    "Node",
    "NodeRetryRule",
    "Policy",
    "ProviderRequest",
    "ProviderTarget",
    "Queue",
    "Reply",
    "RunResult",
    "RunState",
    "Runtime",
    "SandboxError",
    "SessionStore",
    "Slot",
    "SlotDecision",
    "Stage",
    "StateMachine",
    "StoreSurroundings",
    "Surroundings",
    "TelemetrySink",
    "Tool",
    "ToolCall",
    "ToolContract",
    "ToolProblem",
    "ToolRequest",
    "ToolResult",
    "ToolRetryRule",
    "TypedError",
    "Workflow",
]
