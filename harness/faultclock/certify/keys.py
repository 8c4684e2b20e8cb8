"""Keys: an ed25519 pair in two PEM files, with the days on which it begins and ends.

The days stand in the explanatory text before the PEM block (RFC 7468, section 5.2), which other
programs pass over: `openssl` reads both files. The holder of a file can change that text, so it
protects from keeping a key too long. A verifier goes by the file that they trust and by the one in
the certificate: the later first day counts, and the earlier last day.

No message, no representation and no exception of this module holds anything of a private key.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from msgspec import Struct
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

from faultclock.errors import InputError

#: What is added to the name of a private key.
PUBLIC_SUFFIX = ".pub"
#: A key file of ours has some 300 bytes.
_BYTES_MAX = 16_384
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_LINE = re.compile(r"^(Key id|Created|Expires): (.*)$", re.MULTILINE)
_PRIVATE = (b"PRIVATE KEY", b"ENCRYPTED PRIVATE KEY")
_PUBLIC = (b"PUBLIC KEY",)
#: The field of the curve, and a coordinate of its points of order eight.
_P = 2**255 - 19
_Y8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
#: The y of each encoding of a point whose order divides eight; with either sign bit these are eight
#: points and six further spellings of them. For such a key anyone can make a signature that is
#: valid for many messages. RFC 8032, section 5.1 (the curve and its encoding), and
#: https://github.com/C2SP/CCTV/tree/main/ed25519 (`low_order_A`), read 2026-11-23.
_SMALL_ORDER = frozenset({0, 1, _P - 1, _P, _P + 1, _Y8, _P - _Y8})
_MAKE_ONE = "make a pair with: faultclock keygen -o PATH"


class KeyPaths(Struct, frozen=True, kw_only=True):
    """The files of a pair that was made, and the id that both have."""

    private: Path
    public: Path
    key_id: str


class PublicKey(Struct, frozen=True, kw_only=True):
    """Who is asked whether a signature is theirs.

    Attributes:
        key: as the envelope's library takes it; its `keyid` follows from the key.
        expires: last day on which it counts; None: it does not end.
        content: the file, byte for byte.
        created: first day on which it counts; None: it is not known.
    """

    key: SSlibKey
    expires: date | None
    content: bytes
    created: date | None = None

    @classmethod
    def of_hex(cls, public: str) -> PublicKey | None:
        """Return the key that has these 32 bytes, in hexadecimal; None: there is none."""
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        except (ValueError, UnsupportedAlgorithm):
            return None
        if _is_of_small_order(key):
            return None
        return cls(key=_library_key(key), expires=None, content=_public_content(key, _NO_DAYS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """Who signs. The private part is in no representation."""

    signer: CryptoSigner = field(repr=False)
    public: PublicKey


def make_keys(
    path: str | os.PathLike[str],
    *,
    created: date | None = None,
    expires: date | None = None,
    passphrase: str | None = None,
) -> KeyPaths:
    """Make a pair: `path`, which only its owner may read, and `path` + `.pub`.

    Args:
        created: first day on which it counts.
        expires: last day on which it counts.
        passphrase: locks the private file; None leaves it open to all who can read it.

    Raises:
        InputError: one of the files is there already (it is never overwritten), or cannot be
            written.
    """
    private = Path(path)
    if private.name in ("", ".."):
        raise InputError(f"{os.fspath(path)!r} is not a name for a key", hint="name a new file")
    public = private.with_name(private.name + PUBLIC_SUFFIX)
    key = Ed25519PrivateKey.generate()
    encryption: KeySerializationEncryption = NoEncryption()
    if passphrase is not None:
        encryption = BestAvailableEncryption(passphrase.encode())
    block = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    days = _Days(created=created, expires=expires)
    told = _public_content(key.public_key(), days)
    secret = _text("Private key of Faultclock certificates. Keep it to yourself.", key, days)
    for file in (private, public):
        # Said before anything is written; `_create` makes sure of it.
        if os.path.lexists(file):
            raise _is_there(file)
    _create(private, secret + block, 0o600)
    try:
        _create(public, told, 0o644)
    except BaseException:
        private.unlink()
        raise
    return KeyPaths(private=private, public=public, key_id=_library_key(key.public_key()).keyid)


def load_private_key(
    path: str | os.PathLike[str], *, today: date, passphrase: str | None = None
) -> SigningKey:
    """Return what signs with the private key in the file at `path`.

    Raises:
        InputError: it cannot be read, others may read it, it is no private ed25519 key, it is
            locked and `passphrase` does not open it, or its last day is over.
    """
    shown = os.fspath(path)
    content, mode = _read(shown)
    label, block, text = _one_block(shown, content, _PRIVATE)
    if mode & _OTHERS:
        raise InputError(
            f"{shown}: others may read this private key (mode {mode:04o}), so it is not used",
            hint=f"chmod 600 {shown}; if others may have read it, make a new pair",
        )
    if label == _PRIVATE[1] and passphrase is None:
        raise InputError(
            f"{shown}: this key is locked with a passphrase",
            hint="name the environment variable that holds it: --passphrase-env NAME",
        )
    # What is not locked needs no passphrase, and the library refuses one that is given.
    secret = passphrase.encode() if passphrase is not None and label == _PRIVATE[1] else None
    try:
        key = load_pem_private_key(block, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # What the library says may quote what it read.
        said = "the passphrase does not open this key" if secret else "this is not a private key"
        raise InputError(f"{shown}: {said}", hint=None if secret else _MAKE_ONE) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{shown}: this is not an ed25519 key", hint=_MAKE_ONE)
    public = key.public_key()
    days = _told(shown, text, public)
    require_in_time(shown, days.expires, today)
    known = PublicKey(
        key=_library_key(public),
        expires=days.expires,
        content=_public_content(public, days),
        created=days.created,
    )
    return SigningKey(signer=CryptoSigner(key, known.key), public=known)


def load_public_key(path: str | os.PathLike[str]) -> PublicKey:
    """Return the public key in the file at `path`, whether or not its last day is over.

    Raises:
        InputError: it cannot be read, or is no public ed25519 key.
    """
    shown = os.fspath(path)
    content, _ = _read(shown)
    return parse_public_key(content, shown)


def parse_public_key(content: bytes, shown: str) -> PublicKey:
    """Return the public key in `content`; `shown` names it in messages.

    Raises:
        InputError: it is no public ed25519 key.
    """
    _, block, text = _one_block(shown, content, _PUBLIC)
    try:
        key = load_pem_public_key(block)
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(f"{shown}: this is not a public key", hint=_MAKE_ONE) from None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{shown}: this is not an ed25519 key", hint=_MAKE_ONE)
    if _is_of_small_order(key):
        raise InputError(
            f"{shown}: this is one of the few keys for which anyone can sign", hint=_MAKE_ONE
        )
    days = _told(shown, text, key)
    return PublicKey(
        key=_library_key(key), expires=days.expires, content=content, created=days.created
    )


def require_in_time(shown: str, expires: date | None, today: date) -> None:
    """Refuse a key whose last day is over.

    Raises:
        InputError: it is.
    """
    if expires is not None and today > expires:
        raise InputError(
            f"{shown}: this key expired: its last day was {expires}",
            hint="make a new pair with faultclock keygen, and give out its .pub file",
        )


class _Days(Struct, frozen=True, kw_only=True):
    """The first and the last day of a key; None: it is not said."""

    created: date | None = None
    expires: date | None = None


_NO_DAYS = _Days()


def _is_of_small_order(key: Ed25519PublicKey) -> bool:
    encoded = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    # The highest bit is the sign of x.
    return int.from_bytes(encoded, "little") % 2**255 in _SMALL_ORDER


def _library_key(key: Ed25519PublicKey) -> SSlibKey:
    return SSlibKey.from_crypto(key)


def _public_content(key: Ed25519PublicKey, days: _Days) -> bytes:
    block = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return _text("Public key of Faultclock certificates.", key, days) + block


def _text(title: str, key: Ed25519PrivateKey | Ed25519PublicKey, days: _Days) -> bytes:
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    lines = [title, f"Key id: {_library_key(public).keyid}"]
    for name, value in (("Created", days.created), ("Expires", days.expires)):
        if value is not None:
            lines.append(f"{name}: {value.isoformat()}")
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _told(shown: str, text: str, key: Ed25519PublicKey) -> _Days:
    """Return the days of a key, from the text before it."""
    said: dict[str, str] = {}
    for name, value in _LINE.findall(text):
        if name in said:
            raise InputError(f"{shown}: it says {name!r} twice")
        said[name] = value.strip()
    if said.get("Key id", _library_key(key).keyid) != _library_key(key).keyid:
        raise InputError(f"{shown}: the key id in its text is not that of its key")
    return _Days(created=_day(shown, said, "Created"), expires=_day(shown, said, "Expires"))


def _day(shown: str, said: dict[str, str], name: str) -> date | None:
    if name not in said:
        return None
    try:
        return date.fromisoformat(said[name])
    except ValueError:
        raise InputError(
            f"{shown}: the line `{name}:` holds no day", hint="write it as 2027-12-31"
        ) from None


def _one_block(shown: str, content: bytes, wanted: tuple[bytes, ...]) -> tuple[bytes, bytes, str]:
    """Return the label of the one PEM block, the block, and the text before it."""
    blocks = list(_BLOCK.finditer(content))
    if not blocks:
        raise InputError(f"{shown}: this is not a key: it holds no PEM block", hint=_MAKE_ONE)
    if len(blocks) > 1:
        raise InputError(f"{shown}: it holds {len(blocks)} PEM blocks, but a key has one")
    label = blocks[0][1]
    if label not in wanted:
        raise InputError(f"{shown}: {_instead(label, wanted)}", hint=_other_file(label, shown))
    try:
        text = content[: blocks[0].start()].decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{shown}: the text before the key is not UTF-8") from None
    return label, blocks[0][0] + b"\n", text


def _instead(label: bytes, wanted: tuple[bytes, ...]) -> str:
    if label in _PUBLIC:
        return "this is a public key, and to sign takes the private one"
    if label in _PRIVATE and wanted == _PUBLIC:
        return "this is a private key, and to verify takes the public one"
    return "this is not an ed25519 key in PKCS #8 or SubjectPublicKeyInfo"


def _other_file(label: bytes, shown: str) -> str:
    if label in _PUBLIC and shown.endswith(PUBLIC_SUFFIX):
        return f"perhaps {shown.removesuffix(PUBLIC_SUFFIX)}"
    if label in _PRIVATE:
        return f"perhaps {shown}{PUBLIC_SUFFIX}; never pass on the private one"
    return _MAKE_ONE


def _read(shown: str) -> tuple[bytes, int]:
    """Return what is in a file, and the mode of that very file."""
    try:
        # A pipe without a writer would be waited for.
        with open(os.open(shown, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - a descriptor
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise InputError(f"{shown}: this is not a file")
            content = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        raise InputError(f"{shown}: there is no such key", hint=_MAKE_ONE) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{shown}: cannot be read: {reason}") from None
    if len(content) > _BYTES_MAX:
        raise InputError(f"{shown}: too large for a key")
    return content, stat.S_IMODE(mode)


def _create(path: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise _is_there(path) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from None
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        with contextlib.suppress(OSError):
            path.unlink()
        if isinstance(error, OSError):
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None
        raise


def _is_there(path: Path) -> InputError:
    return InputError(
        f"{path}: there is something of that name, and a key is never overwritten",
        hint="choose another name",
    )
