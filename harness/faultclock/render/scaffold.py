"""What `faultclock init` writes: from a choice to the texts of some files. It writes none itself.

A scaffold is a subject bound in a few lines, a first scenario of one's own, a table in
pyproject.toml that names both, and the gate as a job for a build server. Everything in it runs as
it is, and everything is meant to be changed. The texts are templates in `templates/init/`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from faultclock.errors import InputError
from faultclock.model.scenario.scenario import Role

ContinuousIntegration = Literal["github", "gitlab", "none"]

#: Where everything but the job and the table goes: one folder, that its owner may rename.
FOLDER = "conformance"
_SCENARIOS = f"{FOLDER}/scenarios"
#: pytest collects what is named like this.
_SCENARIO = f"{_SCENARIOS}/first.scenario.yaml"
_JOBS = {"github": ".github/workflows/faultclock.yml", "gitlab": ".gitlab-ci.yml"}


_HEADER = re.compile(r"\s*\[\s*tool\s*\.\s*faultclock\s*\]")
_SUBJECT = re.compile(r"\s*subject\s*=")


class ClientKind(Struct, frozen=True, kw_only=True):
    """One client that can be bound.

    Attributes:
        title: what it is, for a list.
        module: what has to be importable; None: the standard library is enough.
        needs: what pip has to install so that it is, Faultclock included.
    """

    title: str
    module: str | None
    needs: str


#: In the order in which they are looked for where nobody says which.
CLIENTS: Mapping[str, ClientKind] = MappingProxyType(
    {
        "openai": ClientKind(
            title="OpenAI's SDK, async", module="openai", needs="'faultclock[openai]'"
        ),
        "openai-sync": ClientKind(
            title="OpenAI's SDK, blocking", module="openai", needs="'faultclock[openai]'"
        ),
        "anthropic": ClientKind(
            title="Anthropic's SDK, async", module="anthropic", needs="'faultclock[anthropic]'"
        ),
        "anthropic-sync": ClientKind(
            title="Anthropic's SDK, blocking", module="anthropic", needs="'faultclock[anthropic]'"
        ),
        "google-genai": ClientKind(
            title="Google's Gen AI SDK, async",
            module="google.genai",
            needs="'faultclock[google-genai]'",
        ),
        "httpx2": ClientKind(
            title="plain HTTP with httpx2, async", module="httpx2", needs="faultclock httpx2"
        ),
        "requests": ClientKind(
            title="plain HTTP with requests, blocking",
            module="requests",
            needs="'faultclock[requests]'",
        ),
        "own": ClientKind(title="a function of your own", module=None, needs="faultclock"),
    }
)


class _RoleKind(Struct, frozen=True, kw_only=True):
    """What is written for a role: its file, its template, and the shipped family that is run."""

    file: str
    template: str
    family: str
    module: str | None = None
    needs: str = "faultclock"


_ROLES: Mapping[Role, _RoleKind] = MappingProxyType(
    {
        # The template is that of the client.
        "provider_adapter": _RoleKind(file="adapter.py", template="", family="rate-limits"),
        "runtime": _RoleKind(
            file="agent.py",
            template="runtime",
            family="tools",
            module="openai",
            needs="'faultclock[openai]'",
        ),
        "tool": _RoleKind(file="tool.py", template="tool", family="tool-contract"),
        "session_store": _RoleKind(
            file="store.py", template="session-store", family="session-store-contract"
        ),
        "extension": _RoleKind(
            file="extension.py", template="extension", family="extension-contract"
        ),
    }
)


class Choice(Struct, frozen=True, kw_only=True):
    """What a person chose, and what their project is like.

    Attributes:
        role: of the subject.
        client: key of `CLIENTS`; said for a provider adapter only.
        job: the build server that the gate is written for.
        project: what pip has to install so that the project itself can be imported, such as `.`.
        subject: code that exists already, as `--subject` takes it; empty: a file is written for it.
    """

    role: Role = "provider_adapter"
    client: str = "own"
    job: ContinuousIntegration = "github"
    project: str = ""
    subject: str = ""


class Scaffold(Struct, frozen=True, kw_only=True):
    """What a choice comes to.

    Attributes:
        files: text by path; paths are relative to the project, with `/`.
        table: what pyproject.toml gets, `[tool.faultclock]` and its keys.
        subject: as `--subject` takes it.
        scenario: path of the first scenario.
        job: path of the job for the build server; None: it was not asked for.
        module: what has to be importable before anything runs; None: nothing.
        needs: what pip has to install.
    """

    files: Mapping[str, str]
    table: str
    subject: str
    scenario: str
    job: str | None
    module: str | None
    needs: str


def scaffold(choice: Choice) -> Scaffold:
    """Return the texts that `choice` comes to: the same choice always gives the same texts."""
    kind = _ROLES[choice.role]
    file = f"{FOLDER}/{kind.file}"
    subject = choice.subject or f"{file}:subject"
    template, module, needs = kind.template, kind.module, kind.needs
    if choice.role == "provider_adapter":
        client = CLIENTS[choice.client]
        template, module, needs = choice.client, client.module, client.needs
    files = {_SCENARIO: _rendered(f"scenario/{choice.role}.yaml.j2")}
    if choice.subject:
        module, needs = None, "faultclock"
    else:
        files = {file: _rendered(f"subject/{template}.py.j2"), **files}
    job = _JOBS.get(choice.job)
    if job is not None:
        installs = f"{choice.project} {needs}".strip()
        files[job] = _rendered(f"ci/{choice.job}.yml.j2", installs=installs)
    table = _rendered(
        "pyproject.toml.j2",
        subject=subject,
        folder=FOLDER,
        scenarios=_SCENARIOS,
        family=kind.family,
    )
    return Scaffold(
        files=MappingProxyType(files),
        table=table,
        subject=subject,
        scenario=_SCENARIO,
        job=job,
        module=module,
        needs=needs,
    )


def with_table(text: str, table: str, path: str) -> str:
    """Return what has to be added to the end of a pyproject.toml so that it has `table`, too.

    The text that is there keeps every character. Lines end as they do in it.

    Args:
        text: of the file as it is; empty where there is none.
        table: `[tool.faultclock]` and its keys.
        path: of the file, for messages.

    Raises:
        InputError: it is no TOML, or has such a table already, or cannot take one at its end.
    """
    before = _parsed(text, path)
    tools = before.get("tool", {})
    if isinstance(tools, dict) and "faultclock" in tools:
        raise InputError(
            f"{path}: it has a [tool.faultclock] already",
            hint="this project is set up: `faultclock run` does what stands there",
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    added = gap + table.replace("\n", newline)
    try:
        after = tomllib.loads(text + added)
        tool = after["tool"]
        del tool["faultclock"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        after = None
    if after is None or {**after, "tool": tool or None} != {**before, "tool": tools or None}:
        raise InputError(
            f"{path}: a table cannot be added at its end, because of how `tool` is written in it",
            hint="write [tool.…] for each of its tables, or move this file away for the moment",
        )
    return added


def with_subject(text: str, table: str, path: str, *, replace: bool = False) -> str:
    """Return a pyproject.toml that has a `[tool.faultclock]` already, with the subject of `table`.

    One line of it is added or replaced, and everything else keeps every character.

    Args:
        replace: whether another subject that stands there may be replaced.

    Raises:
        InputError: another subject stands there, or the table is written in another way.
    """
    before = _parsed(text, path)
    own: Any = _own_table(before)
    subject = str(_own_table(_parsed(table, path))["subject"])
    if own.get("subject") == subject:
        return text
    line = f"subject = {json.dumps(subject, ensure_ascii=False)}"
    if "subject" in own and not replace:
        raise InputError(
            f"{path}: [tool.faultclock] has the subject {own['subject']} already",
            hint=f"--force replaces that line by: {line}",
        )
    after = "".join(_with_line(text.splitlines(keepends=True), line))
    try:
        is_right = tomllib.loads(after) == _with_own(before, {**own, "subject": subject})
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise InputError(
            f"{path}: the subject cannot be set, because of how the table is written",
            hint=f"write it yourself: {line}",
        )
    return after


def has_table(text: str, path: str) -> bool:
    """Return whether a pyproject.toml has a `[tool.faultclock]`.

    Raises:
        InputError: it is no TOML.
    """
    tools = _parsed(text, path).get("tool", {})
    return isinstance(tools, dict) and isinstance(tools.get("faultclock"), dict)


def _own_table(tables: Mapping[str, Any]) -> Any:
    return tables["tool"]["faultclock"]


def _with_own(tables: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**tables, "tool": {**tables["tool"], "faultclock": own}}


def _with_line(lines: list[str], line: str) -> list[str]:
    """Return lines with `line` below the header of our table, in place of one that is there."""
    header = next((number for number, item in enumerate(lines) if _HEADER.match(item)), None)
    if header is None:
        return lines
    end = next(
        (n for n in range(header + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines)
    )
    newline = "\r\n" if lines[header].endswith("\r\n") else "\n"
    there = next((n for n in range(header + 1, end) if _SUBJECT.match(lines[n])), None)
    if there is not None:
        return [*lines[:there], line + newline, *lines[there + 1 :]]
    first = lines[header] if lines[header].endswith("\n") else lines[header] + newline
    return [*lines[:header], first, line + newline, *lines[header + 1 :]]


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is no TOML: {error}") from None


def _rendered(template: str, **values: str) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("faultclock.render", "templates/init"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - programs and settings for a person's own project, no page
    )
