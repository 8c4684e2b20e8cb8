"""Programs: what `subprocess`, `shutil.which` and `os.kill` do where the world has programs.

Five methods of Popen are replaced, and with them everything that is built on it: `run`, `call`,
`check_output`, asyncio's subprocesses, `os.popen`. The rest of Popen stays what it is. In a world
without programs all of them do what they did before, which the audit hook then refuses; so is
every other way to start something, in every world.
"""

from __future__ import annotations

import errno
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from msgspec import Struct

from faultclock.sim.host.process_files import reading_end, writing_end
from faultclock.sim.host.processes import Child, InputPipe, OutputPipe, Processes, current_processes
from faultclock.sim.host.shell_words import ShellNeededError, shell_words
from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.clock import seconds_to_ns
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.patches.clocks import note_read
from faultclock.sim.patches.refusals import importing
from faultclock.sim.patches.registry import Patch, named_like

Function = Callable[..., Any]

_STATE = "_faultclock_program"
#: Where programs are found; nothing is there.
_FOLDER = "/usr/local/bin"
#: What no world has: code that runs between fork and exec, descriptors, other users.
_UNSUPPORTED = ("preexec_fn", "pass_fds", "user", "group", "extra_groups")
#: The output of the subject itself, which nobody sees.
_OWN_OUTPUT = (1, 2)
_INTO_A_FILE = "the output of a simulated program into a file"


class _Program(Struct):
    """What a simulated Popen keeps on itself, under `_STATE`."""

    processes: Processes
    wanted: dict[str, Any]
    stdin: InputPipe | None
    stdout: OutputPipe | None
    stderr: OutputPipe | None
    child: Child | None = None


def _processes() -> Processes | None:
    """Return the processes of the calling thread's world, if programs start there now.

    Importing is the interpreter's business, here as for the audit hook.
    """
    processes = current_processes()
    return None if processes is None or importing() else processes


# ---------------------------------------------------------------------- Popen: starting


def _make_init(original: Function) -> Function:
    signature = inspect.signature(original)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        processes = _processes()
        if processes is None:
            original(self, *args, **kwargs)
            return
        bound = signature.bind(self, *args, **kwargs)
        for name in _UNSUPPORTED:
            if bound.arguments.get(name) not in (None, ()):
                refuse(f"subprocess.Popen with {name}")
        program = _wired(processes, bound.arguments)
        self.__dict__[_STATE] = program
        # Everything is checked as ever, but no real pipe is made.
        for name in ("stdin", "stdout", "stderr"):
            if name in bound.arguments:
                bound.arguments[name] = None
        original(*bound.args, **bound.kwargs)
        _open_ends(self, program)

    return named_like(__init__, original)


def _wired(processes: Processes, given: dict[str, Any]) -> _Program:
    here = current()
    assert here is not None
    kernel = here[0]
    stdout = _output(kernel, given.get("stdout"), "stdout")
    merged = given.get("stderr") == subprocess.STDOUT
    stderr = stdout if merged else _output(kernel, given.get("stderr"), "stderr")
    stdin = InputPipe(kernel) if given.get("stdin") == subprocess.PIPE else None
    return _Program(
        processes=processes, wanted=dict(given), stdin=stdin, stdout=stdout, stderr=stderr
    )


def _output(kernel: Kernel, target: Any, name: str) -> OutputPipe | None:
    """Return the pipe for an output of a program, None where it is lost."""
    if target is None or target == subprocess.DEVNULL:
        return None
    if target == subprocess.PIPE:
        return OutputPipe(kernel, f"the {name} of a program")
    if target == subprocess.STDOUT:
        raise ValueError("STDOUT can only be used for stderr")
    if _is_file(target) and name == "stdout":
        refuse(_INTO_A_FILE)
    return None


def _is_file(target: Any) -> bool:
    """Return whether an output is neither a pipe nor the subject's own."""
    if target in (None, subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT):
        return False
    return (target if isinstance(target, int) else target.fileno()) not in _OWN_OUTPUT


def _make_execute_child(original: Function) -> Function:
    def _execute_child(self: Any, *args: Any, **kwargs: Any) -> None:
        program: _Program | None = self.__dict__.get(_STATE)
        if program is None:
            original(self, *args, **kwargs)
            return
        program.child = child = _started(program)
        if _is_file(program.wanted.get("stderr")) and child.complains:
            refuse(_INTO_A_FILE)
        self.pid = child.pid
        # `_child_created` stays False: there is nothing that a finalizer would have to collect.

    return named_like(_execute_child, original)


