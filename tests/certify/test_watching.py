"""Subjects that judge themselves, or of which more runs than the artifact holds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from faultclock.certify.rerunning import Rerun
from faultclock.certify.verifying import verify, with_rerun
from faultclock.errors import InputError
from tests.certify.conftest import Certificate
from tests.certify.small import frozen, made_in

BEGIN = """\
import sys
from dataclasses import replace
from pathlib import Path

from faultclock.agents.adapter import reference
"""
#: A subject that is right, and what it runs besides: FOLDER holds `elsewhere.py`.
STRANGE = {
    "imported and taken out of the list": """
sys.path.insert(0, "FOLDER")
import elsewhere
del sys.modules["elsewhere"]
sys.path.remove("FOLDER")
subject = replace(elsewhere.reference, id="mine")
""",
    "imported in the run": """
async def ask(request):
    sys.path.insert(0, "FOLDER")
    import elsewhere
    del sys.modules["elsewhere"]
    return await elsewhere.reference.function(request)
subject = replace(reference, id="mine", function=ask)
""",
    "read and executed in the run": """
async def ask(request):
    found = {}
    exec(Path("FOLDER/elsewhere.py").read_text(), found)
    return await found["reference"].function(request)
subject = replace(reference, id="mine", function=ask)
""",
}


@pytest.mark.parametrize("way", STRANGE)
def test_what_runs_and_is_not_in_the_artifact_is_refused(
    way: str, original: Certificate, tmp_path: Path
) -> None:
    """However it was loaded, and in whichever process."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "elsewhere.py").write_text(BEGIN)
    adapter = tmp_path / "adapter.py"
    adapter.write_text(BEGIN + STRANGE[way].replace("FOLDER", str(folder)))
    with pytest.raises(InputError, match=r"elsewhere.py ran, and is not in adapter.py"):
        made_in(tmp_path / "certificate", adapter, original.key)
    assert not (tmp_path / "certificate").exists()


def test_a_subject_that_changes_what_judges_it_is_refused(
    original: Certificate, tmp_path: Path
) -> None:
    """It would be certified by itself."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        BEGIN
        + """
import faultclock.certify.making as making
kind = making.appraise
making.appraise = lambda *given: kind(*given)
subject = replace(reference, id="mine")
"""
    )
    with pytest.raises(InputError, match=r"replaces faultclock.certify.making.appraise when"):
        made_in(tmp_path / "certificate", adapter, original.key)
    assert not (tmp_path / "certificate").exists()


def test_a_library_that_the_subject_does_not_name_is_refused(
    original: Certificate, tmp_path: Path
) -> None:
    """Otherwise nothing would say which one was certified."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(BEGIN + "import h11\nsubject = replace(reference, id='mine')\n")
    with pytest.raises(InputError, match="imports h11, and the subject does not name it") as found:
        made_in(tmp_path / "certificate", adapter, original.key)
    assert found.value.hint == 'bind it with distributions=("h11",)'


#: A subject that is right, and what it reads beside its code.
READS = {
    "when it is loaded": "TEXT = Path(__file__).with_name('waits.json').read_text()\n",
    "in the run": """
async def ask(request):
    Path(__file__).with_name("waits.json").read_bytes()
    return await reference.function(request)
""",
    "by a descriptor": """
import os
os.close(os.open(Path(__file__).with_name("waits.json"), os.O_RDONLY))
""",
    "from a thread of the run": """
import asyncio
async def ask(request):
    await asyncio.to_thread(Path(__file__).with_name("waits.json").read_bytes)
    return await reference.function(request)
""",
}


@pytest.mark.parametrize("way", READS)
def test_a_file_that_the_subject_reads_is_in_what_is_signed(
    way: str, original: Certificate, tmp_path: Path
) -> None:
    """Another content makes another certificate, and only the file itself tells which."""
    (tmp_path / "waits.json").write_text("[1, 2]")
    (tmp_path / "unread.json").write_text("[]")
    adapter = tmp_path / "adapter.py"
    ask = "function=ask, " if "async def" in READS[way] else ""
    adapter.write_text(BEGIN + READS[way] + f"subject = replace(reference, {ask}id='mine')\n")
    assert made_in(tmp_path / "certificate", adapter, original.key).appraisal.is_reached
    artifact = json.loads((tmp_path / "certificate/artifact.json").read_bytes())
    assert artifact["read"] == {"waits.json": hashlib.sha256(b"[1, 2]").hexdigest()}


