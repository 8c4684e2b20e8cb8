"""stud-cli's page "Error Model", sentence by sentence.

Lines are those of its repository at the commit that `building.py` names.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.field.systems.stories import Row, Story

_PROVIDER = "src/cli/runtime/provider-stream.ts"
_LOOP = "src/cli/runtime/session-loop.ts"
_OPENAI = "src/extensions/providers/openai-compatible"
_MAPPER = "src/extensions/providers/_adapter/stream-mapper.ts"
_FETCHED = "the whole program asks once; nothing in it retries a provider"


def _is(*wanted: tuple[str, str]) -> Callable[..., bool]:
    return lambda *stories: [story.failure() for story in stories] == list(wanted)


def _model_reads(story: Story) -> dict[str, object]:
    found: dict[str, object] = json.loads(story.answer()).get("error", {})
    return found


ROWS = (
    # Classes.
    Row(
        says="Validation: Session refuses to start",
        runs=("wrongSettings good",),
        holds=lambda it: it.said["exitCode"] == 1 and it.requests == 0,
        why="exit code 1, and nothing is asked",
    ),
    Row(
        says="Provider transient: Retry per the provider's retry policy; escalate after N",
        runs=("yolo overloaded",),
        holds=lambda it: it.requests > 1,
        why=f"{_FETCHED} ({_PROVIDER}, 169)",
    ),
    Row(
        says="Provider capability: Capability Negotiation rejects the choice",
        why="the program negotiates nothing: `src/core/capabilities` is not called by `src/cli`",
    ),
    Row(
        says="Tool transient: Per-tool retry policy; otherwise surface to the model",
        why="the tools that the program loads are those of the missing package",
    ),
    Row(
        says="Tool terminal: Surface to the model as a typed error",
        runs=("yolo lacks-a-path", "yolo tool-fails"),
        holds=lambda schema, failed: (
            [_model_reads(it).get("class") for it in (schema, failed)]
            == ["ToolTerminal", "ToolTerminal"]
        ),
        why="src/cli/runtime/tool-results.ts, 5",
    ),
    Row(
        says="Session store: Retry snapshot; after N, error the session",
        runs=("storeDown good",),
        holds=lambda it: it.said["writes"] > 2,
        why=f"written once (src/cli/runtime/session-store.ts, 120); the turn fails ({_LOOP}, 290)",
    ),
    Row(
        says="Cancellation: A cooperative exit, not an error",
        why=f"a turn cannot be cancelled: the signal of a request is a new one ({_PROVIDER}, 177)",
    ),
    Row(says="Crash: Recoverable via resume", why="a client of version 1 cannot be killed"),
    Row(says="SM decision: The SM owns the next move", why="no state machine was attached"),
    # Without a state machine.
    Row(
        says="Without an attached SM: Provider transient → retry",
        runs=("yolo refused",),
        holds=lambda it: it.requests > 1 or len(it.events("ProviderRequest")) > 1,
        why="as above",
    ),
    Row(
        says="Tool terminal → surface to model; the model decides",
        runs=("yolo tool-fails",),
        holds=lambda it: it.requests == 2 and bool(it.events("TurnEnded")),
    ),
    Row(
        says="Persistent unrecoverable → end the turn with a user-visible error",
        runs=("yolo bad-key",),
        holds=lambda it: "assistant error [" in it.said["stdout"],
        why="and exit code 0, so that a script does not learn of it (src/cli/runtime.ts, 62)",
    ),
    # Codes.
    Row(
        says="ProviderTransient: NetworkTimeout, Provider5xx, RateLimited",
        runs=("yolo refused", "yolo overloaded", "yolo limited"),
        holds=_is(
            ("ProviderTransient", "NetworkTimeout"),
            ("ProviderTransient", "Provider5xx"),
            ("ProviderTransient", "RateLimited"),
        ),
        why=f"{_MAPPER}, 84; {_OPENAI}/adapter.ts, 283",
    ),
    Row(
        says="ProviderCapability: MissingStreaming (required feature unavailable)",
        runs=("yolo bad-request",),
        holds=lambda it: it.failure() != ("ProviderCapability", "MissingStreaming"),
        why=f"any other status, such as a 400, is a missing capability ({_MAPPER}, 145)",
    ),
    Row(
        says="ToolTerminal: InputInvalid",
        runs=("yolo lacks-a-path",),
        holds=lambda it: _model_reads(it).get("code") == "InputInvalid",
    ),
    Row(
        says="Session: StoreUnavailable",
        runs=("storeDown good",),
        holds=_is(("Session", "StoreUnavailable")),
        why="the error of the file system leaves, without a class (src/cli/runtime/storage.ts, 81)",
    ),
    Row(
        says="Extensions emit typed errors; callers match on class/code, not on message substrings",
        read="deviates",
        why="an error that comes in a stream is classified by words of its message"
        f" ({_MAPPER}, 65-136): not observed",
    ),
    # Principles.
    Row(
        says="Context preservation. Wrapping an error preserves the original class and code",
        why="what the two providers wrap is no typed error, and is dropped"
        f" ({_OPENAI}/adapter.ts, 291)",
    ),
    Row(
        says="No silent swallow",
        runs=("yolo error-in-the-stream", "yolo cut"),
        holds=lambda *all_: all(
            it.events("SuppressedError") or it.events("TurnError") for it in all_
        ),
        why=f"an error object in the stream is read as no event ({_OPENAI}/sse-parser.ts, 148), and"
        f" a stream without its end as one that stopped ({_PROVIDER}, 66): the turn ends well, and"
        " is saved",
    ),
    Row(
        says="The UI sees a message tuned for the user",
        runs=("yolo limited",),
        holds=lambda it: "ProviderTransient/RateLimited" in it.said["stdout"],
        why="class and code",
    ),
    Row(
        says="The audit trail sees the full error (class, code, context)",
        runs=("yolo limited", "yolo tool-fails"),
        holds=lambda limited, _: (
            {"class", "code", "context"} <= limited.events("TurnError")[0]["payload"].keys()
        ),
        why="of a turn; that of a failed tool has no context, and its cause is nowhere"
        " (src/cli/runtime/tool-resolver.ts, 159)",
    ),
    Row(
        says="Never expose internal details to the model by default",
        runs=("yolo tool-fails",),
        holds=lambda it: "EACCES" not in it.answer() and "    at " not in it.answer(),
        why="the text of the exception, with a key in it, does not reach the model",
    ),
    # Retries.
    Row(
        says="Retryable classes declare a retry policy in their contract",
        read="deviates",
        why="no contract has such a field (src/contracts/providers.ts, tools.ts, session-store.ts)",
    ),
    Row(says="Retries are audited", why="there are none"),
    Row(
        says="Upstream Retry-After header present: Honor it exactly. Sleep, then retry",
        runs=("yolo limited",),
        holds=lambda it: it.requests > 1,
        why=_FETCHED,
    ),
    Row(
        says="No Retry-After: 5 → 10 → 20 → 40 → 80 → 160 seconds; 6 attempts total",
        runs=("yolo limited-without-a-word",),
        holds=lambda it: it.requests == 6,
        why=_FETCHED,
    ),
    Row(
        says="NetworkTimeout, Provider5xx: Three attempts; 1 → 2 → 4 seconds with jitter",
        runs=("yolo refused", "yolo overloaded"),
        holds=lambda *all_: all(
            len(it.events("ProviderRequest")) == 3 or it.requests == 3 for it in all_
        ),
        why=_FETCHED,
    ),
    Row(
        says="ToolTransient: Core does not impose a default here",
        read="holds",
        why="src/cli/runtime/tool-resolver.ts, 228: not observed",
    ),
    Row(
        says="Session / StoreUnavailable: Three attempts; linear backoff 2 → 4 → 6 seconds",
        runs=("storeDown good",),
        holds=lambda it: it.said["writes"] == 4,
        why="as above",
    ),
    Row(
        says='A user may be asked to choose a recovery path: "Retry the tool call?"',
        why="it never asks (src/cli/runtime/tool-resolver.ts)",
    ),
    Row(
        says="A tool that returns a partial result with an error returns an `errors[]` field",
        why="the tools that the program loads are those of the missing package",
    ),
)
