"""A small model, client and scenarios: those of the page, with all rules mended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from faultclock.kills.search import SearchRequest
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.run.prepare import prepare
from faultclock.sim.patches import installed

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "find-rules-that-cannot-fail.md"


@pytest.fixture(scope="session", autouse=True)
def _patched() -> Iterator[None]:
    """Have the patches installed for this folder's tests, and taken back after them."""
    with installed():
        yield


def page_files() -> dict[str, str]:
    """Return what the page writes, by the names of the files."""
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.M | re.S)
    return dict(blocks)


@cache
def courier(folder: Path, *, mended: bool = True) -> SearchRequest:
    """Return the search of the page, with its files written below a folder."""
    for name, text in page_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if mended and name == "courier.yaml":
            text = text.replace(
                "other: {kinds: [call.started]}", "other: {kinds: [attempt.failed]}"
            )
        path.write_text(text, encoding="utf-8")
    found = find_scenarios((str(folder / "scenarios"),))
    spec = f"{folder / 'client.py'}:subject"
    return SearchRequest(
        scenarios=tuple(item.scenario for item in found),
        binding=prepare(spec),
        subject_spec=spec,
        model=load_error_model(str(folder / "courier.yaml")),
    )


@pytest.fixture(scope="session")
def request_(tmp_path_factory: pytest.TempPathFactory) -> SearchRequest:
    """The search of the page after all that it says was done."""
    return courier(tmp_path_factory.mktemp("courier"))


@pytest.fixture(scope="session")
def unmended(tmp_path_factory: pytest.TempPathFactory) -> SearchRequest:
    """The search of the page with the rule that cannot fail."""
    return courier(tmp_path_factory.mktemp("unmended"), mended=False)
