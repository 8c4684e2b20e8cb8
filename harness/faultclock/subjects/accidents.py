"""Whether an exception was raised on purpose, or is an accident of the code that it left.

`float("soon")` and `answer["choices"]` raise a ValueError and a KeyError that nobody wrote down. A
`raise ValueError(...)` of the same type is a decision. The difference stands in the traceback: the
instruction that raised it.
"""

from __future__ import annotations

import binascii
import dis
import json
import sysconfig
from pathlib import Path
from types import FrameType, TracebackType

from faultclock.subjects.foreign import ForeignError

#: Types that operations of Python raise. An exact match: a subclass was made by somebody, and says
#: more; but for those of the standard library's own decoders.
_TYPES = frozenset(
    {
        AssertionError,
        AttributeError,
        IndexError,
        KeyError,
        NameError,
        OverflowError,
        RecursionError,
        StopIteration,
        TypeError,
        UnboundLocalError,
        UnicodeDecodeError,
        UnicodeEncodeError,
        ValueError,
        ZeroDivisionError,
        binascii.Error,
        json.JSONDecodeError,
    }
)
_STANDARD = tuple(
    f"{path}/" for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if path
)
_INSTALLED = ("/site-packages/", "/dist-packages/")
#: Stand-ins for functions of Python, such as `time.sleep`: what they raise, the originals would.
_STAND_INS = f"{Path(__file__).resolve().parents[1] / 'sim'}/"


def is_accident(error: BaseException) -> bool:
    """Return whether an operation raised `error`, and no `raise` statement outside of Python's own.

    An error without a traceback is none: nothing shows where it came from.
    """
    # By its type: what a subject raises may answer for its own class with anything.
    if issubclass(type(error), ForeignError):
        return vars(error)["is_accident"] is True
    if type(error) not in _TYPES:
        return False
    trace = error.__traceback__
    if not isinstance(trace, TracebackType):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    if is_standard(trace.tb_frame):
        # What Python's own library raises was asked of it by a line outside.
        return True
    return not _raises(trace)


def is_standard(frame: FrameType) -> bool:
    """Return whether a frame belongs to Python's own library, or to what stands in for it."""
    name = frame.f_code.co_filename
    if name.startswith(("<frozen", _STAND_INS)):
        return True
    return name.startswith(_STANDARD) and not any(part in name for part in _INSTALLED)


def _raises(trace: TracebackType) -> bool:
    """Return whether the last instruction of a frame is a `raise` statement."""
    code = trace.tb_frame.f_code.co_code
    at = trace.tb_lasti
    if not 0 <= at < len(code):
        return False
    return dis.opname[code[at]] in ("RAISE_VARARGS", "RERAISE")
