"""A services file: other hosts of the world and what they answer, for every scenario that is run.

Names of error answers are checked here, where the place in the file is still known.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.errors import Problem, SourceError
from faultclock.load.known_keys import Location
from faultclock.load.payloads import load_payloads
from faultclock.load.wording import did_you_mean
from faultclock.load.yaml_file import Document
from faultclock.model.scenario.fault import HttpError, OkWithErrorBody
from faultclock.model.scenario.service_host import ServiceHost, ServicesFile

#: The key that tells a services file from a recording.
SERVICES = "services"


def services_in(document: Document) -> tuple[ServiceHost, ...]:
    """Return the hosts that a document names.

    Raises:
        SourceError: it is no services file; every problem is in it.
    """
    services = document.validate(ServicesFile).services
    problems = tuple(wrong_services(document, services))
    if problems:
        raise SourceError(problems)
    return services


def wrong_services(document: Document, services: tuple[ServiceHost, ...]) -> Iterator[Problem]:
    """Yield a problem for each fault of a service that names an error which is not there."""
    for place, service in enumerate(services):
        script = service.script
        known = load_payloads(str(script.dialect)).keys() | script.payloads.keys()
        for number, rule in enumerate(service.faults):
            then = rule.then
            if not isinstance(then, (HttpError, OkWithErrorBody)) or then.error is None:
                continue
            if then.error not in known:
                where: Location = (SERVICES, place, "faults", number, "then", "error")
                message = f"{script.dialect} has no error {then.error!r}"
                yield document.problem(
                    where, message, did_you_mean(then.error, tuple(sorted(known)))
                )
