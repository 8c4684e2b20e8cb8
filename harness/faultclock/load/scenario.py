"""Scenario files: one by its path, or many by what a person selects.

A selector is, in this order: the id of a shipped scenario (`rate-limits/retry-after-integer`),
a shipped family (`rate-limits`), a pattern over shipped ids (`rate-limits/retry-*`), a file, or
a folder. So an id means the same in every working folder; write `./name` for a folder that is
named like a family.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from msgspec import Struct

from faultclock.errors import InputError, Problem, SourceError, UnknownNameError
from faultclock.load.matrix import Crossing, expand
from faultclock.load.payloads import dialect_names, load_payloads
from faultclock.load.resources import YAML_SUFFIXES, scenarios_root
from faultclock.load.scenario_names import unknown_names
from faultclock.load.services import wrong_services
from faultclock.load.vary import explored_wrongly
from faultclock.load.wording import did_you_mean
from faultclock.load.yaml_file import Document, read_document
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.scenario.scenario import SECTIONS, BaseScenario, Scenario, role_class

#: Sections whose problem carries a hint in a file for a tool, a store or an extension.
_HINTED = ("cancels", "crash_everywhere", "crashes", "interactors", "session", "store", "tools")
_ROOT_NAME = "scenarios"


class LoadedScenario(Struct, frozen=True, kw_only=True):
    """A scenario and the file that it came from, as the path was given.

    Attributes:
        variants: what its matrix makes of it; empty without a matrix.
        crossing: how many combinations that are; None without a matrix.
    """

    path: str
    scenario: Scenario
    variants: tuple[Scenario, ...] = ()
    crossing: Crossing | None = None

    @property
    def runnable(self) -> tuple[Scenario, ...]:
        """The scenarios to run: its variants, or itself."""
        return self.variants or (self.scenario,)


def load_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Return the scenario in the file at `path`.

    Below a folder named `scenarios`, the id has to be the path below it, without the suffix.

    Raises:
        InputError: the file cannot be read.
        SourceError: it is not a scenario; every problem is in it.
    """
    return checked_scenario(read_document(path))


def checked_scenario(document: Document) -> Scenario:
    """Return the scenario that a document holds, with its id and its names checked.

    Raises:
        SourceError: as `load_scenario` does.
    """
    model = role_class(document.data)
    foreign = SECTIONS - model.model_fields.keys()
    wrong = () if model is BaseScenario else (*_of_another_role(document, foreign),)
    own = {key: value for key, value in document.data.items() if key not in foreign}
    try:
        scenario = document.validate(model, own)
    except SourceError as error:
        found = sorted((*wrong, *error.problems), key=lambda item: (item.line, item.column))
        raise SourceError(tuple(found)) from None
    problems = [
        *wrong,
        *_misplaced(document, scenario),
        *_made_up_variant(document, scenario),
        *_names_nothing(document, scenario),
        *wrong_services(document, scenario.services),
    ]
    if not problems and scenario.matrix is None:
        problems = [*explored_wrongly(document, (scenario,), _names_nothing)]
    if problems:
        raise SourceError(tuple(problems))
    return scenario


def checked_variants(
    document: Document, scenario: Scenario
) -> tuple[tuple[Scenario, ...], Crossing]:
    """Return the scenarios that a document with a matrix stands for, in its order.

    Raises:
        SourceError: a combination is no scenario, or one of them cannot be explored as it says.
    """
    variants, crossing = expand(document, scenario)
    problems = tuple(explored_wrongly(document, variants, _names_nothing))
    if problems:
        raise SourceError(problems)
    return variants, crossing


