"""A recording to scenario files, as texts: read, sorted out, scrubbed, written down, checked.

Pure: nothing is read or written here, and dialects are handed in. Whatever the bytes are, nothing
but an InputError leaves this module, and no secret that could be told to be one leaves it at all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from harness.errors import InternalError, SourceError
from harness.load.scenario import checked_scenario
from harness.load.scenario_file import scenario_text
from harness.load.yaml_file import BYTES_MAX, parse_document
from harness.model.scenario import Scenario
from harness.recordings.exchange import Exchange, Oddities, Oddity, OddityKind, Recording, Spot
from harness.recordings.formats import read_recording
from harness.recordings.outcome import Hearing, Outcome, outcome_of
from harness.recordings.payloads import BODY_CHARS_MAX
from harness.recordings.providers import Place, is_local, place_of
from harness.recordings.script import Options, Script, script_of
from harness.recordings.scrub import Scrubber
from harness.recordings.sessions import Placed, Session, sessions_of

__all__ = [
    "BYTES_OF_RECORDING_MAX",
    "Imported",
    "Options",
    "Written",
    "import_recording",
    "slug_of",
]

#: A HAR of a long afternoon is smaller; what is larger is not meant for a test.
BYTES_OF_RECORDING_MAX = 64_000_000
#: What is told of an exchange that is left out: how the file is written, not what the host said.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of one recording.

    Attributes:
        stem: what the names of its scenarios begin with, scrubbed.
        exchanges: how many it holds that name a request.
        left_out: how many of them are in no scenario; the oddities say why.
    """

    path: str
    stem: str
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
        slug: what their names begin with; None: made of the path.

    Raises:
        SourceError: it is no recording, or nothing of it can be read.
    """
    recording = read_recording(content, path)
    oddities = recording.oddities
    scrubber = Scrubber()
    for exchange in recording.exchanges:
        scrubber.learn(exchange)
    places = _places(recording, lambda name: dialects(name) is not None)
    outcomes: dict[int, Outcome] = {}
    placed: list[Placed] = []
    for exchange, place in zip(recording.exchanges, places, strict=True):
        oddities.next_exchange()
        outcome = _outcome(exchange, place, dialects, oddities)
        if outcome is not None:
            outcomes[id(exchange)] = outcome
            placed.append(Placed(exchange=exchange, place=place, failed=outcome.failed))
    oddities.next_exchange()
    sessions = sessions_of(placed, oddities)
    if len(sessions) > 1:
        message = f"the recording holds {len(sessions)} sessions: each is a scenario of its own"
        oddities.note(OddityKind.SEVERAL_SESSIONS, recording.exchanges[0].spot, message)
    name = scrubber.text(recording.name)
    stem = slug or slug_of(scrubber.text(PurePath(path).stem))
    scripts: list[tuple[Session, Script]] = []
    for session in sessions:
        oddities.next_exchange()
        script = _fitting(session, outcomes, name, scrubber, oddities, options or Options())
        if script is not None:
            scripts.append((session, script))
    told = tuple(oddities)
    used = frozenset(spot for session, _ in scripts for spot in _spots(session))
    writing = _Writing(recording=recording, name=name, family=family, oddities=told, used=used)
    written = tuple(
        writing.written(
            stem if len(scripts) == 1 else f"{stem}-{number}",
            session,
            script,
            f"{number} of {len(scripts)}",
        )
        for number, (session, script) in enumerate(scripts, start=1)
    )
    return Imported(
        path=path,
        stem=stem,
        format=recording.format,
        exchanges=len(recording.exchanges),
        left_out=len(recording.exchanges) - sum(item.exchanges for item in written),
        scenarios=written,
        oddities=told,
    )


def _spots(session: Session) -> list[Spot]:
    return [item.exchange.spot for call in session.calls for item in call.attempts]


def slug_of(text: str) -> str:
    """Return `text` as a part of an id: lower-case letters, digits and hyphens."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_CHARS_MAX].strip("-")
    return slug or "recording"


def _places(recording: Recording, known: Callable[[str], bool]) -> list[Place]:
    """Return where each exchange was had; what the recorder says of the dialect counts."""
    places = [place_of(item, known) for item in recording.exchanges]
    if recording.dialect is None or not known(recording.dialect):
        return places
    return [_as_told(place, recording.dialect) for place in places]


