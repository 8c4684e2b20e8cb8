"""Shell commands: the simplest are split as a shell would, every other one is told from them."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.sim.host.shell_words import ShellNeededError, shell_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("agent", ("agent",)),
        ("agent -p 'say $HOME; done'", ("agent", "-p", "say $HOME; done")),
        ('agent -p "it\'s; fine"', ("agent", "-p", "it's; fine")),
        (r"agent a\ b \$x", ("agent", "a b", "$x")),
        ("agent --mode=fast", ("agent", "--mode=fast")),
        ("agent ''", ("agent", "")),
    ],
)
def test_plain_words_are_split_as_a_shell_does(command: str, words: tuple[str, ...]) -> None:
    """Quotes and backslashes make words of what is between them."""
    assert shell_words(command) == words


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("agent | tee log", "'|' in it"),
        ("agent > log", "'>' in it"),
        ("agent; agent", "';' in it"),
        ("agent && agent", "'&' in it"),
        ("agent $HOME", "'$' in it"),
        ('agent "$HOME"', "'$' in it"),
        ('agent "`id`"', "'`' in it"),
        ("agent *.py", "'*' in it"),
        ("agent ~", "'~' in it"),
        ("agent # why", "'#' in it"),
        ("agent\nagent", "'\\n' in it"),
        ("agent \\\n x", "'\\n' in it"),
        ("agent 'open", "no closing quotation"),
        ("agent \\", "no escaped character"),
        ("cd folder", "'cd' at its beginning"),
        ("KEY=value agent", "'KEY' at its beginning"),
        ("  ", "no words in it"),
    ],
)
def test_a_command_that_needs_a_shell_says_why(command: str, why: str) -> None:
    """The reason names what only a shell can do."""
    with pytest.raises(ShellNeededError) as raised:
        shell_words(command)
    assert str(raised.value) == why


@given(st.lists(st.text(alphabet="ab $'\"\\|\n*#~=", min_size=1), min_size=1, max_size=4))
def test_quoted_words_come_back_whole(words: list[str]) -> None:
    """Whatever `shlex.join` has quoted is plain words again."""
    assert shell_words(shlex.join(["agent", *words])) == ("agent", *words)


@pytest.mark.parametrize(
    "command", [r"echo a\ b 'c d' \"e", 'echo "it\'s" x=y', "echo 'a\nb' \"c\\\\d\""]
)
def test_a_real_shell_sees_the_same_words(command: str) -> None:
    """Said by /bin/sh, outside of any world."""
    said = subprocess.run(
        ["/bin/sh", "-c", command.replace("echo", "printf '<%s>'", 1)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "".join(f"<{word}>" for word in shell_words(command)[1:])