def _started(program: _Program) -> Child:
    wanted = program.wanted
    args, shell = wanted["args"], bool(wanted.get("shell"))
    words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
    if shell:
        argv = _shell_argv(words)
        executable: Any = argv[0]
    else:
        executable = wanted.get("executable")
        executable = words[0] if executable is None else executable
        argv = tuple(os.fsdecode(word) for word in words)
        if executable == sys.executable:
            # What the interpreter is called differs between machines.
            executable, argv = "python", ("python", *argv[1:])
    group = wanted.get("process_group")
    child = program.processes.start(
        os.path.basename(os.fsdecode(executable)),  # noqa: PTH119 - may be bytes
        argv,
        stdin=program.stdin,
        stdout=program.stdout,
        stderr=program.stderr,
        leads=bool(wanted.get("start_new_session")) or group == 0,
        shell=shell,
    )
    if child is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), executable)
    return child


def _shell_argv(words: list[Any]) -> tuple[str, ...]:
    try:
        return shell_words(os.fsdecode(words[0]))
    except ShellNeededError as error:
        refuse(f"a shell command with {error}, where only plain words would do,")


def _open_ends(popen: Any, program: _Program) -> None:
    text = bool(popen.text_mode)
    # The locale of the machine must not decide.
    encoding = program.wanted.get("encoding") or ("utf-8" if text else None)
    popen.encoding = encoding
    buffering = program.wanted.get("bufsize", -1)
    how: dict[str, Any] = {"text": text, "encoding": encoding, "errors": popen.errors}
    buffering = -1 if buffering is None else buffering
    if program.stdin is not None:
        popen.stdin = writing_end(program.stdin, buffering, **how)
    if program.stdout is not None:
        popen.stdout = reading_end(program.stdout, buffering, **how)
    if program.stderr is not None and program.stderr is not program.stdout:
        popen.stderr = reading_end(program.stderr, buffering, **how)


# ---------------------------------------------------------------------- Popen: waiting


def _child_of(popen: Any) -> Child | None:
    program: _Program | None = popen.__dict__.get(_STATE)
    return None if program is None else program.child


def _make_internal_poll(original: Function) -> Function:
    # Python asks every process that is left over when it ends, and clears this module before that.
    child_of = _child_of

    def _internal_poll(self: Any, *args: Any, **kwargs: Any) -> Any:
        child = child_of(self)
        if child is None:
            return original(self, *args, **kwargs)
        here = current()
        if child.returncode is None and here is not None:
            # Whoever polls without a pause spins; time must pass for it too.
            note_read(*here, "Popen.poll")
        if self.returncode is None:
            self.returncode = child.collect()
        return self.returncode

    return named_like(_internal_poll, original)


def _make_wait(original: Function) -> Function:
    def _wait(self: Any, timeout: float | None) -> Any:
        child = _child_of(self)
        if child is None:
            return original(self, timeout)
        if self.returncode is None:
            if not child.wait(None if timeout is None else seconds_to_ns(timeout)):
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = child.collect()
        return self.returncode

    return named_like(_wait, original)


def _make_communicate(original: Function) -> Function:
    """The original waits in a selector. What it keeps between two calls is kept alike."""

    def _communicate(self: Any, input: Any, endtime: float | None, orig_timeout: Any) -> Any:
        program: _Program | None = self.__dict__.get(_STATE)
        if program is None:
            return original(self, input, endtime, orig_timeout)
        if not self._communication_started:
            self._fileobj2output = {end: [] for end in (self.stdout, self.stderr) if end}
            self._save_input(input)
            _hand_over(self)
        seen = self._fileobj2output
        stdout, stderr = seen.get(self.stdout), seen.get(self.stderr)
        for end, pipe in ((self.stdout, program.stdout), (self.stderr, program.stderr)):
            if not end or pipe is None or end.closed:
                continue
            if not pipe.wait_for_end(_left_ns(self, endtime)):
                _take_all(self, program)
                self._check_timeout(
                    endtime, orig_timeout, stdout, stderr, skip_check_and_raise=True
                )
        _take_all(self, program)
        for end in seen:
            end.close()
        self.wait(timeout=self._remaining_time(endtime))
        return _joined(self, self.stdout, stdout), _joined(self, self.stderr, stderr)

    return named_like(_communicate, original)


