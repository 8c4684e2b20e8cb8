"""The clients that only this environment has load as the list says, and the others are others."""

from __future__ import annotations

import pytest

from faultclock.subjects.registry import catalog, load_subject
from tests.subjects.test_registry import ELSEWHERE


@pytest.mark.parametrize("id_", sorted(ELSEWHERE))
def test_a_client_loads_under_its_own_id_title_and_role(id_: str) -> None:
    """The list and the bindings say the same."""
    entry = {entry.id: entry for entry in catalog()}[id_]
    binding = load_subject(id_)
    assert (binding.id, binding.title, binding.role) == (id_, entry.title, entry.role)
    assert binding.dialects[0] == entry.dialect
    assert entry.available
