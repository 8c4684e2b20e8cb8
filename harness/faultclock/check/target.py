"""The target: what it was taken for, and what it does when nothing goes wrong."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from faultclock.errors import SubjectError
from faultclock.model.report.checkup import LeftOut
from faultclock.model.report.taken_for import TakenFor
from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.probe import probe
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.adopt import Adopted
from faultclock.subjects.binding import Binding
from faultclock.subjects.candidates import agents_in
from faultclock.subjects.said import said_of


class Target(Struct, frozen=True, kw_only=True):
    """A target that can be called.

    Attributes:
        spec: names it in every command, with what was said of it.
        is_bound: whether a decorator has bound it.
        given_requests: whether its function takes the request.
    """

    spec: str
    binding: Binding
    taken_for: TakenFor
    abilities: Abilities
    is_bound: bool = False
    given_requests: bool = True

    @property
    def settled_spec(self) -> str:
        """Names it with all that a healthy run showed, so that no later run has to find out.

        What a decorator says is not repeated. No healthy run offers tools, so a function that is
        given them in its request may well use them.
        """
        lacks = self.abilities.words(self.binding.role)
        if self.binding.role == "provider_adapter" and self.given_requests:
            lacks = tuple(word for word in lacks if word != "no-tools")
        if self.is_bound:
            said = self.binding.abilities.words(self.binding.role)
            return said_of(self.spec, lacks=[word for word in lacks if word not in said])
        return said_of(self.spec, dialect=self.binding.dialect, lacks=lacks)

    @property
    def others(self) -> tuple[LeftOut, ...]:
        """The agents in the file of a function: they can do more than the function shows."""
        place = self.taken_for.target.rpartition(":")[0]
        if self.binding.role != "provider_adapter" or not place.endswith(".py"):
            return ()
        again = "a retry in your function would repeat the agent's tools, and no check sees that"
        checked = "its tools, approvals and sessions are checked by faultclock check"
        agents = agents_in(Path(place))
        return tuple(
            LeftOut(what=name, why=f"{again}; {checked} {place}:{name}") for name in agents
        )


def take(adopted: Adopted, wall_limit_s: float | None = None) -> Target:
    """Call a target that was loaded in a healthy world.

    Args:
        wall_limit_s: real seconds that a run may take, if a person has said that.

    Raises:
        SubjectError: it does not work when nothing goes wrong.
    """
    probed = probe(adopted.binding, wall_limit_s)
    if not probed.healthy:
        raise SubjectError(f"{adopted.spec}: {probed.why_not}", hint=probed.what_to_do)
    spoken, bound = probed.dialect, adopted.binding
    if spoken is not None and bound.dialect_known and len(bound.dialects) == 1:
        # Several APIs are asked at equal paths: the one that a person names is played.
        spoken = bound.dialect
    abilities, taken_for = abilities_of(probed, wall_limit_s), adopted.taken_for
    said = {"dialect": spoken or ""}
    if bound.own_tools is not None:
        said["because"] = f"{taken_for.because}; {_seen(abilities, bound)}"
    return Target(
        spec=adopted.spec,
        binding=probed.binding,
        taken_for=taken_for.model_copy(update=said),
        abilities=abilities,
        is_bound=adopted.is_bound,
        given_requests=adopted.given_requests,
    )


def _seen(abilities: Abilities, bound: Binding) -> str:
    """Return what a healthy run showed of a whole agent."""
    tools = bound.own_tools or ()
    never = "is not run in a stream" if bound.is_run_in_one_piece else "streams nothing"
    streams = {"never": never, "as asked": "can stream", "always": "streams"}
    asks = abilities.approvals and any(tool.gated for tool in tools)
    rows = (
        (asks, "asks a person for approvals", "asks no person"),
        (abilities.sessions, *_of_session(abilities, *bound.session)),
        (abilities.cancels, "can be cancelled", "is not cancelled by the check"),
    )
    shown = (does if able else lacks for able, does, lacks in rows)
    said = f"it {', '.join((streams[abilities.streams], *shown))}"
    failing = "your tools are really called, and their failures and delays below are simulated"
    return f"{said}; {failing}" if tools else said


def _of_session(abilities: Abilities, kept: str, lost: str) -> tuple[str, str]:
    """Return what is said of a session that is kept, and of one that is not.

    Args:
        kept, lost: what is to be added to either.
    """
    does, lacks = "keeps its session", "keeps no session"
    if not abilities.history:
        does = lacks = "stores its history without sending it to the model"
        lost = ""
    return (f"{does} ({kept})" if kept else does, f"{lacks} ({lost})" if lost else lacks)
