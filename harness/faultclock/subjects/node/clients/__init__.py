"""The real clients for Node that come bound: a module for each, and the packages that it imports.

Each is made with the key, the address and the deadline of the request, and is otherwise as its
library has it. Tried with openai 5.23.0 and 6.49.0, @anthropic-ai/sdk 0.137.0 and 1.14.0,
@google/genai 2.32.0, @mistralai/mistralai 2.7.0, ai 6.0.326.

A module imports what lies beside it. So it is put into a folder from which a link leads to the
packages of an environment, and nothing is written into that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from faultclock.subjects.registry import SubjectEntry

_PACKAGES = "node_modules"


class NodeClient(Struct, frozen=True, kw_only=True):
    """A client for Node.

    Attributes:
        title: one line for people.
        module: file of this folder; its function `ask` takes the request.
        packages: of npm, that it imports.
        dialect: the API that it speaks.
        after: id of the shipped client of Python that it stands beside.
        lacks: words for what it never does, each with a comma before it.
    """

    title: str
    module: str
    packages: tuple[str, ...]
    dialect: str
    after: str
    lacks: str = ""


NODE_CLIENTS = {
    "openai-node": NodeClient(
        title="OpenAI SDK for Node as it is",
        module="openai.mjs",
        packages=("openai",),
        dialect="openai-chat",
        after="openai-sync",
    ),
    "ai-sdk-node": NodeClient(
        title="Vercel AI SDK on OpenAI's chat API as it is, for Node",
        module="ai.mjs",
        packages=("ai", "@ai-sdk/openai"),
        dialect="openai-chat",
        after="openai-sync",
        # Its tools are functions of the user's, which it calls itself.
        lacks=",no-tools",
    ),
    "anthropic-node": NodeClient(
        title="Anthropic SDK for Node as it is",
        module="anthropic.mjs",
        packages=("@anthropic-ai/sdk",),
        dialect="anthropic-messages",
        after="anthropic-sync",
    ),
    "google-genai-node": NodeClient(
        title="Google Gen AI SDK for Node as it is",
        module="google-genai.mjs",
        packages=("@google/genai",),
        dialect="gemini-generate-content",
        after="google-genai-sync",
    ),
    "mistralai-node": NodeClient(
        title="Mistral SDK for Node as it is",
        module="mistralai.mjs",
        packages=("@mistralai/mistralai",),
        dialect="mistral",
        after="mistralai-sync",
    ),
}


def has_packages(folder: Path) -> bool:
    """Return whether npm has installed packages in `folder`."""
    return (folder / _PACKAGES).is_dir()


@contextmanager
def node_clients(folder: Path) -> Iterator[tuple[SubjectEntry, ...]]:
    """Yield an entry for each client; it can be run for as long as the context lasts.

    Args:
        folder: with the `node_modules` of an environment.
    """
    packages = (folder / _PACKAGES).resolve()
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / _PACKAGES).symlink_to(packages)
        for item in NODE_CLIENTS.values():
            # A copy, and no link: Node looks for packages beside the file that a link leads to.
            text = Path(__file__).with_name(item.module).read_text(encoding="utf-8")
            (place / item.module).write_text(text, encoding="utf-8")
        yield tuple(_entry(id_, item, place, packages) for id_, item in NODE_CLIENTS.items())


def _entry(id_: str, item: NodeClient, place: Path, packages: Path) -> SubjectEntry:
    return SubjectEntry(
        id=id_,
        title=item.title,
        kind="client",
        needs=item.packages,
        available=all((packages / name / "package.json").is_file() for name in item.packages),
        dialect=item.dialect,
        spec=f"{place / item.module}#ask@request,{item.dialect}{item.lacks}",
        install="npm install",
    )
