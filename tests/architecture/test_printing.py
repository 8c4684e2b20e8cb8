"""What is printed goes through one module, so that no command has to think of what it prints."""

from __future__ import annotations

import ast
from functools import cache

from tests.architecture.source_tree import Module, modules

#: The one place; and a file of ours in a process of a user, which has nothing of ours to import.
ALLOWED = ("harness/faultclock/cli/say.py", "harness/faultclock/live/record/site/sitecustomize.py")
#: Ways around it. Warnings, help and errors of click go to `sys.stdout` and `sys.stderr`, over
#: which there is a Screen.
WAYS = {
    "click.echo",
    "click.secho",
    "click.style",
    "click.echo_via_pager",
    "print",
    "sys.stdout.write",
    "sys.stderr.write",
    "sys.stdout.writelines",
    "sys.stderr.writelines",
    "sys.__stdout__.write",
    "sys.__stderr__.write",
}
#: Who draws with rich: into a text that `say` shows, or beside the Screen, on a terminal alone.
DRAWING = {"harness/faultclock/cli/progress.py", "harness/faultclock/cli/tables.py"}


def test_nothing_is_printed_past_the_one_place() -> None:
    """A new command cannot forget to make a foreign text harmless."""
    wrong = [
        f"{module.path}:{line} calls {name}"
        for module in modules()
        if module.path not in ALLOWED
        for name, line in _called(module)
        if name in WAYS or (name.rpartition(".")[2] == "Console" and module.path not in DRAWING)
    ]
    assert wrong == []


def test_only_what_draws_for_itself_writes_beside_the_screen() -> None:
    """The progress bar needs control characters."""
    beside = {
        module.path
        for module in modules()
        for name, _ in _called(module)
        if name == "beside" and module.path not in ALLOWED
    }
    assert beside == {"harness/faultclock/cli/progress.py"}


@cache
def _called(module: Module) -> list[tuple[str, int]]:
    """Return the dotted names that are called, with their lines."""
    return [
        (ast.unparse(node.func), node.lineno)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
    ]