def test_a_file_below_the_working_folder_is_named_as_such(
    original: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No path of the machine is said, and a file elsewhere is not what was brought along."""
    for folder in ("mine", "work/data", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "work/data/table.csv").write_text("1")
    (tmp_path / "elsewhere/other.csv").write_text("2")
    monkeypatch.chdir(tmp_path / "work")
    adapter = tmp_path / "mine/adapter.py"
    adapter.write_text(
        BEGIN
        + f"open('data/table.csv').close(); open({str(tmp_path / 'elsewhere/other.csv')!r}).close()"
        + "\nsubject = replace(reference, id='mine')\n"
    )
    made_in(tmp_path / "certificate", adapter, original.key)
    artifact = json.loads((tmp_path / "certificate/artifact.json").read_bytes())
    assert list(artifact["read"]) == ["working-folder:data/table.csv"]


def test_a_file_that_changes_while_it_is_read_is_refused(
    original: Certificate, tmp_path: Path
) -> None:
    """It would not be known which content was certified."""
    (tmp_path / "waits.json").write_text("[1]")
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        BEGIN
        + """
import os
waits = Path(__file__).with_name("waits.json")
waits.read_text()
# What a run opens to write is its own copy; this one is open before.
place = os.open(waits, os.O_WRONLY | os.O_APPEND)
async def ask(request):
    os.write(place, b" ")
    return await reference.function(request)
subject = replace(reference, id="mine", function=ask)
"""
    )
    with pytest.raises(InputError, match=r"waits.json: the subject reads this file"):
        made_in(tmp_path / "certificate", adapter, original.key)


def test_variables_that_the_subject_asks_for_are_named(
    original: Certificate, tmp_path: Path
) -> None:
    """Those that a library asks for are not, nor what every run finds alike; no value is said."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        BEGIN
        + """
import os, tempfile
tempfile._candidate_tempdir_list()
os.environ["WRITTEN"] = "1"
found = os.getenv("MY_MODE"), "MY_FLAG" in os.environ, os.environ.get("OPENAI_API_KEY")
subject = replace(reference, id="mine")
"""
    )
    made_in(tmp_path / "certificate", adapter, original.key)
    artifact = json.loads((tmp_path / "certificate/artifact.json").read_bytes())
    assert artifact["variables"] == ["MY_FLAG", "MY_MODE"]
    with frozen():
        found = verify(tmp_path / "certificate", trusted=original.key.public).verification
    assert "which values" in found.notes[-1]
    assert found.notes[-1].endswith("MY_FLAG, MY_MODE")


def test_what_is_read_now_and_was_not_certified_is_refused(
    original: Certificate, tmp_path: Path
) -> None:
    """Run again, a subject must find the files that it was certified with."""
    waits = tmp_path / "waits.json"
    waits.write_text("[1]")
    adapter = tmp_path / "adapter.py"
    adapter.write_text(BEGIN + READS["when it is loaded"] + "subject = replace(reference, id='m')")
    made_in(tmp_path / "certificate", adapter, original.key)
    with frozen():
        verified = verify(tmp_path / "certificate", trusted=original.key.public)
    was = {"waits.json": hashlib.sha256(b"[1]").hexdigest()}
    assert any("waits.json" in note for note in verified.verification.notes)
    again = with_rerun(verified, Rerun(), was).verification
    assert again.verdict == "verified"
    assert not any("waits.json" in note for note in again.notes)
    other = with_rerun(verified, Rerun(), {"waits.json": "0" * 64}).verification
    assert [fault.what[:22] for fault in other.faults] == ["waits.json is read now"]
