"""`keygen`, `certify` and `verify` as a person meets them: sentences and exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from unittest.mock import patch

import pytest

from faultclock.certify.keys import load_private_key
from tests.certify.conftest import Certificate
from tests.certify.small import frozen, made_in, resigned, small_set
from tests.cli.command_line import faultclock

#: An adapter that really never asks for a stream, and says so.
_NO_STREAMS = """
from dataclasses import replace

from faultclock import provider_adapter
from faultclock.agents.adapter import converse
from faultclock.subjects.stud import StudCall


@provider_adapter(streams=False, declares=("errors",))
async def ask(request):
    plain = replace(request, stream=False)
    return await converse(plain, StudCall(plain))
"""


@pytest.fixture(autouse=True)
def _small() -> Iterator[None]:
    """Certify and verify by the small set, in these tests."""
    set_ = small_set()
    with (
        frozen(),
        patch("faultclock.load.requirement_set.load_requirement_set", lambda _: set_),
        patch("faultclock.load.requirement_set.set_ids", lambda: (set_.model,)),
    ):
        yield


def _certify(original: Certificate, folder: Path, *more: str) -> tuple[int, str]:
    done = faultclock(
        "certify", f"{original.adapter}:subject", "--model", "stud-cli", "--level", "core",
        "--key", str(original.key_file), "-o", str(folder), "--jobs", "1", *more,
    )  # fmt: skip
    return done.exit_code, done.output


def test_from_a_key_to_a_certificate_that_holds(original: Certificate, tmp_path: Path) -> None:
    """What three commands say when all is well."""
    made = faultclock("keygen", "-o", str(tmp_path / "team.key"), "--expires", "2099-12-31")
    assert made.exit_code == 0
    assert "until 2099-12-31" in made.output
    code, said = _certify(original, tmp_path / "certificate")
    assert code == 0, said
    assert "certified: mine conforms to stud-cli core (requirement set 1)" in said
    trusted = faultclock(
        "verify", str(tmp_path / "certificate"), "--key", f"{original.key_file}.pub",
        "--artifact", str(original.adapter),
    )  # fmt: skip
    assert trusted.exit_code == 0, trusted.output
    assert "the key that you trust" in trusted.output
    assert "2 traces judged again" in trusted.output


def test_a_level_leaves_nothing_out(original: Certificate, tmp_path: Path) -> None:
    """A declaration would leave out what the level asks for: it is refused, and not ignored."""
    done = faultclock(
        "certify", "reference", "--model", "stud-cli", "--level", "core",
        "--key", str(original.key_file), "-o", str(tmp_path / "out"), "--dialect", "cohere",
    )  # fmt: skip
    assert (done.exit_code, "No such option" in done.output) == (2, True)
    plain = tmp_path / "plain.py"
    plain.write_text(_NO_STREAMS, "utf-8")
    done = faultclock(
        "certify", f"{plain}:ask", "--model", "stud-cli", "--level", "core",
        "--key", str(original.key_file), "-o", str(tmp_path / "out"), "--jobs", "1",
    )  # fmt: skip
    assert done.exit_code == 2
    assert "declares no-streams, and a level leaves nothing out" in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()


def test_without_a_key_or_with_another_one(original: Certificate, tmp_path: Path) -> None:
    """Nobody vouches: 3. Somebody else signed: 1."""
    unknown = faultclock("verify", str(original.root))
    assert unknown.exit_code == 3
    assert "intact, but not verified" in unknown.output
    faultclock("keygen", "-o", str(tmp_path / "other.key"))
    other = faultclock("verify", str(original.root), "--key", str(tmp_path / "other.key.pub"))
    assert other.exit_code == 1
    assert "signed by another key" in other.output


def test_keys_that_cannot_be_used_are_refused(original: Certificate, tmp_path: Path) -> None:
    """One sentence each, exit code 2, and no secret in it."""
    secret = original.key_file.read_text().split("-----")[2].strip()
    for key, said in [
        (tmp_path / "none", "there is no such key"),
        (original.key_file, "this is a private key"),
        (original.adapter, "no PEM block"),
    ]:
        done = faultclock("verify", str(original.root), "--key", str(key))
        assert (done.exit_code, done.output.count("\n") <= 3) == (2, True)
        assert said in done.output
        assert secret not in done.output
    readable = tmp_path / "readable.key"
    shutil.copy(original.key_file, readable)
    readable.chmod(0o644)
    done = faultclock(
        "certify", "reference", "--model", "stud-cli", "--level", "core", "--key", str(readable),
        "-o", str(tmp_path / "c"),
    )  # fmt: skip
    assert done.exit_code == 2
    assert "others may read this private key" in done.output


def test_an_expired_key_counts_on_a_day_before_its_last(
    original: Certificate, tmp_path: Path
) -> None:
    """A verifier who knows that the certificate is older says so, with --at."""
    path = tmp_path / "old.pub"
    path.write_bytes(b"Expires: 2026-01-31\n" + original.key.public.content)
    done = faultclock("verify", str(original.root), "--key", str(path))
    assert done.exit_code == 2
    assert "this key expired: its last day was 2026-01-31" in done.output
    done = faultclock("verify", str(original.root), "--key", str(path), "--at", "2026-01-31")
    assert done.exit_code == 0


def test_a_refusal_names_the_file_and_runs_nothing(copied: Certificate) -> None:
    """Exit code 1, also as JSON, and no --rerun of what is refused."""
    (copied.root / "badge.svg").write_text("<svg/>")
    done = faultclock(
        "verify", str(copied.root), "--key", f"{copied.key_file}.pub", "--json", "-", "--rerun",
        "--subject", f"{copied.adapter}:subject",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "wrong      badge.svg: it was changed" in done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "refused"
    assert found["reruns"] == 0


def test_a_subject_that_is_run_again(original: Certificate) -> None:
    """All of it is the same."""
    done = faultclock(
        "verify", str(original.root), "--key", f"{original.key_file}.pub", "--rerun", "--subject",
        f"{original.adapter}:subject", "--jobs", "1",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "2 run again" in done.output


def test_a_subject_that_changes_who_verifies_it_is_refused(
    original: Certificate, tmp_path: Path
) -> None:
    """It would have the last word where the verdict is formed."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        original.adapter.read_text()
        + "import faultclock.certify.verifying\n"
        + "faultclock.certify.verifying._verdict = lambda *_: 'verified'\n"
    )
    done = faultclock(
        "verify", str(original.root), "--key", f"{original.key_file}.pub", "--rerun", "--subject",
        f"{adapter}:subject",
    )  # fmt: skip
    assert done.exit_code == 2, done.output
    assert "it replaces faultclock.certify.verifying._verdict when it is loaded" in done.output


