"""A YAML file to a validated model, or every problem in it with path, line and column.

The path appears in messages as it was given. Nothing but an InputError leaves this module,
for any bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from faultclock.errors import Problem, SourceError
from faultclock.load import files
from faultclock.load.known_keys import Location
from faultclock.load.located.tree import (
    NOT_PRINTABLE,
    OURS,
    Mapping,
    place_after,
    problem_at,
    refused,
    to_data,
)
from faultclock.load.located.yaml_text import parse_yaml
from faultclock.load.wording import problems_of, spot_at

ModelT = TypeVar("ModelT", bound=BaseModel)


class Document(Struct, frozen=True, kw_only=True):
    """One file as plain data, which still knows where each value stands.

    Attributes:
        path: the file, as it was given.
        data: its content as dicts, lists and scalars.
        tree: the same with positions.
    """

    path: str
    data: dict[str, Any]
    tree: Mapping

    def problem(self, location: Location, message: str, hint: str | None = None) -> Problem:
        """Return a Problem at the value that `location` (keys and 0-based indexes) names.

        A location that the file does not have lands on its nearest parent.
        """
        place = spot_at(self.tree, location).node.place
        return problem_at(place, self.path, message, hint)

    def validate(self, model: type[ModelT], data: dict[str, Any] | None = None) -> ModelT:
        """Return the document, or `data` made from it, as a `model`.

        Raises:
            SourceError: with every problem that the model finds.
        """
        text = json.dumps(self.data if data is None else data)
        try:
            # Strict, and as JSON: "3" is no number and 1 is not true, but lists make tuples.
            return model.model_validate_json(text, strict=True)
        except ValidationError as error:
            raise SourceError(problems_of(error, model, self.tree, self.path)) from None


def load_yaml(
    path: str | os.PathLike[str],
    model: type[ModelT],
    *,
    transform: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> ModelT:
    """Return the file at `path` as a `model`.

    Args:
        path: shown in messages as given.
        model: the pydantic model of the whole file.
        transform: changes the plain data before it is validated.

    Raises:
        InputError: the file cannot be read.
        SourceError: what it holds is not such a model; every problem is in it.
    """
    document = read_document(path)
    return document.validate(model, transform(document.data) if transform else None)


def read_document(path: str | os.PathLike[str]) -> Document:
    """Return the plain data of the file at `path`, with positions.

    Raises:
        InputError: the file cannot be read.
        SourceError: it is not one YAML mapping.
    """
    shown = os.fspath(path)
    return parse_document(read_bytes(path), shown)


def parse_document(content: bytes, path: str) -> Document:
    """Return the plain data of `content`, with positions; `path` is for messages.

    Raises:
        SourceError: it is not one YAML mapping.
    """
    tree = parse_yaml(_decoded(content, path), path)
    data = to_data(tree)
    assert isinstance(data, dict)
    return Document(path=path, data=data, tree=tree)


def read_bytes(path: str | os.PathLike[str], *, bytes_max: int = OURS.bytes_max) -> bytes:
    """Return the content of a file of at most `bytes_max` bytes.

    Raises:
        InputError: as `files.read_bytes` does.
    """
    return files.read_bytes(path, bytes_max=bytes_max)


def _decoded(content: bytes, path: str) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        place = place_after(content[: error.start].decode("utf-8"))
        message, hint = "this byte is not UTF-8", "save the file as UTF-8"
        raise refused(place, path, message, hint) from None
    text = text.removeprefix("\ufeff")
    found = NOT_PRINTABLE.search(text)
    if found is not None:
        message = f"the character U+{ord(found.group()):04X} is not allowed in a file"
        hint = 'in a quoted text write it as an escape, such as "\\x1b"'
        raise refused(place_after(text[: found.start()]), path, message, hint)
    return text
