"""For each ordering rule of stud-cli for a runtime: a trace that breaks it and one that keeps it.

What breaks it is one wrong behaviour, so that nothing else is to be blamed.
"""

from __future__ import annotations

_PRE, _POST = "StagePreFired turn=t1 id=p stage=", "StagePostFired turn=t1 id=p error=false stage="
_TOOL = "tool=ls tool_call=c1"
_PROPOSED = f"ToolInvocationProposed {_TOOL}"
_STARTED = f"ToolInvocationStarted {_TOOL}"
_RUN = f"{_PROPOSED} · {_STARTED} · Executed {_TOOL} · tool.replied {_TOOL} ok=true"
_GATED = "tool=rm tool_call=c1"
_RM = f"ToolInvocationProposed {_GATED} · ToolInvocationStarted {_GATED} · Executed {_GATED}"
_RM += f" · ToolInvocationFailed {_GATED}"
_APPROVED = "UserApproved interactor=i request=r1 tool_call=c1"
_AUDITED = "Approval decision=approve source=user tool_call=c1"
_RAISED = "InteractionRaised request=r1"
_SHOWN = "Shown interactor=i request=r1"
_RAISED2, _SHOWN2 = "InteractionRaised request=r2", "Shown interactor=i request=r2"
_ANSWERED2 = "InteractionAnswered request=r2 status=accepted"
_ANSWERED = "InteractionAnswered request=r1 status=accepted"
_NO = "UserDenied interactor=i request=r1 tool_call=c1"
_OTHER = "UserApproved interactor=j request=r1"
_OK = f"ToolInvocationSucceeded {_TOOL}"
_TIMED_OUT = "InteractionTimedOut request=r1 tool_call=c1"
_DENIED = "Approval decision=deny tool_call=c1 · ToolCallDenied tool_call=c1"
_WRITE = "StoreAsked session=s1 op=o1"
_ACK = "StoreAcknowledged session=s1 op=o1"
_SAVED = "SessionPersisted session=s1"
_CRASH = "process.crashed · process.started life=2 resume=true"
_SEALED = "ToolCallSealed tool_call=c1 life=2"
_SLOT = "extension.slot_delivered extension=base"
_UP = "extension.phase extension=base phase=init ok=true · "
_UP += "extension.phase extension=base phase=activate ok=true"
_READY = f"{_UP} · SessionResumed session=s1"
_WARN = "extension.slot_decided extension=base decision=warn"
_RETRY = "stage.asked stage=a phase=assess answer=retry"


def _phase(name: str, number: int = 1) -> str:
    both = f"turn=t1 id={name}{number} stage=sm:a:{name}"
    return f"StagePreFired {both} · StagePostFired {both} error=false"


def _phases(*names: str) -> str:
    return " · ".join(_phase(name) for name in names)


def _stage(name: str, *, number: int = 1) -> str:
    both = f"turn=t1 id={name}{number} stage={name}"
    return f"StagePreFired {both} · StagePostFired {both} error=false"


def _extension(id_: str, *phases: str) -> str:
    return " · ".join(f"extension.phase extension={id_} phase={name} ok=true" for name in phases)


def _turn(*inside: str) -> str:
    parts = ("SessionTurnStart turn=t1", *inside, "SessionTurnEnd turn=t1")
    return " · ".join(parts)