def _hand_over(popen: Any) -> None:
    """Write what is to be written and close the input; a program that has ended minds neither."""
    if not popen.stdin:
        return
    raw = getattr(popen.stdin, "buffer", popen.stdin)
    for step in (lambda: raw.write(popen._input or b""), popen.stdin.close):
        try:
            step()
        except BrokenPipeError:
            continue


def _take_all(popen: Any, program: _Program) -> None:
    for end, pipe in ((popen.stdout, program.stdout), (popen.stderr, program.stderr)):
        # Past the file object's own buffer, as the original does it.
        if end and pipe is not None and (data := pipe.take(1 << 62)):
            popen._fileobj2output[end].append(data)


def _joined(popen: Any, end: Any, parts: list[bytes] | None) -> Any:
    if parts is None:
        return None
    data = b"".join(parts)
    return popen._translate_newlines(data, end.encoding, end.errors) if popen.text_mode else data


def _left_ns(popen: Any, endtime: float | None) -> int | None:
    left = popen._remaining_time(endtime)
    return None if left is None else seconds_to_ns(left)


# ---------------------------------------------------------------------- by name and by number


def _make_which(original: Function) -> Function:
    def which(cmd: Any, mode: int = os.F_OK | os.X_OK, path: Any = None) -> Any:
        processes = _processes()
        if processes is None:
            return original(cmd, mode, path)
        folder, name = os.path.split(os.fsdecode(cmd))
        if not processes.has(name):
            return None
        found = f"{folder or _FOLDER}/{name}"
        return os.fsencode(found) if isinstance(cmd, bytes) else found

    return named_like(which, original)


def _child_with(pid: object) -> Child | None:
    processes = current_processes()
    return None if processes is None else processes.child(pid)


def _make_kill(original: Function) -> Function:
    def kill(pid: int, sig: int, /) -> None:
        child = _child_with(pid)
        if child is None:
            original(pid, sig)
        else:
            child.signal(sig)

    return named_like(kill, original)


def _make_killpg(original: Function) -> Function:
    def killpg(pgid: int, sig: int, /) -> None:
        child = _child_with(pgid)
        if child is None:
            original(pgid, sig)
        elif child.leads:
            child.signal(sig)
        else:
            _no_such_process()

    return named_like(killpg, original)


def _make_group_of(original: Function) -> Function:
    """`os.getpgid` and `os.getsid`."""

    def group_of(pid: int, /) -> int:
        child = _child_with(pid)
        if child is None:
            return int(original(pid))
        if child.collected:
            _no_such_process()
        return child.pid if child.leads else int(original(0))

    return named_like(group_of, original)


def _no_such_process() -> NoReturn:
    raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))


def _make_refusing(what: str) -> Callable[[Function], Function]:
    def make(original: Function) -> Function:
        def replacement(pid: Any, *args: Any, **kwargs: Any) -> Any:
            if _child_with(pid) is not None:
                refuse(f"{what} of a simulated program")
            return original(pid, *args, **kwargs)

        return named_like(replacement, original)

    return make


def _patches() -> tuple[Patch, ...]:
    functions = (
        (shutil, "which", _make_which),
        (os, "kill", _make_kill),
        (os, "killpg", _make_killpg),
        (os, "getpgid", _make_group_of),
        (os, "getsid", _make_group_of),
        (os, "waitpid", _make_refusing("os.waitpid")),
        (os, "pidfd_open", _make_refusing("os.pidfd_open")),
    )
    return (
        Patch(subprocess.Popen, "__init__", _make_init),
        Patch(subprocess.Popen, "_execute_child", _make_execute_child),
        Patch(subprocess.Popen, "_internal_poll", _make_internal_poll),
        Patch(subprocess.Popen, "_wait", _make_wait),
        Patch(subprocess.Popen, "_communicate", _make_communicate),
        *(Patch(owner, name, make) for owner, name, make in functions if hasattr(owner, name)),
    )


PATCHES: tuple[Patch, ...] = _patches()
