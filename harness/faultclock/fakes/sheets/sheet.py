"""A dialect's file: what it says of requests, answers, errors, limits and reading back.

A template is filled by `template.py`, and an expression is what stands in its holes. Both know the
names of their moment: those of a request are in `reading.py`, those of an answer in `spoken.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from faultclock.errors import SourceError
from faultclock.load.known_keys import Location
from faultclock.load.yaml_file import Document, read_document
from faultclock.model.scenario.fault import AnswerEnd

#: Sections of which a file takes over what it does not say itself from the one that it is `like`.
_TAKEN_OVER = frozenset({"requests", "good", "whole", "stream", "errors", "heard", "parts"})

JsonStyle = Literal["plain", "compact", "commas", "indent 2", "indent 4"]


#: What the trace has of an error object, in most APIs.
_FACTS = {"code": "{error.code}", "type": "{error.type}", "message": "{error.message}"}
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Section:
    """A mapping in a dialect's file. What has a value in its class may be left out.

    Args:
        document: the file, for what is wrong in it.
        data: the mapping.
        place: where that stands in the file.

    Raises:
        SourceError: a member is not known, or one is missing.
    """

    def __init__(self, document: Document, data: Mapping[str, Any], place: Location = ()) -> None:
        known = type(self).__annotations__
        unknown = sorted(data.keys() - known.keys())
        wrong = [document.problem((*place, it), f"unknown key {it!r}") for it in unknown]
        for name, kind in known.items():
            value, where = data.get(name), (*place, name)
            section = _SECTIONS.get(kind)
            if name not in data:
                if not hasattr(type(self), name):
                    wrong.append(document.problem(place, f"{name!r} is missing"))
            elif section is not None:
                setattr(self, name, section(document, value or {}, where))
            elif kind == "list[RefuseRule]":
                rules = enumerate(value or ())
                value = [RefuseRule(document, item, (*where, at)) for at, item in rules]
                setattr(self, name, value)
            else:
                setattr(self, name, value)
        if wrong:
            raise SourceError(tuple(wrong))


class RefuseRule(Section):
    """Which requests the provider refuses of its own accord, before any fault of a scenario."""

    payload: str
    """Name of the error that it answers with."""
    when: str | None = None
    """An expression over the request. With `needs`, over the flaw of a member; None: any flaw."""
    needs: Mapping[str, Any] = _NOTHING
    """Members of the body to what they have to be: `text`, `int`, `list` or `text list`. The first
    that has a flaw is refused: `absent`, `kind`, `empty`, or `odd` where it is not printable."""
    values: Mapping[str, Any] = _NOTHING
    """A template: members that replace those of the error object."""


class PromptTokens(Section):
    """How the tokens of a request are counted, roughly."""

    texts: list[str]
    """Paths to the texts of a message; of an object its `text` is one."""
    each: int
    """Tokens that are added for each."""
    per: Literal["message", "text"] = "message"
    """For each what."""
    of: Literal["messages", "chat"] = "messages"
    """The messages as they are in the request, or as OpenAI's chat has them."""


class Requests(Section):
    """How a request is read. All but `path` and the rules are expressions."""

    path: str
    """A regular expression of the whole path; its groups are `found`."""
    beside: str = ""
    """Likewise, for requests about what the provider keeps, which ask no model; empty: none."""
    model: str = "as_text(body.model)"
    stream: str = "body.stream is True"
    messages: str = "body.messages"
    mine: str = "item.role == 'assistant'"
    """Which of the messages, `item`, are the model's."""
    runs: bool = False
    """Whether messages of the model that follow each other are one turn."""
    prompt_tokens: PromptTokens
    refused: list[RefuseRule]
    """The first that holds counts."""


class Whole(Section):
    """An answer that is no stream."""

    content_type: str
    json_style: JsonStyle
    before: str = ""
    """What stands before the JSON, such as a blank line."""
    after: str = ""
    body: Any
    """A template."""


class Stream(Section):
    """An answer in pieces.

    A step is one of `send`, `join` (sent together with what comes next), `finish` (the one with
    the finish reason), `bare` (not put into `around`) and `raw` (a text as it is), with a template;
    or `each …` or `if …` with steps.
    """

    content_type: str
    frame: Literal["events", "named events", "lines", "aws"]
    json_style: JsonStyle = "compact"
    line_end: str = "\n"
    around: Any = None
    """A template in which `sent` is what a step sends."""
    steps: list[Any]
    end: str | None = None
    """The event that follows the last: as it is, after `data: `."""
    end_event: Any = None
    """The event that follows the last: a template."""
    usage_told: Any = "{True}"
    """A template: whether a stream says what it cost."""


class Good(Section):
    """A good answer: what goes for it whole and as a stream."""

    finish: Mapping[str, Any] = _NOTHING
    """The finish reasons in the provider's words, where those are not the same."""
    ends_with: Mapping[AnswerEnd, str] = MappingProxyType({})
    """Finish reasons of answers that are not whole, where they are not the usual ones."""
    silent: Any = "{False}"
    """A template: whether nothing is left of a text that was filtered."""
    tool_id: str
    """A template of `call`."""
    tool_input: Literal["text", "object", "wrapped", "loose"] = "text"
    """What the arguments of a tool are on the wire: a text, the object that the text is, that
    object or one that has the text, or the JSON value or the text."""


