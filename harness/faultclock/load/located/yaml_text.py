"""YAML: its events for a Builder, and the strict reader of files that people write for us.

The strict reader accepts what a scenario needs and refuses the rest by name: scalars as YAML 1.2's
core schema reads them (`no` is a text, `010` is ten, `12:30` is a text), keys that are texts and
unique, one document, no tags, no anchors (so that no alias can multiply).
"""

from __future__ import annotations

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from faultclock.errors import Problem, SourceError
from faultclock.load.located.builder import Builder
from faultclock.load.located.tree import (
    OURS,
    Mapping,
    NotReadableError,
    Place,
    Scalar,
    Sequence,
    problem_at,
)
from faultclock.load.located.words import plain_value, shortened, syntax_error


def parse_yaml(text: str, path: str) -> Mapping:
    """Return the tree of the only document in `text`; `path` is for messages.

    Raises:
        SourceError: it is not such a document; all problems that can be separated are in it.
    """
    builder = _Strict(path)
    try:
        feed_yaml(text, builder)
    except NotReadableError as error:
        builder.refuse(error.place, error.message, error.hint)
    if not builder.problems and not isinstance(builder.root, Mapping):
        builder.refuse_root()
    if builder.problems:
        raise SourceError(tuple(builder.problems))
    assert isinstance(builder.root, Mapping)
    return builder.root


def feed_yaml(text: str, builder: Builder) -> None:
    """Give all of `text` to `builder`.

    Raises:
        NotReadableError: it is not YAML, or the builder raised it.
    """
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            _take(event, builder)
    except yaml.YAMLError as error:
        raise syntax_error(error, text) from None


def _take(event: yaml.Event, builder: Builder) -> None:
    mark = event.start_mark
    assert mark is not None
    place = Place(mark.line + 1, mark.column + 1)
    if isinstance(event, ScalarEvent):
        # A plain scalar has the style "" or None.
        quoted = bool(event.style)
        builder.yaml_scalar(place, str(event.value), event.tag, event.anchor, quoted=quoted)
    elif isinstance(event, CollectionStartEvent):
        is_list = isinstance(event, SequenceStartEvent)
        builder.yaml_collection(place, event.tag, event.anchor, is_list=is_list)
    elif isinstance(event, CollectionEndEvent):
        builder.close()
    elif isinstance(event, AliasEvent):
        builder.yaml_alias(place, str(event.anchor))
    elif isinstance(event, DocumentStartEvent):
        builder.document(place)


class _Strict(Builder):
    """Notes what is refused, and goes on where the rest can be read sensibly."""

    def __init__(self, path: str) -> None:
        super().__init__(path, OURS)
        self.problems: list[Problem] = []
        self._documents = 0

    def refuse(self, place: Place, message: str, hint: str | None = None) -> None:
        self.problems.append(problem_at(place, self.path, message, hint))

    def refuse_root(self) -> None:
        hint = "it should hold `key: value` lines"
        if self.root is None or (isinstance(self.root, Scalar) and self.root.value is None):
            self.refuse(Place(1, 1), "the file is empty", hint)
        else:
            found = "a list" if isinstance(self.root, Sequence) else "a single value"
            self.refuse(self.root.place, f"the file holds {found}", hint)

    def document(self, place: Place) -> None:
        self._documents += 1
        if self._documents > 1:
            raise NotReadableError(
                place,
                "a second document begins here",
                "a file holds one document: remove the `---` or make two files",
            )

    def yaml_scalar(
        self, place: Place, text: str, tag: str | None, anchor: str | None, *, quoted: bool
    ) -> None:
        _check_plain(place, tag, anchor)
        if self.awaits_key:
            self.key(text, place)
            return
        try:
            self.scalar(Scalar(place, text if quoted else plain_value(text)))
        except ValueError as error:
            self.refuse(place, str(error))
            self.scalar(Scalar(place, None))

    def yaml_collection(
        self, place: Place, tag: str | None, anchor: str | None, *, is_list: bool
    ) -> None:
        _check_plain(place, tag, anchor)
        if self.awaits_key:
            raise NotReadableError(place, "a key is a text, not a list or a mapping")
        self.open(place, is_list=is_list)

    def yaml_alias(self, place: Place, anchor: str) -> None:
        raise _anchor_refused(place, "alias", f"*{anchor}")

    def repeated(self, key: str, place: Place, first: Place) -> None:
        self.refuse(
            place,
            f"the key `{shortened(key)}` is here twice: it stands on line {first.line} already",
            f"remove line {first.line} or line {place.line}",
        )


def _check_plain(place: Place, tag: str | None, anchor: str | None) -> None:
    if anchor is not None:
        raise _anchor_refused(place, "anchor", f"&{anchor}")
    if tag is not None:
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        raise NotReadableError(
            place,
            f"the tag `{shown}` is not allowed here",
            "remove it; a text that begins with ! needs quotes",
        )


def _anchor_refused(place: Place, what: str, written: str) -> NotReadableError:
    return NotReadableError(
        place,
        f"the {what} `{written}` is not allowed here",
        "write the value out; a text that begins with & or * needs quotes",
    )
