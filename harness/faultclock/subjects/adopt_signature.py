"""What a function wants to be called with, read off its parameters.

Most programs have one function that takes a prompt, or the messages of a conversation, or nothing.
Names and annotations say which. What is not understood is refused with what to write, because a
wrong guess would be judged as if it were the user's code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from msgspec import Struct, field

from faultclock.errors import SubjectError
from faultclock.subjects.ports import ProviderRequest

Form = Literal["prompt", "messages", "nothing", "request"]
FORMS: tuple[Form, ...] = get_args(Form)

_PROMPTS = frozenset(
    {"prompt", "text", "question", "query", "input", "message", "user_input", "user_message"}
)
_MESSAGES = frozenset({"messages", "history", "conversation"})
_REQUEST = "request"
#: Required parameters that are no part of the question, and what they get.
_SETTINGS: Mapping[str, Callable[[ProviderRequest], Any]] = MappingProxyType(
    {
        "model": lambda request: request.model,
        "stream": lambda request: request.stream,
        "api_key": lambda request: request.api_key,
        "base_url": lambda request: request.base_url,
        "timeout": lambda request: request.timeout_s,
        "timeout_s": lambda request: request.timeout_s,
        "max_tokens": lambda _: 256,
        "temperature": lambda _: 0.0,
    }
)
_LISTS = ("list", "List", "Sequence", "Iterable", "tuple", "Tuple")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Wanted(Struct, frozen=True, kw_only=True):
    """What a function is called with.

    Attributes:
        form: what its main parameter gets.
        because: what shows it.
        positional: what each positional argument is made of, in order.
        named: the same for keyword-only arguments.
    """

    form: Form
    because: str
    positional: tuple[Callable[[ProviderRequest], Any], ...] = ()
    named: Mapping[str, Callable[[ProviderRequest], Any]] = field(default_factory=dict)

    def call(self, function: Callable[..., Any], request: ProviderRequest) -> Any:
        """Call `function` for `request` and return what it returns."""
        named = {name: make(request) for name, make in self.named.items()}
        return function(*(make(request) for make in self.positional), **named)


def wanted_by(function: Callable[..., Any], name: str, as_: Form | None = None) -> Wanted:
    """Return what `function` is called with.

    Args:
        name: of the function, for messages.
        as_: what a person says that it takes; None: what its parameters say.

    Raises:
        SubjectError: its parameters are not understood, or `as_` does not fit them.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        form: Form = as_ or "prompt"
        make = () if form == "nothing" else (_MAKERS[form],)
        return Wanted(form=form, because="its parameters cannot be read", positional=make)
    required = [
        item
        for item in parameters
        if item.default is item.empty and item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    ]
    if as_ is not None:
        return _as_said(name, parameters, required, as_)
    meanings = {item.name: _meaning(item) for item in required}
    mains = [item for item in required if meanings[item.name] in FORMS]
    unknown = [item for item in required if meanings[item.name] is None]
    if not mains and len(unknown) == 1:
        only = unknown.pop()
        meanings[only.name] = "messages" if _is_list(only) else "prompt"
        mains = [only]
    forms = [meanings[item.name] for item in mains]
    unknown += [item for place, item in enumerate(mains) if forms[place] in forms[:place]]
    if unknown:
        raise _not_understood(name, [item.name for item in unknown])
    # A conversation beside a prompt is what was said before: nothing.
    makers = dict(_MAKERS, messages=_MAKERS["messages"] if "prompt" not in forms else _no_history)
    main = next((item for item in mains if meanings[item.name] != "messages"), None)
    main = main or (mains[0] if mains else None)
    form = "nothing" if main is None else meanings[main.name]  # type: ignore[assignment]
    return _wanted(
        form,
        _because(main),
        required,
        {item.name: makers.get(meanings[item.name] or "") for item in required},
    )


def _as_said(
    name: str, parameters: list[inspect.Parameter], required: list[inspect.Parameter], as_: Form
) -> Wanted:
    because = "it was said on the command line"
    given: dict[str, Any] = {item.name: None for item in required}
    if as_ == "nothing":
        main = None
    else:
        open_ = [item for item in required if item.name not in _SETTINGS] or [
            item for item in parameters if item.kind in (*_POSITIONAL, item.VAR_POSITIONAL)
        ]
        if not open_:
            raise SubjectError(
                f"{name} takes nothing, so it cannot be called with {_WORDS[as_]}",
                hint="write --as nothing",
            )
        main = open_[0]
        if main.kind is main.VAR_POSITIONAL:
            return Wanted(form=as_, because=because, positional=(_MAKERS[as_],))
        required = required if main in required else [main, *required]
        given[main.name] = _MAKERS[as_]
    unknown = [item.name for item in required if item is not main and item.name not in _SETTINGS]
    if unknown:
        raise _not_understood(name, unknown)
    return _wanted(as_, because, required, given)


