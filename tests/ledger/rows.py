"""The lines of the ledger: three digests of each run by each model that judges it.

The digests answer three questions apart: is the trace the same, are the findings the same, and are
they in the same words?
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from faultclock.model.finding import Finding
from faultclock.model.trace import Trace, trace_digest
from faultclock.oracle.history import History
from faultclock.oracle.judge import Judge, SeedsJudge
from tests.ledger.plays import Played, model_of

__all__ = ["COLUMNS", "Row", "digest_of", "rows_of"]

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


@cache
def _judge(model: str) -> Judge:
    return Judge(model_of(model))


def rows_of(all_played: Iterable[Played]) -> Iterator[Row]:
    """Judge everything that was played, and yield a row for each model and each group of seeds."""
    groups: dict[tuple[str, str], SeedsJudge] = {}
    for played in all_played:
        trace, history = _trace_digest(played.trace), History(played.trace)
        for model in played.models:
            yield _row(played.label, model, trace, _judge(model).judge(history).findings)
            if played.group is not None:
                key = (f"{played.group} all seeds", model)
                groups.setdefault(key, SeedsJudge(model_of(model))).add(played.trace)
    for (label, model), group in groups.items():
        if found := group.findings():
            yield _row(label, model, "", found)


def _trace_digest(trace: Trace) -> str:
    # Another version of Python makes no other run.
    header = trace.header.model_copy(update={"versions": {}})
    footer = trace.footer
    ending = json.dumps([footer.ending, footer.detail, footer.ended_at_ns])
    return digest_of([trace_digest(header, trace.events), ending])


def _row(label: str, model: str, trace: str, findings: Iterable[Finding]) -> Row:
    facts: list[tuple[str, str]] = []
    for item in findings:
        what = [item.check, item.requirement, item.verdict, item.call, item.events, item.judged]
        said = [item.expected, item.observed, item.hint, item.reason]
        facts.append((_line(what), _line([item.check, *said, *_steps(item)])))
    facts.sort()
    return Row(
        label=label,
        model=model,
        trace=trace,
        findings=tuple(what for what, _ in facts),
        words=tuple(said for _, said in facts),
    )


def _steps(finding: Finding) -> Iterator[Mapping[str, Any]]:
    return (step.model_dump(mode="json") for step in finding.order)


def _line(values: list[Any]) -> str:
    return json.dumps(values, separators=(",", ":"))
