"""One recorded session as the data of a scenario: tasks, faults, payloads, good answers.

What it means is not said here: which failure is worth a retry is the error model's business. Where
a recording leaves something open, the choice is written into the scenario's comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from harness.model.duration import SECOND_NS, format_duration
from harness.recordings.exchange import Exchange, Oddities, OddityKind, header
from harness.recordings.outcome import Outcome, Understood
from harness.recordings.payloads import BODY_CHARS_MAX, Payloads, word_of
from harness.recordings.providers import asks_for_stream, assistants_in, model_of, prompt_of
from harness.recordings.reading import date_s
from harness.recordings.scrub import Scrubber, neutral_text
from harness.recordings.sessions import Call, Session
from harness.recordings.tempo import pauses_of, tempo_of

__all__ = ["Options", "Script", "script_of"]

#: Between tasks whose times nobody knows: long enough for a call with its retries to end.
_UNKNOWN_PAUSE_NS = 60 * SECOND_NS
_TEXT_CHARS_MAX = 4_000
_REPLIES_MAX = 30
_ATTEMPTS_MAX = 20
#: A fault in a stream has to lie within the fake's own answer, which has at least so many parts.
_CHUNKS_MAX = 2
_SHORT_REPLY = 24
_URL = re.compile(r"https://[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(/[A-Za-z0-9._~%-]{1,100}){0,20}")
_LONG_NS = 12 * 3_600 * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a recording is imported.

    Attributes:
        texts_kept: whether prompts and answers are written, scrubbed, instead of their digests.
    """

    texts_kept: bool = False


@dataclass(slots=True, kw_only=True)
class Script:
    """What a scenario file is made of.

    Attributes:
        comments: what a person should know who reads the file.
        exchanges: how many exchanges it stands for.
    """

    title: str
    why: str
    provider: dict[str, Any]
    tasks: list[dict[str, Any]]
    limits: dict[str, Any] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    exchanges: int = 0

    def data(self, id_: str) -> dict[str, Any]:
        """Return the scenario of this id, as its file holds it."""
        data: dict[str, Any] = {
            "id": id_,
            "title": self.title,
            "why": self.why,
            "provider": self.provider,
            "tasks": self.tasks,
        }
        return {**data, "limits": self.limits} if self.limits else data


def script_of(
    session: Session,
    outcomes: dict[int, Outcome],
    name: str,
    scrubber: Scrubber,
    oddities: Oddities,
    options: Options,
    body_chars_max: int = BODY_CHARS_MAX,
) -> Script:
    """Return the scenario of a session.

    Args:
        outcomes: what came back, by `id()` of the exchange.
        name: of the recording, scrubbed.
        body_chars_max: what is kept of one body of an error.
    """
    writer = _Writer(session, outcomes, name, scrubber, oddities, options, body_chars_max)
    return writer.written()


