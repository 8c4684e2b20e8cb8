"""Probes: the questions of the battery, each a scenario with one call and a seed.

A question is asked in the plainest world that can answer it: one call, one fault, no latency that
would blur a wait, and more virtual time than any wait that is worth asking about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from faultclock.load.payloads import load_payloads
from faultclock.model.duration import SECOND_NS, format_duration
from faultclock.model.scenario.fault import HttpError
from faultclock.model.scenario.scenario import Role, Scenario, scenario_of
from faultclock.profile.infer.kinds import Kind, payloads_for

#: A failure that never goes away is one for so many attempts; what still asks then asks for ever,
#: as far as the battery can tell.
ATTEMPTS_ASKED = 64
#: The deadline of an attempt that the client is asked to use.
TIMEOUT_NS = 30 * SECOND_NS
_VIRTUAL_TIME = "9600h"
_EVENTS = 60_000
_NO_NAME = re.compile(r"[^A-Za-z0-9=.]+")


class Probe(Struct, frozen=True, kw_only=True):
    """One run that is to be made.

    Attributes:
        name: of its trace; unique within a battery.
        asks: what it is to find out.
    """

    name: str
    asks: str
    scenario: Scenario
    seed: int = 0

    @property
    def has_foreign_status(self) -> bool:
        """Whether the provider answers with a status that neither HTTP nor its API has."""
        provider = self.scenario.provider
        faults = (rule.then for rule in provider.faults)
        asked = {fault.status for fault in faults if isinstance(fault, HttpError)}
        payloads = load_payloads(provider.dialect) if provider.dialect else {}
        own = {payload.status for payload in payloads.values()}
        return not asked <= {*HTTPStatus, *own}


class Asker(Struct, frozen=True):
    """Makes probes for subjects of one role and dialect."""

    role: Role
    dialect: str

    def persistent(self, kind: Kind, seed: int = 0) -> Probe:
        """Return the question what becomes of a failure that never goes away."""
        return self._probe(
            f"{kind.id}/seed-{seed}",
            f"{kind.title}, every time",
            kind,
            seed=seed,
            attempts=f"1-{ATTEMPTS_ASKED}",
        )

    def hinted(self, kind: Kind, slug: str, headers: Mapping[str, Any], *, seed: int = 0) -> Probe:
        """Return the question what a client makes of headers that come with one failure."""
        shown = ", ".join(f"{name}: {_shown(value)}" for name, value in headers.items())
        return self._probe(
            f"{kind.id}/{slug}/seed-{seed}",
            f"{kind.title}, once, with {shown}",
            kind,
            seed=seed,
            attempts="1",
            fault={"headers": dict(headers)},
        )

    def once(self, kind: Kind) -> Probe:
        """Return the question what becomes of a failure that is gone with the next attempt."""
        return self._probe(f"{kind.id}/once", f"{kind.title}, once", kind, attempts="1")

    def slow(self, kind: Kind, think_ns: int) -> Probe:
        """Return the question what becomes of a failure that takes its time."""
        return self._probe(
            f"{kind.id}/after-{think_ns // 1_000_000}ms",
            f"{kind.title}, every time after {think_ns / SECOND_NS:g} s",
            kind,
            attempts=f"1-{ATTEMPTS_ASKED}",
            provider={"think_time": format_duration(think_ns)},
        )

    def timed(self, kind: Kind, timeout_ns: int) -> Probe:
        """Return the question whether a deadline that is asked for is kept."""
        return self._probe(
            f"{kind.id}/deadline-{timeout_ns // SECOND_NS}s",
            f"{kind.title}, with a deadline of {timeout_ns // SECOND_NS} s",
            kind,
            attempts=f"1-{ATTEMPTS_ASKED}",
            task={"timeout": format_duration(timeout_ns)},
        )

    def _probe(
        self,
        name: str,
        asks: str,
        kind: Kind,
        *,
        attempts: str,
        seed: int = 0,
        fault: Mapping[str, Any] | None = None,
        provider: Mapping[str, Any] | None = None,
        task: Mapping[str, Any] | None = None,
    ) -> Probe:
        payloads = payloads_for(self.dialect)
        rule = {
            "id": "asked",
            "when": {"attempts": attempts},
            "then": {**kind.fault, **(fault or {})},
        }
        used = str(rule["then"].get("error", ""))  # type: ignore[attr-defined]
        scenario = scenario_of(
            {
                "id": f"infer/{kind.id}",
                "title": asks[:1].upper() + asks[1:],
                "why": "A failure by itself, to see what the client does about it.",
                "role": self.role,
                "provider": {
                    "dialect": self.dialect,
                    "payloads": {used: payloads[used]} if used else {},
                    "faults": [rule],
                    **(provider or {}),
                },
                "tasks": [
                    {
                        "id": "ask",
                        "stream": kind.stream,
                        "do": "turn" if self.role == "runtime" else "call",
                        "timeout": format_duration(TIMEOUT_NS),
                        **(task or {}),
                    }
                ],
                "limits": {"virtual_time": _VIRTUAL_TIME, "events": _EVENTS},
            }
        )
        return Probe(name=name, asks=asks, scenario=scenario, seed=seed)


def trace_file_name(name: str) -> str:
    """Return the name of the file that the trace of a probe is stored in."""
    return f"{_NO_NAME.sub('-', name)}.jsonl"


def _shown(value: Any) -> str:
    """Return the value of a header in words; a date is said by its distance."""
    return f"a date {value['http_date']} away" if isinstance(value, Mapping) else str(value)
