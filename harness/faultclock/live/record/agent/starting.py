"""Brings vcrpy and our recording into a program, at the moment it first wants an HTTP library.

vcrpy imports every HTTP library that is installed, which takes half a second and is nothing that
a program without HTTP should pay for, or be changed by. So this waits, as an import hook that is
gone after its one use, until one of those libraries is imported.

Modules beside this one are loaded by their path: no package of ours need be importable here.
"""

from __future__ import annotations

import atexit
import sys
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

#: What vcrpy can record, what that stands on, and modules that import those in their first lines:
#: vcrpy imports all of them, and would find the one half loaded that has just begun.
_LIBRARIES = frozenset(
    {
        "aiohttp",
        "boto3",
        "botocore",
        "http.client",
        "http.cookiejar",
        "httpcore",
        "httpcore2",
        "httplib2",
        "httpx",
        "httpx2",
        "requests",
        "tornado",
        "urllib.request",
        "urllib3",
        "xmlrpc.client",
    }
)
#: vcrpy's patches that are not taken, because ours stand in their place.
_OURS = ("httplib", "requests", "boto3", "urllib3", "httplib2", "aiohttp")
#: How often to try, should one be half loaded all the same.
_TRIES_MAX = 6
#: What is used of vcrpy beside its interface, and was read in these versions.
_VCRPY = (9, 4)
_USED = {
    "vcr.stubs.httpx_stubs": (
        "_make_vcr_request",
        "_vcr_handle_request",
        "_vcr_handle_async_request",
    ),
}


def begin(address: str) -> None:
    """Say hello to the recorder at `address`, and record from the first HTTP library on."""
    channel = _beside("channel").Channel(address)
    channel.send({"kind": "hello"})
    waiting = _Waiting(channel)
    atexit.register(waiting.end)
    if _LIBRARIES & sys.modules.keys():
        waiting.start()
    if waiting.trouble or not waiting.tries:
        sys.meta_path.insert(0, waiting)


class _Waiting:
    """An import hook that starts the recording before the first HTTP library is imported.

    Attributes:
        tries: how often it has tried to.
        trouble: why the last try came to nothing.
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._is_starting = False
        self.tries = 0
        self.trouble: str | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Start; then hand over the module, because vcrpy has imported it."""
        del path, target
        if name not in _LIBRARIES or self._is_starting:
            return None
        self.start()
        if (self.trouble is None or self.tries >= _TRIES_MAX) and self in sys.meta_path:
            sys.meta_path.remove(self)
        module = sys.modules.get(name)
        if module is None:
            return None
        loader: Any = _Loaded(module)
        spec = spec_from_loader(name, loader)
        # The import system takes a module's own spec before ours (`importlib._bootstrap`,
        # `_find_spec`), and would load it once more.
        module.__spec__ = spec
        return spec

    def start(self) -> None:
        """Try to begin the recording."""
        self._is_starting = True
        self.tries += 1
        before = frozenset(sys.modules)
        try:
            self.trouble = _record(self._channel)
        except Exception as error:  # noqa: BLE001 - the program runs on, and the recorder tells why
            self.trouble = f"{type(error).__name__}: {error}"
            _forget_orphans(before)
        finally:
            self._is_starting = False

    def end(self) -> None:
        """Tell what is still going on, and what could not be recorded: the process ends."""
        if self.trouble is not None:
            self._channel.send({"kind": "trouble", "what": self.trouble})
        self._channel.end_all()


def _forget_orphans(before: frozenset[str]) -> None:
    """Forget new modules whose package failed: a later import would not tie them to it again."""
    for name in sys.modules.keys() - before:
        package = name.rpartition(".")[0]
        while package:
            if package not in sys.modules:
                sys.modules.pop(name, None)
            package = package.rpartition(".")[0]


class _Loaded:
    """A loader for a module that is there already: a second copy would not be recorded."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Give it back what the import system has just exchanged."""
        module.__spec__ = self._spec


#: Kept for the life of the process: vcrpy's patches end with what they are held by.
_kept: list[Any] = []


def _record(channel: Any) -> str | None:
    """Put vcrpy's patches and ours into place; return why that cannot be, None where it is done."""
    try:
        import vcr
        from vcr.persisters.filesystem import CassetteNotFoundError
    except ImportError as error:
        missing = error.name == "vcr"
        return "no-vcrpy" if missing else f"vcrpy cannot be imported: {error}"
    known = tuple(int(part) for part in vcr.__version__.split(".")[:2])
    if known[:1] != _VCRPY[:1] or known < _VCRPY:
        return f"vcrpy {vcr.__version__} is installed, and 9.4 or later, below 10, is needed"
    modules = {name: _imported(name) for name in _USED}
    lacking = [
        f"{name}.{item}"
        for name in _USED
        for item in _USED[name]
        if not hasattr(modules[name], item)
    ]
    if lacking:
        return f"vcrpy {vcr.__version__} has no {lacking[0]}"
    _imported("logging").getLogger("vcr").setLevel("ERROR")

    class Nowhere:
        """A persister that has nothing and writes nothing: no secret may reach the disk here."""

        @staticmethod
        def load_cassette(path: Any, serializer: Any) -> Any:
            """Say that there is no cassette."""
            del path, serializer
            raise CassetteNotFoundError

        @staticmethod
        def save_cassette(path: Any, cassette_dict: Any, serializer: Any) -> None:
            """Write nothing."""

    recorder = vcr.VCR(record_mode="all", skip_patchers=_OURS)
    recorder.register_persister(Nowhere)
    context = recorder.use_cassette("faultclock")
    cassette = context.__enter__()
    _kept.extend((recorder, context, cassette))
    _tap(channel, cassette, modules)
    return None


def _tap(channel: Any, cassette: Any, modules: dict[str, Any]) -> None:
    """Lead what vcrpy records into the channel, with its instants."""
    make, kind_of = _beside("channel").Exchange, _beside("failures").kind_of
    asked: ContextVar[Any] = ContextVar("faultclock_asked", default=None)

    def begun(client: str, request: Any) -> Any:
        return make(channel, client, request)

    def can_play_response_for(request: Any) -> bool:
        # Every stub of vcrpy asks this first; here it tells which request is about to be sent.
        asked.set(request)
        return False

    def append(request: Any, response: Any) -> None:
        # A client of which only vcrpy knows how it works: its body, and no instants.
        exchange = begun("other", request)
        status = response["status"]
        exchange.answer(status["code"], status["message"], response["headers"].items())
        exchange.whole((response.get("body") or {}).get("string"))
        exchange.end("complete")

    cassette.can_play_response_for = can_play_response_for
    cassette.append = append
    _beside("http_client_wire").install(begun, kind_of)
    _beside("httpx_streams").install(modules["vcr.stubs.httpx_stubs"], cassette, begun, kind_of)
    if "aiohttp" in sys.modules:
        stubs = _imported("vcr.stubs.aiohttp_stubs")
        streams = _beside("aiohttp_streams")
        streams.install(sys.modules["aiohttp"], stubs, cassette, asked, begun, kind_of)


def _imported(name: str) -> Any:
    from importlib import import_module

    return import_module(name)


_loaded: dict[str, Any] = {}


def _beside(name: str) -> Any:
    """Return a module of this folder."""
    if name not in _loaded:
        place = Path(__file__).with_name(f"{name}.py")
        spec = spec_from_file_location(f"_faultclock_{name}", place)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        _loaded[name] = module
    return _loaded[name]
