"""Key files: safe to keep, read strictly, and never told of in a message."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from faultclock.certify.keys import (
    PublicKey,
    load_private_key,
    load_public_key,
    make_keys,
    parse_public_key,
)
from faultclock.errors import InputError

TODAY = date(2026, 11, 22)
OPENSSL = shutil.which("openssl")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Return the private key of a pair."""
    return make_keys(tmp_path / "team.key", expires=date(2027, 12, 31)).private


def test_only_its_owner_may_read_a_private_key(tmp_path: Path) -> None:
    """Whatever the mask of the process lets through, the private file is for one person."""
    before = os.umask(0)
    try:
        made = make_keys(tmp_path / "team.key")
    finally:
        os.umask(before)
    assert made.private.stat().st_mode & 0o777 == 0o600
    assert made.public.stat().st_mode & 0o777 == 0o644


def test_both_files_tell_the_key_and_its_last_day(pair: Path) -> None:
    """What is read back is what was asked for, and the two belong together."""
    private = load_private_key(pair, today=TODAY)
    public = load_public_key(f"{pair}.pub")
    assert private.public.key.keyid == public.key.keyid
    assert private.public.expires == public.expires == date(2027, 12, 31)
    assert private.public.content == Path(f"{pair}.pub").read_bytes()


@pytest.mark.parametrize("taken", ["team.key", "team.key.pub"])
def test_no_file_is_ever_overwritten(tmp_path: Path, taken: str) -> None:
    """A key that is there stays, and no half of a pair is left behind."""
    (tmp_path / taken).write_text("precious")
    with pytest.raises(InputError, match="never overwritten"):
        make_keys(tmp_path / "team.key")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(taken, "precious")]


@pytest.mark.parametrize("name", ["", ".", "/", ".."])
def test_what_is_no_name_is_refused(name: str) -> None:
    """A key needs a name, and its public part another one."""
    with pytest.raises(InputError, match="not a name for a key"):
        make_keys(name)


def test_a_link_is_no_way_around_it(tmp_path: Path) -> None:
    """A link that leads nowhere is a name that is taken, too."""
    (tmp_path / "team.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="never overwritten"):
        make_keys(tmp_path / "team.key")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o777])
def test_a_private_key_that_others_can_reach_is_not_used(pair: Path, mode: int) -> None:
    """As ssh does: the mode is told, and what to do."""
    pair.chmod(mode)
    with pytest.raises(InputError, match=f"mode {mode:04o}") as refused:
        load_private_key(pair, today=TODAY)
    assert "chmod 600" in str(refused.value)


def test_an_expired_key_signs_nothing(pair: Path) -> None:
    """Its last day counts, and the day after does not."""
    assert load_private_key(pair, today=date(2027, 12, 31))
    with pytest.raises(InputError, match="expired: its last day was 2027-12-31"):
        load_private_key(pair, today=date(2028, 1, 1))


def test_a_passphrase_locks_a_key(tmp_path: Path) -> None:
    """Without it, or with another one, there is a refusal that says neither."""
    made = make_keys(tmp_path / "team.key", passphrase="open sesame")
    assert load_private_key(made.private, today=TODAY, passphrase="open sesame")
    for wrong in (None, "shut"):
        with pytest.raises(InputError, match="passphrase") as refused:
            load_private_key(made.private, today=TODAY, passphrase=wrong)
        assert "sesame" not in str(refused.value)
    assert b"ENCRYPTED" in made.private.read_bytes()


def test_a_public_key_does_not_sign_and_a_private_one_does_not_verify(pair: Path) -> None:
    """The two are easily mixed up, so each message names the other file."""
    public = Path(f"{pair}.pub")
    public.chmod(0o600)
    with pytest.raises(InputError, match="this is a public key") as refused:
        load_private_key(public, today=TODAY)
    # A public key is not told to be hidden.
    public.chmod(0o644)
    with pytest.raises(InputError, match="this is a public key"):
        load_private_key(public, today=TODAY)
    assert f"perhaps {pair}" in str(refused.value)
    with pytest.raises(InputError, match="this is a private key") as refused:
        load_public_key(pair)
    assert "never pass on the private one" in str(refused.value)


