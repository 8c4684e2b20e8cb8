"""YAML text to a tree in which every value knows its line and column.

The reader accepts what a scenario needs and refuses the rest by name: scalars as YAML 1.2's core
schema reads them (`no` is a text, `010` is ten, `12:30` is a text), keys that are texts and
unique, one document, no tags, no anchors (so that no alias can multiply). It builds the tree from
parser events without recursion, because a file of brackets must not exhaust the stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from faultclock.errors import Problem, SourceError
from faultclock.load.yaml_words import ScalarValue, plain_value, shortened, syntax_words

#: Scenarios nest about eight deep. The bound keeps recursive readers of the tree safe.
_DEPTH_MAX = 64


@dataclass(frozen=True, slots=True)
class Place:
    """A 1-based line and column."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts."""

    place: Place
    value: ScalarValue


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of nodes."""

    place: Place
    items: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mapping:
    """Nodes by key; `keys` holds where each key stands."""

    place: Place
    keys: dict[str, Place] = field(default_factory=dict)
    values: dict[str, Node] = field(default_factory=dict)


Node = Scalar | Sequence | Mapping


def parse_tree(text: str, path: str) -> Mapping:
    """Return the tree of the only document in `text`; `path` is for messages.

    Raises:
        SourceError: it is not such a document; all problems that can be separated are in it.
    """
    builder = _Builder(path)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except _RefusedError:
        pass
    except yaml.MarkedYAMLError as error:
        builder.syntax_error(error, text)
    except yaml.YAMLError as error:
        # No position: the C reader met bytes that `_printable` let through.
        builder.refuse(Place(1, 1), f"this is not YAML: {error}")
    if not builder.problems and not isinstance(builder.root, Mapping):
        builder.refuse_root()
    if builder.problems:
        raise SourceError(tuple(builder.problems))
    assert isinstance(builder.root, Mapping)
    return builder.root


def to_data(node: Node) -> object:
    """Return the plain dict, list or scalar of a node."""
    if isinstance(node, Mapping):
        return {key: to_data(value) for key, value in node.values.items()}
    if isinstance(node, Sequence):
        return [to_data(item) for item in node.items]
    return node.value


class _RefusedError(Exception):
    """The rest of the text cannot be read sensibly; the problem is noted already."""


class _Builder:
    """Folds parser events into a tree and notes what is refused."""

    def __init__(self, path: str) -> None:
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self._path = path
        self._documents = 0
        self._open: list[Sequence | Mapping] = []
        #: The key that waits for its value, for each open collection.
        self._keys: list[str | None] = []

    def refuse(self, place: Place, message: str, hint: str | None = None) -> None:
        self.problems.append(
            Problem(
                path=self._path, line=place.line, column=place.column, message=message, hint=hint
            )
        )

    def refuse_root(self) -> None:
        if self.root is None or (isinstance(self.root, Scalar) and self.root.value is None):
            self.refuse(Place(1, 1), "the file is empty", "it should hold `key: value` lines")
        else:
            found = "a list" if isinstance(self.root, Sequence) else "a single value"
            self.refuse(
                self.root.place, f"the file holds {found}", "it should hold `key: value` lines"
            )

    def syntax_error(self, error: yaml.MarkedYAMLError, text: str) -> None:
        mark = error.problem_mark or error.context_mark
        place = Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)
        message, hint = syntax_words(error, text)
        self.refuse(place, message, hint)

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.refuse(
                    _place(event),
                    "a second document begins here",
                    "a file holds one document: remove the `---` or make two files",
                )
                raise _RefusedError
        elif isinstance(event, NodeEvent):
            self._take_node(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._open.pop()
            self._keys.pop()

    def _take_node(self, event: NodeEvent) -> None:
        place = _place(event)
        self._check_plain(event, place)
        collection = self._open[-1] if self._open else None
        if isinstance(collection, Mapping) and self._keys[-1] is None:
            self._take_key(event, place, collection)
            return
        node = self._node(event, place)
        if collection is None:
            self.root = node
        elif isinstance(collection, Sequence):
            collection.items.append(node)
        else:
            key = self._keys[-1]
            assert key is not None
            # The first of two equal keys stays; the second is in the problems.
            collection.values.setdefault(key, node)
            self._keys[-1] = None
        if not isinstance(node, Scalar):
            self._open.append(node)
            self._keys.append(None)
            if len(self._open) > _DEPTH_MAX:
                self.refuse(place, f"this is nested more than {_DEPTH_MAX} deep")
                raise _RefusedError

    def _check_plain(self, event: NodeEvent, place: Place) -> None:
        if event.anchor is not None:
            sign = "*" if isinstance(event, AliasEvent) else "&"
            what = "alias" if sign == "*" else "anchor"
            self.refuse(
                place,
                f"the {what} `{sign}{event.anchor}` is not allowed here",
                "write the value out; a text that begins with & or * needs quotes",
            )
            raise _RefusedError
        tag = getattr(event, "tag", None)
        if tag is not None:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            self.refuse(
                place,
                f"the tag `{shown}` is not allowed here",
                "remove it; a text that begins with ! needs quotes",
            )
            raise _RefusedError

    def _take_key(self, event: NodeEvent, place: Place, mapping: Mapping) -> None:
        if not isinstance(event, ScalarEvent):
            self.refuse(place, "a key is a text, not a list or a mapping")
            raise _RefusedError
        key = str(event.value)
        first = mapping.keys.setdefault(key, place)
        if first is not place:
            self.refuse(
                place,
                f"the key `{shortened(key)}` is here twice: it stands on line {first.line} already",
                f"remove line {first.line} or line {place.line}",
            )
        self._keys[-1] = key

    def _node(self, event: NodeEvent, place: Place) -> Node:
        if isinstance(event, MappingStartEvent):
            return Mapping(place)
        if isinstance(event, SequenceStartEvent):
            return Sequence(place)
        assert isinstance(event, ScalarEvent)
        if event.style is not None and event.style != "":
            return Scalar(place, str(event.value))
        try:
            return Scalar(place, plain_value(str(event.value)))
        except ValueError as error:
            self.refuse(place, str(error))
            return Scalar(place, None)


def _place(event: yaml.Event) -> Place:
    mark = event.start_mark
    assert mark is not None
    return Place(mark.line + 1, mark.column + 1)
