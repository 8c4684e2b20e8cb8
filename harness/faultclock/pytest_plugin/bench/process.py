"""Runs scenarios for another process: the other side of `client`.

It answers one question after the other, as `faultclock run` would in this process, and ends with
the process that asks. Every fault of a person's files is an answer too.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from faultclock.errors import HarnessError, InternalError
from faultclock.pytest_plugin.bench.values import (
    Ask,
    CheckBaseline,
    Collect,
    Play,
    Refused,
    Run,
    Settings,
)
from faultclock.pytest_plugin.bench.wire import receive, send
from faultclock.run.process.lifeline import end_with

_INTERRUPTED = 130


def main(descriptor: int, parent: int) -> None:
    """Answer what comes over the socket `descriptor` until it is closed.

    Args:
        parent: id of the process that asks; this one ends with it.
    """
    end_with(parent)
    with socket.socket(fileno=descriptor) as wire, suppress(EOFError, BrokenPipeError):
        try:
            answers = _Answers(receive(wire))
            while True:
                question = receive(wire)
                send(wire, answers(question))
                sys.stdout.flush()
        except KeyboardInterrupt:
            # The person interrupted the process that asks, which says so.
            os._exit(_INTERRUPTED)


class _Answers:
    """Answers questions; what is opened first is opened with the first of them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._judging: Mapping[type[Any], Any] | None = None

    def __call__(self, question: Ask) -> Any:
        try:
            return self._answer(question)
        except InternalError as error:
            return _our_fault(error)
        except HarnessError as error:
            return Refused(text=str(error))
        except Exception as error:  # noqa: BLE001 - it is shown; a dead process could not say it
            return _our_fault(error)
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()

    def _answer(self, question: Ask) -> Any:
        judging = self._judging or self._opened()
        return judging[type(question)](question)

    def _opened(self) -> Mapping[type[Any], Any]:
        known = set(sys.path)
        sys.path += [place for place in self._settings.path if place not in known]

        from faultclock.pytest_plugin.bench.judging import Judging

        judging = Judging(self._settings)
        self._judging = {
            Collect: judging.collected,
            Run: judging.ran,
            CheckBaseline: judging.baseline_checked,
            Play: judging.played,
        }
        return self._judging


def _our_fault(error: Exception) -> Refused:
    shown = "".join(traceback.format_exception(error)).rstrip()
    text = (
        f"internal error: {type(error).__name__}: {error}\n"
        "  This is a bug in Faultclock. Please report it with what stands below.\n\n"
        f"{shown}"
    )
    return Refused(text=text, ours=True)
