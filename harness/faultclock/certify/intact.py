"""Whether a folder is, byte for byte, what was signed; and if not, which files are not.

The statement lies in it five times (see `contents`), so that one changed file is distinguished from
the others: what fits together and has a valid signature is what was signed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field
from pydantic import ValidationError

from faultclock.certify.contents import (
    CERTIFICATE,
    DERIVED,
    KEY,
    SIGNATURE,
    SIGNED,
    STATEMENT,
    SUMS,
    derived_files,
    payload_value,
)
from faultclock.certify.envelope import Signed, canonical, parse_envelope
from faultclock.certify.folder import Listing, file_sum, listing, read_file
from faultclock.certify.keys import PublicKey, parse_public_key
from faultclock.errors import InputError
from faultclock.model.report.certificate import PAYLOAD_TYPE, Fault, Statement

#: Of each file that is read to see what was signed.
_BYTES_MAX = 64_000_000
_LINE = re.compile(r"([0-9a-f]{64})  ([^\x00-\x1f\x7f\\]+)")
_KEY_ID = re.compile(r"[0-9a-f]{64}")


class Intact(Struct):
    """What was signed, by which key, and which files are not it.

    Attributes:
        faults: none: every file is as it was signed, and there is no other.
        signed: None: nothing in the folder has a valid signature.
        key: the public key that belongs to the signature, as the folder has it; who that is,
            no trusted key vouches for.
        sums: file to SHA-256 (hex), of all that the statement binds.
    """

    faults: list[Fault] = field(default_factory=list)
    signed: Signed | None = None
    statement: Statement | None = None
    key: PublicKey | None = None
    sums: dict[str, str] = field(default_factory=dict)
    files: int = 0

    def fault(self, file: str, what: str) -> None:
        """Note that something is wrong with `file`."""
        self.faults.append(Fault(file=file, what=what))


def examined(root: Path, trusted: PublicKey | None = None) -> Intact:
    """Compare every byte below `root` with what was signed.

    Args:
        trusted: a key that is asked too; the folder's own may be the file that was changed.

    Raises:
        InputError: there is no such folder.
    """
    found = listing(root)
    result = Intact(faults=list(found.faults), files=len(found.files))
    held = {name: _content(root, name, found) for name in (*DERIVED, KEY, SUMS)}
    if all(held[name] is None for name in DERIVED):
        result.fault("", "this is not a certificate: its first files are missing")
        return result
    result.signed, result.key = _what_was_signed(held, trusted)
    if result.signed is None:
        _tell_unsigned(held, result)
        return result
    result.statement = _statement(result.signed.payload)
    if result.statement is None:
        result.fault(STATEMENT, "the signed statement is of an unknown kind")
        return result
    for name, content in derived_files(result.signed, result.statement).items():
        _compare(result, name, held[name], content, found)
    _compare_sums(root, found, held[SUMS], result)
    return result


def _content(root: Path, name: str, found: Listing) -> bytes | None:
    return read_file(root, name, bytes_max=_BYTES_MAX) if name in found.files else None


def _what_was_signed(
    held: dict[str, bytes | None], trusted: PublicKey | None
) -> tuple[Signed | None, PublicKey | None]:
    """Return a statement and signature of the folder that fit a key, and that key."""
    keys = list(_keys(held, trusted))
    for signed in _candidates(held):
        for key in keys:
            if signed.key_id == key.key.keyid and signed.is_by(key):
                return signed, key
    return None, None


def _candidates(held: dict[str, bytes | None]) -> Iterator[Signed]:
    """Yield every statement with every signature that the folder has, each once."""
    whole = parse_envelope(held[CERTIFICATE] or b"")
    payloads = [whole.payload if whole else None, held[STATEMENT], _payload_of(held[SIGNED])]
    signatures = [whole.signature if whole else None, held[SIGNATURE]]
    ids = [whole.key_id if whole else None, *(_key_ids(item) for item in payloads)]
    seen = set()
    for payload in payloads:
        for signature in signatures:
            for id_ in ids:
                if payload is None or signature is None or id_ is None:
                    continue
                candidate = Signed(payload, signature, id_)
                if candidate not in seen:
                    seen.add(candidate)
                    yield candidate


def _keys(held: dict[str, bytes | None], trusted: PublicKey | None) -> Iterator[PublicKey]:
    if trusted is not None:
        yield trusted
    content = held[KEY]
    if content is not None:
        try:
            yield parse_public_key(content, KEY)
        except InputError:
            # It may be the one file that was changed: then the statement still names its key.
            content = None
    whole = parse_envelope(held[CERTIFICATE] or b"")
    for payload in (
        held[STATEMENT],
        _payload_of(held[SIGNED]),
        whole.payload if whole is not None else None,
    ):
        statement = _statement(payload) if payload is not None else None
        key = _key_in(statement) if statement is not None else None
        if key is not None:
            yield key


def _key_in(statement: Statement) -> PublicKey | None:
    """Return the public key that a statement says it is signed with."""
    told = statement.resource(KEY)
    public = told.annotations.get("public") if told is not None else None
    return PublicKey.of_hex(public) if isinstance(public, str) else None


def _key_ids(payload: bytes | None) -> str | None:
    statement = _statement(payload) if payload is not None else None
    told = statement.resource(KEY) if statement is not None else None
    id_ = told.annotations.get("keyid") if told is not None else None
    return id_ if isinstance(id_, str) and _KEY_ID.fullmatch(id_) else None


def _payload_of(signed: bytes | None) -> bytes | None:
    """Return what stands in the bytes that were signed, behind type and lengths."""
    head = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} ".encode()
    if signed is None or not signed.startswith(head):
        return None
    return signed[len(head) :].partition(b" ")[2] or None


def _statement(payload: bytes) -> Statement | None:
    """Return a payload as a statement, if it is one in its canonical spelling."""
    try:
        statement = Statement.model_validate_json(payload)
        return statement if canonical(payload_value(statement)) == payload else None
    except (ValidationError, ValueError, RecursionError):
        return None


def _tell_unsigned(held: dict[str, bytes | None], result: Intact) -> None:
    missing = [name for name in DERIVED if held[name] is None]
    for name in missing:
        result.fault(name, "it is missing")
    if not missing or missing == [KEY]:
        result.fault(CERTIFICATE, "the signature is not valid: what it is of was changed")


def _compare(result: Intact, name: str, held: bytes | None, content: bytes, found: Listing) -> None:
    if held is None:
        result.fault(name, "it is missing" if name not in found.files else "it cannot be read")
    elif held != content:
        result.fault(name, "it was changed: it is not what was signed")


def _compare_sums(root: Path, found: Listing, content: bytes | None, result: Intact) -> None:
    """Compare every file that the statement does not hold itself."""
    assert result.statement is not None
    bound = result.statement.resource(SUMS)
    if bound is None:
        result.fault(STATEMENT, f"it does not say which files there are: no {SUMS}")
        return
    if content is None:
        result.fault(SUMS, "it is missing" if SUMS not in found.files else "it cannot be read")
        return
    if hashlib.sha256(content).hexdigest() != bound.digest["sha256"]:
        result.fault(SUMS, "it was changed: it is not what was signed")
        return
    sums = _parse_sums(content)
    if sums is None:
        result.fault(SUMS, "it is not a list of files with their digests")
        return
    result.sums = sums
    for name in sorted(found.files.keys() - sums.keys() - {*DERIVED, SUMS}):
        result.fault(name, "it does not belong to the certificate")
    for name, digest in sums.items():
        if name not in found.files:
            result.fault(name, "it is missing")
        elif (held := file_sum(root, name)) is None:
            result.fault(name, "it cannot be read")
        elif held != digest:
            result.fault(name, "it was changed: it is not what was signed")


def _parse_sums(content: bytes) -> dict[str, str] | None:
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    if lines.pop() != "":
        return None
    sums: dict[str, str] = {}
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or match[2] in sums or match[2] in (*DERIVED, SUMS):
            return None
        if any(part in ("", ".", "..") for part in match[2].split("/")):
            return None
        sums[match[2]] = match[1]
    return sums
