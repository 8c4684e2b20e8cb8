"""Runs the shell steps of what we ship for build servers, as the servers do, in a folder.

`faultclock` and `python -m pip` are found first in a folder of our own: the one is this checkout,
the other writes down what it was asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.architecture.source_tree import PROJECT

#: One attempt and no retry, with nothing but the standard library.
ADAPTER = """\
import http.client
import json

from faultclock import provider_adapter


@provider_adapter
def subject(request):
    connection = http.client.HTTPSConnection("api.openai.com")
    body = {"model": request.model, "messages": list(request.messages), "stream": False}
    headers = {"content-type": "application/json", "authorization": "Bearer key"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    return answer["choices"][0]["message"]["content"]
"""
#: How the servers start a script.
Shell = tuple[str, ...]


def shipped(name: str) -> Any:
    """Return what a YAML file at the project's root holds."""
    return yaml.safe_load((PROJECT / name).read_text("utf-8"))


def violations(schema: str, *options: str, file: str) -> str:
    """Return what check-jsonschema says against a file that we ship; empty where it is right."""
    from check_jsonschema import main
    from click.testing import CliRunner

    done = CliRunner().invoke(main, [*options, *schema.split(), str(PROJECT / file)])
    return "" if done.exit_code == 0 else done.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A build server with a project of somebody's checked out.

    Attributes:
        folder: where the project is.
        tools: folder with the commands that the steps call.
    """

    folder: Path
    tools: Path

    def offer(self, command: str, script: Sequence[str]) -> None:
        """Put a command in front of all others."""
        file = self.tools / command
        file.write_text("\n".join(["#!/bin/sh", *script, ""]))
        file.chmod(0o755)

    def offer_faultclock(self) -> None:
        """Offer the command of this checkout, with the imports that it needs."""
        self.offer("faultclock", [f'exec "{sys.executable}" -m faultclock.cli "$@"'])

    def offer_recorder(self, command: str, code: int = 0) -> None:
        """Offer a command that writes down its words, one a line, and exits with `code`."""
        self.offer(command, ['printf "%s\\n" "$@" >> "$RECORDED"', f"exit {code}"])

    @property
    def recorded(self) -> list[str]:
        """What recorders were called with."""
        file = self.tools / "recorded"
        return file.read_text().splitlines() if file.exists() else []

    def run(
        self, script: str, shell: Shell, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run the text of a step."""
        file = self.tools / "step.sh"
        file.write_text(script)
        settled = {
            "PATH": f"{self.tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT),
            "RECORDED": str(self.tools / "recorded"),
        }
        return subprocess.run(
            [*shell, str(file)],
            cwd=self.folder,
            env={**settled, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
