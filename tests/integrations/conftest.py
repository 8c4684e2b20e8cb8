"""What the tests of integrations share: a build server with a project checked out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.shell_steps import ADAPTER, Server


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Return a server with `my_adapter.py`."""
    folder, tools = tmp_path / "project", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    (folder / "my_adapter.py").write_text(ADAPTER)
    return Server(folder=folder, tools=tools)
