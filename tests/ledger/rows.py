"""The lines of the ledger: three digests of each run by each model that judges it.

The digests answer three questions apart: is the trace the same, are the findings the same, and are
they in the same words?
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

#: What is compared, and what a difference in it means.
COLUMNS = ("trace", "findings", "words")
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run as one model judges it, or a group of seeds (then without a trace).

    Attributes:
        label: what was played; see `Played`.
        trace: digest of its events and of what they are about; empty for a group of seeds.
        findings: one line each: check, requirement, verdict, call and events.
        words: one line each: what was expected, what was observed, and what else is said.
    """

    label: str
    model: str
    trace: str
    findings: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What no other row of its unit has."""
        return self.label, self.model

    def digests(self) -> tuple[str, ...]:
        """Return one digest for each of COLUMNS."""
        return self.trace, digest_of(self.findings), digest_of(self.words)

    def dumped(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps([self.label, self.model, self.trace, self.findings, self.words])

    @classmethod
    def read(cls, line: str) -> Row:
        """Return what `dumped` wrote."""
        label, model, trace, findings, words = json.loads(line)
        return cls(
            label=label, model=model, trace=trace, findings=tuple(findings), words=tuple(words)
        )


def digest_of(lines: Iterable[str]) -> str:
    """Return the first digits of the digest of some lines."""
    whole = hashlib.sha256()
    for line in lines:
        whole.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return whole.hexdigest()[:_DIGITS]
