"""ErrorPayload: one error answer as a provider really sends it, with the place it was seen.

The shapes are the provider's, the words are ours. Which payload is sent when is a scenario's
business; what it means is the oracle's, which never reads these.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from faultclock.model._base import Value


class ErrorPayload(Value):
    """A named error body with its usual status and headers."""

    status: int = Field(ge=200, le=599)
    """The status it usually comes with; a scenario's fault may choose another."""
    body: dict[str, Any] | None = None
    """The JSON object, as it is on the wire."""
    text: str | None = None
    """A body that is no JSON, such as a proxy's HTML. Exactly one of `body` and `text`. Only a page
    can have a good status."""
    content_type: str = Field(default="application/json", pattern=r"^[a-z]+/[a-z0-9.+-]+(;.*)?$")
    means: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """The name of the error that this one is in other words; None: it is one of its own."""
    headers: dict[str, str] = {}
    """Headers that come with it; a scenario's fault may override each."""
    source: str = Field(min_length=1)
    """Where the shape was seen: page, SDK version or recording, and the date read."""

    @model_validator(mode="after")
    def _one_body(self) -> ErrorPayload:
        if (self.body is None) == (self.text is None):
            raise ValueError("give exactly one of body and text")
        if self.text is not None and "content_type" not in self.model_fields_set:
            raise ValueError("text needs its content_type")
        if self.status < 400 and self.text is None:
            raise ValueError("a good status that is not an answer is a page: give its text")
        return self


class PayloadFile(Value):
    """The data of one dialect, as the file holds it: where its provider is, and how it refuses."""

    dialect: str
    """The dialect that the file belongs to; the file is named after it."""
    title: str = Field(min_length=1)
    """The API's name for people."""
    base_url: str = Field(pattern=r"^https://[a-z0-9.-]+(/[^\s]*[^\s/])?$")
    """The base URL that its client libraries get, without a slash at its end."""
    model: str = Field(min_length=1)
    """A model of the provider's, as requests name it."""
    payloads: dict[str, ErrorPayload] = Field(min_length=1)
