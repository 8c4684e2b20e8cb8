"""Token: the coordinates of a run as a text that can be typed, mailed and given to a shell.

A token begins with `fc2.`, and goes on in letters, digits, `-` and `_`. It holds everything that
leads to the run but the scenario itself, of which it has the id and the digest. Equal coordinates
give the same token on every machine, and a checksum shows that a token was mistyped.

Its bytes: a checksum of the rest; whether the digest of the scenario follows as such; that digest;
and the rest. In that whole numbers take seven bits a byte, and each stream of a tape is written as
its difference from the one before it. Nothing is compressed: a compressor gives other bytes with
each of its versions, and most of a short token is the digest.
"""

from __future__ import annotations

import base64
import hashlib
import re

from pydantic import ValidationError

from faultclock.model.report.coordinates import Coordinates
from faultclock.model.tape import Tape

#: What each token of this version begins with.
PREFIX = "fc2."
_ANY_VERSION = re.compile(r"fc([0-9]+)\.")
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")
_CHECKSUM_BYTES = 4
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DIGEST_BYTES = 32
#: Whether a digest follows as its bytes; otherwise it is a text.
_AS_TEXT, _AS_DIGEST = b"\0", b"\1"
#: More characters than any tape that one would want to play.
_TOKEN_MAX = 1 << 24
#: So much of the name before it a name can share at most, so that no small text has huge names.
_SHARED_MAX = 255
#: No number is longer: seeds and draws have 64 bits at most.
_BITS_MAX = 128


def is_token(text: str) -> bool:
    """Return whether a text is meant as a token, of any version."""
    return _ANY_VERSION.match(text.strip()) is not None


def token_of(coordinates: Coordinates) -> str:
    """Return the token of a run."""
    writer = _Writer()
    digest = coordinates.scenario_digest
    if _DIGEST.fullmatch(digest):
        head = _AS_DIGEST + bytes.fromhex(digest)
    else:
        head = _AS_TEXT
        writer.text(digest)
    writer.coordinates(coordinates)
    body = head + bytes(writer.out)
    whole = _checksum(body) + body
    return PREFIX + base64.urlsafe_b64encode(whole).rstrip(b"=").decode("ascii")


def coordinates_of(token: str) -> Coordinates:
    """Return the coordinates that a token stands for; white space in it means nothing.

    Raises:
        ValueError: it is no token, one of another version, or mistyped; the message is a sentence.
    """
    token = "".join(token.split())
    version = _ANY_VERSION.match(token)
    if version is None:
        raise ValueError(f"this is not a token: a token begins with {PREFIX}")
    if version[0] != PREFIX:
        raise ValueError(
            f"the token begins with {version[0]}, and this Faultclock reads those with {PREFIX}"
        )
    if len(token) > _TOKEN_MAX:
        raise ValueError(f"the token has {len(token)} characters: no token is as long as that")
    letters = token.removeprefix(PREFIX)
    if strange := _STRANGE.search(letters):
        raise ValueError(f"the token is mistyped: no token has the character {strange[0]!r}")
    try:
        body = _checked(letters)
        found = _read(body)
    except (IndexError, UnicodeDecodeError, ValidationError) as error:
        raise ValueError("the token holds nothing that leads to a run") from error
    if token_of(found) != token:
        raise ValueError("the token is mistyped: Faultclock would not have written it like that")
    return found


def _checked(letters: str) -> bytes:
    whole = b""
    if len(letters) % 4 != 1:
        whole = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    checksum, body = whole[:_CHECKSUM_BYTES], whole[_CHECKSUM_BYTES:]
    if not body or checksum != _checksum(body):
        raise ValueError(
            "the token is mistyped: its checksum shows that a character is wrong or missing"
        )
    return body


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(PREFIX.encode() + body).digest()[:_CHECKSUM_BYTES]


def _read(body: bytes) -> Coordinates:
    reader = _Reader(body[1:])
    if body[:1] == _AS_DIGEST:
        return reader.coordinates(reader.some(_DIGEST_BYTES).hex())
    return reader.coordinates(reader.text())


class _Writer:
    """Writes numbers and texts."""

    def __init__(self) -> None:
        self.out = bytearray()

    def number(self, value: int) -> None:
        while value > 127:
            self.out.append(value & 127 | 128)
            value >>= 7
        self.out.append(value)

    def text(self, value: str) -> None:
        encoded = value.encode()
        self.number(len(encoded))
        self.out += encoded

    def coordinates(self, coordinates: Coordinates) -> None:
        self.text(coordinates.scenario)
        self.text(coordinates.subject)
        # Its length plus 1, so that none at all is not the empty one.
        if coordinates.variant is None:
            self.number(0)
        else:
            self.number(1)
            self.text(coordinates.variant)
        seed = coordinates.seed
        self.number(2 * seed if seed >= 0 else -2 * seed - 1)
        self.tape(coordinates.tape)

    def tape(self, tape: Tape) -> None:
        before = b""
        for stream, chosen in tape.choices.items():
            name = stream.encode()
            shared = _shared(before, name)
            # A tape has each stream once, so the end of all is a name that is the one before.
            self.number(len(name) - shared + 1)
            self.number(shared)
            self.out += name[shared:]
            self.number(len(chosen))
            last = -1
            for number, value in chosen:
                self.number(number - last - 1)
                self.number(value)
                last = number
            before = name
        self.number(0)


class _Reader:
    """Reads what a _Writer wrote.

    Raises:
        IndexError: there is no more to read.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > _BITS_MAX:
                raise IndexError(shift)

    def some(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise IndexError(count)
        self._at += count
        return self._data[self._at - count : self._at]

    def text(self) -> str:
        return self.some(self.number()).decode()

    def coordinates(self, digest: str) -> Coordinates:
        scenario, subject = self.text(), self.text()
        variant = self.text() if self.number() else None
        seed = self.number()
        return Coordinates(
            scenario=scenario,
            scenario_digest=digest,
            variant=variant,
            subject=subject,
            seed=-(seed + 1) // 2 if seed & 1 else seed // 2,
            tape=self.tape(),
        )

    def tape(self) -> Tape:
        choices: dict[str, tuple[tuple[int, int], ...]] = {}
        before = b""
        while added := self.number():
            shared = min(self.number(), len(before), _SHARED_MAX)
            name = before[:shared] + self.some(added - 1)
            chosen = []
            last = -1
            for _ in range(self.number()):
                last += self.number() + 1
                chosen.append((last, self.number()))
            choices[name.decode()] = tuple(chosen)
            before = name
        return Tape(choices=choices)


def _shared(before: bytes, name: bytes) -> int:
    for place, (was, now) in enumerate(zip(before, name, strict=False)):
        if was != now or place == _SHARED_MAX:
            return place
    return min(len(before), len(name))
