"""Fake interactors: a person at a user interface, who answers by a script.

One FakeInteractor is one user interface in one life of the subject; what it counts over the lives
is in an InteractorState. A request that is open when the life ends is forgotten: the next process
must ask again. Every fact about an interaction is recorded here. No answer's value gets into a
fact: it may be a password. It judges nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import Context
from copy import deepcopy
from typing import Any, Literal

from msgspec import Struct, field

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port, Style
from faultclock.fakes.rules import RulesMet, first_for
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.interaction_script import (
    Approve,
    BreakDown,
    Deny,
    Dismiss,
    Give,
    InteractionKind,
    InteractorRule,
    InteractorScript,
    Never,
)
from faultclock.model.scenario.port_values import InteractionAnswer, InteractionRequest
from faultclock.model.typed_error import TypedError
from faultclock.sim.kernel.clock import FOREVER_NS
from faultclock.sim.kernel.context import CALL_ID, current_call
from faultclock.sim.kernel.escapes import SimEscape, SimKilled
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Call, Kernel

#: What the person gives unasked-for. Both are shaped like secrets, so that a search for
#: secrets by their shape finds a subject that shows them.
PASSWORD = "sk-password-5b1e93d07ac24f68"  # noqa: S105 - nobody's
DEVICE_TOKEN = "sk-device-c83f20a6d9417e5b"  # noqa: S105 - nobody's

_DEFAULT = Approve.model_construct(kind="approve")
_Said = Literal["approved", "denied", "given", "dismissed"]
_Answers = Approve | Deny | Dismiss | Give


class InteractorState(Struct):
    """What an interactor remembers over the lives of the subject. Plain data: it is pickled.

    Attributes:
        shown: requests that it was shown so far.
        met: the rules that have fired.
    """

    shown: int = 0
    met: RulesMet = field(default_factory=RulesMet)


class _Shown:
    """One request that it was shown.

    Attributes:
        due: the answers that a dismissal takes back.
        open: it is on the screen, neither answered nor taken off.
    """

    __slots__ = ("answer", "call", "due", "open", "request")

    def __init__(
        self, request: InteractionRequest, answer: Callable[[InteractionAnswer], None]
    ) -> None:
        self.request = request
        self.answer = answer
        self.call = current_call()
        self.due: list[Call | asyncio.TimerHandle] = []
        self.open = True


class FakeInteractor(Port):
    """One user interface in one life of the subject; it implements the port `Interactor`.

    A rule fires when its request is shown, and decides all that happens to it. An answer takes
    the request off the screen, so a runtime that then dismisses it dismisses nothing, and the
    answers after the first (`times`) come in any case. When the runtime dismisses an open request,
    no answer of it comes any more, unless the script says `even_if_dismissed`.

    Where no rule matches, an approval after two seconds; for a request that is no question of yes
    or no, "approve" means to give what is asked for: "" for Ask, the first option of Select, a
    device token, a password.

    What the runtime's callback raises is recorded, never passed on. `interaction.answered`
    is recorded when the callback has returned or raised, as only then is it known whether the
    answer was accepted.

    Args:
        script: which it is and what the person does.
        kernel: of the world of this life.
        style: of the subject. Answers come on the event loop that ran when the request was shown
            (async), or each on a fresh simulated thread (sync).
        state: of this interactor, over all lives; it is changed in place.
        life: 1-based.
    """

    def __init__(
        self,
        script: InteractorScript,
        kernel: Kernel,
        style: Style,
        state: InteractorState,
        life: int = 1,
    ) -> None:
        super().__init__(
            kernel,
            life,
            actor="interactor",
            of=f"interactor {script.id}",
            rules=script.rules,
            met=state.met,
        )
        self._script = script
        self._style = style
        self._state = state
        self._open: list[_Shown] = []

    # ------------------------------------------------------------------ the port

    @property
    def id(self) -> str:
        """Its name."""
        return self._script.id

    @property
    def kinds(self) -> tuple[InteractionKind, ...]:
        """What it can show."""
        return self._script.kinds

    def show(
        self, request: InteractionRequest, answer: Callable[[InteractionAnswer], None]
    ) -> None:
        """Show `request`; `answer` is called when the person answers.

        Raises:
            TypedError: Validation/InteractionKindUnknown: it cannot show this kind.
            RuntimeError: the script breaks it down.
        """
        make_room(self._kernel)
        shown = _Shown(request, answer)
        if request.kind not in self.kinds:
            self._record_of("broken", shown)
            message = f"{self.id} cannot show {plain(request.kind)}"
            raise TypedError("Validation", "InteractionKindUnknown", message)
        self._state.shown += 1
        rule = first_for(
            self._script.rules, self._state.shown, kind=request.kind, tool=request.tool
        )
        then = _DEFAULT if rule is None else rule.then
        if isinstance(then, BreakDown):
            self._fire_of(rule, shown)
            self._record_of("broken", shown)
            raise RuntimeError(then.message)
        self._open.append(shown)
        self._record_of(
            "shown",
            shown,
            interaction_kind=plain(request.kind),
            tool=plain(request.tool),
            deadline_ns=_deadline_ns(request.deadline_s),
            **_in_place_of_an_id(request),
        )
        self._fire_of(rule, shown)
        if not isinstance(then, Never):
            self._plan(shown, then)

    def dismiss(self, request_id: str) -> None:
        """Take the request off the screen; nothing happens if it is not there."""
        for shown in [shown for shown in self._open if shown.request.id == request_id]:
            self._open.remove(shown)
            shown.open = False
            for due in shown.due:
                due.cancel()
            self._record_of("dismissed", shown)

    # ------------------------------------------------------------------ what the person does

    def _plan(self, shown: _Shown, then: _Answers) -> None:
        """Schedule every answer."""
        for time in range(then.times):
            delay_ns = then.after + time * then.again_after
            due = self._call_back(delay_ns, shown, then)
            if not then.even_if_dismissed:
                shown.due.append(due)

    def _call_back(
        self, delay_ns: int, shown: _Shown, then: _Answers
    ) -> Call | asyncio.TimerHandle:
        if self._style == "sync":
            return self._kernel.call_after(delay_ns, self._on_thread, shown, then)
        # What the subject has put into its context is no business of the person's.
        context = Context()
        context.run(CALL_ID.set, shown.call)
        return self._loop().call_later(
            delay_ns / SECOND_NS, self._answer, shown, then, context=context
        )

    def _loop(self) -> asyncio.AbstractEventLoop:
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            # Shown from a worker thread of an async subject: its first loop is the main one.
            for loop in self._kernel.loops:
                return loop
            raise

    def _on_thread(self, shown: _Shown, then: _Answers) -> None:
        def run() -> None:
            CALL_ID.set(shown.call)
            self._answer(shown, then)

        name = f"{self.id} answers {plain(shown.request.id)}"
        threading.Thread(target=run, name=name, daemon=True).start()

    def _answer(self, shown: _Shown, then: _Answers) -> None:
        if shown.open:
            shown.open = False
            self._open.remove(shown)
        said, answer = _what_is_said(then, shown.request)
        accepted, error_class, code = True, None, None
        try:
            shown.answer(answer)
        except (SimKilled, SimEscape, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - what the runtime raises is data
            accepted = False
            error_class, code = _class_and_code(error)
        self._record_of(
            "answered",
            shown,
            answer=said,
            accepted=accepted,
            **{"class": error_class, "code": code},
        )

    # ------------------------------------------------------------------ facts

    def _fire_of(self, rule: InteractorRule | None, shown: _Shown) -> None:
        if rule is not None and self._kernel.ending is None:
            request = plain(shown.request.id)
            self._fire(rule, rule.then.kind, shown.call, request=request)

    def _record_of(self, what: str, shown: _Shown, **payload: Any) -> None:
        # A fact may have ended this life; then what would come after it does not happen.
        if self._kernel.ending is None:
            self._record(
                f"interaction.{what}",
                shown.call,
                interactor=self.id,
                request=plain(shown.request.id),
                tool_call=plain(shown.request.tool_call),
                **payload,
            )


def _in_place_of_an_id(request: InteractionRequest) -> dict[str, Any]:
    """Return the arguments of the call that a request is about, where it names no id of one."""
    if request.tool is None or request.tool_call:
        return {}
    return {"arguments": plain(dict(request.arguments))} if request.arguments else {}


def _what_is_said(then: _Answers, request: InteractionRequest) -> tuple[_Said, InteractionAnswer]:
    match then:
        case Deny():
            return "denied", InteractionAnswer(status="rejected", reason=then.reason)
        case Dismiss():
            return "dismissed", InteractionAnswer(status="dismissed")
        case Give():
            return "given", InteractionAnswer(status="accepted", value=deepcopy(then.value))
        case Approve():
            if request.kind in ("Approve", "Confirm"):
                return "approved", InteractionAnswer(status="accepted", value=True)
            return "given", InteractionAnswer(status="accepted", value=_given_to(request))


def _given_to(request: InteractionRequest) -> str | None:
    """Return what the person gives to a request that asks for a value."""
    match request.kind:
        case "Select":
            return request.options[0] if request.options else None
        case "Auth.DeviceCode":
            return DEVICE_TOKEN
        case "Auth.Password":
            return PASSWORD
        case _:
            return ""


def _deadline_ns(deadline_s: object) -> int | None:
    """Return a deadline that will come, in nanoseconds; None for what is none.

    None is no number, not a finite one, zero or less, or later than any clock of this world shows.
    """
    if isinstance(deadline_s, bool) or not isinstance(deadline_s, (int, float)):
        return None
    # Nothing compares with NaN, and the other way round it would pass.
    if not 0 < deadline_s < FOREVER_NS / SECOND_NS:
        return None
    return round(deadline_s * SECOND_NS)


def _class_and_code(error: BaseException) -> tuple[str | None, str | None]:
    try:
        found = [getattr(error, name, None) for name in ("error_class", "code")]
    except Exception:  # noqa: BLE001 - an exception of the subject's may do anything
        return None, None
    if not all(isinstance(value, str) for value in found):
        return None, None
    return plain(found[0]), plain(found[1])
