"""What the runs of an agent are given beside the text: dependencies, a context."""

from __future__ import annotations

from types import NoneType
from typing import Any, is_typeddict

from faultclock.errors import SubjectError


def default_deps(kind: Any, given: Any, called: str) -> Any:
    """Return what a run is given: what was handed over, or else what can be made without arguments.

    Args:
        kind: the class that the agent declares; None where it declares none.
        called: what the framework calls it, such as `deps`.

    Raises:
        SubjectError: nothing was handed over, and none can be made.
    """
    if given is not None or kind in (None, NoneType, Any) or not isinstance(kind, type):
        return given
    try:
        if is_typeddict(kind) and kind.__required_keys__:  # type: ignore[attr-defined]
            raise TypeError
        return kind()
    except Exception as error:
        name = kind.__name__
        raise SubjectError(
            f"the agent's runs need {called} of the class {name}, which takes arguments",
            hint=f"write `def make_agent(): return agent, {name}(...)`, and name make_agent",
        ) from error
