"""Binding: how a function becomes a subject.

    import openai
    from faultclock import provider_adapter

    @provider_adapter
    async def subject(request):
        client = openai.AsyncOpenAI(api_key=request.api_key, timeout=request.timeout_s)
        reply = await client.chat.completions.create(
            model=request.model, messages=request.messages
        )
        return reply.choices[0].message.content

A binding says how to call the code and what the code can express. It changes nothing about it,
and a fault in the binding is told when it is made, with what to write instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args, overload

from faultclock.errors import SubjectError
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.scenario.scenario import Role
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.trace.trace import TIMER_GRANULARITY_MAX_NS, Declares, SubjectInfo
from faultclock.subjects.abilities import ALL_ABILITIES, OPTIONS_OF_ROLE, Abilities, declared
from faultclock.subjects.foreign import ForeignProgram
from faultclock.subjects.outcome import Classify
from faultclock.subjects.ports import ProviderRequest

if TYPE_CHECKING:
    # A person's file imports this module, and needs none of what reports are made of.
    from faultclock.model.report.finding import SourcePlace

#: What a binding can express; checks that need more do not apply to it.

#: The options that a person may give to the decorator of any role.
_OPTIONS = (
    "id",
    "title",
    "classify",
    "declares",
    "inline",
    "warm_in_place",
    "distributions",
    "timer_granularity_ms",
    "dialect",
)

_EXAMPLE = "put @{0} on `async def subject({1})` or `def subject({1})`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A subject that is ready to be called.

    Attributes:
        id: short name in reports, `module:function` unless given; the same on every machine.
        title: one line for lists.
        role: which ports it is reached through.
        style: whether `function` is a coroutine function.
        function: what is bound. A provider adapter takes a `ProviderRequest`, and the client when
            `open` is given; what the other roles take stands beside their decorators.
        open: makes the client, once per call and inside the world.
        classify: names class and code of exceptions that do not carry them.
        declares: what the subject can express.
        retry_policies: policies that it declares in place of the model's defaults.
        inline: it keeps no process-wide state, so runs may share a process.
        warm_in_place: what a call leaves behind in the process changes nothing in a later call
            (library caches, but no client), so a rehearsal may be held where runs fork from.
        distributions: names of the libraries whose versions belong in a trace.
        timer_granularity_ns: the step of the timers that its host has, such as 1 ms in Node; a wait
            may miss its ends by that.
        dialects: the APIs of a model's provider that it speaks, such as `anthropic-messages`. A
            scenario that names none is played in the first.
        dialect_known: False for code that names its own address and that no person has bound, and
            for a runtime that names no dialect: what it speaks is then found out by a run.
        abilities: what it does when nothing goes wrong; what it declares that it never does is left
            out of a run by name.
        source_digest: SHA-256 (hex) of the user's file, None for a shipped subject.
        source: where it stands in the user's file; None for a shipped subject, and for a file that
            is not below the working folder.
        contract: what a tool, a store or an extension declares of itself; None for other roles.
        own_tools: the tools that a runtime brings; None: it is handed those of a scenario.
        unjudged: what of single tools no scenario shows, and why.
        unreachable: hosts that its framework asks for purposes of its own: they have no address.
        remedies: what of its framework mends a broken requirement, by the id of that.
        session: what is said of its session, where a healthy run shows that it is kept, and where
            it is not, such as which of it Faultclock has handed in.
        services: other hosts that it may ask in every scenario.
        answer_form: what the model writes where it answers in code; `{text}` is its answer.
        program: of another language, in a process of its own; None for Python.
        versions: of what such a program consists of, such as `{"node": "20.20.2"}`.
    """

    id: str
    title: str
    role: Role = "provider_adapter"
    style: Literal["async", "sync"]
    function: Callable[..., Any]
    open: Callable[..., Any] | None = None
    classify: Classify | None = None
    declares: tuple[Declares, ...] = ()
    retry_policies: tuple[RetryPolicy, ...] = ()
    inline: bool = False
    warm_in_place: bool = False
    distributions: tuple[str, ...] = ()
    timer_granularity_ns: int = 0
    dialects: tuple[str, ...] = (DEFAULT_DIALECT,)
    dialect_known: bool = True
    abilities: Abilities = ALL_ABILITIES
    source_digest: str | None = None
    source: SourcePlace | None = None
    contract: Any = None
    own_tools: tuple[ToolScript, ...] | None = None
    unjudged: tuple[tuple[str, str], ...] = ()
    remedies: Mapping[str, str] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    session: tuple[str, str] = ("", "")
    services: tuple[ServiceHost, ...] = ()
    answer_form: str = ""
    program: ForeignProgram | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def dialect(self) -> str:
        """The API in which a scenario that names none is played."""
        return self.dialects[0]

    @property
    def state_slot(self) -> int | None:
        """The version of the state that it keeps with a session; None: it declares none."""
        slot: int | None = getattr(self.contract, "state_slot", None)
        return slot

    @property
    def is_run_in_one_piece(self) -> bool:
        """Whether it is an agent that is not run with its framework's streaming call."""
        return self.own_tools is not None and self.abilities.streams == "never"

    def __call__(self, *args: Any) -> Any:
        """Call the bound function as if it were not bound."""
        return self.function(*args)

    def invoke(self, request: ProviderRequest) -> Any:
        """Ask the subject once, in its style; what an async one returns has to be awaited."""
        return self.invoke_async(request) if self.style == "async" else self.invoke_sync(request)

    def invoke_sync(self, request: ProviderRequest) -> Any:
        """Make the client, call the (sync) subject, close the client; return what it returned."""
        if self.open is None:
            return self.function(request)
        client = _make_client(self.open, request)
        try:
            return self.function(request, client)
        finally:
            close = getattr(client, "close", None)
            if callable(close):
                close()

    async def invoke_async(self, request: ProviderRequest) -> Any:
        """Make the client, await the (async) subject, close the client; return what it returned."""
        if self.open is None:
            return await self.function(request)
        client = _make_client(self.open, request)
        if isinstance(client, Awaitable):
            client = await client
        try:
            return await self.function(request, client)
        finally:
            close = getattr(client, "aclose", None) or getattr(client, "close", None)
            if callable(close):
                closing = close()
                if isinstance(closing, Awaitable):
                    await closing

    def info(self) -> SubjectInfo:
        """Return what a trace says about this subject.

        Raises:
            SubjectError: a library that the binding names is not installed.
        """
        return SubjectInfo(
            id=self.id,
            role=self.role,
            style=self.style,
            declares=tuple(sorted(self.declares)),
            retry_policies=self.retry_policies,
            source_digest=self.source_digest,
            distributions={name: _version_of(name, self.id) for name in sorted(self.distributions)}
            | dict(sorted(self.versions.items())),
            timer_granularity_ns=self.timer_granularity_ns,
            lacks=self.abilities.words(self.role),
        )