class _Writer:
    """Writes one script; it lives as long as that takes."""

    def __init__(
        self,
        session: Session,
        outcomes: dict[int, Outcome],
        name: str,
        scrubber: Scrubber,
        oddities: Oddities,
        options: Options,
        body_chars_max: int,
    ) -> None:
        self._session, self._outcomes, self._name = session, outcomes, name
        self._scrubber, self._oddities, self._options = scrubber, oddities, options
        self._payloads = Payloads(name, scrubber, oddities, options.texts_kept, body_chars_max)
        self._comments: list[str] = []

    def written(self) -> Script:
        """Return the script."""
        faults = [
            rule for number in range(len(self._session.calls)) for rule in self._rules(number)
        ]
        provider: dict[str, Any] = {"dialect": self._session.dialect}
        endpoint = self._endpoint()
        if endpoint is not None:
            provider["endpoint"] = endpoint
        cuts = any(rule["then"]["kind"] in ("truncate", "stall", "stream_error") for rule in faults)
        provider.update(self._replies(long=cuts))
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
        times = self._times()
        tasks = [self._task(number, at_ns) for number, at_ns in enumerate(times)]
        limits = {}
        if times[-1] > _LONG_NS:
            limits["virtual_time"] = format_duration(2 * times[-1])
        return Script(
            title=self._title(),
            why=self._why(),
            provider=provider,
            tasks=tasks,
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
        return f"Recorded: {shown}"

    def _why(self) -> str:
        calls, exchanges = len(self._session.calls), self._session.exchanges
        model = model_of(self._session.calls[0].first)
        shown = "" if model is None else f" with the model {self._model(model)}"
        first_s = next((s for s in map(_at_s, self._session.calls) if s is not None), None)
        if first_s is None:
            when = "When is unknown, because the recording holds no times; tasks a minute apart"
            when += " stand for it."
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

    def _rules(self, number: int) -> Iterator[dict[str, Any]]:
        call, task = self._session.calls[number], f"call-{number + 1}"
        effects: list[tuple[int, dict[str, Any]]] = []
        for attempt, item in enumerate(call.attempts[:_ATTEMPTS_MAX], start=1):
            outcome = self._outcome(item.exchange)
            if outcome.failed:
                effects.append((attempt, self._effect(item.exchange, outcome)))
        if len(call.attempts) > _ATTEMPTS_MAX:
            message = f"a call has more than {_ATTEMPTS_MAX} attempts: the others are left out"
            self._oddities.note(OddityKind.NOT_REPEATABLE, call.first.spot, message)
        ends_badly = self._outcome(call.attempts[-1].exchange).failed
        ranges = list(_merged(effects))
        for place, (first, last, effect) in enumerate(ranges):
            endless = ends_badly and place == len(ranges) - 1
            if endless and place == 0 and first == 1:
                attempts: str | int = "every"
            elif endless:
                attempts = f"{first}+"
            else:
                attempts = first if first == last else f"{first}-{last}"
            rule: dict[str, Any] = {
                "id": f"{task}-attempt-{first}",
                "when": {"task": task, "attempts": attempts},
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
        if outcome.kind == "error_in_ok":
            return {"kind": "ok_with_error_body", "error": self._payloads.named(exchange, outcome)}
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
        if outcome.kind == "cut_body":
            if outcome.how == "stall":
                return {"kind": "stall", "after_body_bytes": 20}
            return {"kind": "truncate", "how": outcome.how or "eof", "after_body_bytes": 20}
        self._once("A good status with something else than an answer is played as a corrupt body.")
        return {"kind": "corrupt_body", "at_byte": 0}

    def _tell_chunks(self, exchange: Exchange, recorded: int, played: int, what: str) -> None:
        if recorded != played:
            self._comments.append(
                f"Line {exchange.body_spot.line}: {what} after {recorded} parts of the recorded"
                f" stream; here after {played}, because the simulated answer is shorter."
            )

    def _dated(self, exchange: Exchange) -> dict[str, Any]:
        """Return a Retry-After that is a date as one relative to its own answer."""
        told = date_s(header(exchange.response_headers, "retry-after"))
        if told is None:
            return {}
        now_s = date_s(header(exchange.response_headers, "date")) or exchange.answered_at_s
        if now_s is None:
            message = "retry-after is a date, and nothing tells the time of the answer: left out"
            self._oddities.note(OddityKind.ABSOLUTE_TIME, exchange.headers_spot, message)
            return {}
        return {"retry-after": {"http_date": f"{round(told - now_s)}s"}}

    def _once(self, comment: str) -> None:
        if comment not in self._comments:
            self._comments.append(comment)

    # ------------------------------------------------------------------ good answers, tasks, time

    def _replies(self, *, long: bool) -> dict[str, Any]:
        """Return the good answers by their place in the conversation."""
        said: dict[int, Understood] = {}
        for call in self._session.calls:
            outcome = self._outcome(call.attempts[-1].exchange)
            if outcome.said is not None and (outcome.said.text or outcome.said.tool_calls):
                said.setdefault(min(assistants_in(call.first), _REPLIES_MAX), outcome.said)
        if not said:
            return {}
        if len(said) == 1:
            reply = self._reply(next(iter(said.values())), long=long)
            return {"reply": reply["text"]} if "text" in reply else reply
        missing = {"text": "No good answer was recorded at this place of the conversation."}
        places = range(max(said) + 1)
        return {
            "replies": [
                self._reply(said[place], long=long) if place in said else missing
                for place in places
            ]
        }

    def _reply(self, said: Understood, *, long: bool) -> dict[str, Any]:
        calls = [call for call in said.tool_calls if call.name]
        if calls:
            kept = self._options.texts_kept
            return {
                "tool_calls": [
                    {
                        "name": self._scrubber.text(call.name[:200]),
                        "arguments": self._scrubber.text(call.arguments[:_TEXT_CHARS_MAX])
                        if kept
                        else "{}",
                    }
                    for call in calls[:20]
                ]
            }
        text = said.text or "(nothing)"
        shown = self._kept(text)
        if not shown or (long and len(shown) < _SHORT_REPLY):
            shown = neutral_text(text, "answer")
        return {"text": shown}

    def _kept(self, text: str) -> str:
        """Return what may be written of a text: nothing, unless a person asked for it."""
        if not self._options.texts_kept:
            return ""
        return self._scrubber.text(text[:_TEXT_CHARS_MAX]).strip()

    def _task(self, number: int, at_ns: int) -> dict[str, Any]:
        exchange = self._session.calls[number].first
        task: dict[str, Any] = {"id": f"call-{number + 1}"}
        prompt = prompt_of(exchange)
        if prompt:
            task["prompt"] = self._kept(prompt) or neutral_text(prompt, "prompt")
        if asks_for_stream(exchange):
            task["stream"] = True
        if at_ns:
            task["at"] = format_duration(at_ns)
        return task

    def _times(self) -> list[int]:
        """Return when each task starts; each is at or after the one before."""
        begun = [_at_s(call) for call in self._session.calls]
        start_s = next((at_s for at_s in begun if at_s is not None), None)
        times: list[int] = []
        for number, at_s in enumerate(begun):
            before_ns = times[-1] if times else 0
            if at_s is not None and start_s is not None:
                # Whole milliseconds: no recorder is finer, and floats would show their tail.
                times.append(max(before_ns, round((at_s - start_s) * 1_000) * 1_000_000))
                continue
            exchange = self._session.calls[number].first
            message = "nothing tells when this happened"
            self._oddities.note(OddityKind.NO_TIME, exchange.spot, message)
            pause_ns = _UNKNOWN_PAUSE_NS if start_s is None and times else 0
            times.append(before_ns + pause_ns)
        if None in begun:
            how = "a minute after" if start_s is None else "together with"
            self._comments.append(
                f"Timing: unknown where no time is recorded; such a task starts {how} the one"
                " before it."
            )
        if any(at_s is not None for at_s in begun):
            exact = any(call.first.exact for call in self._session.calls)
            told = "the recorder's own clock" if exact else "Date headers, which have whole seconds"
            self._comments.append(f"Timing: from {told}, relative to the first one.")
        self._tell_waits()
        return times

    def _tell_waits(self) -> None:
        for number, call in enumerate(self._session.calls, start=1):
            seconds = [item.exchange.answered_at_s for item in call.attempts]
            pauses = pauses_of(call)
            if pauses:
                self._comments.append(
                    f"call-{number}: {len(call.attempts)} attempts were recorded; from the end of"
                    f" one to the next {', '.join(pauses[:10])}."
                )
                continue
            waits = [
                "an unknown time" if before is None or after is None else f"{after - before:g} s"
                for before, after in pairwise(seconds)
            ]
            if waits and not any(before and after for before, after in pairwise(seconds)):
                self._comments.append(
                    f"call-{number}: {len(call.attempts)} attempts were recorded; the waits between"
                    " them are unknown."
                )
            elif waits:
                self._comments.append(
                    f"call-{number}: {len(call.attempts)} attempts were recorded; from answer to"
                    f" answer {', '.join(waits[:10])}."
                )


def _at_s(call: Call) -> float | None:
    """Return when a call began, as nearly as the recording tells."""
    exchange = call.first
    if exchange.answered_at_s is None:
        return None
    return exchange.answered_at_s - (exchange.wait_ns or 0) / SECOND_NS


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
