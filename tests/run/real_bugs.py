"""Bugs that were reported of other people's agents, and what shows here that they are found.

A row is one bug: the public issue, the shipped scenario in which it shows, and the miniature that
has it. Rows have the ids of the backlog that the scenarios come from: two letters for the family,
and a number. What the tests make of it is in `test_real_bugs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One row.

    Attributes:
        origin: the issue or pull request, as `owner/name#number`.
        scenario: id of the scenario that shows it.
        miniature: id of the subject that has it, and fails.
    """

    origin: str
    scenario: str
    miniature: str


#: Row, issue, scenario, miniature.
_ROWS = """
# RL: rate limits: when to come back
RL2   openai/openai-python#3555
      rate-limits/retry-after-just-over-a-minute mini-drops-long-retry-after
RL3   BerriAI/litellm#20722
      rate-limits/retry-after-grows mini-keeps-first-retry-after
RL4   BerriAI/litellm#7669
      rate-limits/retry-after-absent mini-retries-at-once
RL6   BerriAI/litellm#40130
      rate-limits/two-limits-overlap mini-first-cooldown-counts
RL7   earendil-works/pi#9595
      rate-limits/turn-honours-retry-after mini-runtime-waits-two-then-four
RL8   NousResearch/hermes-agent#2724
      rate-limits/retry-after-huge mini-own-short-schedule
RL9   NousResearch/hermes-agent#109234
      rate-limits/fifty-clients-desynchronise mini-cap-takes-the-jitter
RL10  interviewstreet/hiring-agent#386
      rate-limits/retry-after-http-date mini-raises-on-a-date
RL11  duolahypercho/codex-router#573
      rate-limits/retry-after-http-date mini-date-is-not-a-number
RL12  openclaw/openclaw#111353
      rate-limits/retry-after-ms-empty mini-empty-vendor-header-wins
RL13  ndycode/oc-codex-multi-auth#47
      rate-limits/retry-after-ms-alone mini-milliseconds-as-seconds
RL14  Shopify/shopify-app-js#3364
      rate-limits/retry-after-integer mini-seconds-as-milliseconds
RL15  openai/codex#3764
      rate-limits/limited-in-the-stream-for-a-while mini-hurries-in-streams
RL17  dcdpr/jp#1061
      rate-limits/retry-after-fraction mini-whole-seconds-only
RL18  letterstory/lettertrace#34
      rate-limits/window-without-hint mini-begins-in-milliseconds
RL19  vercel/ai#5474
      rate-limits/jitter-over-seeds mini-no-jitter
RL20  anthropics/claude-code#81330
      rate-limits/retry-after-just-over-a-minute mini-gives-up-on-long-retry-after
RL21  anomalyco/opencode#20126
      rate-limits/other-headers-only mini-any-header-is-a-hint

# MC: a failure that is taken for another one
MC3   2389-research/tracker#547
      rate-limits/quota-on-both-paths mini-stream-has-its-own-rules
MC4   LibreChat-AI/agents#358
      rate-limits/limit-worded-as-quota mini-ends-at-the-word-quota
MC5   dimetron/pi-go#177
      rate-limits/limit-worded-as-billing mini-ends-at-the-word-billing
MC7   aaif-goose/goose#11048
      provider-transient/context-length-exceeded mini-retries-400
MC8   benchflow-ai/benchflow#830
      provider-transient/too-long-beside-a-good-one mini-too-long-is-a-500
MC11  lfnovo/open-notebook#1231
      provider-transient/context-length-exceeded mini-too-long-is-patience
MC12  gsd-build/gsd-2#3257
      rate-limits/limited-and-not-included mini-waits-for-what-is-not-included
MC13  danshapiro/kilroy#20
      error-matrix/disconnect-in-stdout-only mini-error-matrix-reads-error-output-only
MC14  Azure-Samples/azure-search-openai-demo#3030
      provider-transient/callers-mistakes mini-filtered-is-a-500
MC15  BerriAI/litellm#42432
      provider-transient/bad-request-in-the-stream mini-bad-event-is-a-500
MC16  OpenRouterTeam/ai-sdk-provider#211
      rate-limits/rate-limit-in-200-body mini-any-200-is-good
MC17  rynfar/meridian#856
      error-matrix/coder-prompt-too-long mini-error-matrix-retries-refused-prompt

# AM: amplification, and bounds that are missing
AM1   HKUDS/nanobot#2760
      rate-limits/retries-multiply mini-application-retries-too
AM2   livekit/agents#5335
      provider-transient/silent-for-ever mini-library-retries-unseen
AM3   mpfaffenberger/code_puppy#317
      rate-limits/retries-multiply mini-three-layers-retry
AM4   BerriAI/litellm-docs#734
      provider-transient/errors-for-ever mini-retries-squared
AM5   anomalyco/opencode#21960
      rate-limits/six-failures-then-terminal mini-no-cap-on-attempts
AM6   google-gemini/gemini-cli#28339
      provider-transient/stream-server-error-thrice mini-fallback-resets-the-count
AM7   freelabz/secator#1235
      provider-transient/connect-refused-for-ever mini-counts-down-again
AM8   lidge-jun/opencodex#714
      provider-transient/resets-and-an-error-between mini-resets-inside-statuses

# ST: inside a stream
ST1   anthropics/anthropic-sdk-python#1258
      provider-transient/stream-server-error mini-rules-by-status-alone
ST2   vercel/ai#18667
      provider-transient/stream-breaks-after-a-tool mini-runtime-broken-stream-ends-turn
ST3   pydantic/pydantic-ai#4729
      provider-transient/stream-reset mini-raw-error-from-streams
ST4   agentscope-ai/agentscope#2757
      provider-transient/stream-cut-by-close mini-retries-until-the-first-word
ST5   BerriAI/litellm#6957
      relavium/overload-opens-the-stream mini-relavium-no-fallback-within-a-stream
ST6   HKUDS/nanobot#4038
      rate-limits/limit-in-mid-stream mini-replays-what-was-shown
ST9   router-for-me/CLIProxyAPI#3055
      provider-transient/stream-ends-without-finish mini-cut-stream-is-the-callers-fault
ST10  felladrin/MiniSearch#2469
      provider-transient/stream-refused-before-it-starts mini-refused-stream-is-empty
ST11  byte5ai/omadia#122
      provider-transient/overloaded-in-the-stream mini-overload-is-unknown

# TO: timeouts
TO1   earendil-works/pi#8331
      provider-transient/stream-stalls mini-no-deadline-in-streams
TO2   multica-ai/multica#5712
      error-matrix/coder-pings-for-ever mini-error-matrix-pings-keep-it-alive
TO3   timothy-agent/timothy#669
      error-matrix/coder-is-quiet-and-good mini-error-matrix-silence-is-death
TO5   567-labs/instructor#2633
      provider-transient/errors-that-take-long mini-one-budget-for-all-attempts
TO6   OpenHands/OpenHands#9798
      tools/wall-time-used-up mini-runtime-has-no-clock
TO7   zirkelc/ai-retry#54
      provider-transient/streams-stall-for-ever mini-one-signal-for-all-attempts

# CA: cancels
CA1   harbor-framework/harbor#1223
      cancellation/during-backoff mini-runtime-backoff-swallows-cancel
CA2   HKUDS/nanobot#4814
      cancellation/the-turn-with-its-tools mini-runtime-goes-on-after-a-cancelled-tool
CA3   microsoft/agent-framework-go#1076
      cancellation/between-two-tools mini-runtime-next-tool-starts-cancelled
CA4   google/adk-python#7172
      cancellation/the-turn-with-its-tools mini-runtime-siblings-outlive-the-turn
CA5   openai/openai-agents-python#1895
      cancellation/while-it-is-saved mini-runtime-cancel-interrupts-the-save
CA6   openai/openai-agents-js#1528
      cancellation/the-turn-with-its-tools mini-runtime-signal-never-arrives
CA7   zirkelc/ai-retry#39
      cancellation/during-backoff mini-runtime-announces-a-retry-after-cancel

# AP: approvals
AP1   openai/codex#29627
      approvals/unanswered-is-denied-after-two-minutes mini-runtime-approvals-end-like-processes
AP2   use-agent-os/agent-os#1564
      approvals/unanswered-is-denied-after-two-minutes mini-runtime-timeout-is-a-no
AP3   NousResearch/hermes-agent#54110
      approvals/unanswered-is-denied-after-two-minutes mini-runtime-timeout-is-yes
AP4   1ay1/agentty#40
      approvals/approval-does-not-start-the-timer mini-runtime-timer-starts-early
AP5   rmusser01/tldw_chatbook#1713
      approvals/answer-just-after-the-deadline mini-runtime-late-yes-runs-it
AP6   Hmbown/Codewhale#6101
      approvals/dismissal-cancels-the-turn mini-runtime-dismissal-is-silence
AP7   openai/codex#11162
      approvals/one-approval-approves-one-call mini-runtime-one-yes-for-all
AP8   openai/openai-agents-js#1435
      approvals/two-approvals-in-a-row mini-runtime-second-approval-sends-all-again
AP9   letta-ai/letta-code#101
      approvals/crash-while-open mini-runtime-stale-ids-after-resume

# RS: resumed sessions
RS1   anomalyco/opencode#21326
      resume-drift/effect-is-not-repeated mini-runtime-leaves-orphans
RS2   anthropics/claude-code#3003
      cancellation/twice mini-runtime-interrupted-calls-stay-open
RS3   langchain-ai/langgraph#8039
      resume-drift/killed-before-the-effect mini-runtime-runs-the-call-again
RS4   langchain-ai/langgraph#6792
      resume-drift/effect-is-not-repeated mini-runtime-repeats-the-effect
RS5   anthropics/claude-code#64016
      resume-drift/tool-is-gone mini-runtime-dies-of-a-missing-tool
RS6   github/copilot-cli#4674
      resume-drift/extensions-without-state mini-runtime-resumes-what-has-state

# TL: tools, and their effects
TL1   crewAIInc/crewAI#5802
      tools/commit-then-fail mini-runtime-retries-every-tool
TL2   MervinPraison/PraisonAI#4256
      tools/mail-is-sent-once mini-runtime-ignores-idempotence
TL3   ComposioHQ/composio#3654
      tools/paid-and-silent mini-runtime-sends-again-after-timeout
TL4   openai/openai-agents-python#2584
      tools/one-of-three-fails mini-runtime-one-failure-fails-all
TL5   bytedance/deer-flow#2339
      cancellation/one-tool-of-two mini-runtime-tool-cancel-goes-sideways
TL6   smallest-inc/smallest-python-sdk#118
      tools/one-of-three-fails mini-runtime-failed-call-has-no-id
TL7   modelcontextprotocol/typescript-sdk#1651
      tools/exception-with-a-path-and-a-key mini-runtime-exception-to-model
TL8   vaadin/flow-components#9957
      tools/not-found-is-told mini-runtime-errors-as-text
TL9   langchain-ai/langchain#39199
      approvals/headless-halts mini-runtime-halt-is-a-failed-tool

# SS: session stores
SS1   openai/openai-agents-python#4202
      session-store-contract/disk-full-then-free mini-store-keeps-its-lock
SS2   MervinPraison/PraisonAI#3597
      session-store/unavailable-for-good mini-runtime-loses-silently
SS3   NousResearch/hermes-agent#74478
      session-store/unavailable-twice mini-runtime-hurries-the-store
SS4   zai-org/feedback#625
      session-store/unavailable-twice mini-runtime-never-asks-the-store-again

# BU: budgets
BU1   nicobailon/pi-subagents#1779
      tools/tool-calls-used-up mini-runtime-counts-no-tools
BU2   rescrv/claudius#38
      tools/loop-bound mini-runtime-limit-is-an-end

# CB: circuit breakers
CB1   sgl-project/sglang#25811
      afk/bad-requests-open-no-breaker mini-afk-bad-requests-open-the-breaker
CB2   bytedance/deer-flow#3991
      afk/breaker-probe-is-refused mini-afk-probe-is-never-given-back
CB3   BerriAI/litellm#39701
      afk/breaker-probe-is-cancelled mini-afk-cancelled-probe-stays
CB4   smg-project/smg#2565
      afk/bad-requests-reset-no-breaker mini-afk-bad-request-resets-the-breaker
CB5   juspay/neurolink#899
      afk/breaker-stays-open mini-afk-refusal-looks-retryable
CB6   llm4s/llm4s#460
      afk/breaker-probe-fails mini-afk-half-open-lets-all-through

# SA: subagents
SA1   vercel/eve#412
      tools/subagent-fails mini-runtime-failure-is-success
SA2   openai/codex#28375
      state-machine/attempts-used-up mini-runtime-failure-is-the-end
SA3   nicobailon/pi-subagents#156
      tools/subagent-recovers mini-runtime-recovered-child-has-failed

# EV: events, and what leaks
EV1   ag-ui-protocol/ag-ui#2416
      session-store/unavailable-for-good mini-runtime-ends-good-turns-only
EV2   ag-ui-protocol/ag-ui#2300
      provider-transient/stream-ends-without-finish mini-accepts-cut-stream
EV3   agno-agi/agno#9487
      tools/loop-bound mini-runtime-ends-other-stages
EV4   BerriAI/litellm#15799
      provider-transient/bad-key mini-key-in-the-url
"""

