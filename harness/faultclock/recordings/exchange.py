"""What a recording holds, in every format: exchanges, and what is odd about them.

Values only. An Exchange still holds every secret of the recording: it must never be written
before `faultclock.recordings.scrub` has seen it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct, field

from faultclock.load.located.tree import Place

#: Name and value of each header, in the recorded order; names are in lower case.
Headers = tuple[tuple[str, str], ...]


class OddityKind(StrEnum):
    """What can be odd about a recording. The words are part of the JSON report."""

    ABSOLUTE_TIME = "absolute-time"
    ALIAS = "alias"
    ATTEMPTS_MISSING = "attempts-missing"
    BINARY_VALUE = "binary-value"
    CLASS_IN_HEADER = "class-in-header"
    CLASS_MISSING = "class-missing"
    COMPRESSED_BODY = "compressed-body"
    CONTROL_CHARACTERS = "control-characters"
    CUT_OFF = "cut-off"
    DUPLICATE_HEADER = "duplicate-header"
    DUPLICATE_KEY = "duplicate-key"
    EMPTY_HEADERS = "empty-headers"
    EMPTY_RECORDING = "empty-recording"
    ERROR_IN_OK = "error-in-ok"
    ERROR_IN_STREAM = "error-in-stream"
    FOREIGN_TAG = "foreign-tag"
    HTML_BODY = "html-body"
    HUGE_BODY = "huge-body"
    LEFT_EARLY = "left-early"
    LENGTH_DISAGREES = "length-disagrees"
    MISSING_BODY = "missing-body"
    NOT_REPEATABLE = "not-repeatable"
    NOT_WHOLE = "not-whole"
    NO_CONTENT_TYPE = "no-content-type"
    NO_RESPONSE = "no-response"
    NOT_UTF8 = "not-utf8"
    NO_TIME = "no-time"
    ODD_SHAPE = "odd-shape"
    ODD_STATUS = "odd-status"
    OTHER_HOST = "other-host"
    PARSED_BODY = "parsed-body"
    PYTHON_TAG = "python-tag"
    REPEATED_REQUEST = "repeated-request"
    SEVERAL_SESSIONS = "several-sessions"
    STREAM_WITHOUT_END = "stream-without-end"
    TIME_GOES_BACK = "time-goes-back"
    TRANSPORT_FAILURE = "transport-failure"
    UNKNOWN_PATH = "unknown-path"
    UNREADABLE_BODY = "unreadable-body"
    WRONG_CONTENT_TYPE = "wrong-content-type"


class Oddity(Struct, frozen=True, kw_only=True):
    """Something about a recording that a person should know.

    Attributes:
        message: one sentence in our own words. It may be written anywhere, so it repeats nothing
            that the recording says, save what cannot be a secret.
        detail: what the recording says, for the terminal of its owner; never written.
    """

    kind: OddityKind
    place: Place
    message: str
    detail: str | None = None


class Oddities:
    """Collects oddities; equal ones of one exchange are reported once, with their number."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], list[Oddity]] = {}
        self._group = 0

    def next_exchange(self) -> int:
        """Begin a group, and return its number: what follows is kept apart from what was before."""
        self._group += 1
        return self._group

    def share_out(self, starts: Sequence[Place]) -> None:
        """Give what was noted so far to the exchanges that begin at `starts`, in their order.

        The exchange n (0-based) has the group n + 1; what stands before the first one stays apart.
        """
        found, self._found = self._found, {}
        for key, same in found.items():
            for oddity in same:
                group = bisect_right(starts, oddity.place)
                self._found.setdefault((group, *key[1:]), []).append(oddity)

    def forget(self, group: int, but: frozenset[OddityKind]) -> None:
        """Forget what was noted in a group, `but` for some kinds: it does not matter."""
        for key, same in list(self._found.items()):
            if key[0] == group and same[0].kind not in but:
                del self._found[key]

    def note(
        self,
        kind: OddityKind,
        place: Place,
        message: str,
        detail: str | None = None,
        *,
        together: bool = False,
    ) -> None:
        """Note an oddity at `place`.

        Args:
            together: whether equal ones of the whole recording are reported once.
        """
        key = (-1 if together else self._group, kind, message, detail)
        oddity = Oddity(kind=kind, place=place, message=message, detail=detail)
        self._found.setdefault(key, []).append(oddity)

    def absorb(self, other: Oddities) -> None:
        """Take over what another collection holds."""
        for key, same in other._found.items():
            self._found.setdefault(key, []).extend(same)

    def __iter__(self) -> Iterator[Oddity]:
        """Yield them by place."""
        told = []
        for same in self._found.values():
            first = min(same, key=lambda oddity: oddity.place)
            more = len(same) - 1
            message = f"{first.message} (and {more} more like it)" if more else first.message
            told.append(
                Oddity(kind=first.kind, place=first.place, message=message, detail=first.detail)
            )
        return iter(sorted(told, key=lambda oddity: (oddity.place, oddity.kind)))


class Instants(Struct, frozen=True, kw_only=True):
    """When the parts of an exchange happened, in nanoseconds since the recording began.

    Attributes:
        head_ns: when the head of the answer was there; None where none came, or it is unknown.
        chunks: instant of each piece of the body, with its bytes as they came.
        left: whether the program went away before the end.
    """

    started_ns: int
    head_ns: int | None
    ended_ns: int
    chunks: tuple[tuple[int, int], ...] = ()
    left: bool = False


class Exchange(Struct, frozen=True, kw_only=True):
    """One request and what came back.

    Attributes:
        status: None where no answer was recorded, or none that has a status.
        response_body: decoded of any compression; None where the recording has none, or none
            that can be read.
        failure: why there is no answer, or no more of it, as the recorder said it.
        answered_at_s: Unix time of the answer, None where it is unknown.
        exact: whether that time is finer than a whole second.
        instants: finer than all this, where our own recorder took it down.
        group: of the oddities that were noted when it was read.
        wait_ns: from the request to the first byte of the answer, where the recording has it.
        receive_ns: from there to the last byte of the answer, where the recording has it.
        fields: of a form that was sent, where the recorder took it apart.
        place, headers_place, body_place: where the exchange, the headers and the body of its answer
            stand in the file.
    """

    method: str
    url: str
    request_headers: Headers
    request_body: bytes | None
    status: int | None
    response_headers: Headers
    response_body: bytes | None
    failure: str | None = None
    answered_at_s: float | None = None
    exact: bool = False
    wait_ns: int | None = None
    receive_ns: int | None = None
    fields: Headers = ()
    instants: Instants | None = None
    group: int = 0
    place: Place
    headers_place: Place
    body_place: Place


class Recording(Struct, frozen=True, kw_only=True):
    """One file.

    Attributes:
        name: of the file, without its folders: those may tell whose machine it was.
        format: what wrote it, in words.
        dialect: the API of hosts on the recording machine, where the recorder got it.
    """

    name: str
    format: str
    exchanges: tuple[Exchange, ...]
    dialect: str | None = None
    oddities: Oddities = field(default_factory=Oddities)


def header(headers: Headers, name: str) -> str | None:
    """Return the first value of the header `name` (in lower case), None where there is none."""
    return next((value for key, value in headers if key == name), None)


def lowered(headers: Headers) -> Headers:
    """Return headers with their names in lower case."""
    return tuple((name.lower(), value) for name, value in headers)
