"""Forty tricks by which a subject that fails could look as if it did not.

The subject itself asks again at once where it was told to wait. A trick is code that runs when the
subject is imported (`LOADED`) or when it is called (`CALLED`).
"""

from __future__ import annotations

_SUBJECT = """
import json
import urllib.error
import urllib.request

from faultclock import provider_adapter

{loaded}

@provider_adapter
def subject(request):
    body = json.dumps({{"model": request.model, "messages": request.messages}}).encode()
    headers = {{"authorization": f"Bearer {{request.api_key}}", "content-type": "application/json"}}
    url = f"{{request.base_url}}/chat/completions"
    for _ in range(3):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
                return json.loads(answer.read())["choices"][0]["message"]["content"]
        except urllib.error.HTTPError:
            {called}
    raise RuntimeError("no answer")
"""


def subject(*, loaded: str = "", called: str = "pass") -> str:
    """Return the file of a subject that fails, with a trick in it."""
    indented = "\n            ".join(called.strip().splitlines())
    return _SUBJECT.format(loaded=loaded.strip(), called=indented)


#: Says that everything is well, in place of what was asked.
_FORGED = '{"value": {"facts": [], "ending": "completed", "detail": [], "ended_at_ns": 0}}'

LOADED: dict[str, str] = {
    "ends the process": "import os; os._exit(0)",
    "ends the process with an exit handler": "import atexit, os; atexit.register(os._exit, 0)",
    "ends the process in a thread": """
import os, threading
threading.Thread(target=os._exit, args=(0,), daemon=True).start()""",
    "leaves": "import sys; sys.exit(0)",
    "is interrupted": "raise KeyboardInterrupt",
    "is cancelled": "import asyncio; raise asyncio.CancelledError",
    "is closed": "raise GeneratorExit",
    "skips itself as a test": "import pytest; pytest.skip('later', allow_module_level=True)",
    "replaces sys.exit": "import sys; sys.exit = lambda *_: None",
    "replaces os._exit": "import os; os._exit = lambda *_: None",
    "replaces the verdict": """
import faultclock.model.report.beside_baseline as standing
from faultclock.model.report.finding import Verdict
standing.standing = lambda *_: Verdict.PASS""",
    "replaces the exit code": """
import faultclock.cli.exits as exits
exits.exit_code_of = lambda *_: 0""",
    "replaces the judge": """
from faultclock.oracle.judge import Judge
Judge.judge = lambda *_: None""",
    "replaces what records": """
from faultclock.sim.kernel.recorder import Recorder
Recorder.record = lambda *_, **__: 1""",
    "replaces the code of a function": """
import faultclock.run.run_request as made
made.made_of.__code__ = (lambda happened, spilled=None: None).__code__""",
    "hands over another time": """
import msgspec.structs
import faultclock.run.process.run_once as making
kept = making.made_of
def made_of(happened, spilled=None):
    facts, later = [], 0
    for number, at_ns, *rest in happened.facts:
        facts.append((number, at_ns + later, *rest))
        later = 8_000_000_000 if rest[1] == 'net.closed' else later
    ended_at_ns = happened.ended_at_ns + later
    return kept(msgspec.structs.replace(happened, facts=facts, ended_at_ns=ended_at_ns), spilled)
making.made_of = made_of""",
    "puts a module in the place of ours": """
import sys, types
sys.modules['faultclock.oracle.judge'] = types.ModuleType('faultclock.oracle.judge')""",
    "replaces json.dumps": f"import json; json.dumps = lambda *_, **__: {_FORGED!r}",
    "replaces pickle.loads": "import pickle; pickle.loads = lambda *_, **__: ('value', None)",
    "replaces hashlib.sha256": "import hashlib; hashlib.sha256 = lambda *_: None",
    "replaces os.write": "import os; os.write = lambda _, data: len(data)",
    "replaces os.read": "import os; os.read = lambda *_: b''",
    "replaces isinstance": "import builtins; builtins.isinstance = lambda *_: True",
    "writes to every descriptor": """
import os
for number in range(3, 64):
    try:
        os.write(number, b'x' * 4096)
    except OSError:
        pass""",
    "closes every descriptor": "import os; os.closerange(3, 200)",
    "closes standard output": "import sys; sys.stdout.close(); sys.stderr = None",
    "prints a report": 'print(\'{"verdict": "PASS", "totals": {"PASS": 1}}\')',
    "ends each fork": "import os; os.register_at_fork(after_in_child=lambda: os._exit(0))",
    "ends itself by a signal": """
import signal, os
signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.05)""",
    "traces every call": """
import sys
sys.setprofile(lambda *_: None)
sys.excepthook = lambda *_: None""",
    "changes the folder": "import os; os.chdir('/')",
}

CALLED: dict[str, str] = {
    "ends the process": "import os; os._exit(0)",
    "leaves": "raise SystemExit(0)",
    "writes to every descriptor": """
import os
for number in range(3, 64):
    try:
        os.write(number, b'x' * 4096)
    except OSError:
        pass""",
    "closes every descriptor": "import os; os.closerange(3, 200)",
    "replaces the kernel": """
from faultclock.sim.kernel.kernel import Kernel
Kernel.record = lambda *_, **__: 1""",
    "replaces what records": """
from faultclock.sim.kernel.recorder import Recorder
Recorder.record = lambda *_, **__: 1""",
    "records another time": """
from faultclock.sim.kernel.recorder import Recorder
kept = Recorder.record
def record(self, actor, kind, /, **payload):
    number = kept(self, actor, kind, **payload)
    seq, at_ns, *rest = self.events[-1]
    self.events[-1] = (seq, at_ns + 8_000_000_000, *rest)
    return number
Recorder.record = record""",
    "forgets what was recorded": """
import gc
from faultclock.sim.kernel.recorder import Recorder
for item in gc.get_objects():
    if isinstance(item, Recorder):
        item.events.clear()""",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "takes all memory": "kept = bytearray(1 << 40)",
    "has no end": "while True: pass",
    "goes deep": "go = lambda: go(); go()",
    "replaces pickle.dumps": "import pickle; pickle.dumps = lambda *_, **__: b'x'",
    "replaces what ends a run": """
import faultclock.run.run_result as happened
happened.reason_of = lambda *_: ('completed', ())""",
}
