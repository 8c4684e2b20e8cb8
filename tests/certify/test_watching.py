"""Subjects that judge themselves, or of which more runs than the artifact holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.certify.watching import Watch
from harness.errors import InputError
from tests.certify.conftest import Certificate
from tests.certify.small import made_in

BEGIN = """\
import sys
from dataclasses import replace
from pathlib import Path

from harness.subjects.reference import reference
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
    original: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be certified by itself."""
    import harness.certify.making

    # So that it comes back: what the subject sets is set again.
    monkeypatch.setattr(harness.certify.making, "appraise", harness.certify.making.appraise)
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        BEGIN
        + """
import harness.certify.making as making
kind = making.appraise
making.appraise = lambda *given: kind(*given)
subject = replace(reference, id="mine")
"""
    )
    with pytest.raises(InputError, match=r"making.appraise was changed"):
        made_in(tmp_path / "certificate", adapter, original.key)
    assert not (tmp_path / "certificate").exists()


def test_a_changed_method_is_seen() -> None:
    """A class is the same object, whatever was put into it; so is a function with other code."""
    from harness.oracle.judge import Judge

    with Watch() as watch:
        watch.check_untouched()
        name = next(name for name, part in vars(Judge).items() if hasattr(part, "__code__"))
        function = getattr(Judge, name)
        code = function.__code__
        function.__code__ = code.replace(co_name="other")
        try:
            with pytest.raises(InputError, match=rf"{name}\(\) was changed"):
                watch.check_untouched()
        finally:
            function.__code__ = code
        watch.check_untouched()


def test_a_library_that_the_subject_does_not_name_is_refused(
    original: Certificate, tmp_path: Path
) -> None:
    """Otherwise nothing would say which one was certified."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(BEGIN + "import h11\nsubject = replace(reference, id='mine')\n")
    with pytest.raises(InputError, match="imports h11, and the subject does not name it") as found:
        made_in(tmp_path / "certificate", adapter, original.key)
    assert found.value.hint == 'bind it with distributions=("h11",)'