class Limits(Section):
    """The headers that tell of limits. All are templates."""

    never: Mapping[str, Any] = _NOTHING
    """Of limits that are never reached, where the provider has none that matter."""
    requests: Mapping[str, Any] = _NOTHING
    """Of a limit of requests: `meter`."""
    tokens: Mapping[str, Any] = _NOTHING
    fullest: Mapping[str, Any] = _NOTHING
    """Of the one that is used up most."""
    retry: Mapping[str, Any] = _NOTHING
    """Of a request that is refused: until `retry_after_ns` from now."""
    wait: Mapping[str, Any] = _NOTHING
    """Where the provider knows a time: `wait_ns`, else until the fullest is whole again."""


class Errors(Section):
    """How the provider says that something went wrong."""

    json_style: JsonStyle
    after: str = ""
    content_type: str = "application/json"
    """What is sent for `application/json`."""
    object: str = "None"
    """An expression over `body`: the error object; None: the body is no error."""
    facts: Any = _FACTS
    """A template: what the trace has of `error`."""
    type_header: str | None = None
    """The header that has the type, before a colon."""
    values: Literal["known", "error", "body"] = "error"
    """Which members values replace: those that the error object has, any of it, or of the body."""
    body: Any = "{shown}"
    """A template of the body: `shown` is the payload's, with the values."""
    headers: Mapping[str, Any] = _NOTHING
    """A template: more headers, over which the payload's own go."""
    headers_after: Mapping[str, Any] = _NOTHING
    """A template: what follows from `headers`."""
    event: Any = None
    """A step of a stream: `body` is the payload's, `error` its error object."""
    event_is_body: bool = False
    """Whether a stream has the body as it is in an answer, and no event."""
    event_ending: str | None = None
    """The finish reason that the event has."""
    event_facts: Any = "{facts}"
    """A template: what the event says of the `facts`."""


class Calls(Section):
    """Where the tools are that an answer asks for."""

    at: str = ""
    """Path to what says something of one: one part of the answer after the other."""
    key: str | None = None
    """Path in it to what tells one from another; None: each is one of its own."""
    starts: str | None = None
    """Path in it to what is there where it begins."""
    name: str
    arguments: str
    form: Literal["text", "compact", "json"] = "text"
    """How arguments that are no text are written as one."""


class Reading(Section):
    """Where an answer has what it says. All are paths."""

    text: list[str]
    refusal: Sequence[str] = ()
    finish: list[str]
    """The last that there is counts."""
    calls: Calls


class Heard(Section):
    """How an answer is read back."""

    whole: Reading
    stream: Reading | None = None
    """None: as a whole one."""
    no_arguments: str = ""
    """What stands for no arguments at all."""
    closing: str | None = None
    """Path to the whole answer with which a stream ends."""
    words: Mapping[str, Any] = _NOTHING
    """What other finish reasons than those of `good.finish` mean; an empty text: nothing."""
    known_words_only: bool = False
    """Whether a word that is neither says nothing."""
    calls_finish: bool = False
    """Whether an answer that asks for tools stops like any other."""
    error_fails: bool = False
    """Whether the finish reason `error` is an error, and none why an answer ends."""
    blocked: str | None = None
    """Path to what says that the prompt was blocked."""


class Sheet(Section):
    """The file of one dialect."""

    ends: list[AnswerEnd]
    """The ways in which it can say that an answer is not a whole one."""
    roles: list[str]
    """The roles of messages that it knows; none: it takes any."""
    labels: Sequence[str] = ()
    """Members of a request that say whose or which it is, and nothing of what is asked."""
    answers_anywhere: bool = False
    """Whether a tool's answer may stand anywhere behind its call, and not just at once."""
    requests: Requests
    good: Good
    whole: Whole
    stream: Stream
    headers: dict[str, Any]
    """A template of the headers of any answer; `limits` are those that tell of limits."""
    limits: Limits
    errors: Errors
    heard: Heard
    parts: Mapping[str, Any] = _NOTHING
    """Templates that others name."""


_SECTIONS: Mapping[str, type[Section]] = {
    it.__name__: it
    for it in (PromptTokens, Requests, Whole, Stream, Good, Limits, Errors, Calls, Reading, Heard)
} | {"Reading | None": Reading}


def read_sheet(folder: Path, name: str) -> Sheet:
    """Return the file of the dialect `name` in `folder`.

    Raises:
        SourceError: it is wrong; each mistake has its line and column.
    """
    document = read_document(folder / f"{name}.yaml")
    return Sheet(document, _with_base(folder, document))


def _with_base(folder: Path, document: Document) -> dict[str, Any]:
    """Return the data of a file over those of the dialect that it is `like`, section by section."""
    data = dict(document.data)
    base = data.pop("like", None)
    if base is None:
        return data
    below = _with_base(folder, read_document(folder / f"{base}.yaml"))
    merged = {**below, **data}
    for section in data.keys() & below.keys() & _TAKEN_OVER:
        if isinstance(data[section], dict):
            merged[section] = {**below[section], **data[section]}
    return merged