def test_a_subject_of_ones_own_is_named_to_be_run_again(original: Certificate) -> None:
    """It is not in the certificate."""
    done = faultclock("verify", str(original.root), "--rerun")
    assert done.exit_code == 2
    assert "--subject path/to/adapter.py:subject" in done.output


def test_what_is_broken_gets_its_objections(original: Certificate, tmp_path: Path) -> None:
    """Exit code 1, the report on demand, and no folder."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        "from dataclasses import replace\nfrom faultclock.mutants.registry import MUTANTS\n\n"
        "subject = replace(MUTANTS['mini-retries-at-once'].binding, id='mine')\n"
    )
    done = faultclock(
        "certify", f"{adapter}:subject", "--model", "stud-cli", "--level", "core", "--key",
        str(original.key_file), "-o", str(tmp_path / "certificate"), "--jobs", "1", "--json",
        str(tmp_path / "why.json"),
    )  # fmt: skip
    assert done.exit_code == 1
    assert "not certified: mine does not reach stud-cli core" in done.output
    assert "backoff" in done.output
    assert json.loads((tmp_path / "why.json").read_text())["verdict"] == "FAIL"
    assert not (tmp_path / "certificate").exists()


def test_a_day_is_said_only_if_it_is_asked_for(
    original: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From --issued, or as other tools take it, from SOURCE_DATE_EPOCH."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    assert _certify(original, tmp_path / "one")[0] == 0
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert _certify(original, tmp_path / "other", "--issued", "2026-01-01")[0] == 0
    one, other = ((tmp_path / name / "certificate.json").read_bytes() for name in ("one", "other"))
    assert one == other
    assert b'"issued":"2026-01-01"' in (tmp_path / "one" / "statement.json").read_bytes()
    assert b'"issued"' not in (original.root / "statement.json").read_bytes()


def test_a_certificate_of_a_liar_is_told_in_words(copied: Certificate) -> None:
    """The signature is valid, and it is refused."""
    badge = (copied.root / "badge.svg").read_bytes().replace(b"core", b"full")
    resigned(copied.root, copied.key, {"badge.svg": badge})
    done = faultclock("verify", str(copied.root), "--key", f"{copied.key_file}.pub")
    assert done.exit_code == 1
    assert "badge.svg: it does not say what comes out when the traces are judged" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "nope"), "unknown error model with levels 'nope'"),
        (
            ("--model", "afk"),
            "'afk' has no levels to certify by\n  --model takes one that has: stud",
        ),
        (("--artifact", "nowhere"), "no such file or folder"),
    ],
)
def test_wrong_words_are_told_before_anything_is_run(
    original: Certificate, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    """Exit code 2, in a sentence."""
    code, told = _certify(original, tmp_path / "certificate", *words)
    assert code == 2
    assert said in told


def test_a_folder_that_is_there_is_told_before_anything_is_run(original: Certificate) -> None:
    """A certificate is never written over another."""
    code, told = _certify(original, original.root)
    assert code == 2
    assert "is not empty" in told


def _dated(original: Certificate, folder: Path, issued: str, *lines: str) -> Path:
    """Return a certificate of a day, signed with a key whose files have these lines."""
    folder.mkdir()
    private = folder / "team.key"
    private.write_bytes(
        "".join(f"{line}\n" for line in lines).encode() + original.key_file.read_bytes()
    )
    private.chmod(0o600)
    key = load_private_key(private, today=date(2020, 1, 1))
    made_in(folder / "certificate", original.adapter, key, issued=date.fromisoformat(issued))
    (folder / "certificate.pub").write_bytes(key.public.content)
    return folder / "certificate"


@pytest.mark.parametrize(
    ("issued", "lines", "said"),
    [
        ("2099-01-01", (), "issued on 2099-01-01, and it is verified for"),
        ("2020-01-01", ("Expires: 2019-12-31",), "after the last day of its key, 2019-12-31"),
        ("1999-01-01", ("Created: 2019-01-01",), "before its key was made on 2019-01-01"),
    ],
)
def test_a_day_that_cannot_be_is_refused(
    original: Certificate, tmp_path: Path, issued: str, lines: tuple[str, ...], said: str
) -> None:
    """Neither by the clock of who verifies nor by the days of the key."""
    with (
        patch("faultclock.certify.making._check_issued"),
        patch("faultclock.certify.keys.require_in_time"),
    ):
        root = _dated(original, tmp_path / "made", issued, *lines)
    plain = f"{original.key_file}.pub"
    done = faultclock("verify", str(root), "--key", plain, "--at", "2020-06-30")
    assert done.exit_code == 1
    assert said in done.output


def test_the_earlier_of_two_last_days_counts(original: Certificate, tmp_path: Path) -> None:
    """Whichever file says it: that of the verifier, or that of the certificate."""
    root = _dated(original, tmp_path / "made", "2020-01-01", "Expires: 2021-12-31")
    plain, later = f"{original.key_file}.pub", tmp_path / "later.pub"
    later.write_bytes(b"Expires: 2030-12-31\n" + original.key.public.content)
    for trusted in (plain, str(later)):
        done = faultclock("verify", str(root), "--key", trusted, "--at", "2022-01-01")
        assert done.exit_code == 1
        assert "this key expired: its last day was 2021-12-31" in done.output
        assert (
            faultclock("verify", str(root), "--key", trusted, "--at", "2021-12-31").exit_code == 0
        )


def test_an_old_archive_is_verified_for_its_day(original: Certificate, tmp_path: Path) -> None:
    """With the day of the archive, and without it not before that day."""
    root = _dated(original, tmp_path / "made", "2020-01-01")
    plain = f"{original.key_file}.pub"
    assert faultclock("verify", str(root), "--key", plain, "--at", "2020-01-01").exit_code == 0
    assert faultclock("verify", str(root), "--key", plain).exit_code == 0
    assert faultclock("verify", str(root), "--key", plain, "--at", "2019-12-31").exit_code == 1


@pytest.mark.parametrize(
    ("issued", "said"),
    [("2999-01-01", "which is after today"), ("1999-01-01", "the key was made on")],
)
def test_no_certificate_is_made_for_a_day_that_cannot_be(
    original: Certificate, tmp_path: Path, issued: str, said: str
) -> None:
    """It would be refused by everybody who verifies it."""
    assert faultclock("keygen", "-o", str(tmp_path / "new.key")).exit_code == 0
    done = faultclock(
        "certify", f"{original.adapter}:subject", "--model", "stud-cli", "--level", "core",
        "--key", str(tmp_path / "new.key"), "-o", str(tmp_path / "c"), "--issued", issued, "-q",
    )  # fmt: skip
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "c").exists()
