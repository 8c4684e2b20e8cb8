"""Joins: which two events are equal in the fields that a rule names.

Each event gets keys. Two events are joined if they share one, so a dictionary leads from an event
to those that it is joined with, however many others there are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from typing import Any

from faultclock.model.error_model.ordering import FieldPair
from faultclock.oracle.rules.match import field_of, is_absent

#: One token for each field. A rule without a join has one key, and all its events share it.
Key = tuple[object, ...]

#: Two fields that may be missing: "I have none" meets "I need none".
_EVENT_LACKS, _OTHER_LACKS = "event", "other"


class Join:
    """The fields of one rule that have to be equal.

    A list has each of its items as a value: two events agree in a field if they share one. An empty
    list is as good as no field.
    """

    def __init__(self, pairs: tuple[FieldPair, ...]) -> None:
        self.pairs = pairs

    def keys_of_event(self, payload: Mapping[str, Any]) -> tuple[Key, ...]:
        """Return the keys of an `event`; none where it lacks a field that it needs."""
        return tuple(product(*(_tokens_of_event(pair, payload) for pair in self.pairs)))

    def keys_of_other(self, payload: Mapping[str, Any]) -> tuple[Key, ...]:
        """Return the keys of an `other`; none where it lacks a field that it needs."""
        return tuple(product(*(_tokens_of_other(pair, payload) for pair in self.pairs)))

    def group_of(self, payload: Mapping[str, Any]) -> Key | None:
        """Return what an event has in all the fields together; None where it lacks one."""
        values = [field_of(payload, pair.event) for pair in self.pairs]
        return None if any(map(is_absent, values)) else tuple(map(_token, values))

    def names(self) -> str:
        """Return the fields in words, empty for none."""
        named = [pair.other.rpartition(".")[2] for pair in self.pairs]
        return f"the same {' and '.join(named)}" if named else ""

    def differences(self, event: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        """Return in words in which fields two events that are not joined differ."""
        parts = []
        for pair in self.pairs:
            if {*_tokens_of_event(pair, event)} & {*_tokens_of_other(pair, other)}:
                continue
            seen, wanted = field_of(other, pair.other), field_of(event, pair.event)
            parts.append(f"{pair.other} {_shown(seen)} and not {_shown(wanted)}")
        return ", ".join(parts)


def _tokens_of_event(pair: FieldPair, payload: Mapping[str, Any]) -> tuple[object, ...]:
    found = _tokens(field_of(payload, pair.event))
    lacks = (_EVENT_LACKS,) if pair.free_event and not found else ()
    return (*found, *lacks, *((_OTHER_LACKS,) if pair.free_other else ()))


def _tokens_of_other(pair: FieldPair, payload: Mapping[str, Any]) -> tuple[object, ...]:
    found = _tokens(field_of(payload, pair.other))
    lacks = (_OTHER_LACKS,) if pair.free_other and not found else ()
    return (*found, *lacks, *((_EVENT_LACKS,) if pair.free_event else ()))


def _tokens(value: object) -> tuple[object, ...]:
    if is_absent(value):
        return ()
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(map(_token, value)))
    return (_token(value),)


def _token(value: object) -> object:
    # True equals 1 in Python; in a trace they are different facts.
    if isinstance(value, str | int | float | None):
        return (type(value), value)
    return json.dumps(value, sort_keys=True, default=str)


def _shown(value: object) -> str:
    return "(none)" if is_absent(value) else str(value)
