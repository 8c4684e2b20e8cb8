"""What a target is: a bound subject, a function, a method, or an object that asks a model.

Nothing has to be written for Faultclock. A function is called with what its parameters ask for, a
client object is asked as its library wants it, and what comes back is read whatever it is. What
was assumed is said in a TakenFor, with how to say otherwise: `said.py` has the words for that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from faultclock.errors import SubjectError, UnknownNameError
from faultclock.model.report.taken_for import TakenFor
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.scenario.scenario import Role
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.subjects.abilities import with_word
from faultclock.subjects.adopt_calls import async_call, sync_call
from faultclock.subjects.adopt_clients import Client, client_of
from faultclock.subjects.adopt_signature import FORMS, Form, not_callable, wanted_by
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding, default_id, is_async, provider_adapter, unwrapped
from faultclock.subjects.locate import Located, imported, locate
from faultclock.subjects.node.locate import is_module, locate_export
from faultclock.subjects.said import AGENT, CLIENT, Said, said_in
from faultclock.subjects.shipped import SHIPPED
from faultclock.subjects.shipped_loading import miniatures, shipped_binding

if TYPE_CHECKING:
    from faultclock.subjects.adopt_agents import AgentTarget

#: Whether it is of Python to what shows that it is bound, and how to have it otherwise.
_BOUND = {
    True: ("it is bound by its decorator", "bind it with another decorator than @{role}"),
    False: ("its one parameter is named `surroundings`", "give that parameter another name"),
}
_ROLES: dict[Role, str] = {
    "provider_adapter": "a provider adapter",
    "runtime": "an agent runtime",
    "tool": "a tool",
    "session_store": "a session store",
    "extension": "an extension",
}
_TAKES: dict[Form, str] = {
    "prompt": "of a prompt",
    "messages": "of messages",
    "nothing": "that takes nothing",
    "request": "of a ProviderRequest",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A target that can be run.

    Attributes:
        spec: the target as every command understands it, with what was said of it.
        given_requests: whether its function takes the request, which says when to stream.
        is_bound: whether a decorator has bound it, so that its author has said what it is.
    """

    binding: Binding
    taken_for: TakenFor
    spec: str
    given_requests: bool = True
    is_bound: bool = False


def adopt(
    spec: str,
    *,
    as_: str | None = None,
    dialect: str | None = None,
    services: tuple[ServiceHost, ...] = (),
) -> Adopted:
    """Return what `spec` names, ready to be called.

    Args:
        spec: a shipped id, `path/to/file.py:name` or `package.module:name`; after an `@`, what it
            is and which API it speaks.
        as_: `prompt`, `messages`, `nothing`, `request`, `client` or `agent`: what it is; None: what
            the target itself shows.
        dialect: the API that it speaks, such as `openai-chat`; None: the same.
        services: what the services file has that `spec` names.

    Raises:
        UnknownNameError: it is neither a shipped id nor a place.
        SubjectError: it cannot be imported, or cannot be called; the hint says what to write.
    """
    said = said_in(spec, as_, dialect)
    found = _adopt(said, services)
    adopted = _lacking(found, said.lacks)
    if said.reads and adopted.binding.own_tools is None:
        raise SubjectError(
            f"{said.target} brings no tools of its own, so none of them only reads",
            hint="leave out --reads",
        )
    return replace(adopted, binding=replace(adopted.binding, services=services))


def _adopt(said: Said, services: tuple[ServiceHost, ...]) -> Adopted:
    target = said.target
    shipped = shipped_binding(target)
    if shipped is not None:
        if said.as_ is not None:
            raise _bound_already(target, shipped, said.as_)
        known = replace(_speaking(shipped, said.dialect), dialect_known=True)
        return _of_binding(said.whole, known, "it comes with Faultclock")
    if is_module(target):
        return _at_place(locate_export(target), said, services)
    place, colon, name = target.rpartition(":")
    if not colon:
        if target.endswith(".py"):
            # Imported here, as in `locate`: nothing that works needs it.
            from faultclock.subjects.candidates import what_to_name

            raise SubjectError(
                f"{target} names a file but nothing in it",
                hint=what_to_name(target, Path(target).expanduser()),
            )
        # There are hundreds of miniatures, and nobody who mistypes looks for one of them.
        raise UnknownNameError("subject", target, (*SHIPPED, *miniatures()), told=tuple(SHIPPED))
    if not place or not name:
        raise SubjectError(
            f"{target!r} is no place of a subject", hint="write path/to/adapter.py:subject"
        )
    return _at_place(locate(place, name), said, services)


