"""The simulated network is as the real one: same scripts, same exceptions, same attempts.

Run with `-s` to see the table. The real half takes a few real seconds on loopback sockets; it
is the one place where the tests touch any.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from faultclock.sim.patches import installed
from tests.parity.cells import CELLS, Cell, Outcome
from tests.parity.loopback import ConnectCounter, run_for_real, tls_hides_resets
from tests.parity.simulated import run_simulated

_THREADS = 10


def _real(scheme: str) -> dict[str, Outcome]:
    """Play every cell over real loopback sockets, all at once."""
    counter = ConnectCounter()
    with counter.watching(), ThreadPoolExecutor(_THREADS) as pool:
        outcomes = pool.map(lambda cell: run_for_real(cell, scheme, counter), CELLS)
        return {cell.name: outcome for cell, outcome in zip(CELLS, outcomes, strict=True)}


def _simulated(scheme: str) -> dict[str, Outcome]:
    with installed():
        return {cell.name: run_simulated(cell, scheme) for cell in CELLS}


@pytest.fixture(scope="module")
def plain() -> dict[str, Outcome]:
    """Every cell over real sockets without TLS."""
    return _real("http")


def test_every_cell_is_as_on_real_sockets(plain: dict[str, Outcome]) -> None:
    """Exception chain, requests and connects of every client under every fault are equal."""
    simulated = _simulated("http")
    sys.stdout.write(_table("http", plain, simulated))
    assert simulated == plain


def test_every_cell_is_as_with_real_tls(plain: dict[str, Outcome]) -> None:
    """Bytes that pass through the simulated TLS come to the same as with real TLS.

    Some interpreters hide a reset from blocking TLS clients. The world does not: there a cell
    is as it is without TLS, which is how interpreters without that bug have it.
    """
    real, simulated = _real("https"), _simulated("https")
    if tls_hides_resets():
        hidden = [cell.name for cell in CELLS if cell.is_reset_of_blocking_client]
        assert len(hidden) == 5
        real |= {name: plain[name] for name in hidden}
    sys.stdout.write(_table("https", real, simulated))
    assert simulated == real


def test_the_table_holds_every_client_and_fault() -> None:
    """The check covers four clients times fourteen faults, and two streams times six."""
    assert len(CELLS) == 4 * 14 + 2 * 6
    assert len({cell.name for cell in CELLS}) == len(CELLS)


def _table(scheme: str, real: dict[str, Outcome], simulated: dict[str, Outcome]) -> str:
    lines = [f"\nreal loopback against the simulation over {scheme}"]
    lines += [_row(cell, real[cell.name], simulated[cell.name]) for cell in CELLS]
    equal = sum(real[cell.name] == simulated[cell.name] for cell in CELLS)
    return "\n".join([*lines, f"{equal} of {len(CELLS)} cells are equal\n"])


def _row(cell: Cell, expected: Outcome, found: Outcome) -> str:
    row = (
        f"{'=' if expected == found else 'X'} {cell.client:20} {cell.fault:24} "
        f"requests {expected.requests} connects {expected.connects}  {expected.result}"
    )
    return row if expected == found else f"{row}\n  simulated: {found}"
