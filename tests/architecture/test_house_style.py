"""The house style that no linter checks: sizes, docstrings, swallowed exceptions, paths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import PROJECT, Module, functions, modules, suite_modules
from tests.each import for_each

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

#: Paths that exist on one machine only (nobody's name is "me"), and hosts that serve packages.
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|Users|root|work|opt|mnt)/(?!me\b)[\w.-]+")
_REGISTRY = re.compile(
    r"py[p]i[.]org|pythonh[o]sted[.]org|files[.]pyth[o]n|/simple\b|index-url\s*[= ]\s*\w"
)
_TEXT_SUFFIXES = {".md", ".py", ".yaml", ".yml", ".toml", ".txt", ".j2", ".json", ".svg", ""}
_CACHE = re.compile(r"^\.(?!ci$|gitignore$)|_cache$|\.egg-info$")
_GENERATED = {"build", "dist", "__pycache__", "reports"}


def _path(module: Module) -> str:
    return module.path


@for_each(modules() + suite_modules(), name=_path)
def test_files_and_functions_have_a_readable_size(module: Module) -> None:
    """No file is over 500 lines, and no function over 70."""
    lines = module.text.count("\n")
    assert lines <= FILE_LINES_MAX, f"{module.path} has {lines} lines"
    long = [
        f"{function.name} at line {function.lineno}: {_lines(function)} lines"
        for function in functions(module)
        if _lines(function) > FUNCTION_LINES_MAX
    ]
    assert long == []


@for_each(modules(), name=_path)
def test_modules_say_what_they_are(module: Module) -> None:
    """Every module has a docstring, and postponed annotations once it defines something."""
    assert ast.get_docstring(module.tree), f"{module.path} has no docstring"
    names = [node for node in module.tree.body if isinstance(node, _DEFINITIONS)]
    if not names:
        return
    futures = [item for item in module.imports() if item.name == "__future__"]
    assert futures, f"{module.path} does not postpone annotations"


def test_every_test_says_in_a_sentence_what_holds() -> None:
    """Each test function has a docstring that is a sentence, so that the suite can be read."""
    without = [
        f"{module.path}:{function.lineno} {function.name}"
        for module in suite_modules()
        if Path(module.path).name.startswith("test_")
        for function in functions(module)
        if function.name.startswith("test_") and not _is_sentence(ast.get_docstring(function))
    ]
    assert without == []


@for_each(modules(), name=_path)
def test_only_the_command_line_prints(module: Module) -> None:
    """A room hands values over; what a person reads on a terminal is the cli's business."""
    if module.room in {"cli", "__main__"}:
        return
    prints = [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert prints == [], f"{module.path} prints at lines {prints}"


@for_each(modules(), name=_path)
def test_no_exception_is_swallowed_in_silence(module: Module) -> None:
    """What we ask of subjects holds for us: no broad `except` whose body is `pass`."""
    silent = [
        handler.lineno
        for handler in _handlers(module.tree)
        if _is_broad(handler) and all(isinstance(node, ast.Pass) for node in handler.body)
    ]
    assert silent == [], f"{module.path} swallows at lines {silent}"


def test_no_test_is_skipped_for_good() -> None:
    """A test that never runs proves nothing: skips are decided at run time, with a reason."""
    marks = [
        f"{module.path}:{node.lineno}"
        for module in suite_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in {"skip", "xfail"}
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "mark"
    ]
    assert marks == []


def test_no_file_names_a_machine_or_a_registry() -> None:
    """Whatever is in the checkout means the same on every machine."""
    wrong = [
        f"{path.relative_to(PROJECT)}:{number}: {line.strip()[:80]}"
        for path in _texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if _MACHINE_PATH.search(line) or _REGISTRY.search(line)
    ]
    assert wrong == []


def test_there_is_nothing_left_to_do_in_the_code() -> None:
    """A note of something missing belongs into an issue, where somebody can see it."""
    note = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    notes = [
        f"{module.path}:{number}"
        for module in modules()
        for number, line in enumerate(module.text.splitlines(), start=1)
        if note.search(line)
    ]
    assert notes == []


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _is_sentence(docstring: str | None) -> bool:
    if not docstring:
        return False
    first = docstring.strip().split("\n\n", 1)[0]
    return " " in first and first.rstrip()[-1] in ".:?!"


def _handlers(tree: ast.Module) -> Iterator[ast.ExceptHandler]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in {"Exception", "BaseException"}
    )


def _texts() -> Iterator[Path]:
    for path in sorted(PROJECT.rglob("*")):
        parts = path.relative_to(PROJECT).parts
        hidden = any(part in _GENERATED or _CACHE.search(part) for part in parts)
        if hidden or not path.is_file() or path.suffix not in _TEXT_SUFFIXES:
            continue
        # This file holds the patterns themselves.
        if path != Path(__file__):
            yield path
