"""The one pydantic base class of all file-backed values: frozen, and closed against typos."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Value"]


class Value(BaseModel):
    """An immutable value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
