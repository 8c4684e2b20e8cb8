"""From names to bindings, and one clear message for every fault of a user's file."""

from __future__ import annotations

import hashlib
import re
import socket
import sys
from pathlib import Path

import pytest

from faultclock.errors import SubjectError, UnknownNameError
from faultclock.subjects.binding import Binding
from faultclock.subjects.clients.catalog import CLIENTS
from faultclock.subjects.frameworks.known import distribution_of
from faultclock.subjects.registry import catalog, load_subject, shipped_ids
from tests.each import for_each

GOOD = """
from faultclock import provider_adapter

@provider_adapter
async def subject(request):
    return "Hello"

def plain(request):
    return "plain"

number = 7
"""


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """A user's file that is right."""
    path = tmp_path / "my_adapter.py"
    path.write_text(GOOD)
    return path


def refused(spec: str) -> SubjectError:
    """Return the error for `spec`."""
    with pytest.raises(SubjectError) as raised:
        load_subject(spec)
    return raised.value


def broken(path: Path, text: str) -> SubjectError:
    """Return the error for a file with this text."""
    path.write_text(text)
    return refused(f"{path}:subject")


#: Their libraries stand in another environment, whose tests load them.
ELSEWHERE = {id_ for id_, item in CLIENTS.items() if item.extra in ("litellm", "openai-agents")}


@for_each(sorted({*shipped_ids()} - ELSEWHERE))
def test_every_shipped_subject_loads_under_its_own_id_title_and_role(id_: str) -> None:
    """The list and the bindings say the same."""
    entry = {entry.id: entry for entry in catalog()}[id_]
    binding = load_subject(id_)
    assert (binding.id, binding.title, binding.role) == (id_, entry.title, entry.role)
    assert binding.source_digest is None
    assert entry.available
    assert (entry.kind == "miniature") == (entry.fails is not None)


def test_every_miniature_is_named_so() -> None:
    """Their ids cannot be taken for clients."""
    for entry in catalog():
        assert (entry.kind == "miniature") == entry.id.startswith("mini-")


def test_a_missing_library_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list says that it is not available, loading says what to install."""
    monkeypatch.delitem(sys.modules, "tenacity", raising=False)
    monkeypatch.setattr("faultclock.subjects.shipped_loading.find_spec", lambda name: None)
    unavailable = {entry.id for entry in catalog() if not entry.available}
    assert "openai-stud" in unavailable
    assert "reference" not in unavailable
    error = refused("openai-stud")
    assert "tenacity" in error.message
    assert error.hint == "pip install 'faultclock[openai]'"


def test_a_library_of_a_missing_family_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python finds no `google.genai` where it has no `google`, and says so by an exception."""

    def find_spec(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.delitem(sys.modules, "google.genai", raising=False)
    monkeypatch.setattr("faultclock.subjects.shipped_loading.find_spec", find_spec)
    assert refused("google-genai").hint == "pip install 'faultclock[google-genai]'"


def test_a_file_gives_its_binding_and_digest(adapter: Path) -> None:
    """The digest is that of the bytes that were run; the id has no folder in it."""
    binding = load_subject(f"{adapter}:subject")
    assert isinstance(binding, Binding)
    assert binding.id == "my_adapter:subject"
    assert binding.source_digest == hashlib.sha256(GOOD.encode()).hexdigest()


def test_a_plain_function_is_bound_on_the_way(adapter: Path) -> None:
    """The decorator is only needed for options."""
    assert load_subject(f"{adapter}:plain").style == "sync"


def test_an_edited_file_is_read_again(adapter: Path) -> None:
    """Even within the same second and with the same size."""
    first = load_subject(f"{adapter}:plain")
    adapter.write_text(GOOD.replace("plain", "plaim"))
    second = load_subject(f"{adapter}:plaim")
    assert first.source_digest != second.source_digest
    assert second.function(None) == "plaim"


def test_its_folder_is_importable_only_during_import(adapter: Path) -> None:
    """A module beside it is found; sys.path is as before afterwards."""
    (adapter.parent / "beside_the_adapter.py").write_text("WORD = 'beside'\n")
    adapter.write_text("import beside_the_adapter\n" + GOOD)
    before = list(sys.path)
    load_subject(f"{adapter}:subject")
    assert sys.path == before
    del sys.modules["beside_the_adapter"]


@pytest.mark.parametrize("folder", [".", "src"])
def test_a_subject_may_import_its_project_though_nobody_installed_it(
    tmp_path: Path, folder: str
) -> None:
    """Modules beside pyproject.toml or below src are found; what is installed comes before them."""
    adapter = tmp_path / "conformance" / "adapter.py"
    adapter.parent.mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "of_the_project.py").write_text("WORD = 'project'\n")
    (tmp_path / folder / "colorsys.py").write_text("raise RuntimeError('not the installed one')\n")
    adapter.write_text("import of_the_project\nfrom colorsys import rgb_to_hsv\n" + GOOD)
    before = list(sys.path)
    load_subject(f"{adapter}:subject")
    assert sys.path == before
    del sys.modules["of_the_project"]