def _fitting(
    session: Session,
    outcomes: dict[int, Outcome],
    name: str,
    scrubber: Scrubber,
    oddities: Oddities,
    options: Options,
) -> Script | None:
    """Return the script of a session with as much of its bodies as our own loader will read."""
    for body_chars_max in (BODY_CHARS_MAX, 1_000, 100):
        script = script_of(session, outcomes, name, scrubber, oddities, options, body_chars_max)
        if len(scenario_text(script.data("x/y"), ()).encode()) < BYTES_MAX - _COMMENTS_BYTES:
            return script
    message = "this session has too many different failures for one scenario: it is left out"
    oddities.note(OddityKind.NOT_REPEATABLE, session.calls[0].first.spot, message)
    return None


def _as_told(place: Place, dialect: str) -> Place:
    """Return a place on the recording machine with the dialect that the recorder was told."""
    if place.dialect is None or not is_local(place.host):
        return place
    return replace(place, dialect=dialect, base_url=None)


def _outcome(
    exchange: Exchange,
    place: Place,
    dialects: Callable[[str], Hearing | None],
    oddities: Oddities,
) -> Outcome | None:
    """Return what came back; None where the exchange is left out, which is noted."""
    detail = f"{exchange.method} {place.host}"
    if place.dialect is None and place.provider:
        message = "a provider is asked for something that no dialect here speaks: it is left out"
        oddities.note(OddityKind.UNKNOWN_PATH, exchange.spot, message, detail, together=True)
        oddities.forget(exchange.group, but=_OF_THE_FILE)
        return None
    if place.dialect is None:
        message = "this is no provider that is known: the exchange is left out"
        oddities.note(OddityKind.OTHER_HOST, exchange.spot, message, detail, together=True)
        oddities.forget(exchange.group, but=_OF_THE_FILE)
        return None
    dialect = dialects(place.dialect)
    assert dialect is not None
    return outcome_of(exchange, dialect, oddities)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing:
    """What all files of one recording have in common."""

    recording: Recording
    name: str
    family: str
    oddities: tuple[Oddity, ...]
    #: Where the exchanges of all its scenarios begin.
    used: frozenset[Spot]

    def written(self, slug: str, session: Session, script: Script, which: str) -> Written:
        """Return the file of one session, which our own loader has read.

        Raises:
            InternalError: our loader refuses it.
        """
        data = script.data(f"{self.family}/{slug}")
        text = scenario_text(data, self._comments(session, script, which))
        try:
            scenario = checked_scenario(parse_document(text.encode(), f"{slug}.yaml"))
        except SourceError as error:
            raise InternalError(
                f"{self.name}: what was made of it is no scenario: {error}"
            ) from error
        return Written(slug=slug, text=text, scenario=scenario, exchanges=script.exchanges)

    def _comments(self, session: Session, script: Script, which: str) -> list[str]:
        lines = [f"Imported from {self.name}, {self.recording.format}: session {which}."]
        lines.append(
            "Secrets, ids of people and requests, and texts are replaced; equal ones alike."
        )
        lines += script.comments
        spots = _spots(session)
        first, last = min(spots).line, max(spots).line
        lines.append(
            f"Its exchanges begin on lines {first} to {last}."
            if len(spots) > 1
            else f"Its exchange begins on line {first}."
        )
        oddities = self._oddities_of(spots)
        if oddities:
            lines.append("Odd about the recording:")
            shown = oddities[:_ODDITIES_SHOWN]
            lines += [
                f"  {self.name}:{oddity.spot.line}: {oddity.message} [{oddity.kind}]"
                for oddity in shown
            ]
            if len(oddities) > len(shown):
                lines.append(f"  and {len(oddities) - len(shown)} more")
        return lines

    def _oddities_of(self, spots: Sequence[Spot]) -> list[Oddity]:
        """Return the oddities of a session: not those of exchanges that another scenario has."""
        starts = sorted(exchange.spot for exchange in self.recording.exchanges)
        others = self.used - set(spots)
        return [
            oddity
            for oddity in self.oddities
            if oddity.kind in _OF_THE_WHOLE
            or (place := bisect_right(starts, oddity.spot)) == 0
            or starts[place - 1] not in others
        ]
