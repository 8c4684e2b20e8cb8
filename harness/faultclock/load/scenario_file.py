"""A scenario as the text of its file: comments on top, texts quoted so that they mean themselves.

The writer is PyYAML's, which thinks in YAML 1.1; our reader knows 1.2. So every text that either
could take for something else is put in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./()-]+)*")
#: A text of words with single spaces between them: folding it loses nothing.
_FOLDS = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)+")
#: A duration or a range of attempts: no YAML takes it for a number or a date.
_MEASURE = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h|d))+|[0-9]+-[0-9]+|[0-9]+\+")
_QUOTABLE = re.compile(r"[\x20-\x26\x28-\x7e]*")
#: Longer things are not put on one line.
_ONE_LINE = 72
_WIDTH = 96
_NOT_SHOWN = re.compile(r"[^\x20-\x7e\xa1-\u1fff\u2030-\ud7ff\uf900-\ufffd]+")


class OwnDumper(yaml.SafeDumper):
    """Writes no anchors, and lists as the shipped scenarios have them."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value out."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key."""
        del indentless
        super().increase_indent(flow, False)


class _Dumper(OwnDumper):
    """Writes no text that could be read as something else."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if len(text) <= 120 and _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


class _CompactDumper(_Dumper):
    """The same, laid out as a person would: long texts are folded, small things on one line."""

    def represent_sequence(
        self, tag: str, sequence: Iterable[Any], flow_style: bool | None = None
    ) -> yaml.SequenceNode:
        """Write a few plain values on one line, and anything else below each other."""
        node = super().represent_sequence(tag, sequence, flow_style)
        scalars = all(isinstance(item, yaml.ScalarNode) for item in node.value)
        node.flow_style = scalars and _length(node) <= _ONE_LINE
        return node

    def represent_mapping(
        self, tag: str, mapping: Any, flow_style: bool | None = None
    ) -> yaml.MappingNode:
        """Write a small mapping on one line."""
        node = super().represent_mapping(tag, mapping, flow_style)
        small = all(
            isinstance(value, yaml.ScalarNode) or value.flow_style for _, value in node.value
        )
        node.flow_style = small and _length(node) <= _ONE_LINE
        return node


def _length(node: yaml.Node) -> int:
    """Return about how many characters a value takes on one line."""
    if isinstance(node, yaml.ScalarNode):
        return len(node.value)
    parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
    return 2 + sum(_length(part) + 2 for part in parts)


def _folded(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    if len(text) > _WIDTH and _FOLDS.fullmatch(text):
        return dumper.represent_scalar(tag, text, style=">")
    if _MEASURE.fullmatch(text):
        return dumper.represent_scalar(tag, text)
    if '"' in text and len(text) <= _WIDTH and _QUOTABLE.fullmatch(text):
        return dumper.represent_scalar(tag, text, style="'")
    return _text(dumper, text)


_CompactDumper.add_representer(str, _folded)


def scenario_text(data: dict[str, Any], comments: Iterable[str], *, compact: bool = False) -> str:
    """Return the file that holds `data`, which is made of plain values, below `comments`.

    Args:
        compact: whether small mappings and lists stand on one line, and long texts are folded.
    """
    lines = [f"# {_NOT_SHOWN.sub('?', line)}".rstrip() for line in comments]
    body = yaml.dump(
        data,
        Dumper=_CompactDumper if compact else _Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=None if compact else False,
    )
    return "\n".join([*lines, body])
