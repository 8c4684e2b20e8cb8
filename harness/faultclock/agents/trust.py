"""The TLS context of the references.

Reading the trusted certificates takes longer than a whole simulated call, so the first https call
does it, and a program that only lists subjects does not.
"""

from __future__ import annotations

import ssl
from functools import cache


@cache
def tls() -> ssl.SSLContext:
    """Return what any careful client uses: certificates and host names are verified."""
    return ssl.create_default_context()
