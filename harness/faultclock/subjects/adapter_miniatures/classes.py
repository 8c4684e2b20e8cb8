"""Miniatures that take a failure for another one."""

from __future__ import annotations

__all__: list[str] = []

_RATE_LIMITED = ("ProviderTransient", "RateLimited")
_PROVIDER_5XX = ("ProviderTransient", "Provider5xx")
_CONTEXT_WINDOW = ("ProviderCapability", "ContextWindowTooSmall")

# A limit that is taken for the end, by its words.


# Two paths for one error.


# The caller's mistake that is taken for the server's.
