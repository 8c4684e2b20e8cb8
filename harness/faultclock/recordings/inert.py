"""The files of other programs, YAML or JSON, to a located tree of plain values.

Nothing is ever constructed: a tag such as `!!python/object/apply:os.system` becomes a note, and
what it was put on becomes the texts, lists and mappings that it is written as. Anchors are allowed,
because recorders write them, but what they expand to is counted, so that no alias multiplies. A
text that ends in the middle gives what was whole before.
"""

from __future__ import annotations

from collections.abc import Callable

import yaml

from faultclock.load.located.builder import Builder
from faultclock.load.located.json_text import feed_json
from faultclock.load.located.tree import (
    NOT_PRINTABLE,
    RECORDINGS,
    Mapping,
    Node,
    NotReadableError,
    Place,
    Scalar,
    ScalarValue,
    Sequence,
    children,
    place_after,
    refused,
)
from faultclock.load.located.words import NOT_YAML
from faultclock.load.located.yaml_text import feed_yaml
from faultclock.recordings.bodies import from_base64
from faultclock.recordings.exchange import Oddities, OddityKind

_YAML_TAG = "tag:yaml.org,2002:"
_RESOLVER, _CONSTRUCTOR = yaml.resolver.Resolver(), yaml.constructor.SafeConstructor()
_MADE: dict[str, Callable[[yaml.ScalarNode], object]] = {
    _YAML_TAG + "bool": _CONSTRUCTOR.construct_yaml_bool,
    _YAML_TAG + "float": _CONSTRUCTOR.construct_yaml_float,
    _YAML_TAG + "int": _CONSTRUCTOR.construct_yaml_int,
    _YAML_TAG + "null": _CONSTRUCTOR.construct_yaml_null,
}
_SCALAR_TAGS = frozenset({"bool", "float", "int", "null", "str", "timestamp"})


def parse(content: bytes, path: str, oddities: Oddities) -> Mapping | Sequence:
    """Return the tree of a JSON or YAML text; what is odd about it goes to `oddities`.

    Args:
        path: for messages.

    Raises:
        SourceError: nothing of it can be read, or its aliases multiply.
    """
    text = _decoded(content, oddities)
    builder = _Lenient(path, oddities)
    if text.lstrip()[:1] not in ("{", "["):
        return builder.result(_fault(feed_yaml, _printable(text, oddities), builder))
    fault = _fault(feed_json, text, builder)
    if fault is not None:
        # It may be YAML in flow style: what JSON makes of it is then forgotten.
        apart = Oddities()
        again = _Lenient(path, apart)
        if _fault(feed_yaml, _printable(text, apart), again) is None:
            oddities.absorb(apart)
            return again.result(None)
    return builder.result(fault)


def _fault(
    feed: Callable[[str, Builder], None], text: str, builder: Builder
) -> NotReadableError | None:
    """Give `text` to `builder`; return why it cannot be read to its end."""
    try:
        feed(text, builder)
    except NotReadableError as error:
        return error
    return None


def _decoded(content: bytes, oddities: Oddities) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        oddities.note(OddityKind.NOT_UTF8, Place(1, 1), "the file is UTF-16, and is read as that")
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = place_after(content[: error.start].decode("utf-8", "replace"))
        message = "bytes that are not UTF-8 are read as replacement characters"
        oddities.note(OddityKind.NOT_UTF8, place, message)
        return content.decode("utf-8-sig", "replace")


def _printable(text: str, oddities: Oddities) -> str:
    found = NOT_PRINTABLE.search(text)
    if found is None:
        return text
    message = "control characters that YAML does not allow are read as replacement characters"
    oddities.note(OddityKind.CONTROL_CHARACTERS, place_after(text[: found.start()]), message)
    return NOT_PRINTABLE.sub("\ufffd", text)


