"""Signs a statement, and finds who signed one: DSSE, ed25519, canonical JSON (RFC 8785).

Ed25519 draws nothing, so the same statement and key give the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import rfc8785
from msgspec import Struct
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import Signature  # type: ignore[attr-defined]

from faultclock.certify.keys import PublicKey, SigningKey
from faultclock.model.report.certificate import PAYLOAD_TYPE


def canonical(value: Any) -> bytes:
    """Return JSON-able data as its one canonical spelling."""
    return rfc8785.dumps(value)


class Signed(Struct, frozen=True):
    """A payload and one signature of it.

    Attributes:
        payload: the statement, byte for byte.
        signature: 64 bytes.
        key_id: of the key that is said to have made it.
    """

    payload: bytes
    signature: bytes
    key_id: str

    def envelope(self) -> bytes:
        """Return the envelope as canonical JSON."""
        return canonical(self._envelope().to_dict())

    def signed_bytes(self) -> bytes:
        """Return what the signature is of: type and payload, each with its length before it."""
        return self._envelope().pae()

    def is_by(self, key: PublicKey) -> bool:
        """Return whether `key` made the signature."""
        try:
            self._envelope().verify([key.key], 1)
        except VerificationError:
            return False
        return True

    def _envelope(self) -> Envelope:
        signature = Signature(self.key_id, self.signature.hex())
        return Envelope(self.payload, PAYLOAD_TYPE, {self.key_id: signature})


def sign(payload: bytes, key: SigningKey) -> Signed:
    """Return `payload` with the signature of `key`."""
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    signature = envelope.sign(key.signer)
    return Signed(payload, bytes.fromhex(signature.signature), signature.keyid)


def parse_envelope(content: bytes) -> Signed | None:
    """Return what an envelope of ours holds; None: `content` is none."""
    try:
        value = json.loads(content)
        (signature,) = value["signatures"]
        return Signed(
            base64.b64decode(value["payload"], validate=True),
            base64.b64decode(signature["sig"], validate=True),
            str(signature["keyid"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        return None
