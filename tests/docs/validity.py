"""Whether a snippet is what its page says that it is: a scenario, a subject, a workflow."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from faultclock.cli.app import app
from faultclock.load.payloads import load_payloads
from faultclock.load.scenario import load_scenario
from faultclock.model.scenario.fault import HttpError, OkWithErrorBody, StreamError
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.run.variables import FIXED
from faultclock.subjects.registry import load_subject
from tests.docs.page import Block, PageError

#: Schemas that check-jsonschema carries, by what a file of that kind is called or has.
_FOREIGN = {
    "github-workflows": lambda data: "jobs" in data and (True in data or "on" in data),
    "github-actions": lambda data: {"name", "runs"} <= data.keys(),
    "gitlab-ci": lambda data: (
        any(isinstance(value, dict) and "script" in value for value in data.values())
        or "include" in data
    ),
}


def check_snippet(block: Block, folder: Path) -> None:
    """Check a block that no command of its page has to use.

    Args:
        folder: where it is written to for that, unless the page has written it.

    Raises:
        PageError: it is no such thing.
        HarnessError: what the loader of its format says.
    """
    CHECKED[block.language](block, folder)


def _check_yaml(block: Block, folder: Path) -> None:
    data = yaml.safe_load(block.text)
    path = _file(block, folder, ".yaml")
    kinds = data.keys() if isinstance(data, dict) else set()
    if {"id", "title", "why"} <= kinds:
        _check_scenario(path)
    elif "requirements" in kinds or {"name", "model", "events"} <= kinds:
        _validate(path)
    elif "repos" in kinds:
        if not all({"repo", "hooks"} <= item.keys() for item in data["repos"]):
            raise PageError("no configuration of pre-commit")
    else:
        name = next((name for name, has in _FOREIGN.items() if kinds and has(data)), None)
        if name is not None:
            _check_by_schema(name, json.loads(json.dumps(_with_on(data))))
        elif block.file is None:
            raise PageError(
                f"line {block.line}: nobody knows what this YAML is: give it a file name that a "
                "command uses, or make it a fragment (`yml`) with a test of its own"
            )


def _check_scenario(path: Path) -> None:
    scenario = load_scenario(path)
    known = load_payloads(scenario.provider.dialect or DEFAULT_DIALECT)
    own = set(scenario.provider.payloads)
    for rule in scenario.provider.faults:
        then = rule.then
        if (
            isinstance(then, (HttpError, OkWithErrorBody, StreamError))
            and then.error not in known
            and then.error not in own
        ):
            raise PageError(f"no payload {then.error}")


def _validate(path: Path) -> None:
    try:
        app(["validate", str(path), "--quiet"])
    except SystemExit as error:
        if error.code:
            raise PageError(f"`faultclock validate` says {error.code}") from None


def _check_by_schema(name: str, data: Any) -> None:
    folder = files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((folder / f"{name}.json").read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    problems = list(validator(schema).iter_errors(data))
    if problems:
        raise PageError(f"{name}: {problems[0].json_path}: {problems[0].message[:300]}")


def _with_on(data: dict[Any, Any]) -> dict[Any, Any]:
    """Read the key `on` of a workflow as GitHub does: YAML 1.1 takes it for true."""
    return {"on" if key is True else key: value for key, value in data.items()}


def _check_python(block: Block, folder: Path) -> None:
    tree = ast.parse(block.text)
    names = {
        name
        for node in tree.body
        for name in (
            [node.name]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            else [target.id for target in node.targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    }
    if "subject" in names:
        load_subject(f"{_file(block, folder, '.py')}:subject")
    else:
        # A client or an agent is made with the keys that every subject is given.
        with pytest.MonkeyPatch.context() as patch:
            for name, value in FIXED.items():
                patch.setenv(name, value)
            exec(compile(tree, f"line {block.line}", "exec"), {"__name__": "example"})


def _check_toml(block: Block, _: Path) -> None:
    tomllib.loads(block.text)


def _check_json(block: Block, _: Path) -> None:
    for line in [block.text] if _is_json(block.text) else block.text.splitlines():
        json.loads(line)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _file(block: Block, folder: Path, suffix: str) -> Path:
    if block.file is not None:
        return folder / block.file
    path = folder / f"snippet_at_line_{block.line}{suffix}"
    path.write_text(block.text, "utf-8")
    return path


#: How a block of a language is checked.
CHECKED: dict[str, Callable[[Block, Path], None]] = {
    "yaml": _check_yaml,
    "python": _check_python,
    "toml": _check_toml,
    "json": _check_json,
}
