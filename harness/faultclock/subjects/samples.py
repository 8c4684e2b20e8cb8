"""Arguments that fit a JSON Schema: what a model could have written for a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.model.json_sample import object_sample
from faultclock.subjects.schemas import misfit


def sample_of(schema: Mapping[str, Any], number: int = 0) -> dict[str, Any] | None:
    """Return an object that fits `schema`; None where none was found.

    Optional properties are left out, unless nothing else could make samples differ.

    Args:
        number: 0-based, of the sample.
    """
    made, *before = (object_sample(schema, earlier) for earlier in range(number, -1, -1))
    if made in before:
        whole = object_sample(schema, number, optional=True)
        if misfit(schema, whole) is None:
            return whole
    return made if misfit(schema, made) is None else None


def takes_text(schema: Mapping[str, Any]) -> bool:
    """Return whether samples of `schema` can differ."""
    return sample_of(schema, 0) != sample_of(schema, 1)
