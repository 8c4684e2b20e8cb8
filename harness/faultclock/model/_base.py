"""The pydantic base classes of all file-backed values: frozen, and closed against typos."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

#: A SHA-256: 64 hexadecimal digits.
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Value(BaseModel):
    """An immutable value that refuses unknown fields."""

    # A command uses few of the many classes: each gets its validator when it is first used.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def in_full(self) -> Value:
        """Return the value with all its fields in memory."""
        return self


class SparseValue(Value):
    """A value that is written without the fields that few use, where they have their default.

    So a scenario that knows no tools looks in a trace as it did before there were tools. The
    defaults of these fields are part of the trace format: they must never change.
    """

    #: Names of such fields; a class has those of its bases as well.
    SPARSE: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Add the sparse fields of the bases."""
        cls.SPARSE = frozenset().union(*(vars(base).get("SPARSE", ()) for base in cls.__mro__))

    def written_fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields that are written, with their values as they are."""
        left_out = dict(_sparse_defaults(type(self)))
        for name, value in self:
            if name not in left_out or value != left_out[name]:
                yield name, value

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        full = self.in_full()
        written: dict[str, Any] = serialize(full)
        for name, default in _sparse_defaults(type(self)):
            if getattr(full, name) == default:
                written.pop(name, None)
        return written


@cache
def _sparse_defaults(kind: type[SparseValue]) -> tuple[tuple[str, Any], ...]:
    """Return the sparse fields of a class with their defaults."""
    fields = kind.model_fields
    return tuple(
        (name, fields[name].get_default(call_default_factory=True)) for name in sorted(kind.SPARSE)
    )
