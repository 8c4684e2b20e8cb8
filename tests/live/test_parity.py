"""The simulated world is as the real one: same clients, same scenarios, same outcomes and attempts.

This is the one place where tests of whole runs let real time pass, and it is here because nothing
else can show it: a simulation that agrees with itself may still be wrong about the world. Each
client runs in a process of its own, in all situations at once, so that their waits are shared. Run
it with `-s` to see the table; `python -m tests.live.parity` has it for all clients.
"""

from __future__ import annotations

import sys

import pytest

from tests.live.parity import Came, Cell, clients, compare, table
from tests.live.situations import SITUATIONS

#: Both styles and every way to the network: httpx2 by anyio and by sockets, urllib3, aiohttp.
_SAMPLE = ("openai-async", "openai-sync", "requests-retry", "aiohttp")


@pytest.fixture(scope="module")
def cells() -> tuple[Cell, ...]:
    """Every client of the sample that is installed, in every situation, both ways."""
    return compare(sorted(set(_SAMPLE) & set(clients())))


def test_clients_come_to_the_same_in_both_worlds(cells: tuple[Cell, ...]) -> None:
    """Returned or raised, with the same class, after the same attempts with the same statuses."""
    sys.stdout.write(table(cells))
    differing = [cell for cell in cells if not (cell.agrees or cell.left_out)]
    assert differing == [], table(cells)


def test_the_sample_shows_something(cells: tuple[Cell, ...]) -> None:
    """Retries, raised errors and cut streams are among what agrees; next to nothing is left out."""
    agreeing = [cell.real for cell in cells if cell.agrees and cell.real is not None]
    assert {"openai-async", "openai-sync"} <= {cell.client for cell in cells}
    assert len({cell.situation for cell in cells if cell.agrees}) >= len(SITUATIONS) - 1
    assert sum(bool(cell.left_out) for cell in cells) <= len(cells) // 10
    assert any(came.attempts == ("429", "200") for came in agreeing)
    assert any(came.attempts == ("500", "500", "200") for came in agreeing)
    assert any(came.outcome.startswith("raised ") for came in agreeing)
    assert any("200 eof" in came.attempts for came in agreeing)


def test_a_difference_is_told_with_both_sides() -> None:
    """The table names the client and the situation, and shows what each world came to."""
    right = Came(outcome="returned 'a'", attempts=("200",))
    wrong = Came(outcome="raised E", attempts=("200 eof",))
    name = SITUATIONS[0].id.partition("/")[2]
    cells = (
        Cell(client="one", situation=name, simulated=right, real=right),
        Cell(client="two", situation=name, simulated=right, real=wrong),
        Cell(client="three", situation=name, left_out="it takes 9.0 s"),
    )
    told = table(cells)
    assert "1 of 2 cells agree; 1 left out" in told
    assert f"differs: two, {name}:" in told
    assert str(wrong) in told
    assert f"left out: three, {name}: it takes 9.0 s" in told
