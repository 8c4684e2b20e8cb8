"""A cluster of Dask on this machine, in processes beside this one: scheduler and workers.

They are real ones: what works with them works with a cluster of many machines. A process of its own
has them, so that no thread of theirs is where others are forked from.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from faultclock.errors import InputError

_SETTINGS = {
    # How often a task is tried again whose worker died.
    "distributed.scheduler.allowed-failures": 1,
    # A worker looks a hundred times a second at what its threads do, which is to wait.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "500ms",
}
#: Real seconds that it gets to end by itself.
_END_LIMIT_S = 10.0


class LocalCluster:
    """A scheduler and its workers on this machine.

    Args:
        workers: how many, each of one thread.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it, and return its address."""
        with tempfile.TemporaryFile() as said:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-m", __name__, str(self._workers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                # A Ctrl-C in the terminal is for the process that answers for the result.
                start_new_session=True,
            )
            assert self._process.stdout is not None, "it was made with pipes"
            address = self._process.stdout.readline().decode().strip()
            if not address:
                said.seek(0)
                last = said.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise InputError(f"the cluster of this machine did not start: {last}")
        return address

    def end(self) -> None:
        """End it with all its processes."""
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            # Its workers end with it.
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Be a cluster on this machine until standard input ends: `cluster N`."""
    import dask
    import distributed

    dask.config.set(_SETTINGS)
    with distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=int(sys.argv[1]),
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        # What needs memory are the runs, which have a limit of their own.
        memory_limit=0,
    ) as cluster:
        os.write(1, f"{cluster.scheduler_address}\n".encode())
        sys.stdin.read()


if __name__ == "__main__":
    main()
