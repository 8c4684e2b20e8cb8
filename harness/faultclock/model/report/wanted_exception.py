"""An exception that a search looks for: by its type, its message, its line, or all three."""

from __future__ import annotations

from pydantic import Field

from faultclock.model._base import Value


class Sought(Value):
    """What an exception must be to count; an empty member matches every exception."""

    type: str = ""
    """Its class, such as `KeyError` or `openai.RateLimitError`."""
    message: str = ""
    """A part of its message."""
    file: str = ""
    """A file of its traceback: relative to the working folder, or the end of a path."""
    line: int = Field(default=0, ge=0)
    """1-based line in that file; 0: any."""

    @property
    def text(self) -> str:
        """The same as a command line names it: `KeyError: 'choices' at client.py:41`."""
        named = ": ".join(part for part in (self.type, self.message) if part)
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{named} at {place}" if named and place else named or place