#: Rows whose rule is one that the document recommends, so that a run warns and does not fail.
RECOMMENDED = frozenset({"MC17", "CB2", "CB3", "CB6"})

#: Issues that a scenario names and no miniature stands for, and why.
OTHERS = {
    # Store contracts: these are in no row, and the fakes of a disk show them.
    **dict.fromkeys(
        (
            "HKUDS/nanobot#3312",
            "MoonshotAI/kimi-code#2902",
            "PrimeIntellect-ai/prime-agent#1785",
            "agent-of-empires/agent-of-empires#1207",
            "anomalyco/opencode#7607",
            "google-gemini/gemini-cli#27277",
            "juliensimon/canopy#24",
            "oguzbilgic/kern-ai#300",
        ),
        "a defect of a store on a disk, without a row in the backlog",
    ),
    **dict.fromkeys(
        (
            "agentscope-ai/agentscope-java#2642",
            "ambient-code/agentready#104",
            "edxeth/pi-subagents#19",
            "gotgenes/pi-packages#889",
            "modelcontextprotocol/typescript-sdk#1429",
        ),
        "another report of a row: its miniature names the first one",
    ),
    **dict.fromkeys(
        (
            "AltimateAI/altimate-code#1119",
            "CherryHQ/stella#1088",
            "Estudely/riftor#113",
            "elastic/kibana#192304",
            "epam/ai-dial-adapter-vertexai#149",
            "google/adk-python#5394",
            "jd/tenacity#529",
            "omnigent-ai/omnigent#4997",
            "openai/openai-agents-python#4510",
            "openai/openai-agents-python#4513",
        ),
        "shown by a scenario of the common demands, without a row in the backlog",
    ),
    # Whole agents: `kills_of_common.py` names an agent that breaks the sentence of each scenario.
    **dict.fromkeys(
        (
            "NousResearch/hermes-agent#6847",
            "anomalyco/opencode#37315",
            "elie222/rakazo#883",
            "kirodotdev/Kiro#11533",
            "langchain-ai/langchain#39275",
            "langchain-ai/langgraph#3126",
            "langchain-ai/langgraph#6626",
            "lsdefine/GenericAgent#746",
            "sinas-platform/sinas#131",
        ),
        "shown by a scenario for whole agents, without a row in the backlog",
    ),
    "openai/openai-python#3507": "MC1: to retry a quota is right by the default reading, and wrong"
    " by the other one, which a test of its own shows; MC4, the reverse, is a row",
    "stacklok/mecatl#209": "what the report asks for, a class by the wording, the document forbids",
    "openai/openai-python#3828": "three deadlines in a row are what the policy allows",
    "ducks/claux#15": "what a screen shows of a text that is taken back is not in a trace",
    "vercel/ai#10653": "a question of wording in an interface, without a row in the backlog",
}

#: Row to bug.
BUGS: dict[str, Bug] = {}

_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)(?: PR)?#(\d+)")


def issues(text: str) -> Iterator[str]:
    """Yield the issues and pull requests that `text` names, each as `owner/name#number`.

    Example:
        >>> list(issues("owner/name PR#7; another/one#8; a document"))
        ['owner/name#7', 'another/one#8']
    """
    return (f"{name}#{number}" for name, number in _ISSUE.findall(text))


def _read() -> None:
    text = "\n".join(line for line in _ROWS.splitlines() if not line.startswith("#"))
    words = text.split()
    for row, origin, scenario, miniature in zip(*[iter(words)] * 4, strict=True):
        if row in BUGS:
            raise ValueError(f"two rows are called {row}")
        BUGS[row] = Bug(origin=origin, scenario=scenario, miniature=miniature)


_read()