def test_a_module_is_loaded_by_its_name(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to the current folder, as `python -m` would find it."""
    monkeypatch.chdir(adapter.parent)
    binding = load_subject("my_adapter:subject")
    assert binding.source_digest == hashlib.sha256(GOOD.encode()).hexdigest()
    del sys.modules["my_adapter"]


def test_an_unknown_id_offers_near_ones() -> None:
    """A typo in an id is told as such."""
    with pytest.raises(UnknownNameError, match="openai-async"):
        load_subject("openai-asinc")


def test_an_id_that_is_near_nothing_is_not_met_with_hundreds_of_miniatures() -> None:
    """The others are told, and how many more there are."""
    with pytest.raises(UnknownNameError) as refused:
        load_subject("zzz")
    assert "openai-async" in str(refused.value.hint)
    assert "mini-" not in str(refused.value.hint)
    assert re.search(r" and \d+ more$", str(refused.value.hint))


def test_wrong_places_are_told(adapter: Path) -> None:
    """No name, no such file, no such name, not a subject."""
    assert refused(str(adapter)).hint == f"write {adapter}:subject or {adapter}:plain"
    assert "no such file" in refused(f"{adapter.parent}/my_adaptor.py:subject").message
    assert "my_adapter.py" in str(refused(f"{adapter.parent}/my_adaptor.py:subject").hint)
    assert "subject" in str(refused(f"{adapter}:subjekt").hint)
    assert "cannot be called" in refused(f"{adapter}:number").message
    assert "no module" in refused("nowhere_at_all:subject").message
    assert "no place" in refused(":subject").message
    assert "this is a folder" in refused(f"{adapter.parent}/:subject").message
    too_long = f"{adapter.parent}/{'a' * 300}.py:subject"
    assert "cannot be read" in refused(too_long).message


def test_a_syntax_error_names_its_line(adapter: Path) -> None:
    """file:line:column, and the line itself."""
    error = broken(adapter, "x = 1\nasync def subject(request) return\n")
    assert error.message.startswith(f"{adapter}:2:")
    assert error.hint == "async def subject(request) return"


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("agents", "openai-agents"),
        ("agents.mcp", "openai-agents"),
        ("google.adk.agents", "google-adk"),
        ("google.genai.types", "google-genai"),
        ("strands", "strands-agents"),
        ("strands_tools", "strands-agents-tools"),
        ("langchain_openai.chat_models", "langchain_openai"),
    ],
)
def test_a_missing_library_is_named_as_pip_names_it(module: str, distribution: str) -> None:
    """Which is not always the name of its module."""
    assert distribution_of(module) == distribution


@pytest.mark.parametrize(
    "asks",
    [
        "socket.create_connection(('127.0.0.1', PORT))",
        "with closing(_socket.socket()) as it: it.connect(('127.0.0.1', PORT))",
        "with socket.socket(type=socket.SOCK_DGRAM) as it: it.sendto(b'', ('127.0.0.1', PORT))",
        "socket.gethostbyname('localhost')",
    ],
)
def test_a_file_that_asks_while_it_is_imported_reaches_no_network(asks: str, adapter: Path) -> None:
    """A server that listens on this machine is asked nothing, and the line is named."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        imports = "import socket, _socket; from contextlib import closing"
        error = broken(adapter, f"{imports}\n{asks.replace('PORT', str(port))}\n")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
        socket.create_connection(("127.0.0.1", port)).close()
    assert f"{adapter}:2: importing it raised" in error.message
    assert "move it into a function" in (error.hint or "")


def test_a_missing_import_names_what_to_install(adapter: Path) -> None:
    """The line of the import, and pip's argument."""
    error = broken(adapter, "\nimport a_library_that_is_not_there.part\n")
    assert f"{adapter}:2" in error.message
    assert (error.hint or "").startswith("pip install a_library_that_is_not_there; or, ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise ValueError('as planned')", "raised ValueError: as planned"),
        ("import sys; sys.exit(3)", "raised SystemExit: 3"),
        ("1 / 0", "raised ZeroDivisionError"),
        ("{}['MY_KEY']", "raised KeyError: 'MY_KEY'"),
    ],
)
def test_what_a_file_raises_is_one_message(adapter: Path, text: str, says: str) -> None:
    """Its own line and exception, nothing of our frames."""
    error = broken(adapter, f"x = 1\n{text}\n")
    assert error.message.startswith(f"{adapter}:2: importing it ")
    assert says in error.message


def test_a_variable_that_is_not_set_is_named(adapter: Path) -> None:
    """Much code reads its key when it is imported."""
    error = broken(adapter, "import os\nKEY = os.environ['MY_OWN_KEY']\n")
    assert "raised KeyError: 'MY_OWN_KEY'" in error.message
    assert error.hint == "it reads the variable MY_OWN_KEY, which is not set here: any text will do"


def test_a_binding_fault_in_a_file_names_the_file(adapter: Path) -> None:
    """What the decorator refuses is told with its place."""
    text = "from faultclock import provider_adapter\n@provider_adapter\ndef subject(): ...\n"
    error = broken(adapter, text)
    assert error.message.startswith(f"{adapter}: ")
    assert error.hint
