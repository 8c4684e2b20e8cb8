"""Folds what a reader finds, in the order of the text, into a tree of bounded size.

No recursion: a text of brackets must not exhaust the stack. A subclass says what the reader may
find, and what an odd find means.
"""

from __future__ import annotations

from msgspec import Struct, field

from faultclock.load.located.tree import (
    Limits,
    Mapping,
    Node,
    Place,
    Scalar,
    Sequence,
    nested_too_deep,
    refused,
)


class _Open(Struct):
    """A collection that the text has not ended yet.

    Attributes:
        items: of a list; None of a mapping.
        key: the key that waits for its value.
        size: nodes in it so far, itself included, with aliases written out.
    """

    place: Place
    tag: str | None
    anchor: str | None
    items: list[Node] | None
    keys: dict[str, Place] = field(default_factory=dict)
    values: dict[str, Node] = field(default_factory=dict)
    key: str | None = None
    size: int = 1

    @property
    def awaits_key(self) -> bool:
        """Return whether a key comes next, and no value."""
        return self.items is None and self.key is None

    def closed(self, *, whole: bool = True) -> Sequence | Mapping:
        """Return the node."""
        if self.items is not None:
            return Sequence(self.place, self.items, whole)
        return Mapping(self.place, self.values, self.keys, whole)


class Builder:
    """A tree that grows: readers call the methods in the order of the text.

    Attributes:
        path: of the file, for messages.
        root: the node of the whole text; None until its end.
    """

    def __init__(self, path: str, limits: Limits) -> None:
        self.path = path
        self.root: Node | None = None
        self._limits = limits
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._nodes = 0

    # ------------------------------------------------------------------ what a subclass decides

    def document(self, place: Place) -> None:
        """Take the start of a YAML document."""
        raise NotImplementedError

    def yaml_scalar(
        self, place: Place, text: str, tag: str | None, anchor: str | None, *, quoted: bool
    ) -> None:
        """Take a scalar of YAML, as it is written but for quotes and escapes."""
        raise NotImplementedError

    def yaml_collection(
        self, place: Place, tag: str | None, anchor: str | None, *, is_list: bool
    ) -> None:
        """Take the start of a collection of YAML."""
        raise NotImplementedError

    def yaml_alias(self, place: Place, anchor: str) -> None:
        """Take an alias of YAML."""
        raise NotImplementedError

    def key_of(self, node: Node, place: Place) -> str:
        """Return the key that a node means which stands where a key should."""
        raise NotImplementedError

    def repeated(self, key: str, place: Place, first: Place) -> None:
        """Take note of a key that stands in its mapping already, at `first`."""
        raise NotImplementedError

    def finished(self, node: Sequence | Mapping, tag: str | None) -> Node:
        """Return what a collection means that has ended."""
        del tag
        return node

    # ------------------------------------------------------------------ what readers call

    @property
    def awaits_key(self) -> bool:
        """Return whether a key comes next, and no value."""
        return bool(self._open) and self._open[-1].awaits_key

    def open(
        self, place: Place, *, is_list: bool, tag: str | None = None, anchor: str | None = None
    ) -> None:
        """Begin a collection.

        Raises:
            NotReadableError: too many are open.
            SourceError: there are too many values.
        """
        if len(self._open) >= self._limits.depth_max:
            raise nested_too_deep(place, self._limits)
        self._count(1, place)
        self._open.append(_Open(place, tag, anchor, [] if is_list else None))

    def close(self) -> None:
        """End the innermost collection."""
        collection = self._open.pop()
        node = self.finished(collection.closed(), collection.tag)
        self._put(node, collection.place, collection.size, collection.anchor)

    def scalar(self, node: Scalar, anchor: str | None = None) -> None:
        """Add a scalar."""
        self._count(1, node.place)
        self._put(node, node.place, 1, anchor)

    def key(self, key: str, place: Place) -> None:
        """Add a key, whose value comes next."""
        mapping = self._open[-1]
        first = mapping.keys.setdefault(key, place)
        if first is not place:
            self.repeated(key, place, first)
        mapping.key = key

    def again(self, place: Place, anchor: str) -> bool:
        """Add the complete value of an anchor once more; return whether there is one."""
        found = self._anchors.get(anchor)
        if found is None:
            return False
        node, size = found
        self._count(size, place)
        self._put(node, node.place, size, None)
        return True

    def cut(self) -> None:
        """End all collections, because the rest of the text is not read."""
        while self._open:
            collection = self._open.pop()
            node = collection.closed(whole=False)
            if not self.awaits_key:
                self._put(node, collection.place, collection.size, None)

    def _put(self, node: Node, place: Place, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size)
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.size += size
        if parent.items is not None:
            parent.items.append(node)
        elif parent.key is None:
            self.key(self.key_of(node, place), place)
        else:
            parent.values.setdefault(parent.key, node)
            parent.key = None

    def _count(self, nodes: int, place: Place) -> None:
        self._nodes += nodes
        if self._nodes > self._limits.nodes_max:
            most = f"{self._limits.nodes_max:,}"
            message = f"with its aliases written out the file has more than {most} values"
            raise refused(place, self.path, message, "a recording does not need so many")
