"""A recording to scenario files, as texts: read, sorted out, scrubbed, written down, checked.

Pure: nothing is read or written here, and dialects are handed in. From any bytes, nothing
but an InputError leaves this module, and no secret that can be recognised leaves it at all.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from faultclock.errors import InternalError, SourceError
from faultclock.load.located.tree import OURS, Place
from faultclock.load.scenario import checked_scenario
from faultclock.load.scenario_file import scenario_text
from faultclock.load.yaml_file import parse_document
from faultclock.model.scenario.scenario import Scenario
from faultclock.recordings.exchange import Exchange, Oddities, Oddity, OddityKind, Recording
from faultclock.recordings.formats import read_recording
from faultclock.recordings.outcome import Hearing, Outcome, outcome_of
from faultclock.recordings.payloads import BODY_CHARS_MAX
from faultclock.recordings.providers import Destination, destination_of, is_local
from faultclock.recordings.script import Options as Options
from faultclock.recordings.script import Script, Told, script_of
from faultclock.recordings.scrub import Scrubber
from faultclock.recordings.sessions import Placed, Session, sessions_of
from faultclock.recordings.timing import starts_of

#: What is noted of an exchange that is left out: how the file is written, not what the host said.
_OF_THE_FILE = frozenset(
    {
        OddityKind.ALIAS,
        OddityKind.BINARY_VALUE,
        OddityKind.DUPLICATE_KEY,
        OddityKind.FOREIGN_TAG,
        OddityKind.ODD_SHAPE,
        OddityKind.PYTHON_TAG,
    }
)
#: What every scenario of the file has to tell, wherever it was noticed.
_OF_THE_WHOLE = frozenset({OddityKind.CUT_OFF, OddityKind.NOT_UTF8, OddityKind.SEVERAL_SESSIONS})
_ODDITIES_SHOWN = 40
#: More than the comments of a file can take.
_COMMENTS_BYTES = 50_000
_SLUG_CHARS_MAX = 60
#: Of the digest of a recording: so many digits in names, and so many in the files.
_DIGEST_CHARS, _SOURCE_CHARS = 6, 16


class Written(Struct, frozen=True, kw_only=True):
    """One scenario of a recording.

    Attributes:
        slug: last part of its id, and its file's name without the suffix.
        text: the file.
        exchanges: how many recorded exchanges it stands for.
    """

    slug: str
    text: str
    scenario: Scenario
    exchanges: int


class Imported(Struct, frozen=True, kw_only=True):
    """What came of one recording.

    Attributes:
        stem: what the names of its scenarios begin with, scrubbed.
        digest: the SHA-256 of the file, in hexadecimal digits.
        exchanges: how many it holds that name a request.
        left_out: how many of them are in no scenario; the oddities say why.
    """

    path: str
    stem: str
    digest: str
    format: str
    exchanges: int
    left_out: int
    scenarios: tuple[Written, ...]
    oddities: tuple[Oddity, ...]


def import_recording(
    content: bytes,
    path: str,
    *,
    family: str,
    dialects: Callable[[str], Hearing | None],
    options: Options | None = None,
    slug: str | None = None,
) -> Imported:
    """Return the scenarios of a recording, one for each session, and its oddities.

    Args:
        path: for messages; its last part, scrubbed, is named in the scenarios.
        family: the first part of their ids, which may have more parts: `incidents`.
        dialects: returns the dialect of a name, None where there is none.
        slug: what their names begin with; None: made of the path and the digest of `content`.

    Raises:
        SourceError: it is no recording, or nothing of it can be read.
    """
    recording = read_recording(content, path)
    oddities, options = recording.oddities, options or Options()
    digest = hashlib.sha256(content).hexdigest()
    scrubber = Scrubber(recording.exchanges)
    outcomes, sessions = _heard(recording, dialects, options)
    name = scrubber.name(recording.name)
    told = Told(outcomes=outcomes, name=name, scrubber=scrubber, options=options)
    stem = slug or _stem(scrubber.name(PurePath(path).stem), digest)
    parts: list[_Part] = []
    for session in sessions:
        oddities.next_exchange()
        number = f"-{len({id(part.session) for part in parts}) + 1}"
        for script in _scripts(session, told, oddities):
            parts.append(_Part(session=session, script=script, number=number))
    used = frozenset(place for part in parts for place in _places(part.session))
    writing = _Writing(
        recording=recording,
        name=name,
        digest=digest,
        family=family,
        oddities=tuple(oddities),
        used=used,
        parts=len({part.number for part in parts}),
    )
    written = tuple(writing.written(stem, part) for part in parts)
    in_some = {part.number: part.script.exchanges for part in parts}
    return Imported(
        path=path,
        stem=stem,
        digest=digest,
        format=recording.format,
        exchanges=len(recording.exchanges),
        left_out=len(recording.exchanges) - sum(in_some.values()),
        scenarios=written,
        oddities=writing.oddities,
    )


def comes_from(text: str, digest: str) -> bool:
    """Return whether the file of a scenario says that it was imported from this recording.

    Args:
        digest: the SHA-256 of the recording, in hexadecimal digits.
    """
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return any(_source(digest) in line for line in comments)


class _Part(Struct, frozen=True, kw_only=True):
    """One scenario to be: the session that it is about, with its number as names have it."""

    session: Session
    script: Script
    number: str


def _source(digest: str) -> str:
    return f"(sha256 {digest[:_SOURCE_CHARS]})"


def _stem(name: str, digest: str) -> str:
    """Return what the names of a recording's scenarios begin with: its own, and which it is."""
    tail = f"-{digest[:_DIGEST_CHARS]}"
    return f"{slug_of(name)[: _SLUG_CHARS_MAX - len(tail)].strip('-')}{tail}"


