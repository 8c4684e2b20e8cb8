"""The command itself: help that answers at once, and failures that are sentences."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from pydantic import BaseModel, field_serializer

from faultclock import __version__
from faultclock.cli.app import _COMMANDS
from faultclock.errors import InputError, InternalError
from tests.cli.command_line import faultclock

COMMANDS = ("run", "list", "validate", "replay", "schema", "doctor")


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the command `schema scenario` raise `error`."""

    def fail(what: str) -> NoReturn:
        raise error

    monkeypatch.setattr("faultclock.load.schema.schema_of", fail)


def test_the_help_lists_every_command_and_exit_code() -> None:
    """A build server's author finds the codes without reading the source."""
    result = faultclock("--help")
    assert result.exit_code == 0
    assert all(f"  {name} " in result.stdout for name in COMMANDS)
    assert all(f"  {code} " in result.stdout for code in (0, 1, 2, 3, 70, 130, 141))


def test_the_help_groups_the_commands_and_has_one_line_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A newcomer sees where to start, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = faultclock("--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    start, more = lines.index("Start here:"), lines.index("More:")
    first = [line.split()[0] for line in lines[start + 1 : more - 1]]
    assert first == ["check", "init", "doctor", "run"]
    rest = lines[more + 1 : lines.index("", more)]
    assert all(line.startswith("  ") and line[2] != " " for line in rest)
    assert len(first) + len(rest) == len(_COMMANDS)


def test_a_shell_completes_commands_options_and_values(tmp_path: Path) -> None:
    """The help says how to switch it on, and a configuration says nothing in between."""
    (tmp_path / "pyproject.toml").write_text('[tool.faultclock]\nsubject = "reference"\n')
    assert "_FAULTCLOCK_COMPLETE=bash_source" in faultclock("--help").stdout
    for typed, wanted in (
        ("faultclock ce", "certify"),
        ("faultclock run --last", "--last-failed"),
        ("faultclock run --group-by ca", "cause"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "faultclock.cli"],
            cwd=tmp_path,
            env=os.environ
            | {
                "COMP_WORDS": typed,
                "COMP_CWORD": str(len(typed.split()) - 1),
                "_FAULTCLOCK_COMPLETE": "bash_complete",
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"plain,{wanted}" in done.stdout.splitlines()
        assert done.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_teaches_by_example(name: str) -> None:
    """The shown command lines begin with the program's name."""
    result = faultclock(name, "--help")
    assert result.exit_code == 0
    assert f"  faultclock {name}" in result.stdout


def test_the_version_is_that_of_the_package() -> None:
    """One place names it."""
    assert __version__ in faultclock("--version").stdout


def test_help_imports_nothing_that_takes_time() -> None:
    """A first impression is made in the first tenth of a second."""
    code = (
        "import sys\n"
        "from faultclock.cli.app import app\n"
        "try:\n    app(args=['--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'pydantic', 'yaml', 'rich', 'jinja2', 'simpy', 'vcr', 'openai', 'asyncio'}\n"
        "print('loaded:', *sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("loaded:\n")


#: How many modules a command imports at most.
_SCENARIO = "rate-limits/retry-after-integer"
_IMPORTED = {
    ("--version",): 133,
    ("run", _SCENARIO, "--subject", "reference", "--jobs", "1", "--quiet"): 877,
    ("check", "reference", "--only", _SCENARIO, "--jobs", "1", "--quiet"): 902,
}
#: What takes longest to import, and what of it no run can do without.
_NEEDED = {"asyncio", "pydantic", "simpy", "yaml"}
_TAKE_LONG = {
    *_NEEDED,
    *("cryptography", "hypothesis", "jinja2", "jsonschema", "junitparser", "openai", "pytest"),
    *("rich", "ruamel", "sarif_pydantic", "vcr", "faultclock.mutants.registry"),
}


@pytest.mark.parametrize("words", _IMPORTED)
def test_a_command_imports_only_what_it_needs(words: tuple[str, ...]) -> None:
    """Imports are most of what it costs to start: whoever adds some raises the number here."""
    code = (
        "import sys\n"
        "from faultclock.cli.app import app\n"
        f"try:\n    app(args={list(words)!r})\n"
        "except SystemExit:\n    pass\n"
        f"print(len(sys.modules), *sorted({_TAKE_LONG!r} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    count, *loaded = done.stdout.splitlines()[-1].split()
    assert set(loaded) <= (set() if words == ("--version",) else _NEEDED)
    assert int(count) <= _IMPORTED[words]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lst",), "unknown command 'lst': did you mean 'list'?"),
        (("list", "scenario"), "'scenario' is not one of"),
        (("run", "--sed", "1"), "No such option '--sed'"),
        (("validate",), "Missing argument"),
    ],
)
def test_wrong_usage_is_told_with_a_way_out(words: tuple[str, ...], told: str) -> None:
    """Code 2, and nothing on standard output."""
    result = faultclock(*words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


def test_bad_input_is_a_sentence_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, and no escape sequence out of somebody's file."""
    fail_with(monkeypatch, InputError("what is \x1b[31mwrong", hint="what to do"))
    result = faultclock("schema", "scenario")
    assert result.exit_code == 2
    assert result.stderr == "faultclock: what is \\x1b[31mwrong\n  what to do\n"


def test_a_long_message_is_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of names keeps within its columns; in a log it stays one line."""
    names = ", ".join(f"subject-{number}" for number in range(30))
    fail_with(monkeypatch, InputError("unknown", hint=f"known: {names}"))
    assert f"  known: {names}\n" in faultclock("schema", "scenario").stderr
    monkeypatch.setattr("faultclock.cli.tables.terminal_width", lambda _: 60)
    text = faultclock("schema", "scenario").stderr
    assert max(map(len, text.splitlines())) <= 60
    assert " ".join(text.split()) == f"faultclock: unknown known: {names}"


@pytest.mark.parametrize("error", [RuntimeError("oops"), InternalError("oops")])
def test_a_bug_of_ours_asks_for_a_report(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Code 70 is for bugs alone, so that nobody looks for them in their own files."""
    monkeypatch.delenv("FAULTCLOCK_DEBUG", raising=False)
    fail_with(monkeypatch, error)
    result = faultclock("schema", "scenario")
    assert result.exit_code == 70
    assert f"internal error: {type(error).__name__}: oops" in result.stderr
    assert "Please report it" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("explore", "{}", "--subject", "reference"),
        ("explore", "rate-limits", "--subject", "reference", "--html", "{}"),
        ("explore", "rate-limits", "--subject", "reference", "--model", "{}"),
        ("history", "{}"),
        ("validate", "{}"),
        ("replay", "{}"),
    ],
)
def test_what_is_too_long_for_a_name_is_bad_input(words: tuple[str, ...]) -> None:
    """Such as a token where a file is expected."""
    done = faultclock(*(word.format("x" * 5_000) for word in words))
    assert done.exit_code == 2
    assert "too long" in done.stderr


def test_a_full_disk_is_no_bug_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard output is a file, whoever writes to it meets it."""
    fail_with(monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    result = faultclock("schema", "scenario")
    assert result.exit_code == 2
    assert result.stderr == "faultclock: the disk is full\n"


def test_a_bug_of_ours_is_shown_whole_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAULTCLOCK_DEBUG=1 lets the traceback through, and the code stays."""
    monkeypatch.setenv("FAULTCLOCK_DEBUG", "1")
    fail_with(monkeypatch, RuntimeError("oops"))
    result = faultclock("schema", "scenario")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert "RuntimeError: oops" in result.stderr


def test_an_interrupt_exits_as_shells_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    """130, with a word about the files."""
    fail_with(monkeypatch, KeyboardInterrupt())
    result = faultclock("schema", "scenario")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr


def test_a_reader_that_went_away_is_met_in_silence() -> None:
    """`faultclock schema model | head -1` ends as other programs do, and not with 0."""
    code = "from faultclock.cli.app import app; app(args=['schema', 'model'])"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    told = child.stderr.read()
    child.stderr.close()
    assert child.wait() == 141
    assert told == b""


def test_an_interrupt_that_a_library_has_wrapped_is_still_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may come while a value is written, and pydantic makes an error of its own of it."""

    class Slow(BaseModel):
        @field_serializer("text", check_fields=False)
        def _interrupted(self, value: str) -> str:
            raise KeyboardInterrupt

        text: str = "x"

    monkeypatch.setattr("faultclock.cli.doctor.command.callback", lambda **_: Slow().model_dump())
    result = faultclock("doctor")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
