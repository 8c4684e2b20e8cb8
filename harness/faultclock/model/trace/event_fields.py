"""What an event holds, by name: `event.tool_call` for the field `tool_call` of its payload.

The types are those of the catalogue (`model.events`), which each trace is checked against when it
is read. A field that an event does not have is None, or empty where it is a list or an object;
`life` is 1 then, and `do` is `call`. What a subject hands over can be any JSON value: such a field
is `Any`, and its readers expect any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

FieldT = TypeVar("FieldT")

Facts = Mapping[str, Any]


class Field(Generic[FieldT]):
    """One field of a payload.

    Args:
        default: what stands for a field that is not there.
        name: of the field; None where it is that of the attribute.
    """

    def __init__(self, default: FieldT, name: str | None = None) -> None:
        self._default = default
        self.name = name or ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    @overload
    def __get__(self, event: None, owner: type) -> Field[FieldT]: ...
    @overload
    def __get__(self, event: EventFields, owner: type) -> FieldT: ...
    def __get__(self, event: EventFields | None, owner: type) -> Field[FieldT] | FieldT:
        if event is None:
            return self
        value: FieldT = event.payload.get(self.name, self._default)
        return value


def _text() -> Field[str | None]:
    return Field[str | None](None)


def _whole() -> Field[int | None]:
    return Field[int | None](None)


def _flag() -> Field[bool | None]:
    return Field[bool | None](None)


def _any(name: str | None = None) -> Field[Any]:
    return Field[Any](None, name)


def _list() -> Field[Sequence[Any]]:
    return Field[Sequence[Any]](())


def _object() -> Field[Facts]:
    return Field[Facts]({})


def _maybe_object() -> Field[Facts | None]:
    return Field[Facts | None](None)


class EventFields:
    """The fields of all kinds of events, one attribute each."""

    __slots__ = ()

    payload: Facts

    accepted = _flag()
    account = _whole()
    act = _text()
    actions = _list()
    address = _text()
    agent = _flag()
    answer = _any()
    applied = _flag()
    arguments = _any()
    argv = _list()
    asked_sha256 = _text()
    asks = _text()
    attempt = _any()
    body_bytes = _whole()
    body_sha256 = _text()
    by = _text()
    by_tool = _text()
    bytes_count = _whole()
    call = _text()
    calls = _list()
    cancel = _text()
    chain = _list()
    chars = _whole()
    code = _any()
    config = _maybe_object()
    config_problem = _text()
    connection = _text()
    contract = _object()
    copy = _whole()
    count = _whole()
    counts = _flag()
    crash = _text()
    current = _any()
    deadline_ns = _whole()
    decision = _any()
    delay_ns = _whole()
    differing = _list()
    do = Field("call")
    early_ns = _whole()
    ends = _text()
    entries = _list()
    error = _any()
    error_class = _any("class")
    errors = _list()
    exchange = _text()
    execution = _text()
    exit_code = _whole()
    extension = _text()
    fault = _text()
    fault_kind = _text()
    fields = _object()
    file = _text()
    finish_reason = _text()
    found = _flag()
    headers = _object()
    hook = _text()
    host = _text()
    how = _text()
    in_words = _list()
    input_problem = _text()
    interaction_kind = _any()
    interactor = _text()
    item = _any()
    json = _maybe_object()
    key = _text()
    late_ns = _whole()
    leaves = _text()
    life = Field(1)
    line = _whole()
    log_run = _text()
    means = _text()
    message = _any()
    messages = _list()
    method = _text()
    migrated_to = _any()
    model = _text()
    n = _whole()
    name = _any()
    names = _list()
    node = _text()
    of = _text()
    ok = _flag()
    op = _text()
    operation = _text()
    optional = _flag()
    output_problem = _text()
    owner = _text()
    partial = _flag()
    phase = _text()
    pill = _any()
    port = _whole()
    problem = _text()
    program = _any()
    prompt = _text()
    provider = _text()
    pushed_back_ns = _whole()
    quotes = _list()
    random_state = _text()
    reached = _whole()
    reason = _text()
    record = _object()
    request = _any()
    result = _maybe_object()
    resume = _flag()
    retry_after = _text()
    retry_after_ns = _whole()
    retry_number = _whole()
    revision_sha256 = _text()
    run = _text()
    scope = _text()
    seen = _flag()
    sent_ns = _whole()
    service = _text()
    session = _text()
    sessions = _list()
    sha256 = _text()
    shape = _any()
    signal = _text()
    site = _text()
    slot = _text()
    source = _text()
    stage = _text()
    stale = _flag()
    status = _whole()
    store = _text()
    stored = _any()
    stream = _any()
    target = _text()
    task = _text()
    tasks = _whole()
    text = _text()
    text_sha256 = _text()
    threads = _whole()
    timeout_ns = _whole()
    to = _text()
    tool = _any()
    tool_call = _any()
    tool_calls = _list()
    tools = _whole()
    torn = _flag()
    type = _text()
    untyped = _text()
    usage = _object()
    value = _any()
    value_sha256 = _text()
    varies = _text()
    version = _any()
    what = _text()
    why = _text()
