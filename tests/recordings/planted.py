"""Secrets that our own recordings hold on purpose; none of them is real, and none may come out.

Each has the shape of the real thing or stands where the real thing stands, so that whatever takes
secrets out has to find it by the means that it would use for a real one.
"""

from __future__ import annotations

from pathlib import Path

from faultclock.load.resources import fixtures_root

#: Our own recordings, those of the fake provider and those with something odd in each.
CASSETTES: Path = fixtures_root() / "cassettes"
ODD = CASSETTES / "odd"

#: Secrets that their shape gives away, wherever they stand.
SHAPED = (
    "sk-proj-Planted0000Planted0000Planted0000",
    "sk-ant-api03-PlantedPlanted00-Planted00AA",
    "AIzaSyPlanted0000Planted0000Planted0000",
    "AKIAPLANTED000000000",
    "eyJhbGciOiJQbGFudGVkIn0.eyJzdWIiOiJwbGFudGVkIn0.UGxhbnRlZFNpZw",
    "0badc0de" * 8,
    "org-PlantedOrg0000Planted00",
    "proj_Planted0000Planted00",
    "req_01PlantedRequest0000000",
    "planted.person@planted.example",
    "203.0.113.77",
    "2001:db8:77::4711",
    "user_2planted0Planted0Planted0",
    "77777777-4711-4711-4711-777777777777",
    "PlantedCookie0000Planted0000.Cookie4711",
)

#: Names of customers, which only the place gives away: a header, a host, a word before them.
CONTEXTUAL = (
    "planted-org-7",
    "planted-resource",
    "planted-project-4711",
    "471100004711",
)

#: What a person and a model have said.
TEXTS = (
    "The planted prompt speaks of Anna's salary.",
    "The planted answer tells of Anna's salary.",
)

#: What every planted secret holds one of; no file that is written may, in any case of letters.
MARKS = ("planted", "4711", "203.0.113.77", "2001:db8:77", "0badc0de", "eyjhbgci")


def leaks(written: str) -> list[str]:
    """Return the marks of planted secrets in what was written."""
    lower = written.lower()
    return [mark for mark in MARKS if mark in lower]
