"""The nodes of a located tree, its limits, and what goes wrong at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, field

from faultclock.errors import Problem, SourceError


class Limits(Struct, frozen=True, kw_only=True):
    """What a text may have at most, so that no file exhausts memory, time or the stack.

    Attributes:
        bytes_max: of the file.
        depth_max: collections within each other.
        nodes_max: values, with all aliases written out.
        digits_max: characters of one number. Python reads a long one in quadratic time.
    """

    bytes_max: int
    depth_max: int
    nodes_max: int
    digits_max: int


#: Files for Faultclock: the largest of ours is a tenth as large, and scenarios nest eight deep.
OURS = Limits(bytes_max=1_000_000, depth_max=64, nodes_max=2_000_000, digits_max=40)
#: Recordings: a HAR of a long afternoon is smaller. They nest ten deep; their bodies are texts.
RECORDINGS = Limits(bytes_max=64_000_000, depth_max=150, nodes_max=2_000_000, digits_max=400)

# YAML 1.2.2, section 5.1: what no stream may hold. A byte order mark is allowed at the start only.
# A set of what it may hold takes `re` ten times as long to compile.
NOT_PRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
)

ScalarValue = str | bytes | int | float | bool | None


class Place(NamedTuple):
    """A 1-based line and column, in characters."""

    line: int
    column: int


class Scalar(Struct, frozen=True):
    """A value without parts.

    Attributes:
        written: the value as the file spells it, where YAML has it without quotes; else None.
    """

    place: Place
    value: ScalarValue
    written: str | None = None


class Sequence(Struct, frozen=True):
    """A list of nodes; `whole` is False where the text ends inside it."""

    place: Place
    items: list[Node] = field(default_factory=list)
    whole: bool = True


class Mapping(Struct, frozen=True):
    """Nodes by key; `keys` holds where each key stands; `whole` as in Sequence.

    The first of two equal keys counts.
    """

    place: Place
    values: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)
    whole: bool = True


Node = Scalar | Sequence | Mapping


class NotReadableError(Exception):
    """A text breaks the rules of its format at `place`; the rest of it cannot be read."""

    def __init__(self, place: Place, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.message = message
        self.hint = hint


def to_data(node: Node) -> object:
    """Return the plain dict, list or scalar of a node. Its depth is bounded."""
    if isinstance(node, Mapping):
        return {key: to_data(value) for key, value in node.values.items()}
    if isinstance(node, Sequence):
        return [to_data(item) for item in node.items]
    return node.value


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes right below a node."""
    if isinstance(node, Mapping):
        yield from node.values.values()
    elif isinstance(node, Sequence):
        yield from node.items


def nested_too_deep(place: Place, limits: Limits) -> NotReadableError:
    """Return what says that the collection at `place` has too many around it."""
    return NotReadableError(place, f"this is nested more than {limits.depth_max} deep")


def check_depth(root: Node, limits: Limits) -> None:
    """Check a tree that was read without a bound.

    Raises:
        NotReadableError: it is nested too deep.
    """
    level: list[Node] = [root]
    for _ in range(limits.depth_max):
        level = [below for node in level for below in children(node)]
    for node in level:
        if not isinstance(node, Scalar):
            raise nested_too_deep(node.place, limits)


def place_after(before: str) -> Place:
    """Return the place that follows the text `before`."""
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def problem_at(place: Place, path: str, message: str, hint: str | None = None) -> Problem:
    """Return a Problem of the file `path` at `place`."""
    return Problem(path=path, line=place.line, column=place.column, message=message, hint=hint)


def refused(place: Place, path: str, message: str, hint: str | None = None) -> SourceError:
    """Return the error of a file with one problem."""
    return SourceError((problem_at(place, path, message, hint),))