def _wanted(
    form: Form,
    because: str,
    required: list[inspect.Parameter],
    makers: Mapping[str, Callable[[ProviderRequest], Any] | None],
) -> Wanted:
    made = {item.name: makers.get(item.name) or _SETTINGS[item.name] for item in required}
    return Wanted(
        form=form,
        because=because,
        positional=tuple(made[item.name] for item in required if item.kind in _POSITIONAL),
        named={item.name: made[item.name] for item in required if item.kind not in _POSITIONAL},
    )


def is_understood(name: str) -> bool:
    """Return whether the name of a parameter says what it is for."""
    return _meaning(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)) is not None


def _meaning(item: inspect.Parameter) -> str | None:
    """Return the form of a parameter, `setting`, or None where it is not understood."""
    annotation = _annotation(item)
    if annotation == "ProviderRequest":
        return "request"
    if item.name == _REQUEST:
        return "prompt" if annotation == "str" else "request"
    if item.name in _MESSAGES:
        return "prompt" if annotation == "str" else "messages"
    if item.name in _PROMPTS:
        return "messages" if _is_list(item) else "prompt"
    return "setting" if item.name in _SETTINGS else None


def _annotation(item: inspect.Parameter) -> str:
    """Return the annotation as a short text: `str`, `list`, `ProviderRequest`; empty for none."""
    if item.annotation is item.empty:
        return ""
    said = item.annotation
    if isinstance(said, type) and not get_args(said):
        return said.__name__
    # A quoted annotation keeps its quotes where all annotations are texts.
    text = (said if isinstance(said, str) else str(said)).strip("'\"")
    text = text.removesuffix("| None").strip().removeprefix("typing.").removeprefix("Optional[")
    return text.partition("[")[0].strip("]").rpartition(".")[2]


def _is_list(item: inspect.Parameter) -> bool:
    return _annotation(item) in _LISTS


def _because(main: inspect.Parameter | None) -> str:
    if main is None:
        return "it has no parameter that must be given"
    said = _annotation(main)
    if main.name in _PROMPTS | _MESSAGES | {_REQUEST}:
        return f"its parameter is called {main.name!r}"
    if said:
        return f"its parameter {main.name!r} is annotated {said}"
    return f"it has one parameter, {main.name!r}, and nothing says what that is: a guess"


def _not_understood(name: str, unknown: list[str]) -> SubjectError:
    names = " and ".join(repr(item) for item in unknown)
    is_are = "is" if len(unknown) == 1 else "are"
    return SubjectError(
        f"{name} cannot be called: what its parameter{'s' * (len(unknown) > 1)} {names} {is_are}"
        " for is not known",
        hint="wrap it in a function of a prompt, `def ask(prompt): ...`, and name that; or say"
        " what the first one takes: --as prompt, --as messages",
    )


def _prompt(request: ProviderRequest) -> str:
    return str(request.messages[-1]["content"])


def _messages(request: ProviderRequest) -> list[Any]:
    return [dict(message) for message in request.messages]


def _no_history(request: ProviderRequest) -> list[Any]:
    del request
    return []


def _itself(request: ProviderRequest) -> ProviderRequest:
    return request


_MAKERS: dict[str, Callable[[ProviderRequest], Any]] = {
    "prompt": _prompt,
    "messages": _messages,
    "request": _itself,
}
_WORDS: Mapping[Form, str] = {
    "prompt": "a prompt",
    "messages": "messages",
    "nothing": "nothing",
    "request": "a request",
}


def not_callable(spec: str, target: Any) -> SubjectError:
    """Return what is wrong with a target that cannot be called, and what to name in its place."""
    methods = [
        name
        for name, _ in inspect.getmembers_static(type(target), inspect.isroutine)
        if not name.startswith("_")
    ]
    hint = "name a function of a prompt, `def ask(prompt): ...`, or a client object"
    # Imported here: a command that adopts nothing should start at once.
    from faultclock.subjects.frameworks.known import framework_of

    known = framework_of(target)
    if known is not None:
        # Its methods want objects of its own.
        kinds = " or ".join(known.kinds)
        hint = f"of {known.name}, name an agent ({kinds}), or a function of a prompt that asks it"
    elif type(target).__module__ != "builtins" and methods:
        hint = f"name one of its methods, such as {spec}.{_likeliest(methods)}"
    kind = type(target).__name__
    article = "an" if kind[:1] in "aeiou" else "a"
    return SubjectError(f"{spec}: {article} {kind} cannot be called", hint=hint)


def _likeliest(methods: list[str]) -> str:
    usual = ("ask", "chat", "complete", "run", "generate", "invoke", "call", "answer", "send")
    return next((name for word in usual for name in methods if name.startswith(word)), methods[0])