def _heard(
    recording: Recording, dialects: Callable[[str], Hearing | None], options: Options
) -> tuple[dict[int, Outcome], tuple[Session, ...]]:
    """Return what came back in each exchange, by its `id()`, and the sessions that are imported."""
    oddities = recording.oddities
    outcomes: dict[int, Outcome] = {}
    placed: list[Placed] = []
    destinations = _destinations(recording, lambda name: dialects(name) is not None, options)
    for exchange, destination in zip(recording.exchanges, destinations, strict=True):
        oddities.next_exchange()
        outcome = _outcome(exchange, destination, dialects, oddities)
        if outcome is not None:
            outcomes[id(exchange)] = outcome
            asks_again = outcome.kind not in ("good", "ends")
            placed.append(Placed(exchange=exchange, destination=destination, failed=asks_again))
    oddities.next_exchange()
    sessions = sessions_of(placed, oddities)
    if options.errors_only:
        sessions = tuple(filter(None, (_failed(session, outcomes) for session in sessions)))
    if len(sessions) > 1:
        message = f"the recording holds {len(sessions)} sessions: each is a scenario of its own"
        oddities.note(OddityKind.SEVERAL_SESSIONS, recording.exchanges[0].place, message)
    return outcomes, sessions


def _failed(session: Session, outcomes: dict[int, Outcome]) -> Session | None:
    """Return a session with those of its calls alone in which something failed; None for none."""
    calls = [
        call
        for call in session.calls
        if any(outcomes[id(item.exchange)].failed for item in call.attempts)
    ]
    return replace(session, calls=calls) if calls else None


def _scripts(session: Session, told: Told, oddities: Oddities) -> Iterator[Script]:
    """Yield the script of a session, and where it is wanted and can be said, one for runtimes."""
    script = _fitting(session, told, oddities)
    if script is None:
        return
    yield script
    if not told.options.for_runtimes:
        return
    starts = starts_of([(call,) for call in session.calls], Oddities())
    if any(start.after != number - 1 for number, start in enumerate(starts) if number):
        message = "calls of this session overlapped: it is no conversation that a runtime can have"
        oddities.note(OddityKind.NOT_REPEATABLE, session.calls[0].first.place, message)
        return
    # What is odd about the session is noted once.
    again = _fitting(session, told, Oddities(), for_runtime=True)
    if again is not None:
        yield again


def _places(session: Session) -> list[Place]:
    return [item.exchange.place for call in session.calls for item in call.attempts]


