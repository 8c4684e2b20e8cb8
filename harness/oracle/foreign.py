"""What the log of another system can show: it has what a system said, and nothing that we saw.

A check that needs more is not applicable, and says what is missing; it never passes for lack of
evidence.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.error_model import ErrorModel
from harness.model.foreign_map import ForeignLog
from harness.model.ordering import OrderingRule, event_refs, resolved
from harness.oracle.audience import channel_kind

__all__ = ["cannot_judge"]

_ORDERING, _AUDIENCE = "ordering.", "audience."
#: Checks that read nothing but what they name here.
_READS = {"backoff.declared": "declared.retry", "evidence.whole": "call.started"}


def cannot_judge(check_id: str, model: ErrorModel, log: ForeignLog) -> str:
    """Return why a check says nothing of a foreign log; empty when it can be judged."""
    missing = ""
    if check_id.startswith(_ORDERING):
        rule = next(rule for rule in model.ordering if rule.id == check_id[len(_ORDERING) :])
        if (rule.within, rule.no_sooner) != (None, None) and not log.timed:
            return "the events of the log have no times"
        missing = next((kind for kind in _kinds(rule, model) if kind not in log.kinds), "")
    elif check_id.startswith(_AUDIENCE):
        kind = channel_kind(check_id[len(_AUDIENCE) :])
        missing = kind if kind not in log.kinds else ""
    elif check_id in _READS:
        missing = _READS[check_id] if _READS[check_id] not in log.kinds else ""
    else:
        return "the log has what a system said of itself, and this needs what the world observed"
    return missing and f"the log, as it is mapped, shows nothing of the kind {missing}"


def _kinds(rule: OrderingRule, model: ErrorModel) -> Iterator[str]:
    for ref in event_refs(rule):
        for _, pattern in resolved(ref, model.events):
            yield from pattern.kinds
