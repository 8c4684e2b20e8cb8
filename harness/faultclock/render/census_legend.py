"""The legend of a census: each word that its pages use, once, and what it means."""

from __future__ import annotations

from faultclock.render.verdict_words import Look

#: The legend of every page of a census; a word without a key has no icon.
LEGEND = (
    Look(
        key="pass",
        word="answered in full",
        means="The client returned the whole answer of the provider.",
    ),
    Look(
        key="fail",
        word="silently truncated",
        means="The client returned a part of the answer to its caller and raised no error.",
    ),
    Look(
        key="fail",
        word="silently empty",
        means="The client returned an empty answer to its caller and raised no error, even if the "
        "provider sent nothing else.",
    ),
    Look(
        key="fail",
        word="silently changed",
        means="The client returned something other than the answer and raised no error.",
    ),
    Look(
        key="none",
        word="raised",
        means="The client raised this exception. If the request itself is wrong, that is right.",
    ),
    Look(
        key="open",
        word="never returned",
        means="The call neither returned nor raised before the run ended.",
    ),
    Look(
        key="open",
        word="no result",
        means="The simulation could not host this run, so it says nothing about the client.",
    ),
    Look(
        key="void",
        word="not run",
        means="The API that the client speaks has no such error.",
    ),
    Look(
        key="",
        word="attempt",
        means="One request of the client to the provider. The first request is attempt 1.",
    ),
    Look(
        key="",
        word="wait",
        means="The time between the instant at which the client could know of a failure and its "
        "next attempt.",
    ),
    Look(
        key="",
        word="Retry-After obeyed",
        means="Of the waits before which the provider sent Retry-After with whole seconds: how "
        "many lasted at least that long (or as long as retry-after-ms, where it was sent, too).",
    ),
)
