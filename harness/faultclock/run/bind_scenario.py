"""Binds a scenario to a subject: in its dialect, and with its own tools where it brings some.

What `settle` says of the faults is made true here, too, and what only explorers read is left out:
a run is one of what is written, whether it is the only one or the first of many.

It is one step, before a run: after it a run opens no file of ours. A scenario about rate limits is
about any provider that has them. What it leaves open is filled in, so that a trace says in which
dialect it was played, and where. An error has the status that its provider gives it: a wrong key
is a 401 here and a 400 there. Only where that makes a rate limit of something else, or something
else of a rate limit, it is another scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import partial
from itertools import chain, count

from faultclock.errors import InputError
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.event_stream import closed_object
from faultclock.load.payloads import load_dialect, load_payloads
from faultclock.model.again import kept_while_same
from faultclock.model.scenario.fault import (
    AnswerEnds,
    FaultRule,
    HttpError,
    OkWithErrorBody,
    StreamError,
)
from faultclock.model.scenario.faults_stop import settled
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import (
    DEFAULT_DIALECT,
    Endpoint,
    FallbackProvider,
    ProviderScript,
)
from faultclock.model.scenario.rule import rules_in
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.run.fit_agent import NoFit, fitted_to_agent
from faultclock.subjects.binding import Binding


@kept_while_same
def bind_scenario(scenario: Scenario, binding: Binding) -> Scenario:
    """Return `scenario` in the dialect that `binding` speaks, where it names none itself.

    Its faults end where it says that they do, and it has no `vary`.

    Raises:
        InputError: it cannot be played for this subject; see `cannot_be_said`.
    """
    reason = cannot_be_said(scenario, binding)
    if reason is not None:
        raise InputError(
            f"{scenario.id} does not fit {binding.id}: {reason}",
            hint="choose another subject, or another scenario",
        )
    if scenario.vary is not None:
        scenario = scenario.model_copy(update={"vary": None})
    if binding.own_tools is not None:
        scenario = fitted_to_agent(scenario, binding.own_tools)
    scenario = _with_services(scenario, binding.services)
    if binding.answer_form:
        scenario = scenario.with_providers(partial(_in_form, binding.answer_form))
    return settled(scenario).with_providers(partial(_filled, binding))


def _with_services(scenario: Scenario, services: tuple[ServiceHost, ...]) -> Scenario:
    """Return `scenario` with hosts that it does not have itself.

    A run need not meet their faults: not every situation has the subject ask them. An MCP server of
    the subject's stands where the scenario has one, with its own tools and the scenario's faults.
    """
    if not services:
        return scenario
    own = {service.place: service for service in scenario.services}
    taken = {rule.id for rule in rules_in(scenario)}
    for service in services:
        planned = own.get(service.place)
        if planned is None or planned.mcp is not None:
            faults = tuple(_beside(rule, taken) for rule in service.faults)
            taken.update(rule.id for rule in faults)
            before = () if planned is None else planned.faults
            changed = {"faults": (*before, *faults)}
            own[service.place] = service.model_copy(update=changed)
    return scenario.model_copy(update={"services": tuple(own.values())})


def _beside(rule: FaultRule, taken: Set[str]) -> FaultRule:
    """Return a rule that a run need not meet, with an id that no other rule has."""
    ids = chain((rule.id,), (f"{rule.id}-{number}" for number in count(2)))
    id_ = next(name for name in ids if name not in taken)
    return rule.model_copy(update={"id": id_, "optional": True})


def cannot_be_said(scenario: Scenario, binding: Binding) -> str | None:
    """Return why `scenario` cannot be played for this subject; None where it can."""
    asks_a_model = binding.role in ("provider_adapter", "runtime")
    if scenario.cancel_rules and binding.role == "provider_adapter" and binding.style != "async":
        return "it cancels a call, and nothing can cancel a blocking function"
    for _, script in scenario.providers:
        if script.dialect not in (None, *binding.dialects) and asks_a_model:
            spoken_ = " and ".join(binding.dialects)
            return f"it is in the dialect {script.dialect}, and the subject speaks {spoken_}"
        dialect = script.dialect or binding.dialect
        known = load_payloads(dialect).keys() | script.payloads.keys()
        missing = next((name for name in _errors_of(script) if name not in known), None)
        if missing is not None:
            return f"{dialect} has no error {missing!r}"
        unsaid = chain(
            _unsaid_ends(script, dialect),
            _unsaid_arguments(script, dialect),
            _otherwise_limited(script, binding.dialect),
        )
        if (reason := next(unsaid, None)) is not None:
            return reason
    lacking = agent_lacks(scenario, binding)
    return None if lacking is None else f"it needs {lacking}, and the agent has no such thing"


def of_role(scenario: Scenario, binding: Binding) -> bool:
    """Return whether `scenario` is for subjects like this one.

    A whole agent is asked what provider adapters are asked, too.
    """
    asks = scenario.role == "provider_adapter" and binding.own_tools is not None
    return asks or scenario.role == binding.role


def agent_lacks(scenario: Scenario, binding: Binding) -> str | None:
    """Return what `scenario` needs of an agent's own tools, and this one does not have.

    None: it has all, or is handed the tools of the scenario.
    """
    if binding.own_tools is None:
        of_a_server = any(tool.service for tool in scenario.world.tools)
        return "a tool of an MCP server" if of_a_server else None
    try:
        fitted_to_agent(scenario, binding.own_tools)
    except NoFit as missing:
        return str(missing)
    return None


def payloads_of(script: ProviderScript) -> Mapping[str, ErrorPayload]:
    """Return the error answers of the dialect that `script` is played in, by name."""
    return load_payloads(script.dialect or DEFAULT_DIALECT)


def _in_form(form: str, script: ProviderScript) -> ProviderScript:
    """Return a provider that answers in code: with a program that gives the answer."""
    before = form.partition("{text}")[0]

    def said(text: str) -> str:
        is_done = not text or text.startswith(before)
        return text if is_done else form.replace("{text}", repr(text))

    replies = tuple(it.model_copy(update={"text": said(it.text)}) for it in script.replies)
    return script.model_copy(update={"reply": said(script.reply), "replies": replies})


def _filled(binding: Binding, script: ProviderScript) -> ProviderScript:
    changes: dict[str, object] = {}
    dialect = script.dialect or binding.dialect
    if script.dialect is None:
        changes["dialect"] = dialect
        own = _own_statuses(script, dialect)
        if own:
            changes["faults"] = tuple(
                rule
                if (status := own.get(rule.id)) is None
                else rule.model_copy(
                    update={"then": rule.then.model_copy(update={"status": status})}
                )
                for rule in script.faults
            )
    is_first = not isinstance(script, FallbackProvider)
    if is_first and script.endpoint is None and dialect != DEFAULT_DIALECT:
        known = load_dialect(dialect)
        changes["endpoint"] = Endpoint(base_url=known.base_url, model=known.model)
    return script.model_copy(update=changes) if changes else script


def _own_statuses(script: ProviderScript, dialect: str) -> dict[str, int]:
    """Return the statuses that `dialect` has for errors to which a script gives the usual one.

    A status that is not the usual one of its error is what the scenario is about, and stays.

    Returns:
        id of the rule to the status, where that is another one.
    """
    if script.dialect is not None or dialect == DEFAULT_DIALECT:
        return {}
    usual, own = load_payloads(DEFAULT_DIALECT), load_payloads(dialect)
    return {
        rule.id: own[rule.then.error].status
        for rule in script.faults
        if isinstance(rule.then, HttpError)
        and rule.then.error in usual.keys() & own.keys() - script.payloads.keys()
        and rule.then.status == usual[rule.then.error].status
        and rule.then.status != own[rule.then.error].status
    }


def _otherwise_limited(script: ProviderScript, dialect: str) -> Iterator[str]:
    """Yield which errors are limits in a script and something else in `dialect`."""
    statuses = _own_statuses(script, dialect)
    for rule in script.faults:
        if rule.id in statuses and isinstance(rule.then, HttpError):
            told, own = rule.then.status, statuses[rule.id]
            if 429 in (told, own):
                yield f"{dialect} answers {rule.then.error!r} with {own}, not with {told}"


def _unsaid_ends(script: ProviderScript, dialect: str) -> Iterator[str]:
    """Yield which answers of a script no provider of `dialect` gives."""
    ends = dialect_named(dialect).ends
    for rule in script.faults:
        if isinstance(rule.then, AnswerEnds) and rule.then.how not in ends:
            yield f"{dialect} has no answer that ends so: {rule.then.how}"


def _unsaid_arguments(script: ProviderScript, dialect: str) -> Iterator[str]:
    """Yield which arguments of a script no provider of `dialect` sends."""
    if dialect_named(dialect).arguments_are_objects:
        calls = (call for reply in script.replies for call in reply.tool_calls)
        for call in chain(script.tool_calls, calls):
            if closed_object(call.arguments) is None:
                yield f"{dialect} sends the arguments of a tool as an object, and these are none"


def _errors_of(script: ProviderScript) -> Iterator[str]:
    for rule in script.faults:
        then = rule.then
        if isinstance(then, (HttpError, OkWithErrorBody, StreamError)) and then.error is not None:
            yield then.error
    yield from (rule.error for rule in script.refusals)
