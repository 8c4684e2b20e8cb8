"""A text that leaves a machine says nothing of its folders, and a URL stays what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.paths import ABSOLUTE_PATH, paths_below, without_paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('File "/usr/lib/python3.11/ssl.py", line 3', 'File "…/ssl.py", line 3'),
        ("at ask (file:///home/me/app.mjs:3:5)", "at ask (…/app.mjs:3:5)"),
        ("at file:///C:/me/app.mjs:3:5", "at …/app.mjs:3:5"),
        ("in /srv/me/app.py, /media/app.py", "in …/app.py, …/app.py"),
        ("C:\\Users\\me\\adapter.py failed", "…/adapter.py failed"),
        ("/dev/shm/faultclock-store-12-a_b, /tmp/faultclock-a.html", "…/, …/faultclock-a.html"),
        ("error:/srv/me/x.py at file:////srv/x.py", "error:…/x.py at …/x.py"),
        ("PATH=/usr/bin:/home/me/bin", "PATH=…/bin:…/bin"),
        ("https://example.com/home/me and /v1/chat", "https://example.com/home/me and /v1/chat"),
        ("POST /media/upload, GET /run/7/steps", "POST /media/upload, GET /run/7/steps"),
        (
            "…/app.py and file:/// alone, /home/ or C:\\",
            "…/app.py and file:/// alone, /home/ or C:\\",
        ),
        ("/var/file:///srv/x", "…/file:///srv/x"),
    ],
)
def test_a_path_loses_its_folder_and_a_url_stays(text: str, expected: str) -> None:
    """The name of the file is left: it helps, and is the same everywhere."""
    assert without_paths(text) == expected
    assert bool(ABSOLUTE_PATH.search(text)) is (text != expected)


@given(st.text(), st.lists(st.text()))
def test_what_was_taken_out_once_does_not_change_again(text: str, folders: list[str]) -> None:
    """Whatever stands around it, and whichever folders there are."""
    once = without_paths(without_paths(text, paths_below(folders)))
    assert without_paths(once) == once


@pytest.mark.parametrize(
    ("folder", "text", "expected"),
    [
        ("/data/me", "in /data/me/x/app.py:3", "in …/app.py:3"),
        ("/data/me", "in /data/menu/app.py", "in /data/menu/app.py"),
        ("/data/me", "HOME=/data/me, /data/me/", "HOME=…/, …/"),
        ("/app", "in /app/x/app.py:3", "in …/app.py:3"),
        ("/app", "to /app/x/items, /app/v1.2/items/3.5", "to /app/x/items, /app/v1.2/items/3.5"),
        ("/app", "in /app/.venv/app.py", "in …/app.py"),
        ("/app", "in /app/.venv/bin/python", "in /app/.venv/bin/python"),
        ("/", "GET /x/app.py", "GET /x/app.py"),
        ("", "x/app.py", "x/app.py"),
        ("me", "me/app.py", "me/app.py"),
    ],
)
def test_a_file_in_a_folder_of_ones_own_is_known_by_it(
    folder: str, text: str, expected: str
) -> None:
    """Directly below the root a folder might be part of a URL, which has no dot in it."""
    assert without_paths(text, paths_below([folder, "/somewhere/else"])) == expected
