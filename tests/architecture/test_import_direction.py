"""Which room may import which, and which library lives where: the architecture as a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faultclock.subjects.clients.catalog import CLIENTS as ENTRIES
from tests.architecture.source_tree import modules

#: Room to the rooms of ours that it may import, itself apart. `__init__` is the public face.
ROOMS: dict[str, set[str]] = {
    "printable": set(),
    "errors": {"printable"},
    "model": {"errors"},
    "error_models": set(),
    "foreign_maps": set(),
    "requirement_sets": set(),
    "load": {"errors", "model"},
    "recordings": {"errors", "model", "load"},
    # Real programs with our agent in them, whose modules import nothing of ours.
    "record": {"errors", "recordings"},
    "sim": {"errors", "model"},
    "fakes": {"errors", "model", "sim"},
    "subjects": {"errors", "model"},
    # Wrong subjects: operators on the references, as rows and as code.
    "mutants": {"errors", "model", "load", "subjects"},
    "oracle": {"errors", "model"},
    "render": {"errors", "model", "printable"},
    "run": {"errors", "model", "load", "sim", "fakes", "subjects", "oracle"},
    "history": {"errors", "model"},
    "gate": {"errors", "model"},
    "explore": {"errors", "model", "load", "subjects", "oracle", "run"},
    "infer": {"errors", "model", "load", "subjects", "oracle", "run"},
    # Which rules can be broken: mutants of a subject, edited, run and judged.
    "kills": {"errors", "model", "load", "sim", "subjects", "mutants", "oracle", "run"},
    "conformance": {"errors", "model", "load", "subjects", "oracle", "run", "explore"},
    # One answer about one target: runs of scenarios and of the inference, folded into causes.
    "check": {"errors", "model", "load", "subjects", "oracle", "run", "infer"},
    "certify": {"errors", "model", "load", "subjects", "run", "conformance", "render"},
    # The real world beside the simulated one: what stands on sockets, above what is run.
    "live": {"errors", "model", "load", "sim", "fakes", "subjects", "run"},
    "cli": {
        "errors",
        "model",
        "load",
        "recordings",
        "record",
        "sim",
        "fakes",
        "subjects",
        "oracle",
        "run",
        "certify",
        "check",
        "explore",
        "conformance",
        "gate",
        "history",
        "infer",
        "kills",
        "live",
        "printable",
        "render",
    },
    # A process that runs scenarios as the command line does, and pytest, which asks it.
    "bench": {"errors", "model", "load", "gate", "subjects", "run", "render", "cli"},
    "pytest_plugin": {
        "errors",
        "model",
        "printable",
        "load",
        "sim",
        "fakes",
        "subjects",
        "run",
        "bench",
    },
    "__init__": {"errors", "model", "subjects"},
    "__main__": {"cli"},
}

#: Room to the libraries that it may import.
LIBRARIES: dict[str, set[str]] = {
    "model": {"pydantic", "typing_extensions"},
    "load": {"pydantic", "ruamel", "yaml"},
    "recordings": {"h11", "yaml"},
    "record": {"vcr"},
    "sim": {"simpy", "time_machine"},
    "fakes": {"h11"},
    "oracle": {"jsonschema"},
    "explore": {"hypothesis", "pydantic"},
    "subjects": {"h11", "jsonschema", "referencing"},
    "mutants": {"pydantic"},
    "run": {"pydantic"},
    "render": {"jinja2", "junitparser", "markupsafe", "sarif_pydantic"},
    "certify": {"cryptography", "pydantic", "rfc8785", "securesystemslib"},
    "cli": {"click", "rich"},
    "pytest_plugin": {"pydantic", "pytest"},
}

#: Where real clients are bound, a file for each: they import their own libraries.
CLIENTS = "harness/faultclock/subjects/clients/"

#: Libraries that one file alone may import: exchanging them must touch nothing else.
ONE_FILE = {"simpy", "time_machine", "yaml.events"}

#: The rooms that never see each other: they meet in `run` and exchange values of `model`.
WINGS = ({"sim", "fakes"}, {"subjects"}, {"oracle"})


def test_every_room_is_in_the_table() -> None:
    """A new room must be given its place before anything can be put into it."""
    assert {module.room for module in modules()} <= set(ROOMS)


def test_rooms_import_only_what_the_table_allows() -> None:
    """The direction of every import between rooms is the one that the architecture names."""
    wrong = [
        f"{module.path}:{item.line} imports {item.name}"
        for module in modules()
        for item in module.imports()
        if (room := _room(item.name)) is not None
        and room != module.room
        and room not in ROOMS[module.room]
        # `import faultclock` alone gives the version and the package's place, and no room.
        and item.name != "faultclock"
    ]
    assert wrong == []


def test_the_table_has_no_cycle() -> None:
    """A room can be understood with only the rooms below it, because there is a below."""
    done: set[str] = set()
    while len(done) < len(ROOMS):
        ready = {room for room, below in ROOMS.items() if room not in done and below <= done}
        assert ready, f"a cycle among {sorted(set(ROOMS) - done)}"
        done |= ready


def test_the_wings_stay_apart() -> None:
    """World, subjects and judgement never import each other, not even by way of the table."""
    for wing in WINGS:
        others = set().union(*(other for other in WINGS if other is not wing))
        for room in wing:
            assert not ROOMS[room] & others


def test_libraries_stay_in_their_rooms() -> None:
    """A third-party library is imported only where the table puts it."""
    wrong = [
        f"{module.path}:{item.line} imports {item.name}"
        for module in modules()
        for item in module.imports()
        if (top := item.name.split(".", 1)[0]) != "faultclock"
        and top not in sys.stdlib_module_names
        and top not in LIBRARIES.get(module.room, set())
        and not module.path.startswith(CLIENTS)
    ]
    assert wrong == []


@pytest.mark.parametrize("library", sorted(ONE_FILE))
def test_a_library_that_is_wrapped_is_imported_by_one_file(library: str) -> None:
    """SimPy and time-machine are details of one file each, so that neither leaks into our words."""
    files = {
        module.path
        for module in modules()
        for item in module.imports()
        if item.name == library or item.name.startswith(f"{library}.")
    }
    assert len(files) <= 1, sorted(files)


def test_a_client_imports_what_its_catalogue_entry_needs() -> None:
    """The core runs without any SDK, and what is missing is known before anything is imported.

    What several clients share may import what all of them need.
    """
    clients = {
        f"faultclock.subjects.clients.{Path(module.path).stem}": module
        for module in modules()
        if module.path.startswith(CLIENTS)
    }
    needs: dict[str, set[str]] = {}
    for entry in ENTRIES.values():
        name = f"faultclock.subjects.{entry.place.partition(':')[0]}"
        needs.setdefault(name, set()).update(need.split(".", 1)[0] for need in entry.needs)
    for name in clients.keys() - needs.keys():
        users = [
            needs[user]
            for user, module in clients.items()
            if user in needs and any(item.name == name for item in module.imports())
        ]
        needs[name] = set.intersection(*users) if users else set()
    wrong = [
        f"{module.path}:{item.line} imports {item.name}"
        for name, module in clients.items()
        for item in module.imports()
        if (top := item.name.split(".", 1)[0]) not in {"faultclock", *needs[name]}
        and top not in sys.stdlib_module_names
    ]
    assert wrong == []


def _room(name: str) -> str | None:
    """Return the room that an imported name belongs to, None for what is not ours."""
    parts = name.split(".")
    if parts[0] != "faultclock":
        return None
    return parts[1] if len(parts) > 1 else "__init__"
