"""Mutants: what is changed, what kills them, and which are named."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faultclock.oracle import judge
from faultclock.sim.patches import installed
from tests.architecture.source_tree import PROJECT
from tests.ledger.__main__ import make
from tests.ledger.units import Unit
from tests.mutation.coverage import Coverage, Sample
from tests.mutation.equivalent import FILE, entry_of, key_of, read_equivalent, stale
from tests.mutation.operators import NOOP, Mutant, mutants, statements

_SMALL = Unit("wrong", "mini-ignores-retry-after")
_TEST = '''
from faultclock.load.error_model import load_error_model
from faultclock.oracle.judge import check_ids

def test_a_model_has_checks():
    """Each model does."""
    assert check_ids(load_error_model("common"))
'''


def _mutants(source: str, *, noop: bool = False) -> list[Mutant]:
    found = mutants(source, ast.parse(source))
    return [mutant for mutant in found if noop or mutant.operator != NOOP]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a is not b", {"x = a is b"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = 3", {"x = 4", "x = 2"}),
        ("x = True", {"x = False"}),
        ("x = a and b", {"x = a or b", "x = a", "x = b"}),
        ("x = not a", {"x = a"}),
        ('x = ("a", "b")', {'x = ("a",)', 'x = ("b",)'}),
        ("if a: pass", {"if True: pass", "if False: pass"}),
        ("x = {a for a in b if a}", {"x = {a for a in b if True}", "x = {a for a in b if False}"}),
        ("def f(): return a", {"def f(): return None"}),
        ("def f(): return None", {"def f(): return True"}),
        ("def f(): return", {"def f(): pass"}),
        ("for a in b: continue", {"for a in b: break"}),
        ("x = min(a)", {"x = max(a)"}),
        ("x = any(a)", {"x = all(a)"}),
        ("x = reversed(a)", {"x = list(a)"}),
        ("x = a - b", {"x = a + b", "x = a"}),
        ("x = a | b", {"x = a", "x = b"}),
        ("a(b)", {"False and a(b)"}),
        ("x += a", {"pass"}),
    ],
)
def test_each_operator_changes_what_it_is_for(source: str, expected: set[str]) -> None:
    """Each change is shown as the line that it makes."""
    assert {mutant.shown()[1] for mutant in _mutants(source)} == expected


def test_the_first_and_the_last_are_confused() -> None:
    """It is a mutant beside those of the number itself."""
    found = [mutant.shown()[1] for mutant in _mutants("x = a[0]") if mutant.operator == "choice"]
    assert found == ["x = a[-1]"]


@pytest.mark.parametrize(
    "source",
    [
        "'a docstring'",
        "x: Literal[1]",
        "__all__ = ['a', 'b']",
        "x = f'{a < b}'",
        "@a(1)\nclass B: ...",
    ],
)
def test_what_decides_no_verdict_stays(source: str) -> None:
    """Docstrings, hints, messages, decorators and `__all__` have no mutants."""
    assert _mutants(source) == []


def test_a_mutant_changes_its_tree() -> None:
    """What is compiled is what is shown."""
    source = "def f(a):\n    return a < 2\n"
    tree = ast.parse(source)
    (mutant,) = (item for item in mutants(source, tree) if item.operator == "comparison")
    assert (mutant.function, mutant.line, mutant.statement) == ("f", 2, 0)
    mutant.apply()
    assert ast.unparse(tree) == "def f(a):\n    return a <= 2"
    assert mutant.shown() == ("return a < 2", "return a <= 2")


def test_a_change_outside_of_functions_names_what_it_binds() -> None:
    """So the functions that read that name are known to execute it."""
    assert {mutant.names for mutant in _mutants("LIMIT = 3")} == {frozenset({"LIMIT"})}


def test_statements_of_functions_are_numbered_without_their_docstrings() -> None:
    """The numbers are the same for the same text."""
    tree = ast.parse("x = 1\ndef f():\n    'doc'\n    if a:\n        b()\n    return c\n")
    found = {ast.unparse(node): number for node, number in statements(tree).items()}
    assert found == {"if a:\n    b()": 0, "b()": 1, "return c": 2}


def test_samples_are_chosen_from_each_way_through_a_module_first() -> None:
    """The cheapest of each way, as many as there is time for."""
    coverage = Coverage()
    for name, record, seconds in (
        ("slow", "110", 3.0),
        ("quick", "110", 1.0),
        ("other", "011", 2.0),
        ("elsewhere", "100", 1.0),
    ):
        sample = Sample(source="s", unit="u", name=name, model="m", digest="", seconds=seconds)
        coverage.add(sample, {"module": record})
    assert _names(coverage.chosen("module", (1,), 9.0)) == ["quick", "other", "slow"]
    assert _names(coverage.chosen("module", (1,), 3.0)) == ["quick", "other"]
    assert _names(coverage.chosen("module", (2,), 0.0)) == ["other"]
    assert coverage.chosen("another", None, 9.0) == []


def test_samples_of_the_modules_own_tests_come_first() -> None:
    """They are about it, however long they take."""
    coverage = Coverage()
    for source, record, seconds in (
        ("tests/test_other.py", "10", 1.0),
        ("tests/test_module.py", "11", 2.0),
        ("tests/test_module.py", "10", 3.0),
    ):
        name = f"{source} {seconds:.0f}"
        sample = Sample(source=source, unit="", name=name, model="", digest="", seconds=seconds)
        coverage.add(sample, {"module": record})
    own = ["tests/test_module.py 2", "tests/test_module.py 3"]
    assert _names(coverage.chosen("module", (0,), 5.0, "test_module")) == own
    assert _names(coverage.chosen("module", (0,), 3.0)) == [
        "tests/test_other.py 1",
        "tests/test_module.py 2",
    ]


def _names(samples: list[Sample]) -> list[str]:
    return [sample.name for sample in samples]


def test_an_entry_that_fits_no_mutant_is_stale(tmp_path: Path) -> None:
    """The list names each mutant as the command shows it."""
    first, second = _mutants("x = 3")
    path = tmp_path / "equivalent.txt"
    path.write_text(f"# a comment\n{entry_of(first)}\nwhy: it is only shown\n", "utf-8")
    assert read_equivalent(path) == {key_of(first): "it is only shown"}
    assert stale([key_of(first)], [first, second]) == []
    assert stale([key_of(first)], [second]) == [key_of(first)]


def test_an_entry_needs_a_reason(tmp_path: Path) -> None:
    """Without one it is an error."""
    path = tmp_path / "equivalent.txt"
    path.write_text(entry_of(_mutants("x = 3")[0]), "utf-8")
    with pytest.raises(ValueError, match="needs four lines"):
        read_equivalent(path)


def test_the_list_can_be_read() -> None:
    """Each entry has its four lines."""
    read_equivalent(FILE)


def test_the_command_kills_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    """A run and a test kill one each; what changes nothing survives, and may be named."""
    with installed():
        make(tmp_path / "ledger", _SMALL)
    (tmp_path / "test_it.py").write_text(_TEST, "utf-8")
    code, said = _command(
        tmp_path, "--operator=return", "--only=*:Judge.judge", "--only=*:check_ids"
    )
    assert "2 of 2 mutants: 1 killed by the ledger, 1 by tests, 0 by a limit" in said
    assert code == 0
    noop = (f"--operator={NOOP}", "--only=*:Judge.judge")
    code, said = _command(tmp_path, *noop)
    assert "0 named, 1 survived" in said
    assert code == 1
    entry = "\n".join(line.strip() for line in said.splitlines()[1:4])
    path = tmp_path / "equivalent.txt"
    path.write_text(f"{entry}\nwhy: it changes nothing\n", "utf-8")
    code, said = _command(tmp_path, *noop, f"--equivalent={path}")
    assert "1 named, 0 survived" in said
    assert code == 0


def _command(folder: Path, *words: str) -> tuple[int, str]:
    """Run the command in a process that has not imported the oracle yet."""
    where = [f"--folder={folder / 'ledger'}", f"--kept={folder / 'kept'}", "--share=1"]
    where += [f"--tests={folder / 'test_it.py'}"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation", Path(judge.__file__).name, *where, *words],
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