def _at_place(found: Located, said: Said, services: tuple[ServiceHost, ...]) -> Adopted:
    try:
        adopted = _adopted(found, said, services)
    except SubjectError:
        raise
    except (Exception, SystemExit) as error:
        # An object may answer any question with an exception, or without an end.
        raise SubjectError(
            f"{found.spec}: to look at it raised {type(error).__name__}",
            hint="name a function of a prompt that asks it: `def ask(prompt): ...`",
        ) from error
    binding = replace(adopted.binding, source_digest=found.digest, source=found.source)
    if found.program is not None:
        binding = replace(
            binding,
            program=found.program,
            timer_granularity_ns=found.timer_granularity_ns,
            versions=found.versions,
        )
    return replace(adopted, binding=binding)


def _lacking(adopted: Adopted, words: Sequence[str]) -> Adopted:
    """Return `adopted` with what is said of its abilities.

    Raises:
        SubjectError: a word says something that its role has no say in.
    """
    binding = adopted.binding
    abilities = binding.abilities
    for word in words:
        abilities = with_word(abilities, word)
        if word not in abilities.words(binding.role):
            raise SubjectError(
                f"{adopted.spec}: {word!r} says nothing about {_ROLES[binding.role]}",
                hint="leave the word out",
            )
    return replace(adopted, binding=replace(binding, abilities=abilities))


def _adopted(found: Located, said: Said, services: tuple[ServiceHost, ...]) -> Adopted:
    spec, as_, dialect = said.whole, said.as_, said.dialect
    target = found.target
    if isinstance(target, Binding):
        if as_ is not None:
            raise _bound_already(found.spec, target, as_)
        return _of_binding(spec, _speaking(target, dialect), *_BOUND[found.program is None])
    target = _object(found)
    if as_ in (None, AGENT):
        # Imported late: the subjects that ship are bound, and a command should start at once.
        from faultclock.subjects.adopt_agents import agent_target

        agent = agent_target(target, found.spec, services, said=as_ == AGENT)
        if agent is not None:
            return _of_agent(found, said, agent, services)
    client = client_of(target) if as_ in (None, CLIENT) else None
    if client is not None:
        return _of_client(found, spec, target, client, dialect)
    if as_ == CLIENT:
        raise SubjectError(
            f"{found.spec} is no client of a library that Faultclock knows",
            hint="write a function of a prompt that asks it, `def ask(prompt): ...`, and name that",
        )
    if as_ == AGENT:
        raise SubjectError(
            f"{found.spec} is no agent of a framework that Faultclock knows",
            hint="bind it as a runtime: `faultclock init --role runtime` writes a start",
        )
    form: Any = as_
    return _of_function(found, spec, target, form, dialect)


# ---------------------------------------------------------------------- the object itself


def _object(found: Located) -> Any:
    """Return what is called: of a class, an object of it."""
    target = found.target
    if inspect.isclass(found.owner) and inspect.isfunction(target):
        last = found.name.rpartition(".")[2]
        static = inspect.getattr_static(found.owner, last)
        if not isinstance(static, staticmethod):
            return getattr(_instance(found, found.owner, last), last)
    return _instance(found, target) if inspect.isclass(target) else target


def _instance(found: Located, kind: type, method: str = "") -> Any:
    try:
        inspect.signature(kind).bind()
    except TypeError:
        after = f".{method}" if method else ""
        hint = (
            f"write `subject = {kind.__name__}(...)` in {found.place}, and name"
            f" {found.place}:subject{after}"
        )
        if kind.__module__ != found.module and found.file is not None:
            from faultclock.subjects.candidates import what_to_name

            hint = what_to_name(found.place, found.file)
        raise SubjectError(
            f"{found.spec}: the class {kind.__name__} needs arguments", hint=hint
        ) from None
    except ValueError:
        # A class without a signature that can be read: making one shows it.
        pass
    with imported(found.place, "making an object of it"):
        return kind()


# ---------------------------------------------------------------------- what it was taken for


def _of_binding(
    spec: str, binding: Binding, because: str, otherwise: str = _BOUND[True][1]
) -> Adopted:
    asks_a_model = binding.role in ("provider_adapter", "runtime")
    taken_for = TakenFor(
        target=spec,
        kind=f"{_ROLES[binding.role]} ({binding.title})",
        because=because,
        otherwise=otherwise.format(role=binding.role),
        dialect=binding.dialect if asks_a_model else "",
    )
    return Adopted(binding=binding, taken_for=taken_for, spec=spec, is_bound=True)


