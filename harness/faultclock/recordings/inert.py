"""YAML and JSON of strangers to a tree of plain values, each with its line and column.

Nothing is ever constructed: a tag such as `!!python/object/apply:os.system` becomes a note, and
what it was put on becomes the texts, lists and tables that it is written as. Anchors are allowed,
because recorders write them, but what they expand to is counted, so that no alias multiplies. The
tree is built without recursion, and a text that ends in the middle gives what was whole before.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from faultclock.errors import Problem, SourceError
from faultclock.recordings.exchange import Oddities, OddityKind, Spot
from faultclock.recordings.inert_json import JsonEvents, JsonSyntaxError

#: A recording nests about ten deep; its bodies are texts.
_DEPTH_MAX = 150
#: Nodes that a file may have with all aliases written out.
_NODES_MAX = 2_000_000

_YAML_TAG = "tag:yaml.org,2002:"
_RESOLVER, _CONSTRUCTOR = yaml.resolver.Resolver(), yaml.constructor.SafeConstructor()
_MADE: dict[str, Callable[[yaml.ScalarNode], object]] = {
    _YAML_TAG + "bool": _CONSTRUCTOR.construct_yaml_bool,
    _YAML_TAG + "float": _CONSTRUCTOR.construct_yaml_float,
    _YAML_TAG + "int": _CONSTRUCTOR.construct_yaml_int,
    _YAML_TAG + "null": _CONSTRUCTOR.construct_yaml_null,
}
_SCALAR_TAGS = frozenset({"bool", "float", "int", "null", "str", "timestamp"})
# YAML 1.2.2, section 5.1: what a stream may hold.
_NOT_PRINTABLE = re.compile(
    r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

Scalar = str | bytes | int | float | bool | None


@dataclass(slots=True)
class Leaf:
    """A value without parts."""

    spot: Spot
    value: Scalar
    size: int = 1
    #: As it is written, where it is not in quotes: `1e3` may be meant as a text.
    raw: str | None = None


@dataclass(slots=True)
class Items:
    """A list; `whole` is False where the text ended inside it."""

    spot: Spot
    items: list[Node] = field(default_factory=list)
    tag: str | None = None
    whole: bool = True
    size: int = 1


@dataclass(slots=True)
class Table:
    """Nodes by key; of two equal keys the first stays. `whole` as in Items."""

    spot: Spot
    entries: dict[str, Node] = field(default_factory=dict)
    tag: str | None = None
    whole: bool = True
    size: int = 1


Node = Leaf | Items | Table


def parse(content: bytes, path: str, oddities: Oddities) -> Table | Items:
    """Return the tree of a JSON or YAML text; what is odd about it goes to `oddities`.

    Args:
        path: for messages.

    Raises:
        SourceError: nothing of it can be read, or its aliases multiply.
    """
    text = _decoded(content, oddities)
    builder = _Builder(path, oddities)
    if text.lstrip()[:1] in ("{", "["):
        if builder.fed_json(text):
            return builder.result()
        # It may be YAML in flow style: what JSON makes of it is then forgotten.
        apart = Oddities()
        again = _Builder(path, apart)
        if again.fed_yaml(_printable(text, apart)):
            oddities.absorb(apart)
            return again.result()
        return builder.told_cut()
    if builder.fed_yaml(_printable(text, oddities)):
        return builder.result()
    return builder.told_cut()


def plain(node: Node) -> Any:
    """Return the plain value of a node: dict, list or scalar. Its depth is bounded."""
    if isinstance(node, Table):
        return {key: plain(value) for key, value in node.entries.items()}
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return node.value


def _decoded(content: bytes, oddities: Oddities) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        oddities.note(OddityKind.NOT_UTF8, Spot(1, 1), "the file is UTF-16, and is read as that")
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        spot = _spot_after(content[: error.start].decode("utf-8", "replace"))
        oddities.note(
            OddityKind.NOT_UTF8, spot, "bytes that are not UTF-8 are read as replacement characters"
        )
        return content.decode("utf-8-sig", "replace")


def _printable(text: str, oddities: Oddities) -> str:
    found = _NOT_PRINTABLE.search(text)
    if found is None:
        return text
    oddities.note(
        OddityKind.CONTROL_CHARACTERS,
        _spot_after(text[: found.start()]),
        "control characters that YAML does not allow are read as replacement characters",
    )
    return _NOT_PRINTABLE.sub("\ufffd", text)


def _spot_after(before: str) -> Spot:
    return Spot(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


class _StopError(Exception):
    """The rest of the text is not read; the reason is noted."""


class _Builder:
    """Folds the events of either parser into a tree."""

    def __init__(self, path: str, oddities: Oddities) -> None:
        self._path = path
        self._oddities = oddities
        self._root: Node | None = None
        self._open: list[Items | Table] = []
        self._keys: list[tuple[str, Spot] | None] = []
        #: Collections that stand where a key should: how deep they were opened.
        self._as_key: list[int] = []
        self._anchors: dict[str, Node] = {}
        self._anchored: list[str | None] = []
        self._nodes = 0
        self._cut: tuple[Spot, str] | None = None

    # ------------------------------------------------------------------ what parsers say

    def fed_json(self, text: str) -> bool:
        """Take a JSON text; return whether it could be read to its end."""
        try:
            for kind, spot, value in JsonEvents(text):
                if kind == "open-list":
                    self._opened(Items(spot))
                elif kind == "open-table":
                    self._opened(Table(spot))
                elif kind == "close":
                    self._closed()
                elif kind == "key":
                    self._keys[-1] = (str(value), spot)
                else:
                    self._placed(Leaf(spot, value))
        except JsonSyntaxError as error:
            self._cut = (error.spot, str(error))
            return False
        except _StopError:
            return False
        return True

    def fed_yaml(self, text: str) -> bool:
        """Take a YAML text; return whether it could be read to its end."""
        try:
            for event in yaml.parse(text, Loader=yaml.CSafeLoader):
                self._take(event)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            spot = Spot(1, 1) if mark is None else Spot(mark.line + 1, mark.column + 1)
            self._cut = (spot, error.problem or "it is not YAML")
            return False
        except yaml.YAMLError as error:
            self._cut = (Spot(1, 1), str(error).splitlines()[0])
            return False
        except _StopError:
            return False
        return True

    def result(self) -> Table | Items:
        """Return the tree.

        Raises:
            SourceError: it is a single value, or nothing.
        """
        if isinstance(self._root, (Table, Items)):
            return self._root
        raise self._refused(Spot(1, 1), "the file holds no recording: it is empty or one value")

    def told_cut(self) -> Table | Items:
        """Return what was whole of a text that cannot be read to its end, and note where.

        Raises:
            SourceError: nothing was.
        """
        spot, reason = self._cut or (Spot(1, 1), "it cannot be read")
        if not isinstance(self._root, (Table, Items)):
            raise self._refused(spot, f"this is neither JSON nor YAML: {reason}")
        for collection in self._open:
            collection.whole = False
        self._oddities.note(
            OddityKind.CUT_OFF, spot, f"the file cannot be read from here on: {reason}"
        )
        return self._root

    def _refused(self, spot: Spot, message: str, hint: str | None = None) -> SourceError:
        problem = Problem(
            path=self._path, line=spot.line, column=spot.column, message=message, hint=hint
        )
        return SourceError((problem,))

    # ------------------------------------------------------------------ YAML

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent) and self._root is not None:
            self._cut = (_spot(event), "a second document begins; only the first is read")
            raise _StopError
        if isinstance(event, yaml.ScalarEvent):
            self._anchor_next(event.anchor)
            raw = None if event.style not in (None, "") else str(event.value)
            value = self._scalar(event)
            if isinstance(self._open[-1] if self._open else None, Table) and not self._keys[-1]:
                # A key is the text that it is written as, also where it looks like something else.
                value = value if isinstance(value, bytes) else str(event.value)
            self._placed(Leaf(_spot(event), value, raw=raw))
        elif isinstance(event, yaml.SequenceStartEvent):
            self._anchor_next(event.anchor)
            self._opened(Items(_spot(event), tag=self._tag(event)))
        elif isinstance(event, yaml.MappingStartEvent):
            self._anchor_next(event.anchor)
            self._opened(Table(_spot(event), tag=self._tag(event)))
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self._closed()
        elif isinstance(event, yaml.AliasEvent):
            self._aliased(event)

    def _aliased(self, event: yaml.AliasEvent) -> None:
        spot = _spot(event)
        node = self._anchors.get(event.anchor or "")
        if node is None:
            raise self._refused(spot, "this alias names no complete value before it")
        self._anchor_next(None)
        self._oddities.note(OddityKind.ALIAS, spot, "a value is given as an alias of another one")
        self._placed(node)

    def _anchor_next(self, anchor: str | None) -> None:
        self._anchored.append(anchor)

    def _tag(self, event: Any) -> str | None:
        tag = event.tag
        if tag is None or tag == "!" or tag.startswith((_YAML_TAG + "map", _YAML_TAG + "seq")):
            return None
        self._note_tag(str(tag), _spot(event))
        return str(tag)

    def _note_tag(self, tag: str, spot: Spot) -> None:
        if tag.startswith(_YAML_TAG + "python/"):
            message = "a tag asks for a Python object: it is read as plain text and never made"
            self._oddities.note(OddityKind.PYTHON_TAG, spot, message)
        else:
            message = "a tag of another system is passed over"
            self._oddities.note(OddityKind.FOREIGN_TAG, spot, message)

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        text, tag, spot = str(event.value), event.tag, _spot(event)
        if tag in (_YAML_TAG + "binary", "!binary"):
            self._oddities.note(OddityKind.BINARY_VALUE, spot, "a value is written as base64")
            try:
                return base64.b64decode(text.encode("ascii", "replace"), validate=False)
            except (binascii.Error, ValueError):
                self._oddities.note(OddityKind.ODD_SHAPE, spot, "this is not base64")
                return text
        if tag is not None and tag != "!" and tag.removeprefix(_YAML_TAG) not in _SCALAR_TAGS:
            self._note_tag(tag, spot)
            return text
        if event.style not in (None, "") or tag in ("!", _YAML_TAG + "str"):
            return text
        return _plain_value(text)

    # ------------------------------------------------------------------ the tree

    def _opened(self, node: Items | Table) -> None:
        if len(self._open) >= _DEPTH_MAX:
            self._cut = (node.spot, f"it is nested more than {_DEPTH_MAX} deep")
            raise _StopError
        self._count(1, node.spot)
        self._open.append(node)
        self._keys.append(None)
        parent = self._open[-2] if len(self._open) > 1 else None
        if isinstance(parent, Table) and self._keys[-2] is None:
            self._as_key.append(len(self._open))
        elif parent is None:
            self._root = node
        else:
            self._put(parent, node, self._keys[-2])

    def _closed(self) -> None:
        depth = len(self._open)
        node = self._open.pop()
        self._keys.pop()
        made = _unwrapped(node)
        node.size = 1 + sum(child.size for child in _children(node))
        anchor = self._anchored.pop() if self._anchored else None
        if anchor is not None:
            self._anchors[anchor] = made
        if self._as_key and self._as_key[-1] == depth:
            self._as_key.pop()
            self._keys[-1] = (_key_text(made), node.spot)
            return
        if made is not node:
            self._exchanged(node, made)
        if self._open and isinstance(self._open[-1], Table):
            self._keys[-1] = None

    def _placed(self, node: Node) -> None:
        self._count(node.size, node.spot)
        anchor = self._anchored.pop() if self._anchored else None
        if anchor is not None:
            self._anchors[anchor] = node
        parent = self._open[-1] if self._open else None
        if parent is None:
            self._root = node
        elif isinstance(parent, Table) and self._keys[-1] is None:
            self._keys[-1] = (_key_text(node), node.spot)
        else:
            self._put(parent, node, self._keys[-1])
            if isinstance(parent, Table):
                self._keys[-1] = None

    def _put(self, parent: Items | Table, node: Node, key: tuple[str, Spot] | None) -> None:
        if isinstance(parent, Items):
            parent.items.append(node)
            return
        assert key is not None
        if key[0] in parent.entries:
            message = "a key stands twice in one table: the first one counts"
            self._oddities.note(OddityKind.DUPLICATE_KEY, key[1], message)
            return
        parent.entries[key[0]] = node

    def _exchanged(self, node: Node, made: Node) -> None:
        parent = self._open[-1] if self._open else None
        if parent is None:
            self._root = made
        elif isinstance(parent, Items):
            parent.items[-1] = made
        else:
            for key, value in parent.entries.items():
                if value is node:
                    parent.entries[key] = made

    def _count(self, nodes: int, spot: Spot) -> None:
        self._nodes += nodes
        if self._nodes > _NODES_MAX:
            raise self._refused(
                spot,
                f"with its aliases written out the file has more than {_NODES_MAX:,} values",
                "a recording does not need so many",
            )


def _plain_value(text: str) -> Scalar:
    """Return what a plain word means to the recorders, which write YAML 1.1."""
    # PyYAML's own types say nothing of what these return.
    tag = str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call]
    made = _MADE.get(tag)
    try:
        value = text if made is None else made(yaml.ScalarNode(tag, text))
    except (ValueError, KeyError, IndexError, OverflowError, yaml.YAMLError):
        return text
    return value if isinstance(value, (str, int, float)) or value is None else text


def _children(node: Items | Table) -> Iterator[Node]:
    return iter(node.items if isinstance(node, Items) else node.entries.values())


def _unwrapped(node: Items | Table) -> Node:
    """Return the plain value that a Python tag stands for.

    Recorders write `!!python/object/apply:multidict.istr [Accept]` for a text, and a table with a
    `state` for a file that was sent.
    """
    if node.tag is None or not node.tag.startswith(_YAML_TAG + "python/"):
        return node
    found: Node = node
    if isinstance(found, Table):
        found = found.entries.get("state") or found.entries.get("args") or found
        if isinstance(found, Items) and found.items:
            found = found.items[0]
    while isinstance(found, Items) and len(found.items) == 1:
        found = found.items[0]
    return found


def _key_text(node: Node) -> str:
    if isinstance(node, Leaf):
        value = node.value
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    first = next(_children(node), None)
    return "" if first is None else _key_text(first)


def _spot(event: yaml.Event) -> Spot:
    mark = event.start_mark
    return Spot(1, 1) if mark is None else Spot(mark.line + 1, mark.column + 1)
