"""Other values that a field could have: of the same type, seen elsewhere, made up, or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]

#: A text that no subject of its own says.
OTHER_TEXT = "mutant"
#: What no audience should see, all at once: a secret, a stack, a path and the name of a class.
LEAK = (
    "sk-simulated-0123456789abcdef0123 KeyError: 'x'\nTraceback (most recent call last):\n"
    '  File "/srv/agent/main.py", line 7, in run'
)
#: Values that were seen elsewhere, of each field.
_SEEN_MAX = 2


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each value below `value` that is no object, and each list, with its path.

    Of a list only the first item is gone into: the others are of its kind.
    """
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from leaves(value[name], (*path, name))
        return
    yield path, value
    if isinstance(value, list | tuple) and value:
        yield from leaves(value[0], (*path, 0))


def others(values: Iterable[Any], *, is_message: bool) -> Iterator[Any]:
    """Yield constants to put in the place of values that were seen at one path.

    Args:
        values: JSON values.
        is_message: whether the field holds words for somebody.
    """
    seen = sorted({json.dumps(value, sort_keys=True) for value in values})
    made: dict[str, None] = {}
    if len(seen) > 1:
        # A value replaces every other one, so two of them change every event.
        made |= dict.fromkeys(seen[:_SEEN_MAX])
    kinds = {type(json.loads(text)) for text in seen}
    if bool in kinds:
        made |= dict.fromkeys(("false", "true"))
    if str in kinds:
        made |= {json.dumps(OTHER_TEXT): None, '""': None}
        if is_message:
            made[json.dumps(LEAK)] = None
    if list in kinds:
        made["[]"] = None
    if int in kinds:
        made["0"] = None
    made["null"] = None
    for text in made:
        if seen != [text]:
            yield json.loads(text)


def value_at(value: Any, path: Path) -> Any:
    """Return what stands at a path; None where nothing does."""
    for name in path:
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list | tuple) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return None
    return value


def with_value(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of `value` with `new` at a path; the same where the path leads nowhere."""
    if not path:
        return new
    name, *rest = path
    if isinstance(value, Mapping) and name in value:
        return {**value, name: with_value(value[name], tuple(rest), new)}
    if isinstance(value, list | tuple) and isinstance(name, int) and name < len(value):
        inner = with_value(value[name], tuple(rest), new)
        return [*value[:name], inner, *value[name + 1 :]]
    return value


def without(value: Any, path: Path) -> Any:
    """Return a copy of `value` without the member at a path."""
    *above, name = path
    holder = value_at(value, tuple(above))
    if not isinstance(holder, Mapping) or name not in holder:
        return value
    return with_value(value, tuple(above), {key: holder[key] for key in holder if key != name})


def digest(text: str) -> str:
    """Return the SHA-256 (hex) of a text, which may hold half a character."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
