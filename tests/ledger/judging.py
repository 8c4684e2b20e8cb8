"""What the oracle says of what was played, as rows of the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from faultclock.model.report.finding import Finding
from faultclock.model.trace.trace import Trace, trace_digest
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import Judge, SeedsJudge
from tests.ledger.rows import Row, digest_of
from tests.ledger.units import Played, model_of


@cache
def _judge(model: str) -> Judge:
    return Judge(model_of(model))


def rows_of(all_played: Iterable[Played], *, digest_traces: bool = True) -> Iterator[Row]:
    """Judge everything that was played, and yield a row for each model and each group of seeds.

    Args:
        digest_traces: False leaves the digests of the traces empty.
    """
    groups: dict[tuple[str, str], SeedsJudge] = {}
    for played in all_played:
        trace = _trace_digest(played.trace) if digest_traces else ""
        history = History(played.trace)
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