def _of_client(
    found: Located, spec: str, target: Any, client: Client, dialect: str | None
) -> Adopted:
    def ask(request: Any) -> Any:
        return client.ask(request, target)

    async def ask_async(request: Any) -> Any:
        return await client.ask(request, target)

    binding = _bound(
        found,
        ask_async if client.style == "async" else ask,
        title=f"{client.name} as it is",
        dialect=dialect or client.dialect,
        dialect_known=dialect is not None or client.dialect_known,
    )
    taken_for = TakenFor(
        target=spec,
        kind=f"{'an async' if client.style == 'async' else 'a blocking'} {client.noun}"
        f" ({client.name})",
        because="its class is that of a library that Faultclock knows how to ask"
        if client.known
        else "it has chat.completions.create",
        otherwise=f"name a function of a prompt that asks it, {found.function}",
        dialect=binding.dialect if binding.dialect_known else "",
    )
    return Adopted(binding=binding, taken_for=taken_for, spec=spec)


def _of_agent(
    found: Located, said: Said, target: AgentTarget, services: tuple[ServiceHost, ...]
) -> Adopted:
    known, dialect = target.known, said.dialect
    tools = target.all_tools(found.spec, services, said.reads)
    bound = runtime(
        id=f"{found.stem}:{found.name}",
        title=f"{known.name} agent as it is",
        dialect=dialect or DEFAULT_DIALECT,
        **target.declared(),
    )(target.lives())
    binding = replace(
        bound,
        own_tools=tools,
        answer_form=target.answer_form,
        dialect_known=dialect is not None,
        unjudged=target.unjudged,
        remedies=target.remedies(tools),
        unreachable=known.unreachable,
        session=target.session,
    )
    taken_for = TakenFor(
        target=said.whole,
        kind=f"a whole agent ({known.name})",
        because=target.because(tools),
        otherwise=f"name a function of a prompt that asks it, {found.function}",
        dialect=binding.dialect if binding.dialect_known else "",
    )
    return Adopted(binding=binding, taken_for=taken_for, spec=said.whole)


def _of_function(
    found: Located, spec: str, target: Any, as_: Form | None, dialect: str | None
) -> Adopted:
    if not callable(target):
        raise not_callable(found.spec, target)
    wanted = wanted_by(target, found.spec, as_)
    called = unwrapped(target)
    pieces = inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)
    runs_async = is_async(target) or inspect.isasyncgenfunction(called)
    style: Literal["async", "sync"] = "async" if runs_async else "sync"
    binding = _bound(
        found,
        async_call(target, wanted) if style == "async" else sync_call(target, wanted),
        title=_first_line(target),
        dialect=dialect or DEFAULT_DIALECT,
        # Only what is given a request can be given an address.
        dialect_known=dialect is not None or wanted.form == "request",
        id=default_id(target) if wanted.form == "request" and found.program is None else None,
    )
    how = "an async" if runs_async or getattr(target, "is_async", False) else "a blocking"
    others = [form for form in FORMS if form != wanted.form]
    taken_for = TakenFor(
        target=spec,
        kind=f"{how} {'generator ' if pieces else ''}function {_TAKES[wanted.form]}",
        because=wanted.because,
        otherwise=f"--as {', --as '.join(others[:-1])} or --as {others[-1]}",
        dialect=binding.dialect if binding.dialect_known else "",
    )
    given = wanted.form == "request"
    return Adopted(binding=binding, taken_for=taken_for, spec=spec, given_requests=given)


def _bound(
    found: Located,
    function: Callable[..., Any],
    *,
    title: str,
    dialect: str,
    dialect_known: bool,
    id: str | None = None,
) -> Binding:
    try:
        bound = provider_adapter(
            id=id or f"{found.stem}:{found.name}", title=title, dialect=dialect
        )(function)
    except SubjectError as error:
        raise SubjectError(f"{found.spec}: {error.message}", hint=error.hint) from None
    return replace(bound, dialect_known=dialect_known)


def _speaking(binding: Binding, dialect: str | None) -> Binding:
    if dialect is None:
        return binding
    return replace(binding, dialects=(dialect,), dialect_known=True)


def _bound_already(spec: str, binding: Binding, as_: str) -> SubjectError:
    return SubjectError(
        f"{spec} is bound already, as {_ROLES[binding.role]}: it cannot be taken for {as_!r}",
        hint="leave out --as",
    )


def _first_line(target: Any) -> str:
    called = target if inspect.isroutine(target) else type(target)
    lines = (inspect.getdoc(called) or "").strip().splitlines()
    return lines[0] if lines and called.__module__ not in ("functools", "builtins") else ""
