"""A cluster of Dask in place of the processes of this machine: tasks go out, results come back.

    with Cluster("tcp://host:8786") as cluster, working_at(cluster):
        run_suite(request)              # whatever uses `Workers` has it done over there

All that is known of what is done stays here: a cluster has nothing to lose. What it loses, a worker
or its scheduler, is asked for again, and of each task one result is taken. See `cluster_worker` for
the other side. Dask is an extra, so it is imported where it is used.
"""

from __future__ import annotations

import importlib.util
import io
import logging
import os
import pickle
import re
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from msgspec import Struct

import faultclock
from faultclock.errors import HarnessError, InputError
from faultclock.run.process.cluster_worker import (
    MissingError,
    UnlikeError,
    asked,
    end_session,
    facts,
)
from faultclock.run.process.local_cluster import LocalCluster
from faultclock.run.process.workers import Shared

P = ParamSpec("P")
T = TypeVar("T")

LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
ADDRESS = re.compile(r"(?:tcp|tls|ucx|wss?)://\S+:[0-9]+\S*")

#: Real seconds within which a scheduler has to answer, and to be back once it is lost.
_CONNECT_LIMIT_S = 10.0
#: Real seconds within which a scheduler has to have a worker at first.
_START_LIMIT_S = 10.0
#: Real seconds that a cluster may be without any worker later.
_WORKERS_LIMIT_S = 60.0
#: Real seconds for which the number of workers is taken to be what it was.
_COUNT_S = 1.0
#: Evaluated by each worker, whatever it has: its Python, and its Faultclock.
_ASK = (
    "(__import__('platform').python_version(),"
    " getattr(__import__('faultclock'), '__version__', None)"
    " if __import__('importlib.util').util.find_spec('faultclock') else None)"
)
_DASK = "distributed"
_EXTRA = "pip install 'faultclock[dask]'"


class Cluster:
    """Where work is done; used as a context manager.

    Args:
        place: the address of a scheduler, or `local:N` for one of N workers on this machine.

    Raises:
        InputError: Dask is not installed.
    """

    def __init__(self, place: str) -> None:
        if importlib.util.find_spec(_DASK) is None:
            raise InputError("a cluster needs Dask, which is not installed", hint=_EXTRA)
        found = LOCAL.fullmatch(place)
        self._local = None if found is None else LocalCluster(int(found[1]))
        self._address = place
        self._connection: tuple[int, _Connection] | None = None

    def __enter__(self) -> Self:
        """Start the cluster, if it is one of ours."""
        if self._local is not None:
            self._address = self._local.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of it, and end it if it is one of ours."""
        if self._connection is not None and self._connection[0] == os.getpid():
            self._connection[1].close()
        if self._local is not None:
            self._local.end()

    def hands(self) -> int:
        """Return how many threads all workers have, at least 1."""
        return self._connected().hands()

    def executor(self) -> Executor:
        """Return what has tasks done by the workers."""
        return _Tasks(self._connected())

    def look(self) -> None:
        """Ask again for what was lost with a scheduler.

        Raises:
            InputError: it is not there any more, or has no workers.
        """
        self._connected().look()

    def _connected(self) -> _Connection:
        """Return the connection of this process: one that was forked makes its own."""
        if self._connection is None or self._connection[0] != os.getpid():
            self._connection = (os.getpid(), _Connection(self._address))
        return self._connection[1]


class _Task(Struct):
    """Something that is to be done.

    Attributes:
        keys: of the values that it needs.
        future: of Dask.
        sent: whether the values went with it.
    """

    ours: Future[Any]
    packed: bytes
    keys: tuple[str, ...]
    future: Any = None
    sent: bool = False


class _Tasks(Executor):
    """Has tasks done, and forgets those that nobody waits for any more."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._mine: list[_Task] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have it called by a worker."""
        self._mine = [task for task in self._mine if not task.ours.done()]
        self._mine.append(self._connection.asked((fn, args, kwargs)))
        return self._mine[-1].ours

    def shutdown(
        self,
        wait: bool = True,  # noqa: ARG002 - the signature of an executor
        *,
        cancel_futures: bool = False,  # noqa: ARG002 - the same
    ) -> None:
        """Let go of what is not done."""
        self._connection.forget(task for task in self._mine if not task.ours.done())


