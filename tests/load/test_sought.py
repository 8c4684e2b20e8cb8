"""The exception of a search: named in words, by its line, or by a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.load.sought import near_exception, read_sought, sought_of
from faultclock.model.report.wanted_exception import Sought

TRACEBACK = """\
2026-11-01 12:00:00 worker crashed
Traceback (most recent call last):
  File "/srv/app/agent.py", line 12, in <module>
    main()
ValueError: the first one

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app/agent.py", line 30, in main
    ask()
  File "/srv/app/client.py", line 41, in ask
    return call(answer)
           ^^^^^^^^^^^^
  File "/srv/venv/lib/python3.11/site-packages/openai/_base.py", line 9, in call
    raise KeyError(name)
openai.APIError: request req_123 failed
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("KeyError", Sought(type="KeyError")),
        ("openai.RateLimitError", Sought(type="openai.RateLimitError")),
        ("_http._Closed", Sought(type="_http._Closed")),
        ("KeyError: 'choices'", Sought(type="KeyError", message="'choices'")),
        ("client.py:41", Sought(file="client.py", line=41)),
        ("./src/client.py:41", Sought(file="src/client.py", line=41)),
        ("KeyError at client.py:41", Sought(type="KeyError", file="client.py", line=41)),
        (
            "KeyError: 'choices' at app/client.py:41",
            Sought(type="KeyError", message="'choices'", file="app/client.py", line=41),
        ),
        ("connection reset", Sought(message="connection reset")),
        ("expecting value: line 1", Sought(message="expecting value: line 1")),
    ],
)
def test_words_name_a_class_a_message_or_a_line(given: str, found: Sought) -> None:
    """And what was read can be written and read again."""
    assert sought_of(given) == found
    assert sought_of(found.text) == found


def test_a_traceback_is_its_last_exception_at_the_innermost_line_of_ones_own() -> None:
    """No message, which may hold an id, and no folder of another machine."""
    found = sought_of(TRACEBACK)
    assert found == Sought(type="openai.APIError", file="client.py", line=41)
    assert found.text == "openai.APIError at client.py:41"


def test_a_traceback_in_a_log_is_found_behind_the_words_of_the_log() -> None:
    """Each line has the same words before it."""
    lines = TRACEBACK.splitlines()[1:5]
    assert sought_of("\n".join(f"app[1]: {line}" for line in lines)) == Sought(
        type="ValueError", file="agent.py", line=12
    )


def test_a_traceback_of_a_library_alone_keeps_its_line() -> None:
    """Below the name of the library."""
    text = TRACEBACK.replace("/srv/app/", "/srv/venv/lib/python3.11/site-packages/app/")
    assert sought_of(text) == Sought(type="openai.APIError", file="openai/_base.py", line=9)


def test_a_file_is_read_for_its_traceback(tmp_path: Path) -> None:
    """A file without one is refused."""
    file = tmp_path / "crash.log"
    file.write_text(TRACEBACK)
    assert read_sought(str(file)) == sought_of(TRACEBACK)
    file.write_text("all is well\n")
    with pytest.raises(InputError, match="holds no traceback"):
        read_sought(str(file))
    assert read_sought("KeyError") == Sought(type="KeyError")


@pytest.mark.parametrize("given", ["crash.log", "logs/crash", ".", "..", "trace.txt"])
def test_a_file_that_is_not_there_is_no_message_to_search_for(given: str) -> None:
    """A search for its name would find nothing, and look like a pass."""
    with pytest.raises(InputError, match=r"there is no such file|a folder"):
        read_sought(given)


def test_a_line_behind_the_end_of_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search for it would find nothing, too; a file that is not here may be a library's."""
    monkeypatch.chdir(tmp_path)
    Path("client.py").write_text("one = 1\ntwo = 2\n")
    assert read_sought("client.py:2") == Sought(file="client.py", line=2)
    assert read_sought("openai/_client.py:9") == Sought(file="openai/_client.py", line=9)
    with pytest.raises(InputError, match=r"client\.py:3: the file has 2 lines"):
        read_sought("client.py:3")


@pytest.mark.parametrize(
    "text", ["client.py:0", f"client.py:{'9' * 5_000}", "Traceback (most recent call last):"]
)
def test_what_names_no_line_and_no_exception_is_refused(text: str) -> None:
    """Lines begin with 1, and a traceback has a last line."""
    with pytest.raises(InputError, match=r"from 1 on|without the class"):
        sought_of(text)


def test_nothing_is_refused() -> None:
    """An empty search would find every exception."""
    with pytest.raises(InputError, match="is empty"):
        sought_of("  ")
    with pytest.raises(InputError, match="without the class of an exception"):
        sought_of('Traceback (most recent call last):\n  File "a.py", line 1, in x\n    y()\n')


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("KeyErorr", "KeyError"),
        ("ValueErro: x", "ValueError"),
        ("KeyError", None),
        ("MyOwnError", None),
        ("openai.APIError", None),
        ("client.py:41", None),
    ],
)
def test_a_slip_in_the_name_of_an_exception_has_a_near_one(words: str, near: str | None) -> None:
    """An exception of the program's own has a name that is not near one of Python's."""
    assert near_exception(sought_of(words)) == near
