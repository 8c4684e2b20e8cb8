"""A scenario as the text of its file: comments on top, texts quoted so that they mean themselves.

The writer is PyYAML's, which thinks in YAML 1.1; our reader knows 1.2. So every text that either
could take for something else is put in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

__all__ = ["scenario_text"]

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./()-]+)*")
_WIDTH = 96
_NOT_SHOWN = re.compile(r"[^\x20-\x7e\xa1-\u1fff\u2030-\ud7ff\uf900-\ufffd]+")


class _Dumper(yaml.SafeDumper):
    """Writes no anchors, and no text that could be read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value out."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key, as the shipped scenarios do."""
        del indentless
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if len(text) <= 120 and _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def scenario_text(data: dict[str, Any], comments: Iterable[str]) -> str:
    """Return the file that holds `data`, which is made of plain values, below `comments`."""
    lines = [f"# {_NOT_SHOWN.sub('?', line)}".rstrip() for line in comments]
    body = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=False,
    )
    return "\n".join([*lines, body])