def slug_of(text: str) -> str:
    """Return `text` as a part of an id: lower-case letters, digits and hyphens."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_CHARS_MAX].strip("-")
    return slug or "recording"


def _destinations(
    recording: Recording, known: Callable[[str], bool], options: Options
) -> list[Destination]:
    """Return where each exchange was had; what a person or the recorder says of the API counts."""
    destinations = [destination_of(item, known) for item in recording.exchanges]
    dialect = options.dialect or recording.dialect
    if dialect is None or not known(dialect):
        return destinations
    return [_as_told(destination, dialect) for destination in destinations]


def _fitting(
    session: Session, told: Told, oddities: Oddities, *, for_runtime: bool = False
) -> Script | None:
    """Return the script of a session with as much of its bodies as our own loader will read."""
    for body_chars_max in (BODY_CHARS_MAX, 1_000, 100):
        script = script_of(session, told, oddities, body_chars_max, for_runtime=for_runtime)
        if len(scenario_text(script.data("x/y"), ()).encode()) < OURS.bytes_max - _COMMENTS_BYTES:
            return script
    message = "this session has too many different failures for one scenario: it is left out"
    oddities.note(OddityKind.NOT_REPEATABLE, session.calls[0].first.place, message)
    return None


def _as_told(destination: Destination, dialect: str) -> Destination:
    """Return a destination on the recording machine with the dialect that the recorder got."""
    if destination.dialect is None or not is_local(destination.host):
        return destination
    return replace(destination, dialect=dialect, base_url=None)


def _outcome(
    exchange: Exchange,
    destination: Destination,
    dialects: Callable[[str], Hearing | None],
    oddities: Oddities,
) -> Outcome | None:
    """Return what came back; None where the exchange is left out, which is noted."""
    detail = f"{exchange.method} {destination.host}"
    if destination.dialect is None and destination.provider:
        message = "a provider is asked for something that no dialect here speaks: it is left out"
        oddities.note(OddityKind.UNKNOWN_PATH, exchange.place, message, detail, together=True)
        oddities.forget(exchange.group, but=_OF_THE_FILE)
        return None
    if destination.dialect is None:
        message = "this host is not a known provider: the exchange is left out"
        oddities.note(OddityKind.OTHER_HOST, exchange.place, message, detail, together=True)
        oddities.forget(exchange.group, but=_OF_THE_FILE)
        return None
    dialect = dialects(destination.dialect)
    assert dialect is not None
    return outcome_of(exchange, dialect, oddities)


class _Writing(Struct, frozen=True, kw_only=True):
    """What all files of one recording have in common."""

    recording: Recording
    name: str
    digest: str
    family: str
    oddities: tuple[Oddity, ...]
    #: Where the exchanges of all its scenarios begin.
    used: frozenset[Place]
    #: How many sessions there are.
    parts: int

    def written(self, stem: str, part: _Part) -> Written:
        """Return the file of one session, which our own loader has read.

        Raises:
            InternalError: our loader refuses it.
        """
        script = part.script
        slug = stem if self.parts == 1 else f"{stem}{part.number}"
        slug += "-runtime" if script.role == "runtime" else ""
        data = script.data(f"{self.family}/{slug}")
        which = f"{part.number[1:]} of {self.parts}"
        text = scenario_text(data, self._comments(part.session, script, which))
        try:
            scenario = checked_scenario(parse_document(text.encode(), f"{slug}.yaml"))
        except SourceError as error:
            raise InternalError(f"{self.name}: the result is not a scenario: {error}") from error
        return Written(slug=slug, text=text, scenario=scenario, exchanges=script.exchanges)

    def _comments(self, session: Session, script: Script, which: str) -> list[str]:
        source = f"{self.name} {_source(self.digest)}"
        lines = [f"Imported from {source}, {self.recording.format}: session {which}."]
        lines.append(
            "Secrets, ids of people and requests, and texts are replaced; equal ones alike."
        )
        lines += script.comments
        places = _places(session)
        first, last = min(places).line, max(places).line
        lines.append(
            f"Its exchanges begin on lines {first} to {last}."
            if len(places) > 1
            else f"Its exchange begins on line {first}."
        )
        oddities = self._oddities_of(places)
        if oddities:
            lines.append("Odd about the recording:")
            shown = oddities[:_ODDITIES_SHOWN]
            lines += [
                f"  {self.name}:{oddity.place.line}: {oddity.message} [{oddity.kind}]"
                for oddity in shown
            ]
            if len(oddities) > len(shown):
                lines.append(f"  and {len(oddities) - len(shown)} more")
        return lines

    def _oddities_of(self, places: Sequence[Place]) -> list[Oddity]:
        """Return the oddities of a session: not those of exchanges that another scenario has."""
        starts = sorted(exchange.place for exchange in self.recording.exchanges)
        others = self.used - set(places)
        return [
            oddity
            for oddity in self.oddities
            if oddity.kind in _OF_THE_WHOLE
            or (number := bisect_right(starts, oddity.place)) == 0
            or starts[number - 1] not in others
        ]
