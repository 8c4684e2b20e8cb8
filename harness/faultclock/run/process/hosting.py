"""A subject that is loaded in a process of its own, and called from one that never loads it.

What a subject does when it is imported or called (it ends the process, replaces functions, writes
to descriptors, registers exit handlers) stays over there. Here are the command line, the
judgement and the reports. What comes over is JSON with a length, a digest and a schema; where none
comes, the run proves nothing, and says why.

    host = Host()                                      # forks: before anything secret is read
    subject = host.load(HostedSubject, load, spec)     # calls `load(spec)` over there
    binding = subject.binding(host)
    made = make_run(binding, RunRequest(scenario=..., seed=1))
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import signal
import socket
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from faultclock.errors import EventError, HarnessError, InputError, InternalError, SubjectError
from faultclock.model._base import Value
from faultclock.model.report.finding import SourcePlace
from faultclock.model.report.taken_for import TakenFor
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.scenario.scenario import Role
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.trace.event_check import check_events
from faultclock.model.trace.trace import Declares, SubjectInfo, TraceEvent
from faultclock.run.notes.output import Spill
from faultclock.run.process import second_process as aside
from faultclock.run.process.child import INHERITED, fork_process
from faultclock.run.process.frames import DamagedError, receive, send
from faultclock.run.process.host_process import BESIDE, END, MESSAGE, OPEN, serve
from faultclock.run.process.lifeline import end_with
from faultclock.run.process.run_once import make
from faultclock.run.run_request import Made, RunRequest, lost
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.adopt import Adopted
from faultclock.subjects.binding import Binding

T = TypeVar("T")

#: Real seconds that a subject may take to be loaded.
_LOAD_LIMIT_S = 120.0
#: Real seconds that a session gets beyond the limit of a run: it asks a child for its stacks.
_GRACE_S = 4.0
#: Lines that are shown of what a subject prints when it is loaded.
_PRINTED_MAX = 50

_ERRORS: Mapping[str, type[HarnessError]] = {
    kind.code: kind for kind in (InternalError, SubjectError)
}
_numbers = count(1)


class LostError(Exception):
    """The process with the subject handed over nothing that can be read; the text says why."""


class Host:
    """The process that loads one subject.

    Args:
        captures: what is printed over there is kept from the terminal; see `printed`.
    """

    def __init__(self, *, captures: bool = True) -> None:
        self._spill = Spill()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        first, their_first = socket.socketpair()
        parent = os.getpid()
        process = fork_process()
        if process == 0:
            end_with(parent)
            # A Ctrl-C in the terminal is for the process that answers for the result.
            os.setsid()
            ours.close()
            first.close()
            if captures:
                _print_to(self._spill)
            _close_others(
                theirs.fileno(), their_first.fileno(), *INHERITED, *self._spill.descriptors
            )
            serve(theirs, their_first.detach())
        theirs.close()
        their_first.close()
        self._control, self._first = ours, first
        self._session: tuple[int, int, int] | None = None
        self._loaded: tuple[Any, ...] = ()
        self._end = weakref.finalize(self, _end, parent, process, ours, first, self._spill)

    def load(self, kind: type[T], function: Callable[..., tuple[Any, T]], *args: Any) -> T:
        """Call `function` over there, once. It returns the subject, and what is handed over.

        Raises:
            InputError: what `function` raised.
            LostError: nothing came of it.
        """
        try:
            stream = self._first.fileno()
            send(stream, pickle.dumps((function, args)))
            subject = _read(kind, receive(stream, time.monotonic() + _LOAD_LIMIT_S))
            self._loaded = (kind, function, args, subject)
            return subject
        except TimeoutError:
            reason = f"it was not loaded within {_LOAD_LIMIT_S:g} s"
        except DamagedError as error:
            reason = f"what its process wrote is no result: {error}"
        except (EOFError, OSError):
            reason = "it ended the process in which it was being loaded"
        finally:
            self._first.close()
        raise LostError(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        """Become another one, wherever this is read, that has loaded the same subject there."""
        kind, function, args, subject = self._loaded
        return _loaded_alike, (kind, function, args, subject.adopted(self).binding.info())

    def printed(self) -> tuple[str, ...]:
        """Return the lines that the subject has printed while it was loaded, the first of them."""
        return tuple(line[2] for line in self._spill.lines(0))[:_PRINTED_MAX]

    def call(
        self, kind: type[T], function: Callable[..., T], *args: Any, limit_s: float | None = None
    ) -> T:
        """Call `function(subject, *args)` over there, in a session of this process's own.

        Args:
            kind: what it returns: the schema of what is accepted.
            function: of a module, so that its name leads to it.
            limit_s: real seconds after which the session is ended; None: never.

        Raises:
            InputError: what it raised.
            LostError: nothing came of it.
        """
        number, stream = self._opened()
        deadline_s = None if limit_s is None else time.monotonic() + limit_s + _GRACE_S
        try:
            send(stream, pickle.dumps((function, args)))
            return _read(kind, receive(stream, deadline_s))
        except TimeoutError as error:
            self._close_session()
            with contextlib.suppress(OSError):
                self._control.send(MESSAGE.pack(END, number))
            raise LostError(f"no end after {limit_s:g} s of real time") from error
        except DamagedError as error:
            self._close_session()
            raise LostError(
                f"what the process of the subject wrote is no result: {error}"
            ) from error
        except (EOFError, OSError) as error:
            self._close_session()
            raise LostError("the process of the subject ended without a result") from error
        except BaseException:
            # A Ctrl-C in the middle of a frame: what follows belongs to nothing.
            self._close_session()
            raise

    def _opened(self) -> tuple[int, int]:
        """Return number and stream of the session of this process."""
        if self._session is None or self._session[0] != os.getpid():
            ours, theirs = socket.socketpair()
            number = os.getpid() << 32 | next(_numbers)
            what = BESIDE if aside.is_aside() else OPEN
            # Where the process is gone, so is the session: its stream says so at once.
            with theirs, contextlib.suppress(OSError):
                socket.send_fds(self._control, [MESSAGE.pack(what, number)], [theirs.fileno()])
            self._session = os.getpid(), number, ours.detach()
        return self._session[1:]

    def _close_session(self) -> None:
        if self._session is not None:
            os.close(self._session[2])
            self._session = None


def _print_to(spill: Spill) -> None:
    """Let what is printed in this process go there, also where its streams were replaced."""
    for target, descriptor in enumerate(spill.descriptors, start=1):
        os.dup2(descriptor, target)
    # They stay open for as long as the process lives.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.FileIO(target, "w", closefd=False), errors="backslashreplace", write_through=True
        )
        for target in (1, 2)
    )


def _close_others(*kept: int) -> None:
    """Close what this process has inherited: files, reports and databases of the command."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))