@dataclass(slots=True)
class _Connection:
    """One client of a scheduler.

    Raises:
        InputError: it cannot be reached, has no workers, or has some that are not like this.
    """

    address: str
    _client: Any = field(init=False)
    _session: str = field(init=False, default_factory=partial(secrets.token_hex, 8))
    _values: dict[str, bytes] = field(init=False, default_factory=dict)
    _lost: list[_Task] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _hands: tuple[float, int] = field(init=False, default=(0.0, 1))
    _alone_since_s: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._client = _client(self.address)
        try:
            self._client.wait_for_workers(1, timeout=_START_LIMIT_S)
        except TimeoutError:
            self.close()
            raise InputError(
                f"the cluster at {self.address} has no workers",
                hint=f"dask worker {self.address}",
            ) from None
        try:
            _check_versions(self._client.run(eval, _ASK, on_error="return"))
        except InputError:
            self.close()
            raise

    def hands(self) -> int:
        """Return how many threads all workers have, at least 1."""
        now_s = time.monotonic()
        if now_s - self._hands[0] > _COUNT_S and self._client.status == "running":
            with suppress(OSError, TimeoutError):
                self._hands = now_s, sum(self._client.nthreads().values())
        return max(1, self._hands[1])

    def asked(self, call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> _Task:
        """Have it called by a worker; what it needs is first sent to all that are there."""
        packed, shared = _packed(call)
        for item in shared:
            if item.key not in self._values:
                self._values[item.key] = pickle.dumps((facts(), _packed(item.get())[0]))
                self._spread(item.key)
        task = _Task(Future(), packed, tuple(item.key for item in shared))
        self._send(task)
        return task

    def forget(self, tasks: Iterable[_Task]) -> None:
        """Take tasks back: nobody waits for them any more."""
        taken = [task for task in tasks if task.ours.cancel()]
        with suppress(Exception):
            self._client.cancel([task.future for task in taken])

    def look(self) -> None:
        """Ask again for what was lost with a scheduler, once it is back."""
        status = self._client.status
        if status == "closed":
            raise InputError(
                f"the scheduler at {self.address} is gone",
                hint="an exploration with --history goes on with --resume",
            )
        if status != "running":
            return
        with self._lock:
            lost, self._lost = self._lost, []
        for task in lost:
            self._send(task)
        self._look_for_workers()

    def close(self) -> None:
        """End what works for us over there, and the connection."""
        with suppress(Exception):
            if self._client.status == "running":
                self._client.run(end_session, self._session, on_error="ignore")
        with suppress(Exception):
            self._client.close(timeout=_CONNECT_LIMIT_S)

    def _look_for_workers(self) -> None:
        with suppress(OSError, TimeoutError):
            if self._client.nthreads():
                self._alone_since_s = None
                return
        now_s = time.monotonic()
        if self._alone_since_s is None:
            self._alone_since_s = now_s
        elif now_s - self._alone_since_s > _WORKERS_LIMIT_S:
            raise InputError(
                f"the cluster at {self.address} has had no workers for {_WORKERS_LIMIT_S:g} s",
                hint=f"dask worker {self.address}",
            )

    def _spread(self, key: str) -> None:
        """Send a value to each worker that is there, which loads the subject with it.

        Raises:
            InputError: it has another subject, or other versions.
        """
        packed, _ = _packed((_nothing, (), {}))
        # Where one ends meanwhile, another one takes its place.
        sent = {
            address: self._submit(
                packed, {key: self._values[key]}, workers=[address], allow_other_workers=True
            )
            for address in self._client.nthreads()
        }
        for address, future in sent.items():
            kind, value = _answer(future)
            if isinstance(value, UnlikeError):
                raise _refused(f"worker {address}", value)
            if kind == "raised" and isinstance(value, HarnessError):
                raise value

    def _send(self, task: _Task) -> None:
        values = {key: self._values[key] for key in task.keys} if task.sent else {}
        try:
            task.future = self._submit(task.packed, values)
        except Exception:  # noqa: BLE001 - whatever it is called where no scheduler is there
            self._lost.append(task)
            return
        task.future.add_done_callback(partial(self._came, task))

    def _submit(self, packed: bytes, values: Mapping[str, bytes], **where: Any) -> Any:
        # What was asked for twice has to be done twice: a subject may not be the same.
        return self._client.submit(asked, self._session, packed, values, pure=False, **where)

    def _came(self, task: _Task, future: Any) -> None:
        """Take the result of a task; in a thread of Dask's."""
        if task.ours.done() or task.future is not future:
            return
        if future.status in ("cancelled", "lost"):
            with self._lock:
                self._lost.append(task)
            return
        kind, value = _answer(future)
        if kind == "lost":
            with self._lock:
                self._lost.append(task)
        elif isinstance(value, MissingError) and not task.sent:
            # It went to a worker, or to a thread of one, that has not been asked before.
            task.sent = True
            self._send(task)
        elif isinstance(value, UnlikeError):
            # It came when the others had been asked.
            task.ours.set_exception(_refused("a worker of the cluster", value))
        elif kind == "raised":
            task.ours.set_exception(value)
        else:
            task.ours.set_result(value)


def _answer(future: Any) -> tuple[str, Any]:
    """Return what a task came to: "value", "raised" or "lost", and what."""
    from distributed import CancelledError, KilledWorker

    try:
        kind, value = pickle.loads(future.result())  # noqa: S301 - whom we trust with our code
    except KilledWorker:
        return "raised", BrokenExecutor("its worker died")
    except (CancelledError, OSError, TimeoutError):
        return "lost", None
    except Exception as error:  # noqa: BLE001 - of a cluster that is not like this one
        return "raised", InputError(f"the cluster did not carry it out: {error}")
    return kind, value


def _refused(worker: str, error: UnlikeError) -> InputError:
    return InputError(f"{worker}: {error.message}", hint=error.hint)


def _nothing() -> None:
    """Do nothing: what comes with the task is what counts."""


class _Pickler(pickle.Pickler):
    """Writes a task in which shared values are named."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.shared: dict[str, Shared[Any]] = {}

    def persistent_id(self, obj: object) -> str | None:
        """Return the name of a shared value; None for what is written itself."""
        if not isinstance(obj, Shared):
            return None
        self.shared[obj.key] = obj
        return obj.key


def _packed(value: object) -> tuple[bytes, tuple[Shared[Any], ...]]:
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), tuple(pickler.shared.values())


def _client(address: str) -> Any:
    from distributed import Client

    # It would tell a log what a person is told by us.
    for name in [name for name in logging.root.manager.loggerDict if name.startswith(_DASK)]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        # Versions are compared by us, and refused.
        warnings.simplefilter("ignore")
        try:
            return Client(  # type: ignore[no-untyped-call]
                address, timeout=_CONNECT_LIMIT_S, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise InputError(
                f"the cluster at {address} cannot be reached: {why}",
                hint="the address is that of a scheduler of Dask, such as tcp://host:8786; "
                "`dask scheduler` starts one",
            ) from None


def _check_versions(found: Mapping[str, object]) -> None:
    """Refuse workers with another Python or another Faultclock, or none.

    Raises:
        InputError: the first of them.
    """
    import platform

    here = (platform.python_version(), faultclock.__version__)
    for address, there in sorted(found.items()):
        if not isinstance(there, tuple):
            raise InputError(f"worker {address}: it did not say its versions: {there}")
        for name, wanted, said in zip(("Python", "Faultclock"), here, there, strict=True):
            if said != wanted:
                has = f"has no {name}" if said is None else f"has {name} {said}"
                raise InputError(
                    f"worker {address} {has}, and this is {wanted}",
                    hint="the same versions make the same runs: install them for every worker",
                )
