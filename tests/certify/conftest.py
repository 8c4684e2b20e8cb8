"""What tests of certificates share: a key, and one certificate of a small set, made once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultclock.certify.keys import SigningKey, load_private_key, make_keys
from faultclock.certify.verifying import verify
from faultclock.model.report.certificate import Verification
from faultclock.sim.patches import installed
from tests.certify.small import ADAPTER, TODAY, frozen, made_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A folder, and who signed it."""

    root: Path
    key: SigningKey
    key_file: Path
    adapter: Path

    def verified(self, *, trust: bool = True) -> Verification:
        """Return what can be said of it, by the small set."""
        with frozen():
            found = verify(self.root, trusted=self.key.public if trust else None)
        return found.verification


@pytest.fixture(scope="session", autouse=True)
def _patched() -> Iterator[None]:
    """Have the patches installed for this folder's tests, and taken back after them."""
    with installed():
        yield


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate that nobody changes."""
    folder = tmp_path_factory.mktemp("certify")
    adapter = folder / "adapter.py"
    adapter.write_text(ADAPTER)
    key_file = make_keys(folder / "team.key").private
    key = load_private_key(key_file, today=TODAY)
    root = folder / "certificate"
    made = made_in(root, adapter, key)
    assert made.appraisal.is_reached, made.appraisal.objections
    return Certificate(root=root, key=key, key_file=key_file, adapter=adapter)


@pytest.fixture
def copied(original: Certificate, tmp_path: Path) -> Certificate:
    """A copy of it, to be changed."""
    root = tmp_path / "certificate"
    shutil.copytree(original.root, root)
    return Certificate(
        root=root, key=original.key, key_file=original.key_file, adapter=original.adapter
    )