def find_scenarios(selectors: tuple[str, ...] = ()) -> tuple[LoadedScenario, ...]:
    """Return the selected scenarios, each once, sorted by id; no selector means all shipped ones.

    Raises:
        UnknownNameError: a selector is neither a known name nor a path.
        SourceError: with the problems of all selected files.
        InputError: a selector selects nothing, or two files have the same id.
    """
    shipped = shipped_scenarios()
    paths: dict[str, str] = {}
    for selector in selectors or ("*",):
        for path in _select(selector, shipped):
            paths.setdefault(os.path.realpath(path), path)
    return each_once(_load_all(tuple(paths.values())))


def each_once(loaded: Iterable[LoadedScenario]) -> tuple[LoadedScenario, ...]:
    """Return each scenario once, sorted by id.

    Raises:
        InputError: two files have the same id.
    """
    by_id: dict[str, LoadedScenario] = {}
    for item in loaded:
        other = by_id.setdefault(item.scenario.id, item)
        if other.path != item.path:
            raise InputError(
                f"two scenarios have the id {item.scenario.id!r}: {other.path} and {item.path}",
                hint="give one of them another id, or select only one",
            )
    return tuple(by_id[id_] for id_ in sorted(by_id))


def shipped_scenarios() -> dict[str, str]:
    """Return the files of the shipped scenarios by id, sorted; no file is opened.

    A file below the working folder is shown as it is from there.

    Raises:
        InputError: the installation is incomplete.
    """
    root, here = scenarios_root(), f"{Path.cwd()}{os.sep}"
    files = {
        path.rpartition(".")[0].replace(os.sep, "/"): f"{root}{os.sep}{path}".removeprefix(here)
        for path in _shipped_files(root)
    }
    return {id_: files[id_] for id_ in sorted(files)}


def scenario_files(folder: Path) -> list[Path]:
    """Return the YAML files below `folder`, sorted; hidden ones are passed over."""
    return sorted(folder / path for path in _yaml_files(folder))


def _yaml_files(folder: Path) -> Iterator[str]:
    """Yield the paths below `folder`: of hundreds of files, a Path for each takes its time."""
    start = len(f"{str(folder).rstrip(os.sep)}{os.sep}")
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    if not entry.is_symlink():
                        folders.append(entry.path)
                elif entry.name.endswith(YAML_SUFFIXES) and entry.is_file():
                    yield entry.path[start:]


@cache
def _shipped_files(root: Path) -> tuple[str, ...]:
    """Return the paths below `root`: an installation stays as it is while a command runs."""
    return tuple(sorted(_yaml_files(root)))


def _of_another_role(document: Document, foreign: Set[str]) -> Iterator[Problem]:
    """Yield a problem for each section that a scenario of this role has not."""
    role = document.data.get("role", "provider_adapter")
    for name in sorted(foreign & document.data.keys()):
        is_empty = document.data[name] in (None, False, [])
        if not is_empty and (role == "provider_adapter" or name not in _HINTED):
            place = document.tree.keys[name]
            message = f"{name} is for another role than {role}"
            yield Problem(
                path=document.path, line=place.line, column=place.column, message=message, hint=None
            )
        else:
            message = f"`{name}` says nothing to a subject of role {role}"
            yield document.problem((name,), message, "take it out, or write another `role`")


def _misplaced(document: Document, scenario: Scenario) -> Iterator[Problem]:
    expected = _id_by_place(Path(document.path))
    if expected is not None and scenario.id != expected:
        yield document.problem(
            ("id",),
            f"the id is {scenario.id!r}, but the file lies at {expected!r}",
            "the id is the path below scenarios/ without the suffix: change one of them",
        )


def _made_up_variant(document: Document, scenario: Scenario) -> Iterator[Problem]:
    if scenario.variant is not None:
        yield document.problem(
            ("variant",),
            "`variant` is set by Faultclock alone, for a matrix or a crash sweep",
            "leave it out; the id identifies a scenario",
        )