class _Lenient(Builder):
    """Takes what recorders write, and notes what is odd."""

    def __init__(self, path: str, oddities: Oddities) -> None:
        super().__init__(path, RECORDINGS)
        self._oddities = oddities

    def result(self, fault: NotReadableError | None) -> Mapping | Sequence:
        """Return the tree, of a text with a `fault` what was whole before it.

        Raises:
            SourceError: the text is a single value, or nothing of it is whole.
        """
        self.cut()
        if fault is not None:
            reason = fault.message.removeprefix(NOT_YAML)
            if not isinstance(self.root, (Mapping, Sequence)):
                message = f"this is neither JSON nor YAML: {reason}"
                raise refused(fault.place, self.path, message)
            message = f"the file cannot be read from here on: {reason}"
            self._oddities.note(OddityKind.CUT_OFF, fault.place, message)
            return self.root
        if isinstance(self.root, (Mapping, Sequence)):
            return self.root
        message = "the file holds no recording: it is empty or one value"
        raise refused(Place(1, 1), self.path, message)

    # ------------------------------------------------------------------ what the Builder asks

    def document(self, place: Place) -> None:
        if self.root is not None:
            raise NotReadableError(place, "a second document begins; only the first is read")

    def yaml_scalar(
        self, place: Place, text: str, tag: str | None, anchor: str | None, *, quoted: bool
    ) -> None:
        value = self._value(place, text, tag, quoted=quoted)
        if self.awaits_key and not isinstance(value, bytes):
            # A key is the text that it is written as, also where it looks like something else.
            value = text
        self.scalar(Scalar(place, value, None if quoted else text), anchor)

    def yaml_collection(
        self, place: Place, tag: str | None, anchor: str | None, *, is_list: bool
    ) -> None:
        if tag == "!" or (tag or "").startswith((_YAML_TAG + "map", _YAML_TAG + "seq")):
            tag = None
        if tag is not None:
            self._note_tag(tag, place)
        self.open(place, is_list=is_list, tag=tag, anchor=anchor)

    def yaml_alias(self, place: Place, anchor: str) -> None:
        self._oddities.note(OddityKind.ALIAS, place, "a value is given as an alias of another one")
        if not self.again(place, anchor):
            message = "this alias names no complete value before it"
            raise refused(place, self.path, message)

    def key_of(self, node: Node, place: Place) -> str:
        if isinstance(node, Scalar):
            value = node.value
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        first = next(children(node), None)
        return "" if first is None else self.key_of(first, place)

    def repeated(self, key: str, place: Place, first: Place) -> None:
        del key, first
        message = "a key stands twice in one table: the first one counts"
        self._oddities.note(OddityKind.DUPLICATE_KEY, place, message)

    def finished(self, node: Sequence | Mapping, tag: str | None) -> Node:
        """Return the plain value that a Python tag stands for.

        Recorders write `!!python/object/apply:multidict.istr [Accept]` for a text, and a table
        with a `state` for a file that was sent.
        """
        if tag is None or not tag.startswith(_YAML_TAG + "python/"):
            return node
        found: Node = node
        if isinstance(found, Mapping):
            found = found.values.get("state") or found.values.get("args") or found
            if isinstance(found, Sequence) and found.items:
                found = found.items[0]
        while isinstance(found, Sequence) and len(found.items) == 1:
            found = found.items[0]
        return found

    # ------------------------------------------------------------------ scalars

    def _note_tag(self, tag: str, place: Place) -> None:
        if tag.startswith(_YAML_TAG + "python/"):
            message = "a tag asks for a Python object: it is read as plain text and never made"
            self._oddities.note(OddityKind.PYTHON_TAG, place, message)
        else:
            message = "a tag of another system is passed over"
            self._oddities.note(OddityKind.FOREIGN_TAG, place, message)

    def _value(self, place: Place, text: str, tag: str | None, *, quoted: bool) -> ScalarValue:
        if tag in (_YAML_TAG + "binary", "!binary"):
            decoded = from_base64(text, place, self._oddities)
            return text if decoded is None else decoded
        if tag is not None and tag != "!" and tag.removeprefix(_YAML_TAG) not in _SCALAR_TAGS:
            self._note_tag(tag, place)
            return text
        if quoted or tag in ("!", _YAML_TAG + "str"):
            return text
        return _plain_value(text)


def _plain_value(text: str) -> ScalarValue:
    """Return what a plain word means to the recorders, which write YAML 1.1."""
    # PyYAML's own types say nothing of what these return.
    tag = str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call]
    made = _MADE.get(tag)
    try:
        value = text if made is None else made(yaml.ScalarNode(tag, text))
    except (ValueError, KeyError, IndexError, OverflowError, yaml.YAMLError):
        return text
    return value if isinstance(value, (str, int, float)) or value is None else text
