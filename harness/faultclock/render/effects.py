"""The effects of tools in one run, as rows of a table: what was done, beside what was said."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from faultclock.model.report.finding import EventMark, RunReport
from faultclock.model.trace.events import ends_of


class EffectRow(Struct, frozen=True, kw_only=True):
    """One effect.

    Attributes:
        life: 1-based life of the subject in which it happened.
        count: how often this effect had happened by then, itself included.
        reply: what the tool said of the execution that did it.
    """

    seq: int
    at_ns: int
    tool: str
    tool_call: str
    life: int
    count: int
    reply: str

    @property
    def again(self) -> bool:
        """Whether it had happened before."""
        return self.count > 1


def effect_rows(run: RunReport) -> tuple[EffectRow, ...]:
    """Return a row for each effect among the events of `run`, in their order."""
    return tuple(_rows(run))


def _rows(run: RunReport) -> Iterator[EffectRow]:
    replies = {
        str(mark.payload.get("execution")): _said(mark)
        for mark in run.timeline
        if mark.kind in ends_of("tool.called")
    }
    for mark in run.timeline:
        if mark.kind != "tool.effect":
            continue
        payload = mark.payload
        yield EffectRow(
            seq=mark.seq,
            at_ns=mark.at_ns,
            tool=str(payload.get("tool")),
            tool_call=str(payload.get("tool_call")),
            life=int(payload.get("life") or 1),
            count=int(payload.get("count") or 1),
            reply=replies.get(str(payload.get("execution")), "nothing: it was killed"),
        )


def _said(mark: EventMark) -> str:
    payload = mark.payload
    match mark.kind:
        case "tool.raised":
            return f"nothing: {payload.get('type')} left it"
        case "tool.stopped":
            return "nothing: it was stopped"
        case "tool.put_off":
            return "nothing: it asked a person"
        case "tool.unfinished":
            return "nothing, ever"
    if not payload.get("ok"):
        return f"{payload.get('class')}/{payload.get('code')}"
    return "done in part" if payload.get("partial") else "done"
