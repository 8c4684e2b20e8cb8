"""Every command and snippet of README.md and docs/ is executed or checked, page by page.

Run `python -m tests.docs PAGE` to see what a page's commands print. What is not run stands in
`not_run.py`, with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.source_tree import PROJECT
from tests.docs.matching import fits, fitting_words, stands_in
from tests.docs.not_run import FRAGMENTS, NOT_RUN
from tests.docs.page import PAGES, PageError, read_page
from tests.docs.reading import follow
from tests.docs.session import Session
from tests.docs.stand_ins import problem_of, stands_for_itself
from tests.warm.client import Server, warm_server

#: Pages with something to execute, to check or to write: the others have words only.
_WITH_BLOCKS = [name for name in PAGES if "```" in (PROJECT / name).read_text("utf-8")]


@pytest.fixture(scope="session")
def server() -> Server:
    """One warm process for all pages."""
    return warm_server()


@pytest.mark.parametrize("name", _WITH_BLOCKS)
def test_a_page_does_what_it_says(name: str, server: Server, tmp_path: Path) -> None:
    """Each command ends as the page says and prints what it shows; each snippet is one."""
    page = read_page(name)
    followed = follow(page, Session(tmp_path, server))
    assert followed.problems == [], "\n\n".join(followed.problems)
    blocks = [block for block in page.blocks if block.language == "console"]
    commands = sum(len(block.commands) for block in blocks)
    assert followed.done["executed"] + followed.done["not run"] == commands
    known = {block.line for block in page.blocks if (name, block.language) in FRAGMENTS}
    assert len(page.blocks) == len(blocks) + followed.done["others"] + len(known)


def test_nothing_is_left_out_that_could_run() -> None:
    """Each entry of the table names a command that a page has, and that nothing else stands for."""
    shown = {
        (name, command.text)
        for name in PAGES
        for block in read_page(name).blocks
        for command in block.commands
    }
    assert NOT_RUN.keys() <= shown
    assert [text for _, text in NOT_RUN if stands_for_itself(text)] == []
    assert all(reason.strip() for reason in NOT_RUN.values())


def test_each_kind_of_fragment_is_checked_by_a_test_that_names_its_page() -> None:
    """The table leads to tests that exist, from blocks that exist."""
    for (name, language), test in FRAGMENTS.items():
        assert language in {block.language for block in read_page(name).blocks}
        assert Path(name).name in (PROJECT / test).read_text("utf-8")


def test_a_page_that_lies_is_found_out(server: Server, tmp_path: Path) -> None:
    """An exit code, an output, a file and a snippet that are not so: all four are told."""
    text = (
        "```console\n$ faultclock validate none.yaml\n$ faultclock --version\nfaultclock, none\n"
        "```\n<!-- file: a.txt -->\n```text\nx\n```\n<!-- shows: a.txt -->\n```text\ny\n```\n"
        "```yaml\nid: a/b\ntitle: t\nwhy: w\nnothing: of the kind\n```\n"
    )
    followed = follow(read_page("made-up.md", text), Session(tmp_path, server))
    told = "\n".join(followed.problems)
    assert "exit code 2, and not 0" in told
    assert "shown:\nfaultclock, none" in told
    assert "no reader is told of the name a.txt" in told
    assert "not in a.txt" in told
    assert "nothing" in followed.problems[-1]


def test_a_session_goes_on_from_command_to_command(server: Server, tmp_path: Path) -> None:
    """Folders, variables, exit codes, pipes and what was printed outlive a command."""
    text = (
        "```console\n$ mkdir inner\n$ cd inner\n$ export WORD=said\n"
        "$ echo $WORD > file.txt  # for later\n$ cat fi….txt\nsaid\n"
        "$ faultclock validate file.txt 2>/dev/null\n$ echo $?\n2\n"
        "$ faultclock list models --long | grep -c 'Readings'\n…\n```\n"
    )
    followed = follow(read_page("made-up.md", text), Session(tmp_path, server))
    assert followed.problems == []
    assert followed.done["executed"] == 8


@pytest.mark.parametrize(
    "text",
    [
        "<!-- fil: a.py -->\n",
        "  ```python\n  x = 1\n  ```\n",
        "```console\nno prompt\n```\n",
        "<!-- exits: 0 1 -->\n```console\n$ true\n$ true\n$ true\n```\n",
    ],
    ids=["unknown comment", "indented fence", "no prompt", "too few exit codes"],
)
def test_what_nobody_would_run_is_refused(text: str) -> None:
    """A slip of the pen must not take a block out of the tests."""
    with pytest.raises(PageError):
        read_page("made-up.md", text)


def test_what_is_not_run_is_checked() -> None:
    """An extra, a target or an option that is not there is told."""
    assert problem_of("pip install 'faultclock[openai,nonsense]'") == "no extra nonsense"
    assert problem_of("make demo nonsense") == "no target nonsense"
    assert problem_of("bin/faultclock run --subject a --nonsense 3") == "no option --nonsense"
    assert problem_of("faultclock record -o a -- program --nonsense") is None


def test_an_ellipsis_stands_for_what_differs() -> None:
    """Within a line, for lines, and in a word; everything else is compared."""
    assert fits(("a … c", "...", "z"), "a b c\nmore\nlines\nz\n")
    assert not fits(("a … c", "z"), "a b c\nmore\nz\n")
    assert stands_in(("two",), "one\ntwo\nthree\n")
    assert not stands_in(("tw",), "one\ntwo\n")
    assert fitting_words("f-…", ["an id: f-12ab, and F-34"]) == ["f-12ab"]
