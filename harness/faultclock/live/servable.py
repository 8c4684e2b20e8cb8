"""What a listening socket can play of a scenario, checked before it is served.

A name that does not resolve and a connection without an answer are the work of resolvers and
routers, and a refused connection is not seen on the refusing side, so that it could not be
counted. They can be had in the simulation alone.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from faultclock.errors import InputError
from faultclock.load.payloads import load_dialect
from faultclock.model.scenario.fault import ConnectRefused, ConnectTimeout, DnsFailure
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.scenario.scenario import Scenario
from faultclock.subjects.binding import Binding

_SIMULATE = "run it in the simulation: `faultclock run` plays it for Python subjects"


def check_servable(scenario: Scenario) -> None:
    """Return where all of `scenario` can be played on a real socket.

    Raises:
        InputError: some of it cannot, and what.
    """
    if scenario.role != "provider_adapter":
        raise InputError(
            f"{scenario.id} is for role {scenario.role}, and only a model provider can be served:"
            " tools, people, stores and disks are there in the simulation alone",
            hint=_SIMULATE,
        )
    if scenario.cancel_rules:
        raise InputError(
            f"{scenario.id}: a cancel cannot be served: the call is made in the program",
            hint=_SIMULATE,
        )
    if scenario.provider.jitter:
        raise InputError(
            f"{scenario.id}: the jitter cannot be served: this machine sets the delivery times",
            hint=_SIMULATE,
        )
    for rule in scenario.provider.faults:
        match rule.then:
            case DnsFailure():
                why = "a client on this machine looks up no name to reach it"
            case ConnectTimeout():
                why = "the system answers every connection to this machine at once"
            case ConnectRefused():
                why = "the system refuses it, and Faultclock cannot count the attempts"
            case _:
                continue
        raise InputError(
            f"{scenario.id}: the fault {rule.id!r} ({rule.then.kind}) cannot be served: {why}",
            hint=_SIMULATE,
        )


def base_path(scenario: Scenario) -> str:
    """Return the path of the base URL that clients of the scenario's provider are given.

    Example:
        >>> base_path(ProviderAdapterScenario(id="a/b", title="a", why="b"))
        '/v1'
    """
    endpoint = scenario.provider.endpoint
    if endpoint is not None:
        return urlsplit(endpoint.base_url).path
    dialect = scenario.provider.dialect or DEFAULT_DIALECT
    return urlsplit(load_dialect(dialect).base_url).path


def program_binding(name: str, dialect: str) -> Binding:
    """Return the binding of a program that is served: it is named, and never called by us."""
    return Binding(
        id=name,
        title="a program that asks the served provider",
        style="sync",
        function=_elsewhere,
        dialects=(dialect,),
    )


def _elsewhere(_: object) -> object:
    raise InputError("a served program cannot be called: it runs by itself")