#: Rule id to what breaks it and what keeps it.
ORDERS: dict[str, tuple[str, str]] = {
    "turn-ends-once": ("SessionTurnStart turn=t1", _turn()),
    "turn-end-has-start": ("SessionTurnEnd turn=t1", _turn()),
    "turn-begins-with-start": (
        f"{_stage('RECEIVE_INPUT')} · {_turn()}",
        _turn(_stage("RECEIVE_INPUT")),
    ),
    "turn-nothing-after-end": (f"{_turn()} · net.sent", _turn("net.sent")),
    "stage-post-follows-pre": (
        _turn(f"{_PRE}RECEIVE_INPUT"),
        _turn(f"{_PRE}RECEIVE_INPUT", f"{_POST}RECEIVE_INPUT"),
    ),
    "stage-post-has-pre": (
        _turn(f"{_POST}RECEIVE_INPUT"),
        _turn(_stage("RECEIVE_INPUT")),
    ),
    "stages-in-order": (
        _turn(_stage("COMPOSE_REQUEST"), _stage("STREAM_RESPONSE"), _stage("SEND_REQUEST")),
        _turn(_stage("COMPOSE_REQUEST"), _stage("SEND_REQUEST"), _stage("STREAM_RESPONSE")),
    ),
    "tool-proposed-first": (
        f"ToolInvocationCancelled {_TOOL} · {_PROPOSED}",
        f"{_PROPOSED} · ToolInvocationCancelled {_TOOL}",
    ),
    "tool-started-before-executed": (
        f"{_PROPOSED} · Executed {_TOOL} · {_STARTED} · ToolInvocationFailed {_TOOL}",
        f"{_RUN} · {_OK}",
    ),
    "tool-started-ends": (_RUN, f"{_RUN} · {_OK}"),
    "tool-succeeds-once": (
        f"{_RUN} · {_OK} · {_OK}",
        f"{_RUN} · {_OK}",
    ),
    "tool-success-was-observed": (
        f"{_PROPOSED} · {_STARTED} · {_OK}",
        f"{_RUN} · {_OK}",
    ),
    "approval-before-execution": (f"{_AUDITED} · {_RM}", f"{_APPROVED} · {_AUDITED} · {_RM}"),
    "approval-audited-before-execution": (
        f"{_APPROVED} · {_RM} · {_AUDITED}",
        f"{_APPROVED} · {_AUDITED} · {_RM}",
    ),
    "approval-audited-once": (
        f"{_APPROVED} · {_AUDITED} · {_AUDITED} · {_RM}",
        f"{_APPROVED} · {_AUDITED} · {_RM}",
    ),
    "denial-audited": (
        f"{_PROPOSED} · ToolCallDenied tool_call=c1",
        f"{_PROPOSED} · {_DENIED}",
    ),
    "denied-never-executed": (
        f"{_NO} · {_RUN} · {_OK}",
        f"{_NO} · {_PROPOSED} · {_DENIED}",
    ),
    "timeout-denies": (
        f"{_PROPOSED} · {_TIMED_OUT} · +2s {_DENIED} reason=timeout",
        f"{_PROPOSED} · {_TIMED_OUT} · {_DENIED} reason=timeout",
    ),
    "timeout-audited-first": (
        f"{_PROPOSED} · {_DENIED} reason=timeout",
        f"{_PROPOSED} · {_TIMED_OUT} · {_DENIED} reason=timeout",
    ),
    "interaction-raised-before-shown": (
        f"{_SHOWN} · {_RAISED} · {_ANSWERED}",
        f"{_RAISED} · {_SHOWN} · {_ANSWERED}",
    ),
    "interaction-settled": (f"{_RAISED} · {_SHOWN}", f"{_RAISED} · {_SHOWN} · {_ANSWERED}"),
    "interaction-answered-once": (
        f"{_RAISED} · {_ANSWERED} · {_ANSWERED}",
        f"{_RAISED} · {_ANSWERED}",
    ),
    "interaction-late-answer-refused": (
        f"UserApproved interactor=i request=r1 · {_OTHER}",
        f"UserApproved interactor=i request=r1 · {_OTHER} accepted=false",
    ),
    "interaction-dismissed-after-answer": (
        f"{_RAISED} · interaction.dismissed interactor=j request=r1 · {_ANSWERED}",
        f"{_RAISED} · {_ANSWERED} · interaction.dismissed interactor=j request=r1",
    ),
    "interaction-one-at-a-time": (
        f"{_RAISED2} · {_RAISED} · {_SHOWN2} · {_SHOWN} · {_ANSWERED2} · {_ANSWERED}",
        f"{_RAISED} · {_SHOWN} · UserApproved interactor=i request=r1 · {_ANSWERED} · "
        f"{_RAISED2} · {_SHOWN2} · {_ANSWERED2}",
    ),
    "headless-halt-ends-turn": (
        "Approval decision=halt tool_call=c1 · net.sent",
        "Approval decision=halt tool_call=c1 · StoreAsked session=s1",
    ),
    "persisted-after-acknowledgement": (
        f"{_WRITE} · {_SAVED} · {_ACK}",
        f"{_WRITE} · {_ACK} · {_SAVED}",
    ),
    "persisted-before-render": (
        _turn(_stage("RENDER"), _WRITE, _ACK),
        _turn(f"{_PRE}RENDER", _WRITE, _ACK, f"{_POST}RENDER"),
    ),
    "resumed-before-turn": (
        f"process.started resume=true · {_turn()} · SessionResumed session=s1",
        f"process.started resume=true · SessionResumed session=s1 · {_turn()}",
    ),
    "slot-after-resumed": (
        f"{_UP} · {_SLOT} · SessionResumed session=s1",
        f"{_READY} · {_SLOT}",
    ),
    "slot-before-active": (
        f"{_READY} · SessionActive session=s1 · {_SLOT}",
        f"{_READY} · {_SLOT} · SessionActive session=s1",
    ),
    "slot-delivered-once": (
        f"{_READY} · {_SLOT} · {_SLOT}",
        f"{_READY} · {_SLOT}",
    ),
    "drift-decided-before-delivery": (
        f"{_READY} · {_SLOT} · StateSlotDrift extension=base · "
        f"{_WARN} · StateSlotDrift extension=base",
        f"{_READY} · {_WARN} · StateSlotDrift extension=base · {_SLOT}",
    ),
    "rejected-slot-not-delivered": (
        f"{_READY} · extension.slot_decided extension=base "
        f"decision=reject · StateSlotDrift extension=base · {_SLOT}",
        f"{_READY} · extension.slot_decided extension=base "
        "decision=reject · StateSlotDrift extension=base",
    ),
    "drift-audited": (
        f"{_READY} · {_WARN} · {_SLOT} · StateSlotDrift extension=base",
        f"{_READY} · {_WARN} · StateSlotDrift extension=base · {_SLOT}",
    ),
    "resume-never-executes-again": (
        f"{_RUN} · {_CRASH} · {_RUN} · {_OK}",
        f"{_RUN} · {_CRASH} · {_SEALED}",
    ),
    "orphan-sealed": (
        f"{_PROPOSED} · {_STARTED} · Executed {_TOOL} · {_CRASH}",
        f"{_PROPOSED} · {_STARTED} · Executed {_TOOL} · {_CRASH} · {_SEALED}",
    ),
    "cancelled-turn-acts-no-more": (
        "cancel.requested scope=turn · net.sent",
        "cancel.requested scope=turn · call.raised · net.sent call=ask/2",
    ),
    "cancelled-session-acts-no-more": (
        "cancel.requested scope=session · call.raised · net.sent call=ask/2",
        "cancel.requested scope=session · call.raised",
    ),
    "cancel-children-first": (
        "cancel.requested scope=turn · Cancellation scope=turn · Cancellation scope=tool",
        "cancel.requested scope=turn · Cancellation scope=tool · Cancellation scope=turn",
    ),
    "cancel-audited": (
        'call.raised chain=[{"class":"Cancellation"}]',
        'Cancellation scope=turn · call.raised chain=[{"class":"Cancellation"}]',
    ),
    "sm-phases-in-order": (
        _turn(_phases("Setup", "Init", "Act", "CheckGate", "Assert", "Exit", "Next")),
        _turn(_phases("Setup", "Init", "CheckGate", "Act", "Assert", "Exit", "Next")),
    ),
    "sm-begins-with-setup": (_turn(_phases("Init", "CheckGate")), _turn(_phases("Setup", "Init"))),
    "sm-retry-begins-with-setup": (
        _turn(_phases("Setup", "Act", "Assert"), _RETRY, _phase("Act", 2)),
        _turn(_phases("Setup", "Act", "Assert"), _RETRY, _phase("Setup", 2), _phase("Act", 2)),
    ),
    "sm-closed-gate-skips-act": (
        _turn(_phase("Setup"), "stage.asked phase=check_gate answer=skip", _phase("Act")),
        _turn(_phase("Setup"), "stage.asked phase=check_gate answer=skip", _phase("Assert")),
    ),
    "extension-phases-in-order": (
        _extension("base", "init", "activate", "dispose", "deactivate"),
        _extension("base", "init", "activate", "deactivate", "dispose"),
    ),
    "extension-initialised-before-activated": (
        "extension.phase extension=base phase=init ok=false · "
        "extension.phase extension=base phase=activate ok=true",
        _UP,
    ),
    "slot-after-activation": (
        f"SessionResumed session=s1 · {_SLOT} · {_UP}",
        f"{_READY} · {_SLOT}",
    ),
    "dependencies-initialised-first": (
        f"{_extension('top', 'init')} · {_extension('base', 'init')}",
        f"{_extension('base', 'init')} · {_extension('top', 'init')}",
    ),
    "dependencies-activated-first": (
        f"{_extension('base', 'init')} · {_extension('top', 'init', 'activate')} · "
        f"{_extension('base', 'activate')}",
        f"{_UP} · {_extension('top', 'init', 'activate')}",
    ),
    "dependents-deactivated-first": (
        f"{_extension('base', 'deactivate')} · {_extension('top', 'deactivate')}",
        f"{_extension('top', 'deactivate')} · {_extension('base', 'deactivate')}",
    ),
    "dependents-disposed-first": (
        f"{_extension('base', 'dispose')} · {_extension('top', 'dispose')}",
        f"{_extension('top', 'dispose')} · {_extension('base', 'dispose')}",
    ),
}