def test_a_key_of_another_algorithm_is_refused(tmp_path: Path) -> None:
    """Only ed25519 signs the same bytes each time."""
    key = ec.generate_private_key(ec.SECP256R1())
    private, public = tmp_path / "other", tmp_path / "other.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(InputError, match="not an ed25519 key"):
        load_private_key(private, today=TODAY)
    with pytest.raises(InputError, match="not an ed25519 key"):
        load_public_key(public)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no PEM block"),
        (b"\0\xff" * 50, "no PEM block"),
        (b"x" * 20_000, "too large"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "not a public key"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "PKCS"),
    ],
)
def test_what_is_no_key_is_refused_in_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    """Whatever a file holds, there is one clear refusal."""
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match=said):
        load_public_key(path)
    with pytest.raises(InputError):
        load_private_key(path, today=TODAY)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, a pipe that nobody writes to, and nothing at all."""
    os.mkfifo(tmp_path / "pipe")
    for name, said in [("pipe", "not a file"), ("", "Is a directory"), ("none", "no such key")]:
        with pytest.raises(InputError, match=said):
            load_public_key(tmp_path / name)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Expires: soon", "holds no day"),
        ("Expires: 2030-01-01\nExpires: 2040-01-01", "twice"),
        ("Key id: " + "0" * 64, "is not that of its key"),
    ],
)
def test_text_that_does_not_belong_to_the_key_is_refused(pair: Path, line: str, said: str) -> None:
    """The text is for people, and may not say something else than the key."""
    block = Path(f"{pair}.pub").read_bytes().partition(b"-----BEGIN")[2]
    with pytest.raises(InputError, match=said):
        parse_public_key(line.encode() + b"\n-----BEGIN" + block, "key")


@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_bytes_lead_to_anything_but_a_key_or_a_refusal(noise: bytes, at: int) -> None:
    """Neither noise nor a key with noise in it raises what a person cannot read."""
    whole = (
        b"Expires: 2027-12-31\n-----BEGIN PUBLIC KEY-----\n"
        b"MCowBQYDK2VwAyEAog66nZkv1yMBvo+ylav4zZ2fdjSWqlMHDRjJQcqsJ+I=\n-----END PUBLIC KEY-----\n"
    )
    for content in (noise, whole[:at] + noise + whole[at:]):
        with contextlib.suppress(InputError):
            parse_public_key(content, "key")


def test_nothing_of_a_private_key_is_shown(pair: Path) -> None:
    """No representation, no message and no exception quotes it."""
    secret = pair.read_text().split("-----")[2].strip()
    key = load_private_key(pair, today=TODAY)
    shown = [repr(key), str(key)]
    pair.write_text(pair.read_text().replace(secret, secret[:-8]))
    with pytest.raises(InputError) as refused:
        load_private_key(pair, today=TODAY)
    shown += [str(refused.value), repr(refused.value), repr(refused.value.__cause__)]
    for text in shown:
        assert not re.search(re.escape(secret[:12]), text)


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_openssl_reads_both_files(pair: Path) -> None:
    """The text before the PEM block is no hindrance."""
    for options in (["-in", str(pair)], ["-pubin", "-in", f"{pair}.pub"]):
        done = subprocess.run([str(OPENSSL), "pkey", "-noout", *options], capture_output=True)
        assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- keys that are nobody's

FIELD = 2**255 - 19


def added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return the sum of two points of the curve: RFC 8032, section 5.1.4."""
    d = -121665 * pow(121666, -1, FIELD) % FIELD
    (a, b), (c, e) = one, other
    product = d * a * b * c * e
    x = (a * e + b * c) * pow(1 + product, -1, FIELD)
    y = (b * e + a * c) * pow(1 - product, -1, FIELD)
    return x % FIELD, y % FIELD


def small_encodings() -> set[bytes]:
    """Return every spelling of every point whose order divides eight, found by arithmetic."""
    root = pow(2, (FIELD - 1) // 4, FIELD)
    d = -121665 * pow(121666, -1, FIELD) % FIELD
    # y of a point of order eight solves d y^4 + 2 y^2 - 1 = 0: it is what doubles to y = 0.
    square = pow(1 + d, (FIELD + 3) // 8, FIELD)
    square = square if square * square % FIELD == (1 + d) % FIELD else square * root % FIELD
    found = {0, 1, FIELD - 1}
    for sign in (1, -1):
        candidate = (-1 + sign * square) * pow(d, -1, FIELD) % FIELD
        y = pow(candidate, (FIELD + 3) // 8, FIELD)
        for one in (y, y * root % FIELD):
            if one * one % FIELD == candidate:
                found |= {one, FIELD - one}
    spelled = {y + more for y in found for more in (0, FIELD) if y + more < 2**255}
    return {(y | sign << 255).to_bytes(32, "little") for y in spelled for sign in (0, 1)}


def test_a_key_for_which_anyone_can_sign_is_refused(tmp_path: Path) -> None:
    """All eight points, in each spelling that a library takes."""
    encodings = small_encodings()
    assert len(encodings) == 14
    refused = 0
    for encoding in encodings:
        assert PublicKey.of_hex(encoding.hex()) is None
        try:
            key = Ed25519PublicKey.from_public_bytes(encoding)
        except ValueError:
            continue
        content = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        with pytest.raises(InputError, match="anyone can sign"):
            parse_public_key(content, "team.key.pub")
        refused += 1
    assert refused
    assert PublicKey.of_hex(make_public(tmp_path)) is not None


def test_the_arithmetic_of_the_test_is_that_of_the_curve() -> None:
    """A point of the list, added to itself three times, is the neutral one."""
    for encoding in small_encodings():
        y = (int.from_bytes(encoding, "little") % 2**255) % FIELD
        d = -121665 * pow(121666, -1, FIELD) % FIELD
        squared = (y * y - 1) * pow(d * y * y + 1, -1, FIELD) % FIELD
        x = pow(squared, (FIELD + 3) // 8, FIELD)
        if x * x % FIELD != squared:
            x = x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD
        assert x * x % FIELD == squared
        point = (x, y)
        for _ in range(3):
            point = added(point, point)
        assert point == (0, 1)


def make_public(folder: Path) -> str:
    """Return a good public key, in hexadecimal."""
    made = make_keys(folder / "good.key")
    public: str = load_public_key(made.public).key.keyval["public"]
    return public


def test_both_files_say_the_first_day(tmp_path: Path) -> None:
    """It stands beside the last one."""
    made = make_keys(tmp_path / "team.key", created=date(2026, 1, 31))
    assert load_public_key(made.public).created == date(2026, 1, 31)
    assert load_private_key(made.private, today=TODAY).public.created == date(2026, 1, 31)