class Options(TypedDict, total=False):
    """What the decorators of all roles take; `Binding` says what each of them means."""

    id: str | None
    title: str | None
    classify: Classify | None
    declares: tuple[Declares, ...]
    inline: bool
    warm_in_place: bool
    distributions: tuple[str, ...]
    timer_granularity_ms: float


@overload
def provider_adapter(function: Callable[..., Any], /) -> Binding: ...


@overload
def provider_adapter(
    *,
    open: Callable[..., Any] | None = None,
    retry_policies: tuple[RetryPolicy, ...] = (),
    dialect: str | tuple[str, ...] = ...,
    streams: bool | Literal["always"] = True,
    tools: bool = True,
    **options: Unpack[Options],
) -> Callable[[Callable[..., Any]], Binding]: ...


def provider_adapter(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Bind a sync or async function `adapter(request)` as a subject.

    Use it bare, or with the options that `Binding` describes. With `open`, the function takes the
    client as its second parameter; `open` takes nothing, or the request. `classify` is a function
    of the exception that returns `("Class", "Code")` or None, or a mapping from exception type.
    Giving `classify` declares `errors`. `streams=False` declares that it never asks for a stream,
    `streams="always"` that it always does, and `tools=False` that it offers the model no tools:
    what needs the rest is then left out of a run by name.

    Raises:
        SubjectError: the function or an option cannot be bound; the hint says what to write.
    """
    if function is None:
        return partial(bind, role="provider_adapter", takes="request", **options)
    return bind(function, role="provider_adapter", takes="request", **options)


def bind(
    function: Callable[..., Any],
    *,
    role: Role,
    takes: str,
    style: Literal["async", "sync"] | None = None,
    contract: Any = None,
    id: str | None = None,
    title: str | None = None,
    open: Callable[..., Any] | None = None,
    classify: Classify | None = None,
    declares: tuple[Declares, ...] = (),
    retry_policies: tuple[RetryPolicy, ...] = (),
    inline: bool = False,
    warm_in_place: bool = False,
    distributions: tuple[str, ...] = (),
    timer_granularity_ms: float = 0,
    dialect: str | tuple[str, ...] | None = None,
    **unknown: object,
) -> Binding:
    """Bind `function` in a role. The decorator of each role calls this; it has all checks.

    Args:
        takes: name of the one parameter that the function is called with.
        style: where the function alone does not show it; None reads it off the function.

    Raises:
        SubjectError: the function or an option cannot be bound; the hint says what to write.
    """
    if isinstance(function, Binding):
        raise SubjectError(
            f"{function.id!r} is bound already", hint=f"use @{role} once per function"
        )
    abilities = declared(role, unknown)
    for option in unknown:
        known = (*_OPTIONS, *OPTIONS_OF_ROLE.get(role, ()))
        raise SubjectError(f"@{role} has no option {option!r}", hint=f"known: {', '.join(known)}")
    _check_options(open, classify, declares, retry_policies, distributions)
    dialects = _dialects(dialect)
    _check_function(function, role=role, takes=takes, takes_client=open is not None)
    name = id if id is not None else default_id(function)
    if not name or any(character.isspace() for character in name):
        raise SubjectError(f"{name!r} is no id", hint="give a short id without spaces")
    if style not in (None, "async", "sync"):
        raise SubjectError(f"style is {style!r}", hint="one of: async, sync")
    said = tuple(declares)
    if classify is not None and "errors" not in said:
        said = ("errors", *said)
    return Binding(
        id=name,
        title=title or _first_line(function) or name,
        role=role,
        style=style or ("async" if is_async(function) else "sync"),
        function=function,
        open=open,
        classify=classify,
        declares=said,
        retry_policies=tuple(retry_policies),
        inline=bool(inline),
        warm_in_place=bool(warm_in_place),
        distributions=tuple(distributions),
        timer_granularity_ns=_granularity_ns(timer_granularity_ms),
        dialects=dialects or (DEFAULT_DIALECT,),
        # A runtime makes its own client, so a run shows which API that speaks.
        dialect_known=bool(dialects) or role != "runtime",
        abilities=abilities,
        contract=contract,
    )


def _dialects(dialect: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the APIs that a binding names; none where it leaves that open."""
    if dialect is None:
        return ()
    if not dialect:
        raise SubjectError("dialect names nothing", hint="leave it out for openai-chat")
    if isinstance(dialect, str):
        return (dialect,)
    _check_names("dialect", dialect)
    return tuple(dialect)


def _check_function(function: object, *, role: Role, takes: str, takes_client: bool) -> None:
    name = getattr(function, "__qualname__", repr(type(function).__name__))
    if inspect.isclass(function) and role in ("provider_adapter", "tool"):
        raise SubjectError(
            f"{name} is a class, not an adapter function",
            hint="bind a function that makes the object and calls it, or one of its bound methods",
        )
    if not callable(function):
        raise SubjectError(
            f"an object of type {type(function).__name__} cannot be called",
            hint=_EXAMPLE.format(role, takes),
        )
    target = unwrapped(function)
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise SubjectError(
            f"{name} is a generator function",
            hint="collect the parts and return the whole text, or a Reply",
        )
    parameters = (takes, "client") if takes_client else (takes,)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # A builtin without a signature cannot be checked beforehand.
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        wanted = f"({', '.join(parameters)})"
        hint = (
            "`open` is given, so the function takes the request and the client"
            if takes_client
            else f"it is called with the {takes} alone; with open=… it also gets a client"
            if role == "provider_adapter"
            else f"it is called with the {takes} alone"
        )
        raise SubjectError(f"{name}{signature} cannot be called as {wanted}", hint=hint) from None


def _check_options(
    open_: object,
    classify: object,
    declares: object,
    retry_policies: object,
    distributions: object,
) -> None:
    if open_ is not None and not callable(open_):
        raise SubjectError("open is not callable", hint="write: open=lambda: MyClient()")
    if classify is not None and not callable(classify) and not isinstance(classify, Mapping):
        raise SubjectError(
            "classify is neither a function nor a mapping",
            hint='write: classify={MyError: ("ProviderTransient", "RateLimited")}',
        )
    if isinstance(classify, Mapping):
        for kind, pair in classify.items():
            typed = inspect.isclass(kind) and issubclass(kind, BaseException)
            paired = isinstance(pair, tuple) and [type(part) for part in pair] == [str, str]
            if not (typed and paired):
                raise SubjectError(
                    f"classify has {kind!r}: {pair!r}",
                    hint='each entry is ExceptionType: ("Class", "Code")',
                )
    _check_names("declares", declares, known=get_args(Declares))
    _check_names("distributions", distributions)
    if not isinstance(retry_policies, (tuple, list)) or not all(
        isinstance(item, RetryPolicy) for item in retry_policies
    ):
        raise SubjectError("retry_policies is not a tuple of RetryPolicy")


def _granularity_ns(given_ms: object) -> int:
    most_ms = TIMER_GRANULARITY_MAX_NS // MILLISECOND_NS
    is_number = isinstance(given_ms, (int, float)) and not isinstance(given_ms, bool)
    if not is_number or not 0 <= given_ms <= most_ms:  # type: ignore[operator]
        raise SubjectError(
            f"timer_granularity_ms is {given_ms!r}",
            hint=f"the step of the host's timers in milliseconds, 0 to {most_ms}; Node has 1",
        )
    return round(given_ms * MILLISECOND_NS)  # type: ignore[operator]


def _check_names(option: str, value: object, known: tuple[str, ...] = ()) -> None:
    if not isinstance(value, (tuple, list)) or not all(isinstance(item, str) for item in value):
        raise SubjectError(f"{option} is not a tuple of texts", hint=f'write: {option}=("…",)')
    unknown = [item for item in value if known and item not in known]
    if unknown:
        raise SubjectError(
            f"{option} has the unknown {unknown[0]!r}", hint=f"known: {', '.join(known)}"
        )


def _make_client(factory: Callable[..., Any], request: ProviderRequest) -> Any:
    try:
        wants_request = any(
            parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            for parameter in inspect.signature(factory).parameters.values()
        )
    except (TypeError, ValueError):
        wants_request = False
    return factory(request) if wants_request else factory()


def unwrapped(function: Any) -> Any:
    """Return the function that is run when `function`, a partial or an object, is called."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isclass(function):
        return function
    if not inspect.isroutine(function):
        function = type(function).__call__
    return function


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether `function` is a coroutine function, whatever stands around it."""
    return inspect.iscoroutinefunction(unwrapped(function))


def default_id(function: Callable[..., Any]) -> str:
    """Return `module:function`, the same on every machine."""
    target = unwrapped(function)
    name = str(getattr(target, "__name__", type(function).__name__))
    module = str(getattr(target, "__module__", None) or "").rpartition(".")[2]
    return name if module in {"", "__main__"} else f"{module}:{name}"


def _first_line(function: Callable[..., Any]) -> str:
    lines = (inspect.getdoc(function) or "").strip().splitlines()
    return lines[0] if lines and not isinstance(function, partial) else ""


@cache
def _version_of(name: str, subject: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise SubjectError(
            f"subject {subject!r} names the library {name!r}, which is not installed",
            hint=f"pip install {name}",
        ) from None
