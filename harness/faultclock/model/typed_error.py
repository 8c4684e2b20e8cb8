"""TypedError: the one shape in which an error crosses a port. It carries its class and its code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TypedError(Exception):
    """An error that carries its class and code, as callers match on them.

    Subjects may raise it; any other exception with `error_class` and `code` attributes that are
    texts counts as typed too. Fake tools and stores raise it where the real ones would.

    Example:
        >>> error = TypedError("ProviderTransient", "RateLimited", "try later")
        >>> error.error_class, error.code, str(error)
        ('ProviderTransient', 'RateLimited', 'try later')
    """

    # Subjects know it by the name of the ports, and so do the traces that are stored already.
    __module__ = "faultclock.subjects.ports"

    def __init__(
        self,
        error_class: str,
        code: str,
        message: str,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.code = code
        self.context: dict[str, Any] = dict(context or {})
