"""`python -m tests.warm.server`: runs commands in forked children of one warm process.

To start an interpreter and to import everything takes longer than most commands of a page. So
this process imports it once, and forks for each command; the child's own process group, folder,
environment and output are those that it is told. Requests and answers are lines of JSON.

It must be started with PYTHONHASHSEED=0, as the command starts itself.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NoReturn

import faultclock.cli
from faultclock.load.error_model import load_error_model, model_ids
from faultclock.subjects.registry import catalog
from tests.warm.listing import all_scenarios, read_shipped_once

#: What the commands import: all of them, and what takes long of the libraries below.
_WARM = (
    *(
        f"faultclock.cli.{module.name}"
        for module in iter_modules(faultclock.cli.__path__)
        if not module.name.startswith("_")
    ),
    "faultclock.certify.making",
    "faultclock.certify.rejudging",
    "faultclock.certify.rerunning",
    "faultclock.certify.verifying",
    "faultclock.certify.levels.again",
    "faultclock.certify.levels.appraisal",
    "faultclock.certify.levels.evidence",
    "faultclock.certify.levels.hardened",
    "faultclock.pytest_plugin.bench.judging",
    "faultclock.explore.engine",
    "faultclock.fakes.dialects.http_json",
    "faultclock.profile.infer.profile",
    "faultclock.load.scenario",
    "faultclock.pytest_plugin.playing",
    "faultclock.render",
    "faultclock.run.prepare",
    "faultclock.run.suite",
    "openai",
    "openai.resources.chat.completions",
    "pytest",
)
_POLL_S = 0.005


def main() -> None:
    """Answer until nobody asks any more."""
    _warm()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_answer(request)), file=answers, flush=True)


def _warm() -> None:
    for name in _WARM:
        importlib.import_module(name)
    # What each of them would read again: the files that come with Faultclock.
    catalog()
    read_shipped_once()
    all_scenarios()
    for model in model_ids():
        load_error_model(model)
    # A child that collects garbage would copy all of this.
    gc.freeze()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if "wait" in request:
        return {"code": _waited(request["wait"], request["limit_s"])}
    child = os.fork()
    if child == 0:
        _be(request)
    return {"pid": child}


def _waited(child: int, limit_s: float) -> int | None:
    """Return the exit code as a shell tells it, or None after the limit, when it is ended."""
    deadline_s = time.monotonic() + limit_s
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if time.monotonic() > deadline_s:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(_POLL_S)


def _be(request: dict[str, Any]) -> NoReturn:
    """Be the command, in a child: never return."""
    code: object = 70
    try:
        os.setsid()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        _stand_on(request["output"], request["errors"])
        sys.path[:] = [path for path in sys.path if path]
        code = _run(request["words"])
    except SystemExit as error:
        code = error.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        with suppress(BaseException):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(BaseException):
                stream.flush()
        if code is not None and not isinstance(code, int):
            os.write(2, f"{code}\n".encode())
            code = 1
        os._exit(int(code or 0))


def _stand_on(output: str, errors: str) -> None:
    """Read nothing; write to the two files, which may be one."""
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    told = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (written, 1), (told, 2)):
        os.dup2(source, target)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", buffering=1)
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def _run(words: list[str]) -> object:
    name, arguments = words[0], words[1:]
    sys.argv = list(words)
    if name == "faultclock":
        from faultclock.cli.app import app

        return app(arguments)
    if name == "pytest":
        import pytest

        from faultclock.pytest_plugin.bench.client import Bench
        from tests.warm.benches import forked

        # No plugins but ours, of which each would import its libraries: that an installation finds
        # ours by its entry point is shown by `test_it_can_be_switched_off…`.
        loaded = ["--disable-plugin-autoload", "-p", "faultclock.pytest_plugin"]
        # What is warm was imported before pytest could rewrite its assertions.
        ignored = "ignore::pytest.PytestAssertRewriteWarning"
        Bench._spawned = forked  # type: ignore[assignment, method-assign]
        return int(pytest.main([*loaded, *arguments, "-W", ignored]))
    assert name == "python"
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    main()
