"""The legend of a census: each word that its pages use, once, and what it means."""

from __future__ import annotations

from msgspec import Struct


class Term(Struct, frozen=True, kw_only=True):
    """One word of the legend: class of its icon (empty: it has none), the word, what it means."""

    key: str
    word: str
    means: str


#: The legend of every page of a census.
LEGEND = (
    Term(
        key="pass",
        word="answered in full",
        means="The client returned the whole answer of the provider.",
    ),
    Term(
        key="fail",
        word="silently truncated",
        means="The client returned a part of the answer to its caller and raised no error.",
    ),
    Term(
        key="fail",
        word="silently empty",
        means="The client returned an empty answer to its caller and raised no error, even if the "
        "provider sent nothing else.",
    ),
    Term(
        key="fail",
        word="silently changed",
        means="The client returned something other than the answer and raised no error.",
    ),
    Term(
        key="none",
        word="raised",
        means="The client raised this exception. If the request itself is wrong, that is right.",
    ),
    Term(
        key="open",
        word="never returned",
        means="The call neither returned nor raised before the run ended.",
    ),
    Term(
        key="open",
        word="no result",
        means="The simulation could not host this run, so it says nothing about the client.",
    ),
    Term(
        key="void",
        word="not run",
        means="The API that the client speaks has no such error.",
    ),
    Term(
        key="",
        word="attempt",
        means="One request of the client to the provider. The first request is attempt 1.",
    ),
    Term(
        key="",
        word="wait",
        means="The time between the instant at which the client could know of a failure and its "
        "next attempt.",
    ),
    Term(
        key="",
        word="Retry-After obeyed",
        means="Of the waits before which the provider sent Retry-After with whole seconds: how "
        "many lasted at least that long (or as long as retry-after-ms, where it was sent, too).",
    ),
)
