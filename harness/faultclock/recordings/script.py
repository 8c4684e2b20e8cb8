"""One recorded session as the data of a scenario: tasks, faults, payloads, good answers.

What it means is not said here: which failure is worth a retry is the error model's business. Where
a recording leaves something open, the choice is written into the scenario's comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from faultclock.model.duration import SECOND_NS, format_duration
from faultclock.recordings.exchange import Exchange, Oddities, OddityKind, header
from faultclock.recordings.outcome import Outcome
from faultclock.recordings.payloads import Payloads, word_of
from faultclock.recordings.providers import asks_for_stream, model_of, prompt_of
from faultclock.recordings.reading import date_s
from faultclock.recordings.replies import Replies
from faultclock.recordings.scrub import Scrubber, neutral_text
from faultclock.recordings.sessions import Call, Session, turns_of
from faultclock.recordings.tempo import tempo_of
from faultclock.recordings.timing import Start, began_s, comments_on, starts_of

_TEXT_CHARS_MAX = 4_000
_ATTEMPTS_MAX = 60
#: A fault in a stream has to lie within the fake's own answer, which has at least so many parts.
_CHUNKS_MAX = 2
_ENDED = {
    "length": "an answer cut by its limit",
    "filtered": "an answer that was filtered",
    "refused": "a refusal",
    "paused": "an answer in a pause",
    "failed": "an answer that failed in the middle",
}
_URL = re.compile(r"https://[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(/[A-Za-z0-9._~%-]{1,100}){0,20}")
_LONG_NS = 12 * 3_600 * SECOND_NS


class Options(Struct, frozen=True, kw_only=True):
    """How a recording is imported.

    Attributes:
        texts_kept: whether prompts and answers are written, scrubbed, instead of their digests.
        errors_only: whether calls in which nothing failed are left out.
        for_runtimes: whether each session is also written as a scenario for runtimes.
        dialect: the API that hosts on the recording machine speak; None: as the recorder says, or
            as the path shows.
    """

    texts_kept: bool = False
    errors_only: bool = False
    for_runtimes: bool = False
    dialect: str | None = None


class Told(Struct, frozen=True, kw_only=True):
    """What all scripts of one recording are made of.

    Attributes:
        outcomes: what came back, by `id()` of the exchange.
        name: of the recording, scrubbed.
    """

    outcomes: dict[int, Outcome]
    name: str
    scrubber: Scrubber
    options: Options


class Script(Struct, kw_only=True):
    """What a scenario file is made of.

    Attributes:
        comments: what a person should know who reads the file.
        exchanges: how many exchanges it stands for.
    """

    title: str
    why: str
    provider: dict[str, Any]
    tasks: list[dict[str, Any]]
    tools: list[dict[str, Any]] = field(default_factory=list)
    role: str = "provider_adapter"
    limits: dict[str, Any] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    exchanges: int = 0

    def data(self, id_: str) -> dict[str, Any]:
        """Return the scenario of this id, as its file holds it."""
        data: dict[str, Any] = {
            "id": id_,
            "title": self.title,
            "why": self.why,
        }
        if self.role != "provider_adapter":
            data["role"] = self.role
        data["provider"] = self.provider
        if self.tools:
            data["tools"] = self.tools
        data["tasks"] = self.tasks
        return {**data, "limits": self.limits} if self.limits else data


def script_of(
    session: Session, told: Told, oddities: Oddities, body_chars_max: int, *, for_runtime: bool
) -> Script:
    """Return the scenario of a session.

    Args:
        body_chars_max: what is kept of one body of an error.
        for_runtime: whether the subject is a runtime; see `turns_of` for where that can be said.
    """
    return _Writer(session, told, oddities, body_chars_max, for_runtime).written()


class _Asked(Struct, frozen=True, kw_only=True):
    """One task: the calls that were made for it."""

    id: str
    calls: tuple[Call, ...]


class _Writer:
    """Writes one script; it lives as long as that takes."""

    def __init__(
        self,
        session: Session,
        told: Told,
        oddities: Oddities,
        body_chars_max: int,
        for_runtime: bool,
    ) -> None:
        self._session, self._outcomes, self._name = session, told.outcomes, told.name
        self._scrubber, self._oddities, self._for_runtime = told.scrubber, oddities, for_runtime
        kept = told.options.texts_kept
        self._replies = Replies(outcomes=told.outcomes, scrubber=told.scrubber, texts_kept=kept)
        turns = turns_of(session) if for_runtime else [(call,) for call in session.calls]
        what = "turn" if for_runtime else "call"
        self._asked = [
            _Asked(id=f"{what}-{number}", calls=tuple(calls))
            for number, calls in enumerate(turns, start=1)
        ]
        self._payloads = Payloads(told.name, told.scrubber, oddities, kept, body_chars_max)
        self._comments: list[str] = []

    def written(self) -> Script:
        """Return the script."""
        faults = [rule for asked in self._asked for rule in self._rules(asked)]
        provider: dict[str, Any] = {"dialect": self._session.dialect}
        endpoint = self._endpoint()
        if endpoint is not None:
            provider["endpoint"] = endpoint
        self._replies.long = any(
            rule["then"]["kind"] in ("truncate", "stall", "stream_error") for rule in faults
        )
        tools: list[str] = []
        if self._for_runtime:
            replies, tools = self._replies.in_turns([asked.calls for asked in self._asked])
            provider.update(replies)
        else:
            provider.update(self._replies.by_place(self._session.calls))
        figures, told = tempo_of(self._session)
        provider.update(figures)
        self._comments += told
        if self._payloads.made:
            provider["payloads"] = self._payloads.made
        if faults:
            provider["faults"] = faults
        if any("optional" in rule for rule in faults):
            self._comments.append(
                "Faults of later attempts are optional: a subject that gives up before them never"
                " meets them, and its run is a valid one."
            )
        starts = starts_of([asked.calls for asked in self._asked], self._oddities)
        self._comments += comments_on(self._session, starts)
        tasks = [self._task(number, start) for number, start in enumerate(starts)]
        limits = {}
        if starts[-1].at_ns > _LONG_NS:
            limits["virtual_time"] = format_duration(2 * starts[-1].at_ns)
        return Script(
            title=self._title(),
            why=self._why(),
            provider=provider,
            tasks=tasks,
            tools=[{"name": name} for name in tools],
            role="runtime" if self._for_runtime else "provider_adapter",
            limits=limits,
            comments=self._comments,
            exchanges=self._session.exchanges,
        )

    # ------------------------------------------------------------------ words

    def _outcome(self, exchange: Exchange) -> Outcome:
        return self._outcomes[id(exchange)]

    def _word(self, exchange: Exchange) -> str:
        outcome = self._outcome(exchange)
        words = {
            "good": "an answer",
            "ends": _ENDED.get(outcome.ends or "", "an answer that is not whole"),
            "cut_stream": "a stream without its end",
            "cut_body": "half an answer",
            "page": f"{outcome.status} with no answer in it",
            "network": (outcome.fault or "").replace("_", " "),
        }
        if outcome.kind in words:
            return words[outcome.kind]
        word = word_of(outcome, self._scrubber)
        inside = {"error_in_ok": " in a good status", "error_in_stream": " in a stream"}
        shown = str(outcome.status) if outcome.kind == "status" else "an error"
        shown = shown if word == "error" else f"{shown} {word}"
        return f"{shown}{inside.get(outcome.kind, '')}"

    def _title(self) -> str:
        words = [
            self._word(item.exchange) for call in self._session.calls for item in call.attempts
        ]
        told: list[str] = []
        for word in words:
            if not told or told[-1].split(" ×", 1)[0] != word:
                told.append(word)
            else:
                count = int(told[-1].split(" ×", 1)[1]) if " ×" in told[-1] else 1
                told[-1] = f"{word} ×{count + 1}"
        shown = ", then ".join(told[:4]) + (", and more" if len(told) > 4 else "")
        return f"Recorded{', for a runtime' if self._for_runtime else ''}: {shown}"

    def _why(self) -> str:
        calls, exchanges = len(self._session.calls), self._session.exchanges
        model = model_of(self._session.calls[0].first)
        shown = "" if model is None else f" with the model {self._model(model)}"
        first_s = next((s for s in map(began_s, self._session.calls) if s is not None), None)
        if first_s is None:
            when = (
                "When is unknown, because the recording holds no times: calls follow one another."
            )
        else:
            day = f"{datetime.fromtimestamp(first_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
            exact = self._session.calls[0].first.exact
            how = "" if exact else ", in whole seconds, as Date headers tell it"
            when = f"It began at {day}{how}."
        return (
            f"It happened: {self._name} is a recording of {_counted(calls, 'call')} in "
            f"{_counted(exchanges, 'exchange')}{shown}. {when} A subject should get through it as "
            "its error model says, which is not what the recorded client did, right or wrong."
        )

    def _model(self, model: str) -> str:
        return self._scrubber.text(model[:200])

    def _endpoint(self) -> dict[str, Any] | None:
        base, model = self._session.base_url, model_of(self._session.calls[0].first)
        if base is None or not model:
            return None
        scheme, _, rest = base.partition("://")
        host, slash, path = rest.partition("/")
        url = f"{scheme}://{self._scrubber.host(host)}{slash}{self._scrubber.text(path)}"
        # A host that no client could ask is a slip of the recorder; the default one is kept then.
        return {"base_url": url, "model": self._model(model)} if _URL.fullmatch(url) else None

    # ------------------------------------------------------------------ faults

    def _rules(self, asked: _Asked) -> Iterator[dict[str, Any]]:
        attempts = [item.exchange for call in asked.calls for item in call.attempts]
        task, effects = asked.id, list[tuple[int, dict[str, Any]]]()
        for attempt, exchange in enumerate(attempts[:_ATTEMPTS_MAX], start=1):
            outcome = self._outcome(exchange)
            if outcome.failed:
                effects.append((attempt, self._effect(exchange, outcome)))
        if len(attempts) > _ATTEMPTS_MAX:
            message = f"a call has more than {_ATTEMPTS_MAX} attempts: the others are left out"
            self._oddities.note(OddityKind.NOT_REPEATABLE, attempts[0].place, message)
        ends_badly = self._outcome(attempts[-1]).failed
        ranges = list(_merged(effects))
        for place, (first, last, effect) in enumerate(ranges):
            endless = ends_badly and place == len(ranges) - 1
            if endless and place == 0 and first == 1:
                which: str | int = "every"
            elif endless:
                which = f"{first}+"
            else:
                which = first if first == last else f"{first}-{last}"
            rule: dict[str, Any] = {
                "id": f"{task}-attempt-{first}",
                "when": {"task": task, "attempts": which},
                "then": effect,
            }
            if first > 1:
                rule["optional"] = True
            yield rule
        if ends_badly:
            note = "A call that failed to the end goes on failing: what more attempts would have"
            self._once(f"{note} met is not recorded.")

    def _effect(self, exchange: Exchange, outcome: Outcome) -> dict[str, Any]:
        if outcome.kind == "status":
            effect: dict[str, Any] = {
                "kind": "http_error",
                "status": outcome.status,
                "error": self._payloads.named(exchange, outcome),
            }
            dated = self._dated(exchange)
            return {**effect, "headers": dated} if dated else effect
        if outcome.fault is not None:
            ending = {} if outcome.how is None else {"how": outcome.how}
            return {"kind": outcome.fault, **ending}
        if outcome.ends is not None:
            return self._ending(outcome)
        if outcome.kind in ("error_in_ok", "page"):
            status = {} if outcome.status == 200 else {"status": outcome.status}
            if outcome.kind == "page" and not outcome.raw:
                return {"kind": "ok_with_error_body", **status}
            named = self._payloads.named(exchange, outcome)
            return {"kind": "ok_with_error_body", "error": named, **status}
        if outcome.kind == "error_in_stream":
            chunks = min(outcome.chunks, _CHUNKS_MAX)
            self._tell_chunks(exchange, outcome.chunks, chunks, "the error came")
            name = self._payloads.named(exchange, outcome)
            return {"kind": "stream_error", "after_chunks": chunks, "error": name}
        if outcome.kind == "cut_stream":
            chunks = min(outcome.chunks, _CHUNKS_MAX)
            self._tell_chunks(exchange, outcome.chunks, chunks, "the stream ended")
            if outcome.how == "stall":
                return {"kind": "stall", "after_chunks": chunks}
            how = outcome.how or ("eof" if outcome.short else "clean_end")
            return {"kind": "truncate", "how": how, "after_chunks": chunks}
        if outcome.how == "stall":
            return {"kind": "stall", "after_body_bytes": 20}
        return {"kind": "truncate", "how": outcome.how or "eof", "after_body_bytes": 20}

    def _ending(self, outcome: Outcome) -> dict[str, Any]:
        """Return the end of an answer that is not whole; what was said of it stands in `reply`."""
        effect: dict[str, Any] = {"kind": "answer_ends", "how": outcome.ends}
        said = outcome.said
        if outcome.ends not in ("refused", "empty") and said is not None:
            if said.text:
                # No text has more tokens than characters: all of it was said before the end.
                effect["after_tokens"] = _TEXT_CHARS_MAX
            elif said.blocked is not False:
                effect["after_tokens"] = 0
        return effect

    def _tell_chunks(self, exchange: Exchange, recorded: int, played: int, what: str) -> None:
        if recorded != played:
            self._comments.append(
                f"Line {exchange.body_place.line}: {what} after {recorded} parts of the recorded"
                f" stream; here after {played}, because the simulated answer is shorter."
            )

    def _dated(self, exchange: Exchange) -> dict[str, Any]:
        """Return a Retry-After that is a date as one relative to its own answer."""
        told = date_s(header(exchange.response_headers, "retry-after"))
        if told is None:
            return {}
        now_s = date_s(header(exchange.response_headers, "date")) or exchange.answered_at_s
        if now_s is None:
            message = "retry-after is a date, and the time of the answer is not recorded: left out"
            self._oddities.note(OddityKind.ABSOLUTE_TIME, exchange.headers_place, message)
            return {}
        return {"retry-after": {"http_date": f"{round(told - now_s)}s"}}

    def _once(self, comment: str) -> None:
        if comment not in self._comments:
            self._comments.append(comment)

    # ------------------------------------------------------------------ tasks

    def _task(self, number: int, start: Start) -> dict[str, Any]:
        """Return what is asked, and when; a runtime's tasks follow each other by themselves."""
        task: dict[str, Any] = {"id": self._asked[number].id}
        prompt = prompt_of(self._asked[number].calls[0].first)
        if prompt:
            task["prompt"] = self._replies.kept(prompt) or neutral_text(prompt, "prompt")
        if asks_for_stream(self._asked[number].calls[0].first) and not self._for_runtime:
            task["stream"] = True
        if start.at_ns:
            task["at"] = format_duration(start.at_ns)
        if start.after is not None and not self._for_runtime:
            task["after"] = self._asked[start.after].id
        return task


def _merged(
    effects: list[tuple[int, dict[str, Any]]],
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield first and last attempt of runs of equal effects."""
    run: tuple[int, int, dict[str, Any]] | None = None
    for attempt, effect in effects:
        if run is not None and run[1] == attempt - 1 and run[2] == effect:
            run = (run[0], attempt, effect)
            continue
        if run is not None:
            yield run
        run = (attempt, attempt, effect)
    if run is not None:
        yield run


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
