"""Follows a page from its first line to its last, as a reader at a terminal does."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.architecture.source_tree import PROJECT
from tests.docs.matching import fits, stands_in
from tests.docs.not_run import FRAGMENTS, NOT_RUN
from tests.docs.page import Block, Command, Page
from tests.docs.session import Ended, Session
from tests.docs.stand_ins import problem_of, stands_for_itself
from tests.docs.validity import CHECKED, check_snippet


@dataclass(slots=True)
class Followed:
    """What became of a page.

    Attributes:
        problems: what does not hold, each with its line.
        done: how many blocks and commands were executed, checked, shown or not run.
        ended: what each executed command came to, by its line.
    """

    problems: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    ended: dict[int, Ended] = field(default_factory=dict)


def follow(
    page: Page, session: Session, on_command: Callable[[Command, Ended], None] | None = None
) -> Followed:
    """Do everything that the page says, one after another, and compare."""
    followed = Followed()
    for name, source in page.given.items():
        _copy(PROJECT / source, session.folder / name)
    home = session.folder
    for block in page.blocks:
        place = f"{page.name}:{block.line}"
        try:
            if block.language == "console":
                _follow_commands(page, block, session, followed, on_command)
            elif block.shows is not None:
                text = (session.folder / block.shows).read_text("utf-8")
                followed.done["others"] += 1
                if not stands_in(block.text.splitlines(), text):
                    followed.problems.append(f"{place}: not in {block.shows}:\n{block.text}")
            else:
                _take(page, block, home, followed)
        except Exception as error:
            followed.problems.append(f"{place}: {type(error).__name__}: {error}")
    return followed


def _take(page: Page, block: Block, folder: Path, followed: Followed) -> None:
    """Write a file, check a snippet, or know which test checks it."""
    place = f"{page.name}:{block.line}"
    if (page.name, block.language) in FRAGMENTS:
        return
    followed.done["others"] += 1
    if block.file is not None:
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")
        followed.done["written"] += 1
        if f"`{block.file}`" not in page.text and block.file not in _shown_commands(page):
            followed.problems.append(f"{place}: no reader is told of the name {block.file}")
    if block.language in CHECKED:
        followed.done["checked"] += 1
        check_snippet(block, folder)
    elif block.language == "text":
        followed.done["prose"] += 1
    elif block.file is None:
        followed.problems.append(f"{place}: no test knows blocks of {block.language!r}")


def _follow_commands(
    page: Page,
    block: Block,
    session: Session,
    followed: Followed,
    on_command: Callable[[Command, Ended], None] | None,
) -> None:
    for number, command in enumerate(block.commands):
        place = f"{page.name}:{command.line}: {command.text}"
        if stands_for_itself(command.text) or (page.name, command.text) in NOT_RUN:
            followed.done["not run"] += 1
            problem = problem_of(command.text)
            if problem is not None:
                followed.problems.append(f"{place}\n{problem}")
            continue
        ended = session.run(command.text, command.output)
        followed.done["executed"] += 1
        followed.ended[command.line] = ended
        if on_command is not None:
            on_command(command, ended)
        asked = number + 1 < len(block.commands) and block.commands[number + 1].text == "echo $?"
        if ended.code != command.exits and not asked:
            wanted = f"exit code {ended.code}, and not {command.exits}"
            followed.problems.append(f"{place}\n{wanted}\n{ended.output}")
        elif command.output is not None and not fits(command.output, ended.output):
            shown = "\n".join(command.output)
            followed.problems.append(f"{place}\nshown:\n{shown}\nprinted:\n{ended.output}")


def _shown_commands(page: Page) -> str:
    return "\n".join(command.text for block in page.blocks for command in block.commands)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
