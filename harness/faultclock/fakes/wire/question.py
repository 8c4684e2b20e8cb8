"""What a request asks, apart from the labels on it.

A client may label each request anew: with an id for its logs, or a key of a cache. It asks the same
thing then, although no two bodies are equal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

from faultclock.fakes.wire.event_stream import json_object

#: How clients write JSON: httpx and JavaScript do, requests does, boto does.
_WRITERS = (
    json.JSONEncoder(ensure_ascii=False, separators=(",", ":")),
    json.JSONEncoder(),
    json.JSONEncoder(ensure_ascii=False),
    json.JSONEncoder(separators=(",", ":")),
)


def question_in(body: bytes, labels: Collection[str]) -> dict[str, str]:
    """Return `asked_sha256`, the digest of a body without its labels; nothing where it has none.

    What is left is written as the body was, so that it is equal to a body that never had a label.
    """
    sent = json_object(body)
    if sent is None or not any(name in sent for name in labels):
        return {}
    asked = {name: value for name, value in sent.items() if name not in labels}
    written = (it for it in _WRITERS if _bytes(it.encode(sent)) == body)
    text = next(written, _WRITERS[0]).encode(asked)
    return {"asked_sha256": hashlib.sha256(_bytes(text)).hexdigest()}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
