"""A target that misbehaves while it is loaded is refused in one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.subjects.adopt import adopt


@pytest.mark.parametrize(
    "body",
    [
        "class B(BaseException):\n    pass\nraise B('no')\n",
        "raise SystemExit(0)\n",
        "class E(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise E\n",
        "class D:\n    @property\n    def chat(self):\n        raise SystemExit(0)\nx = D()\n",
        "class G:\n    def __getattr__(self, name):\n        return self\n"
        "    def __call__(self):\n        return self\nx = G()\n",
    ],
)
def test_no_target_ends_or_breaks_the_command(body: str, tmp_path: Path) -> None:
    """Whatever it raises when it is imported or looked at."""
    file = tmp_path / "target.py"
    file.write_text(body)
    with pytest.raises(SubjectError):
        adopt(f"{file}:x")


def test_a_file_alone_is_answered_with_what_is_in_it(tmp_path: Path) -> None:
    """Its public functions, without running it."""
    file = tmp_path / "target.py"
    file.write_text("raise RuntimeError\ndef ask(prompt): ...\ndef _own(): ...\n")
    with pytest.raises(SubjectError) as refused:
        adopt(str(file))
    assert refused.value.hint == f"write {file}:ask"
