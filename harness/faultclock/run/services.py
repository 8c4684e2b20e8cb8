"""The services file that a target names: written by a person, or a recording of real exchanges."""

from __future__ import annotations

from faultclock.load.located.tree import RECORDINGS
from faultclock.load.services import SERVICES, services_in
from faultclock.load.yaml_file import parse_document, read_bytes
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.subjects.said import services_file_of

#: A services file says so on a line of its own; whatever does not is read as a recording.
_MARK = f"{SERVICES}:".encode()


def services_of(spec: str) -> tuple[ServiceHost, ...]:
    """Return the other hosts that a target may ask, by the file that it names; often none.

    Raises:
        InputError: the file cannot be read.
        SourceError: it is neither a services file nor a recording; every problem is in it.
    """
    path = services_file_of(spec)
    if path is None:
        return ()
    content = read_bytes(path, bytes_max=RECORDINGS.bytes_max)
    if any(line.startswith(_MARK) for line in content.splitlines()):
        return services_in(parse_document(content, path))
    # Imported here: few targets name a recording.
    from faultclock.recordings.services import recorded_services

    return recorded_services(content, path)