def _end(parent: int, process: int, *ours: socket.socket | Spill) -> None:
    for resource in ours:
        resource.__exit__(None, None, None)
    if os.getpid() == parent:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)


def _validated(kind: Any, value: Any) -> Any:
    return kind.model_validate(value) if issubclass(kind, Value) else kind(value)


def _read(kind: type[T], data: bytes) -> T:
    try:
        answer = json.loads(data)
        if "error" not in answer:
            return msgspec.convert(answer["value"], kind, dec_hook=_validated)
        said, message, hint = (answer[name] for name in ("error", "message", "hint"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise LostError(
            f"what the process of the subject handed over is no result: {why}"
        ) from error
    if said == "broken":
        raise LostError(f"the process of the subject failed: {message}")
    raise _ERRORS.get(said, InputError)(message, hint=hint)


# ---------------------------------------------------------------------- what is handed over


def _elsewhere(*_: object) -> NoReturn:
    raise InternalError("a subject was called in a process that has not loaded it")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedBinding(Binding):
    """A subject in another process: all that is known of it, and nothing to call."""

    function: Callable[..., Any] = field(default=_elsewhere)
    state_slot: int | None = None
    host: Host


class HostedSubject(Struct, frozen=True, kw_only=True):
    """What is handed over of a subject that was loaded; see `Binding` and `Adopted`.

    Attributes:
        changed: what of Faultclock the subject has replaced while it was loaded; empty: nothing.
    """

    id: str
    title: str
    role: Role
    style: str
    declares: tuple[Declares, ...]
    retry_policies: tuple[RetryPolicy, ...]
    inline: bool
    warm_in_place: bool
    distributions: tuple[str, ...]
    timer_granularity_ns: int
    dialects: tuple[str, ...]
    dialect_known: bool
    abilities: Abilities
    source_digest: str | None
    source: SourcePlace | None
    state_slot: int | None
    own_tools: tuple[ToolScript, ...] | None
    unjudged: tuple[tuple[str, str], ...]
    remedies: dict[str, str]
    unreachable: tuple[str, ...]
    session: tuple[str, str]
    services: tuple[ServiceHost, ...]
    answer_form: str
    versions: dict[str, str]
    spec: str
    taken_for: TakenFor
    given_requests: bool
    is_bound: bool
    changed: str

    @classmethod
    def of(cls, adopted: Adopted, changed: str) -> HostedSubject:
        """Return what is handed over."""
        own = {name: getattr(adopted.binding, name) for name in _OF_BINDING}
        said = {name: getattr(adopted, name) for name in _OF_ADOPTED}
        return cls(**own, **said, changed=changed)

    def adopted(self, host: Host) -> Adopted:
        """Return the target as one that `host` has loaded."""
        own: dict[str, Any] = {name: getattr(self, name) for name in _OF_BINDING}
        said: dict[str, Any] = {name: getattr(self, name) for name in _OF_ADOPTED}
        return Adopted(binding=HostedBinding(**own, host=host), **said)


_OF_ADOPTED = ("spec", "taken_for", "given_requests", "is_bound")
#: What stays over there is what is called.
_OF_BINDING = (
    *(
        item.name
        for item in fields(Binding)
        if item.name not in ("function", "open", "classify", "contract", "program")
    ),
    "state_slot",
)


#: What was loaded in this process for another one.
_alike: dict[bytes, Host] = {}


def _loaded_alike(
    kind: type[HostedSubject],
    function: Callable[..., tuple[Any, HostedSubject]],
    args: tuple[Any, ...],
    wanted: SubjectInfo,
) -> Host:
    """Return a host that has loaded here what was loaded elsewhere.

    Raises:
        InputError: it cannot be loaded here, or is not the same: its runs would not be either.
    """
    key = pickle.dumps((function, args))
    if key not in _alike:
        host = Host()
        try:
            found = host.load(kind, function, *args).adopted(host).binding.info()
        except LostError as error:
            raise SubjectError(f"it cannot load {wanted.id}: {error}") from None
        for name, here in wanted:
            if (there := getattr(found, name)) != here:
                what = name.replace("_", " ")
                raise SubjectError(
                    f"it has another {wanted.id}: {what} {there}, and here it is {here}",
                    hint="give every worker the same files and the same libraries",
                )
        _alike[key] = host
    return _alike[key]


# ---------------------------------------------------------------------- runs


def make_run(
    binding: Binding, asked: RunRequest, change: Callable[[Binding], Binding] | None = None
) -> Made:
    """Make a run where the subject is loaded: in this process, or in that of its host.

    Args:
        change: makes the subject that is run of the one that was loaded, over there. It can be
            pickled.

    Raises:
        InputError: the scenario does not fit the subject.
    """
    if not isinstance(binding, HostedBinding):
        return make(binding if change is None else change(binding), asked)
    # What shares the process of its session has no watchdog but this one.
    is_bounded = asked.isolate or binding.inline
    try:
        made = binding.host.call(
            Made,
            _make,
            asked,
            binding.dialects,
            change,
            limit_s=asked.limit_s if is_bounded else None,
        )
        check_events(TraceEvent(*fact) for fact in made.facts)
        return made
    except EventError as error:
        return lost(asked, (f"what the process of the subject handed over is no run: {error}",))
    except LostError as error:
        hangs = isinstance(error.__cause__, TimeoutError)
        return lost(asked, (str(error),), ending="watchdog" if hangs else "harness_error")


def where_loaded(binding: Binding, kind: type[T], function: Callable[..., T], *args: Any) -> T:
    """Call `function(binding, *args)` in the process that has loaded the subject.

    Raises:
        InputError: what it raised.
        LostError: nothing came of it.
    """
    if isinstance(binding, HostedBinding):
        return binding.host.call(kind, function, *args)
    return function(binding, *args)


def _make(
    binding: Binding,
    asked: RunRequest,
    dialects: tuple[str, ...],
    change: Callable[[Binding], Binding] | None,
) -> Made:
    spoken = binding if dialects == binding.dialects else replace(binding, dialects=dialects)
    return make(spoken if change is None else change(spoken), asked)
