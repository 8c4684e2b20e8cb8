"""The TLS context of the reference, made once, when the first call needs it.

Reading the trusted certificates takes longer than a whole simulated call. As a module of its own
it is imported by the first https call, and not by a program that only lists subjects.
"""

from __future__ import annotations

import ssl

#: What any careful client uses: certificates and host names are verified.
CONTEXT = ssl.create_default_context()
