"""What an operator does with the events that a reference declares.

An `Editor` sits where the events of one subject pass. It knows nothing of the reference: an event
is a name and fields, and the editor says which events follow in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from faultclock.mutants.paths import constant, holds, left_out, value_at, with_value
from faultclock.mutants.row import AtEvent, Double, Drop, Move, SetEvent

Fields = dict[str, Any]
EventOperator = Drop | Double | Move | SetEvent


class Editor:
    """The operators on the events of one subject.

    Args:
        operators: each applies to what those before it have left.
        put: hands an event on.
    """

    def __init__(
        self, operators: Iterable[EventOperator], put: Callable[[str, Fields], None]
    ) -> None:
        self._operators = tuple(operators)
        self._put = put
        self._held: dict[int, list[tuple[str, Fields]]] = {}

    def pass_on(self, name: str, fields: Mapping[str, Any]) -> None:
        """Hand on what an event has become."""
        events = [(name, dict(fields))]
        for place, operator in enumerate(self._operators):
            events = [
                changed for event in events for changed in self._changed(place, operator, *event)
            ]
        for event in events:
            self._put(*event)

    def _changed(
        self, place: int, operator: EventOperator, name: str, fields: Fields
    ) -> list[tuple[str, Fields]]:
        if isinstance(operator, Move) and name == operator.until:
            held = self._held.pop(place, [])
            own = [(name, fields)]
            return [*own, *held] if operator.behind else [*held, *own]
        if not _concerns(operator, name, fields):
            return [(name, fields)]
        if isinstance(operator, Drop):
            return []
        if isinstance(operator, Double):
            return [(name, fields), (operator.named or name, fields)]
        if isinstance(operator, Move):
            self._held.setdefault(place, []).append((name, fields))
            return []
        return [(operator.named or name, _with_other_fields(operator, fields))]


def _concerns(operator: AtEvent, name: str, fields: Fields) -> bool:
    if operator.event not in (None, name):
        return False
    return all(holds(wanted, value_at(fields, path)) for path, wanted in operator.where.items())


def _with_other_fields(operator: SetEvent, fields: Fields) -> Fields:
    for path in operator.less:
        fields = left_out(fields, path)
    for path, new in operator.set.items():
        fields = with_value(fields, path, constant(new))
    return fields
