"""The fake archive: it keeps files by name, and each file that is saved is a fact.

A file is kept at once and for good; only the judge reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port, Style
from faultclock.fakes.wire.event_stream import json_object
from faultclock.model.secrets import without_secrets
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel


class FakeArchive(Port):
    """The archive of one life; it implements the port `Archive`.

    `save` is a coroutine function for an async subject and a plain one for a blocking subject.

    Args:
        style: of the subject.
        life: 1-based.
        clean: takes out of a text what may stand in no trace.
    """

    save: Callable[[str, str], Any]

    def __init__(
        self,
        kernel: Kernel,
        style: Style,
        life: int = 1,
        *,
        clean: Callable[[str], str] = without_secrets,
    ) -> None:
        super().__init__(kernel, life, actor="archive")
        self._clean = clean
        self.save = self._save_async if style == "async" else self._save_sync

    async def _save_async(self, name: str, text: str) -> None:
        self._save_sync(name, text)

    def _save_sync(self, name: str, text: str) -> None:
        """Keep `text` under `name`.

        Raises:
            TypeError: one of them is no text.
        """
        for value in (name, text):
            if not isinstance(value, str):
                raise TypeError(f"a text is kept by its name, not a {type(value).__name__}")
        make_room(self._kernel)
        raw = text.encode("utf-8", "surrogatepass")
        self._record(
            "archive.saved",
            current_call(),
            name=plain(name, self._clean),
            bytes_count=len(raw),
            sha256=hashlib.sha256(raw).hexdigest(),
            text=plain(text, self._clean),
            json=plain(json_object(text), self._clean),
        )
