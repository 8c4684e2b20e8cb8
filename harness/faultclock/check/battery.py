"""The battery: which scenarios fit a target, in which order, and what is left out by name.

What a target cannot do in a healthy world it is not asked to do in a bad one: a scenario about
streams shows nothing about a client that never asks for one. Such scenarios are left out by name
before anything runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

from msgspec import Struct

from faultclock.errors import InputError
from faultclock.load.scenario import LoadedScenario, find_scenarios, shipped_scenarios
from faultclock.model.report.checkup import LeftOut
from faultclock.model.scenario.fault import (
    ConnectRefused,
    CorruptBody,
    DnsFailure,
    Fault,
    HttpError,
    OkWithErrorBody,
    StreamError,
    Truncate,
)
from faultclock.model.scenario.scenario import Role, Scenario
from faultclock.run.bind_scenario import of_role
from faultclock.run.doctor.fitting import why_left_out
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.binding import Binding

#: The families about a role that any error model can judge; of any other role, all of its
#: scenarios are read.
_FAMILIES: dict[Role, tuple[str, ...]] = {
    "provider_adapter": ("common", "rate-limits", "provider-transient", "provider-limits"),
}
#: Written for `explore`, which makes many runs of each.
_EXPLORED = "exploration"
#: Statuses that waiting cannot mend: clients ask again all the same.
_HOPELESS = frozenset({400, 401, 403, 404, 413, 422})
_HINTS = ("retry-after", "retry-after-ms")
#: So many reasons why are named of one thing: those of most scenarios.
_REASONS_MAX = 3
#: Of an agent with tools of its own.
_INSIDE = LeftOut(
    what="inside your tools",
    why="failures and delays are simulated outside of your functions: what a tool of yours, or a"
    " hook around it, makes of a failure inside it is not seen",
)
#: Of a function that runs the tools that it offers.
_OWN_LOOP = LeftOut(
    what="the tools that your function runs",
    why="what they do is not seen: no tool is made to fail, the provider does not fail after a"
    " tool call, the model asks for one tool at a time, and never for ever, with arguments that"
    " fit, and a tool that runs a second time in a retry of your own is not counted",
)
#: A run of more clients takes its time.
_CLIENTS_MAX = 3


class Battery(Struct, frozen=True, kw_only=True):
    """What is run for a target.

    Attributes:
        scenarios: the likely bad ones first, crowds last.
        left_out: what the others are about, and why they do not fit.
    """

    scenarios: tuple[Scenario, ...]
    left_out: tuple[LeftOut, ...]


def battery_for(
    binding: Binding, model_id: str, abilities: Abilities, only: Sequence[str] = ()
) -> Battery:
    """Return the scenarios for `binding` that this error model can judge.

    Args:
        only: families, ids and patterns of those that are wanted; empty: all.

    Raises:
        InputError: the installation is incomplete, or none of those that are wanted fits.
    """
    fits: list[Scenario] = []
    left_out: Counter[tuple[str, str]] = Counter()
    for item in _of(binding, model_id):
        if only and not any(_is_selected(item.scenario, word) for word in only):
            continue
        for scenario in item.runnable:
            reason = why_left_out(scenario, binding, abilities)
            if reason is None:
                fits.append(scenario)
            else:
                left_out[reason] += 1
    if not fits:
        kind = "whole agent" if binding.role == "runtime" else binding.role.replace("_", " ")
        target = f"this target, which is a {kind}"
        why = "; ".join(f"{what}: {why}" for what, why in sorted(left_out))
        if only and not left_out:
            why = f"none that it could meet is named {' or '.join(map(repr, only))}"
        raise InputError(
            f"no situation fits {target}{why and f': {why}'}",
            hint="`faultclock list scenarios --long` shows all",
        )
    beyond = ((_INSIDE, binding.own_tools), (_OWN_LOOP, abilities.runs_tools))
    return Battery(
        scenarios=tuple(sorted(fits, key=_order)),
        left_out=(
            *_rows(left_out),
            *(LeftOut(what=what, why=why) for what, why in binding.unjudged),
            *(row for row, is_so in beyond if is_so),
        ),
    )


def _rows(left_out: Counter[tuple[str, str]]) -> Iterator[LeftOut]:
    """Yield one row for each thing that is left out, with all reasons why."""
    for what, reasons in groupby(sorted(left_out.items()), key=lambda item: item[0][0]):
        counts = Counter({why: count for (_, why), count in reasons})
        first = counts.most_common(_REASONS_MAX)
        rest = len(counts) - len(first)
        why = "; ".join(f"{why}: {count}" for why, count in first)
        if rest:
            why += f"; {rest} rarer: {counts.total() - sum(count for _, count in first)}"
        yield LeftOut(
            what=what,
            why=why if len(counts) > 1 else next(iter(counts)),
            scenarios=sum(counts.values()),
        )


def _of(binding: Binding, model_id: str) -> Iterator[LoadedScenario]:
    families = {id_.split("/", 1)[0] for id_ in shipped_scenarios()}
    wanted = [name for name in _FAMILIES.get(binding.role, sorted(families)) if name in families]
    for item in find_scenarios(tuple(wanted)):
        scenario = item.scenario
        of_model = not scenario.models or model_id in scenario.models
        if of_role(scenario, binding) and of_model and scenario.family != _EXPLORED:
            yield item


def _is_selected(scenario: Scenario, word: str) -> bool:
    return word == scenario.family or fnmatchcase(scenario.id, word)


def _order(scenario: Scenario) -> tuple[int, str, str]:
    """Sort the likely bad and quick ones first: a person waits for the first problem."""
    clients = sum(task.copies for task in scenario.tasks)
    if clients > _CLIENTS_MAX or scenario.seeds > 1 or scenario.is_swept:
        rank = len(_LIKELY)
    else:
        ranks = (
            rank
            for rule in scenario.provider.faults
            for rank, is_likely in enumerate(_LIKELY)
            if is_likely(rule.then)
        )
        rank = min(ranks, default=len(_LIKELY) - 1)
    return (rank, scenario.id, scenario.variant or "")


def _is_hostile_hint(fault: Fault) -> bool:
    headers = getattr(fault, "headers", {})
    return any(
        name.lower() in _HINTS and not (isinstance(value, str) and value.isdigit())
        for name, value in headers.items()
    )


def _is_cut(fault: Fault) -> bool:
    return isinstance(fault, (Truncate, CorruptBody, OkWithErrorBody, StreamError))


def _is_hopeless(fault: Fault) -> bool:
    return isinstance(fault, HttpError) and fault.status in _HOPELESS


def _is_refused(fault: Fault) -> bool:
    return isinstance(fault, (ConnectRefused, DnsFailure))


def _is_any(_: Fault) -> bool:
    return True


#: From the likeliest to show a problem; the last one is any other fault.
_LIKELY = (_is_hostile_hint, _is_cut, _is_hopeless, _is_refused, _is_any)
