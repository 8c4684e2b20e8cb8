"""Which room may import which, and which library lives where: the architecture as a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faultclock.subjects.clients.catalog import CLIENTS as ENTRIES
from tests.architecture.source_tree import Module, modules

#: Room to the rooms of ours that it may import, itself apart. `__init__` is the public face. A room
#: within a room, such as `live.record`, is named where its neighbours may not follow.
ROOMS: dict[str, set[str]] = {
    "printable": set(),
    "errors": {"printable"},
    "model": {"errors"},
    "error_models": set(),
    "foreign_maps": set(),
    "requirement_sets": set(),
    "load": {"errors", "model"},
    "recordings": {"errors", "model", "load"},
    "sim": {"errors", "model"},
    "fakes": {"errors", "model", "load", "sim"},
    "subjects": {"errors", "model"},
    # The references: what is right by each document.
    "agents": {"errors", "model", "subjects"},
    # Wrong subjects: operators on the references, as rows and as code.
    "mutants": {"errors", "model", "load", "subjects", "agents"},
    "oracle": {"errors", "model"},
    "render": {"errors", "model", "printable"},
    "run": {"errors", "model", "load", "recordings", "sim", "fakes", "subjects", "oracle"},
    "history": {"errors", "model"},
    # Reports beside a baseline and beside each other: values alone, and no file.
    "history.gate": {"errors", "model"},
    "explore": {"errors", "model", "load", "subjects", "oracle", "run"},
    # Which rules can be broken: mutants of a subject, edited, run and judged.
    "kills": {"errors", "model", "load", "sim", "subjects", "mutants", "oracle", "run"},
    "profile": {"errors", "model", "load", "subjects", "oracle", "run"},
    # One answer about one target: runs of scenarios and of the inference, folded into causes.
    "check": {"errors", "model", "load", "subjects", "oracle", "run", "profile"},
    # What a certificate claims is judged in its levels alone.
    "certify.levels": {"errors", "model", "load", "subjects", "oracle", "run", "explore"},
    "certify": {"errors", "model", "load", "subjects", "run", "certify.levels", "render"},
    # The real world beside the simulated one: what stands on sockets, above what is run.
    "live": {"errors", "model", "load", "sim", "fakes", "subjects", "run"},
    # Real programs with our agent in them, whose modules import nothing of ours.
    "live.record": {"errors", "recordings"},
    "cli": {
        "errors",
        "model",
        "load",
        "recordings",
        "sim",
        "fakes",
        "subjects",
        "oracle",
        "run",
        "certify",
        "certify.levels",
        "check",
        "explore",
        "history",
        "history.gate",
        "profile",
        "kills",
        "live",
        "live.record",
        "printable",
        "render",
    },
    # A process that runs scenarios as the command line does, and pytest, which asks it.
    "pytest_plugin.bench": {
        "errors",
        "model",
        "load",
        "history.gate",
        "subjects",
        "run",
        "render",
        "cli",
    },
    "pytest_plugin": {
        "errors",
        "model",
        "printable",
        "load",
        "sim",
        "fakes",
        "subjects",
        "run",
        "pytest_plugin.bench",
    },
    "__init__": {"errors", "model", "subjects"},
    "__main__": {"cli"},
}

#: The rooms within a room, from the bottom to the top: each imports only what stands before it.
#: A file that stands beside them is named as a room of its own.
FLOORS: dict[str, tuple[str, ...]] = {
    "oracle": (
        "wire",
        "facts",
        "check",
        "words",
        "leaks",
        "rules",
        "retries",
        "failures",
        "checks.failures",
        "checks.provider",
        "checks.roles",
        "checks.agent",
        "checks.run",
        "checks.rules",
        "marks",
        "verdicts",
        "judge",
    ),
    "fakes": ("wire", "sheets", "kept", "dialects", "provider", "plain", "rules", "port", "ports"),
    "sim": ("kernel", "host", "net", "lockstep", "loop", "patches", "surroundings", "world"),
    "model": ("", "scenario", "trace", "error_model", "report"),
}

#: What every room may import: its structs are what values are made of.
EVERYWHERE = {"msgspec"}
#: Room to the other libraries that it may import.
LIBRARIES: dict[str, set[str]] = {
    "model": {"pydantic", "typing_extensions"},
    "load": {"pydantic", "yaml"},
    "recordings": {"h11", "yaml"},
    "live.record": {"vcr"},
    "sim": {"simpy", "time_machine"},
    "fakes": {"h11"},
    "oracle": {"jsonschema"},
    "explore": {"hypothesis", "pydantic"},
    "subjects": {"jsonschema", "referencing"},
    "agents": {"h11", "jsonschema"},
    "mutants": {"pydantic"},
    "run": {"dask", "distributed", "pydantic"},
    "render": {"jinja2", "junitparser", "markupsafe", "sarif_pydantic"},
    "certify": {"cryptography", "pydantic", "rfc8785", "securesystemslib"},
    "cli": {"click", "rich"},
    "pytest_plugin": {"pydantic", "pytest"},
}

#: Where real clients and agents are bound, a file for each: they import their own libraries.
BOUND = ("harness/faultclock/subjects/clients/", "harness/faultclock/subjects/frameworks/")

#: Libraries that one file alone may import: exchanging them must touch nothing else.
ONE_FILE = {"simpy", "time_machine", "yaml.events"}

#: The rooms that never see each other: they meet in `run` and exchange values of `model`.
WINGS = ({"sim", "fakes"}, {"subjects"}, {"oracle"})


def test_every_room_is_in_the_table() -> None:
    """A new room must be given its place before anything can be put into it."""
    assert {module.room for module in modules()} <= {name.partition(".")[0] for name in ROOMS}


def test_rooms_import_only_what_the_table_allows() -> None:
    """The direction of every import between rooms is the one that the architecture names."""
    wrong = [
        f"{module.path}:{item.line} imports {item.name}"
        for module in modules()
        for item in module.imports()
        if (room := _room(item.name)) is not None
        and room != (own := _room(_dotted(module)))
        and room not in ROOMS[own or ""]
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


@pytest.mark.parametrize("room", sorted(FLOORS))
def test_a_room_is_read_from_its_lowest_floor_to_its_highest(room: str) -> None:
    """Within a room, nothing imports what stands above it."""
    floors = {name: place for place, name in enumerate(FLOORS[room])}
    known = {_dotted(module): module for module in modules() if module.room == room}
    wrong = [
        f"{name} imports {found}"
        for name, module in known.items()
        for found in module.imported_from(known.keys())
        if _floor(found, floors) > _floor(name, floors)
    ]
    assert wrong == []


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
        and top not in sys.stdlib_module_names | EVERYWHERE
        and top not in LIBRARIES.get(_room(_dotted(module)) or "", set())
        and not module.path.startswith(BOUND)
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
        if module.path.startswith(BOUND[0])
    }
    needs: dict[str, set[str]] = {}
    for entry in ENTRIES.values():
        name = f"faultclock.{entry.place.partition(':')[0]}"
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


def _floor(name: str, floors: dict[str, int]) -> int:
    """Return on which floor of its room a module is: that of its folder, or its own."""
    below = name.split(".")[2:]
    for count in range(len(below), 0, -1):
        if ".".join(below[:count]) in floors:
            return floors[".".join(below[:count])]
    return floors.get("", -1)


def _room(name: str) -> str | None:
    """Return the innermost room that an imported name belongs to, None for what is not ours."""
    parts = name.split(".")
    if parts[0] != "faultclock":
        return None
    inner = ".".join(parts[1:3])
    return inner if inner in ROOMS else parts[1] if len(parts) > 1 else "__init__"


def _dotted(module: Module) -> str:
    return module.path.removeprefix("harness/").removesuffix(".py").replace("/", ".")
