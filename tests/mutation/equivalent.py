"""The list of mutants that nothing can kill."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.operators import Mutant

FILE = Path(__file__).with_name("equivalent.txt")
_ENTRY = re.compile(
    r"(?P<operator>\w+) in (?P<function>\S*)\n- (?P<before>.*)\n\+ (?P<after>.*)\nwhy: (?P<why>.+)"
)

#: Operator, function, the line before and the line after.
Key = tuple[str, str, str, str]


def key_of(mutant: Mutant) -> Key:
    """Return by what the list names a mutant."""
    return mutant.operator, mutant.function or "module", *mutant.shown()


def entry_of(mutant: Mutant) -> str:
    """Return the entry of a mutant, up to its reason."""
    operator, function, before, after = key_of(mutant)
    return f"{operator} in {function}\n- {before}\n+ {after}"


def read_equivalent(path: Path) -> dict[Key, str]:
    """Return the reason of each entry.

    Raises:
        ValueError: an entry does not have the four lines.
    """
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    found: dict[Key, str] = {}
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        if block:
            entry = _ENTRY.fullmatch(block)
            if entry is None:
                raise ValueError(f"{path.name}: an entry needs four lines:\n{block}")
            operator, function, before, after, why = entry.groups()
            found[operator, function, before, after] = why
    return found


def may_hold(source: str, entry: Key) -> bool:
    """Return whether the function of an entry can stand in a module."""
    function = entry[1].rpartition(".")[2]
    return function == "module" or re.search(rf"(def|class) {function}\b", source) is not None


def stale(entries: Iterable[Key], made: Iterable[Mutant]) -> list[Key]:
    """Return the entries that fit none of the mutants that can be made."""
    left = set(entries)
    places = {entry[:2] for entry in left}
    for mutant in made:
        if (mutant.operator, mutant.function or "module") in places:
            left.discard(key_of(mutant))
    return sorted(left)
