"""Takes out of a recording what is secret or says whose it is; equal values stay equal.

A value becomes a placeholder such as `req_scrubbed1`, the same one wherever it stands, so that
what was equal can still be seen to be. Values are learnt first (from headers, URLs and keys of
bodies) and then looked for in every text, besides all that has the shape of a secret.

What nothing points at cannot be found: a name in the middle of a sentence stays. That is why the
texts of prompts and answers are not written at all unless a person asks for it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from faultclock.model.secrets import SENT_OPENLY
from faultclock.recordings.bodies import as_json
from faultclock.recordings.exchange import Exchange, Headers, header
from faultclock.recordings.providers import is_nobodys
from faultclock.recordings.secret_shapes import (
    HEADERS,
    HOST_LABELS,
    KEY_ENDS,
    KEYS,
    PARAMETERS,
    PATHS,
    SHAPES,
    UNSAID,
)

#: Shorter values are replaced where they stand, and not looked for elsewhere.
_LEARNT_CHARS_MIN = 4
_LEARNT_CHARS_MAX = 20_000
#: What recorders and people put in place of a secret, and words that name no person.
_NOBODY = re.compile(
    r"(?i)(?:[\W_]*(?:x+|\*+|-+)[\W_]*|.{0,60}(?:scrubbed|redacted|filtered|-xxx).{0,60}"
    r"|default|none|null|true|false|anonymous|unknown|user|users|openai|anthropic"
    r"|google|azure|assistant|system|model|models|error|api|personal|global|main|test|bearer"
    r"|basic)"
)
#: Letters alone, so that no text changes its length.
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_WORD_START = re.compile(r"(?<![a-z0-9])(?=\S)")
_ALNUM = re.compile("[a-z0-9]")
#: A deployment that is called as its model is called names no person.
_MODEL = re.compile(
    r"(?:gpt-[\d.]{1,4}[a-z]?|o\d|text-embedding-\w{1,8}|claude(?:-[\d.]+)?|gemini(?:-[\d.]+)?)"
    r"(?:-(?:turbo|mini|nano|pro|codex|chat|preview|latest|instruct|audio|opus|sonnet|haiku|flash"
    r"|lite|small|large|[\d.]{1,8}k?))*"
)
_PLACEHOLDER = re.compile(r"\b[a-z]+[_-]scrubbed\d+\b")
#: A text that a person wrote is worth looking for in error messages from this length on.
_TEXT_CHARS_MIN = 12
_TEXTS_MAX = 400
#: A value that was chosen to be hard to guess, and no word of a protocol.
_LIKE_A_KEY = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[!-~]{8,4000}")
#: A field of a request as providers name it: `messages[0].content`, `$.input.0`.
_FIELD = re.compile(r"(?:\$|[A-Za-z_]{1,40})(?:[./\[](?:[A-Za-z_]{1,40}|\d{1,6})\]?){0,16}")
_NOT_WORD = re.compile(r"[^a-z0-9]")
_SHAPE = re.compile("|".join(f"(?P<s{number}>{shape})" for number, (_, shape) in enumerate(SHAPES)))
_SHAPE_KINDS = tuple(kind for kind, _ in SHAPES)
#: Words and short numbers, as files are called; no key consists of them.
_PLAIN_WORDS = re.compile(
    r"(?:[A-Za-z]{1,15}|[A-Za-z]{0,8}\d{1,4}[a-z]?|\d{8})"
    r"(?:[-_.](?:[A-Za-z]{1,15}|[A-Za-z]{0,8}\d{1,4}[a-z]?|\d{8}))*"
)
_BODY_LEARNT_MAX = 1_000_000
_ONLY_PLACEHOLDER = re.compile(r"(?:[A-Za-z]{1,20} )?[a-z]+[_-]scrubbed\d+")
_NEUTRAL = re.compile(r"A recorded [a-z]{1,12} of \d{1,9} characters, sha256 [0-9a-f]{12}\.")
_CREDENTIAL = re.compile(r"(?i)\b(?:Credential|Signature)=([^,\s]{4,400})")


def neutral_text(text: str, what: str) -> str:
    """Return what stands in place of a text that a person or a model wrote: length and digest.

    Example:
        >>> neutral_text("Why is the sky blue?", "prompt")
        'A recorded prompt of 20 characters, sha256 e0afa4f8bb48.'
    """
    if _NEUTRAL.fullmatch(text):
        # Out of a recording of our own, in which it stands for a text already.
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"A recorded {what} of {len(text)} characters, sha256 {digest}."


class Scrubber:
    """The secrets of one recording, and what stands in their place.

    Show it everything, at once or with `learn`, before anything is taken out: a value that one
    exchange names may stand in a sentence of another.
    """

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        self._placeholders: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._learnt: dict[str, str] = {}
        self._texts: dict[str, None] = {}
        #: Learnt values by their first characters, the longest first.
        self._starts: dict[str, list[str]] = {}
        for exchange in exchanges:
            self.learn(exchange)

    # ------------------------------------------------------------------ learning

    def learn(self, exchange: Exchange) -> None:
        """Learn what an exchange names: in headers, URL and the keys of both bodies."""
        self.learn_headers(exchange.request_headers)
        self.learn_headers(exchange.response_headers)
        self._learn_unknown(exchange.request_headers)
        self.learn_url(exchange.url)
        self.learn_value(dict(exchange.fields))
        for body in (exchange.request_body, exchange.response_body):
            if body is not None and len(body) <= _BODY_LEARNT_MAX:
                self.learn_value(as_json(body))
        if exchange.request_body is not None and len(exchange.request_body) <= _BODY_LEARNT_MAX:
            self._learn_texts(as_json(exchange.request_body))
            said = (header(exchange.request_headers, "content-type") or "").lower()
            if not said or said.startswith("application/x-www-form-urlencoded"):
                self._learn_form(exchange.request_body)

    def learn_headers(self, headers: Headers) -> None:
        """Learn the values of headers that hold secrets."""
        for name, value in headers:
            kind = _header_kind(name)
            if kind is None:
                continue
            if kind == "cookie":
                for part in re.split(r"[;,]\s*", value):
                    self._know("cookie", part.partition("=")[2])
            elif kind == "ip":
                for part in value.split(","):
                    self._know("ip", part.strip())
            else:
                scheme, _, rest = value.partition(" ")
                for found in _CREDENTIAL.finditer(value):
                    for part in (found[1], found[1].partition("/")[0]):
                        self._know("key", part)
                whole = rest if rest and scheme.isalnum() and "=" not in scheme else value
                self._know(kind, whole.strip())

    def _learn_unknown(self, headers: Headers) -> None:
        """Learn what a request shows under an unknown name: a gateway's password, say."""
        for name, value in headers:
            known = name.lower() == "host" or SENT_OPENLY.fullmatch(name.lower())
            if not known and _header_kind(name) is None and _LIKE_A_KEY.fullmatch(value.strip()):
                self._know("value", value)

    def learn_url(self, url: str) -> None:
        """Learn what a URL names: parameters, parts of the path, a host that a customer chose."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            user, password = parts.username, parts.password
            query = parse_qsl(parts.query, max_num_fields=200)
        except ValueError:
            return
        for secret in (user, password):
            if secret:
                self._know("key", secret)
        for name, value in query:
            kind = PARAMETERS.get(name.lower()) or _key_kind(name)
            if kind is not None:
                self._know(kind, value)
        for kind, pattern in PATHS:
            for match in pattern.finditer(parts.path):
                self._know(kind, unquote(match[1]))
        for end in HOST_LABELS:
            if host.endswith(end):
                self._know("resource", host[: -len(end)])
        if host and not is_nobodys(host):
            self._know("host", host)

    def learn_value(self, value: Any) -> None:
        """Learn what the keys of a JSON value point at."""
        todo = [value]
        while todo:
            item = todo.pop()
            if isinstance(item, list):
                todo.extend(item)
            elif isinstance(item, dict):
                for key, below in item.items():
                    kind = _key_kind(key)
                    if kind is not None and isinstance(below, str):
                        self._know(kind, below)
                    else:
                        todo.append(below)

    def _learn_form(self, body: bytes) -> None:
        """Learn what a form names, such as the secret by which a program gets its token."""
        try:
            self.learn_value(dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=200)))
        except ValueError:
            return

    def _learn_texts(self, value: Any) -> None:
        todo = [value]
        while todo and len(self._texts) < _TEXTS_MAX:
            item = todo.pop()
            if isinstance(item, dict):
                told = (item.get(key) for key in ("content", "text", "prompt", "input", "message"))
                for text in told:
                    if isinstance(text, str) and len(text) >= _TEXT_CHARS_MIN:
                        self._texts[text[:2_000]] = None
                todo.extend(item.values())
            elif isinstance(item, list):
                todo.extend(item)
                for text in item:
                    if isinstance(text, str) and len(text) >= _TEXT_CHARS_MIN and " " in text:
                        self._texts[text[:2_000]] = None

    def _know(self, kind: str, value: str) -> None:
        value = value.strip().strip("\"'")
        if not _LEARNT_CHARS_MIN <= len(value) <= _LEARNT_CHARS_MAX:
            return
        if _NOBODY.fullmatch(value) or _PLACEHOLDER.fullmatch(value) or _MODEL.fullmatch(value):
            return
        lower = value.translate(_LOWER)
        if lower not in self._learnt:
            self._learnt[lower] = kind
            same = self._starts.setdefault(lower[:_LEARNT_CHARS_MIN], [])
            same.append(lower)
            same.sort(key=len, reverse=True)

    # ------------------------------------------------------------------ taking out

    def placeholder(self, kind: str, value: str) -> str:
        """Return what stands for `value`: the same for the same, in order of appearance."""
        lower = value.translate(_LOWER)
        known = self._learnt.get(lower, kind)
        key = (known, lower)
        if key not in self._placeholders:
            number = self._counts[known] = self._counts.get(known, 0) + 1
            self._placeholders[key] = f"{known}_scrubbed{number}"
        return self._placeholders[key]

    def text(self, text: str, *, texts_kept: bool = True) -> str:
        """Return `text` without what is learnt and without what has the shape of a secret.

        Args:
            texts_kept: whether what a person has asked, where it is quoted, may stay.
        """
        if not texts_kept:
            for said in self._texts:
                if said in text:
                    text = text.replace(said, "(a recorded text)")
        if self._starts:
            text = _outside_placeholders(self._without_learnt, text)
        for kind, pattern in UNSAID:
            text = pattern.sub(partial(self._behind, kind), text)
        return _outside_placeholders(partial(_SHAPE.sub, self._shaped), text)

    def name(self, name: str) -> str:
        """Return the name of a file without secrets; what consists of plain words stays.

        `xai_grok` begins as a key does, and a report that called it otherwise would name a file
        that does not exist.
        """
        if self._starts:
            name = _outside_placeholders(self._without_learnt, name)
        return _outside_placeholders(partial(_SHAPE.sub, self._shaped_in_name), name)

    def value(self, value: Any, *, texts_kept: bool = True) -> Any:
        """Return a JSON value with all its texts scrubbed, and what its keys point at."""
        if isinstance(value, str):
            return self.text(value, texts_kept=texts_kept)
        if isinstance(value, list):
            return [self.value(item, texts_kept=texts_kept) for item in value]
        if isinstance(value, dict):
            return {
                self.text(str(key)): self._under(str(key), below, texts_kept=texts_kept)
                for key, below in value.items()
            }
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**11:
            # As long as an account's number, or a time in milliseconds.
            return int(self.placeholder("number", str(value)).removeprefix("number_scrubbed"))
        return value

    def host(self, host: str) -> str:
        """Return a host in which the label that a customer chose is replaced."""
        for end in HOST_LABELS:
            if host.endswith(end) and len(host) > len(end):
                label = host[: -len(end)]
                return self.placeholder("resource", label).replace("_", "-") + end
        shown = self.text(host)
        return shown if shown == host else f"{shown}.example.com".replace("_", "-")

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that hold no secret, their values scrubbed."""
        return {
            name: self.text(value) for name, value in headers.items() if _header_kind(name) is None
        }

    def header(self, name: str, value: str) -> str | None:
        """Return the value of one header, with a placeholder for what it must not tell.

        None is for a cookie, which is not written at all.
        """
        kind = _header_kind(name)
        if kind == "cookie":
            return None
        signed = _CREDENTIAL.search(value)
        if kind == "key" and signed is not None:
            # Amazon's differs in each request; the key that it was made with does not.
            return f"Credential={self.placeholder('key', signed[1].partition('/')[0])}"
        scrubbed = self.text(value)
        if kind is None or _ONLY_PLACEHOLDER.fullmatch(scrubbed):
            return scrubbed
        return self.placeholder(kind, value)

    def _under(self, key: str, value: Any, *, texts_kept: bool) -> Any:
        kind = _key_kind(key)
        if key == "param" and isinstance(value, str) and not _FIELD.fullmatch(value):
            # The name of a field of the request; what is no name repeats what was asked.
            kind = "param"
        if kind is not None and isinstance(value, str) and value:
            if _NOBODY.fullmatch(value) or _PLACEHOLDER.fullmatch(value):
                return value
            return self.placeholder(kind, value)
        if kind is not None and isinstance(value, int) and not isinstance(value, bool):
            return int(self.placeholder("number", str(value)).removeprefix("number_scrubbed"))
        return self.value(value, texts_kept=texts_kept)

    def _without_learnt(self, text: str) -> str:
        """Replace learnt values that stand as words of their own."""
        lower = text.translate(_LOWER)
        pieces: list[str] = []
        done = 0
        for place in _WORD_START.finditer(lower):
            at = place.start()
            if at < done:
                continue
            for value in self._starts.get(lower[at : at + _LEARNT_CHARS_MIN], ()):
                end = at + len(value)
                if lower.startswith(value, at) and not _ALNUM.match(lower, end):
                    pieces += [text[done:at], self.placeholder("id", value)]
                    done = end
                    break
        return "".join([*pieces, text[done:]])

    def _shaped(self, match: re.Match[str]) -> str:
        assert match.lastgroup is not None
        kind = _SHAPE_KINDS[int(match.lastgroup[1:])]
        found = match[0]
        scheme, blank, rest = found.partition(" ")
        if blank and scheme in ("Bearer", "Basic", "Token"):
            return f"{scheme} {self.placeholder('key', rest.strip())}"
        return self.placeholder(kind, found)

    def _shaped_in_name(self, match: re.Match[str]) -> str:
        kind = _SHAPE_KINDS[int((match.lastgroup or "")[1:])]
        plain = kind not in ("ip", "person") and _PLAIN_WORDS.fullmatch(match[0])
        return match[0] if plain else self._shaped(match)

    def _behind(self, kind: str, match: re.Match[str]) -> str:
        # What ends a sentence is no part of the secret before it.
        found = (match[1] if match.re.groups else match[0]).rstrip(".:!?")
        if not found:
            return match[0]
        if _PLACEHOLDER.search(found) or _NOBODY.fullmatch(found):
            return match[0]
        at = match.start(match.re.groups and 1) - match.start()
        shown = self.placeholder(kind, found)
        return f"{match[0][:at]}{shown}{match[0][at + len(found) :]}"


def _outside_placeholders(change: Callable[[str], str], text: str) -> str:
    """Change a text, but nothing inside of what already stands for a secret."""
    pieces: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        pieces += [change(text[end : match.start()]), match[0]]
        end = match.end()
    pieces.append(change(text[end:]))
    return "".join(pieces)


def _header_kind(name: str) -> str | None:
    lower = name.lower()
    if lower in HEADERS:
        return HEADERS[lower]
    if any(word in lower for word in ("api-key", "apikey", "secret", "authoriz", "password")):
        return "key"
    if lower.endswith(("-token", "_token")):
        return "key"
    if "request-id" in lower or "requestid" in lower or "trace-id" in lower:
        return "req"
    if any(word in lower for word in ("organization", "organisation", "account-id")):
        return "org"
    return "user" if lower.endswith(("user-id", "userid")) else None


def _key_kind(key: str) -> str | None:
    bare = _NOT_WORD.sub("", key.lower())
    if bare in KEYS:
        return KEYS[bare]
    return next((kind for end, kind in KEY_ENDS if bare.endswith(end)), None)