def _names_nothing(document: Document, scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for each name that leads nowhere."""
    yield from _unknown_payloads(document, scenario)
    yield from unknown_names(document, scenario)


def _unknown_payloads(document: Document, scenario: Scenario) -> Iterator[Problem]:
    for where, script in scenario.providers:
        dialect = script.dialect or DEFAULT_DIALECT
        if dialect not in dialect_names():
            message = f"there is no dialect {dialect!r}"
            hint = did_you_mean(dialect, dialect_names())
            yield document.problem((*where, "dialect"), message, hint)
            continue
        known = (*script.payloads, *load_payloads(dialect))
        for index, rule in enumerate(script.faults):
            name = getattr(rule.then, "error", None)
            if name is not None and name not in known:
                yield document.problem(
                    (*where, "faults", index, "then", "error"),
                    f"{dialect} has no error payload {name!r}",
                    did_you_mean(name, known),
                )
        for place, refusal in script.refusals_by_place:
            if refusal.error not in known:
                # Where it is not named it is the default: then the limit itself is the place.
                member = ("error",) if "error" in refusal.model_fields_set else ()
                message = f"{dialect} has no error payload {refusal.error!r}"
                hint = (
                    did_you_mean(refusal.error, known)
                    if member
                    else "this limit refuses with it: name another one as its `error`"
                )
                yield document.problem((*where, *place, *member), message, hint)


def _select(selector: str, shipped: dict[str, str]) -> tuple[str, ...]:
    if selector in shipped:
        return (shipped[selector],)
    prefix = f"{selector.rstrip('/')}/"
    family = tuple(path for id_, path in shipped.items() if id_.startswith(prefix))
    if family:
        return family
    path = Path(selector)
    # An empty text would be the working folder.
    nameable = bool(selector) and "\0" not in selector
    if nameable and path.is_dir():
        found = tuple(str(item) for item in scenario_files(path))
        if not found:
            raise InputError(f"{selector}: no .yaml file lies below this folder")
        return found
    if path.suffix in YAML_SUFFIXES:
        # A missing file is reported by the reader, with its path.
        return (selector,)
    if nameable and path.is_file():
        return (selector,)
    if any(sign in selector for sign in "*?["):
        matching = tuple(path for id_, path in shipped.items() if fnmatchcase(id_, selector))
        if matching:
            return matching
        raise InputError(
            f"no scenario id matches {selector!r}",
            hint="`faultclock list scenarios --long` shows all",
        )
    families = {id_.split("/", 1)[0] for id_ in shipped}
    known = tuple(shipped) if "/" in selector else (*sorted(families), *shipped)
    raise _unknown(selector, known, tuple(sorted(families)))


def _unknown(selector: str, known: tuple[str, ...], families: tuple[str, ...]) -> InputError:
    error = UnknownNameError("scenario, family, file or folder", selector, known)
    if error.hint is not None and error.hint.startswith("did you mean"):
        return error
    # All ids would fill a screen; the families fit on a line.
    return UnknownNameError("scenario, family, file or folder", selector, families)


def _load_all(paths: tuple[str, ...]) -> list[LoadedScenario]:
    loaded: list[LoadedScenario] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            loaded.append(_loaded(path))
        except SourceError as error:
            problems.extend(error.problems)
    if problems:
        raise SourceError(tuple(problems))
    return loaded


def _loaded(path: str) -> LoadedScenario:
    document = read_document(path)
    scenario = checked_scenario(document)
    if scenario.matrix is None:
        return LoadedScenario(path=path, scenario=scenario)
    variants, crossing = checked_variants(document, scenario)
    return LoadedScenario(path=path, scenario=scenario, variants=variants, crossing=crossing)


def _id_by_place(path: Path) -> str | None:
    """Return the id that the file's place asks for, or None outside a scenarios folder."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow symlinks
    for parent in absolute.parents:
        if parent.name == _ROOT_NAME:
            below = absolute.relative_to(parent).with_suffix("")
            # Directly in the folder there is no family: such a file may have any id.
            return below.as_posix() if len(below.parts) > 1 else None
    return None
