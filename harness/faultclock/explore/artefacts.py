"""What a person takes away of a failure: a scenario file, a pytest file that runs it, one command.

Each of them shows the failure as long as it is there, and nothing in them depends on where they
were written. What a subject said is somebody else's text: it is quoted wherever it stands.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from msgspec import Struct, field

from faultclock.explore.pytest_text import pytest_text
from faultclock.explore.reduction_words import choice_words
from faultclock.load.scenario_file import scenario_text
from faultclock.model.report.exploration import FailureMark, Shrunk, Size
from faultclock.model.scenario.scenario import Scenario

_WIDTH = 94
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
#: An entry of a tape as it stands in the file, below its stream.
_ENTRY = re.compile(r"( +)- \[(\d+), (\d+)\]")
_SHOWN_MAX = 600
#: No text has it: it is not a word of anything.
_ON = "onInYaml11IsTrue"


class Origin(Struct, frozen=True, kw_only=True):
    """How a failure was found, and against what.

    Attributes:
        subject: how the subject was named on the command line.
        model: how the error model was.
        readings: interpretation switches that were chosen.
        scenario: id of the scenario that was explored.
        variant: which of the scenarios that its matrix made.
        run: 1-based number of the first run that failed so.
        runs: how many of the exploration failed so.
        token: the first of them as a text that can be typed; empty: not known.
        file: of the scenario that was explored; empty: it is shipped.
        raises: the exception that was searched for; empty: none was.
        folder: where the files go; empty: nowhere yet.
    """

    subject: str
    model: str
    readings: Mapping[str, str] = field(default_factory=dict)
    scenario: str
    variant: str | None = None
    run: int
    runs: int
    token: str = ""
    file: str = ""
    raises: str = ""
    folder: str = ""


class Artefacts(Struct, frozen=True, kw_only=True):
    """The files of one failure, and what runs the scenario.

    Attributes:
        files: name to content: the scenario, then the pytest file. They belong into one folder.
        command: from where the subject was named.
    """

    files: Mapping[str, str]
    command: str


def artefacts(shrunk: Shrunk, mark: FailureMark, origin: Origin) -> Artefacts:
    """Return what is written for one failure.

    Args:
        mark: the failure as the smallest run shows it.
    """
    name = shrunk.scenario.id.rsplit("/", 1)[-1]
    file = f"{name}.yaml"
    command = _run_command(Path(_without_machine(origin.folder), file).as_posix(), origin)
    return Artefacts(
        files={
            file: _scenario_file(shrunk, mark, origin, command),
            f"test_{name.replace('-', '_')}.py": pytest_text(
                file,
                mark.finding,
                subject=_without_machine(origin.subject),
                model=_without_machine(origin.model),
                readings=origin.readings,
                raises=origin.raises,
            ),
        },
        command=command,
    )


def _run_command(path: str, origin: Origin) -> str:
    """Return the command line that runs the scenario file at `path`.

    Of a search this is a search of one run, the scenario as it is written.
    """
    if origin.raises:
        words = ["faultclock", "explore", path, "--subject", _without_machine(origin.subject)]
        return _judged([*words, "--runs", "1", "--no-shrink"], origin)
    words = ["faultclock", "run", path, "--subject", _without_machine(origin.subject)]
    return _judged(words, origin)


def _replay_command(origin: Origin) -> str:
    """Return the command line that makes the run again that showed the failure first."""
    words = ["faultclock", "replay", origin.token]
    if ":" in origin.subject:
        words += ["--subject", _without_machine(origin.subject)]
    if origin.file:
        words += ["--scenario", _without_machine(origin.file)]
    return _judged(words, origin)


def _judged(words: list[str], origin: Origin) -> str:
    words = [*words, "--model", _without_machine(origin.model)]
    for switch, option in sorted(origin.readings.items()):
        words += ["--reading", f"{switch}={option}"]
    if origin.raises:
        words += ["--raises", origin.raises]
    return shlex.join(words)


def _scenario_file(shrunk: Shrunk, mark: FailureMark, origin: Origin, command: str) -> str:
    scenario = shrunk.scenario
    data = _ordered(scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    comments = [
        line for paragraph in _paragraphs(shrunk, mark, origin) for line in _wrapped(paragraph)
    ]
    # One line each, however long it is: so it can be copied.
    comments += ["", f"Run it: {command}"]
    if origin.token:
        comments += [f"The run that was found first: {_replay_command(origin)}"]
    text = scenario_text(_spelt(data), comments, compact=True)
    return _explained(text.replace(f"{_ON}:", "on:"), scenario)


def _spelt(data: Any) -> Any:
    """Return the data with another word for `on`, which the writer would put in quotes."""
    if isinstance(data, dict):
        return {_ON if key == "on" else key: _spelt(value) for key, value in data.items()}
    return [_spelt(item) for item in data] if isinstance(data, list) else data


def _ordered(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with what says what a thing is in front of what it is like."""
    for value in list(data.values()):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                _ordered(item)
    then = data.get("then")
    if isinstance(then, dict) and "kind" in then:
        data["then"] = {"kind": then["kind"], **then}
    if "fallbacks" in data:
        data["fallbacks"] = [{"id": item["id"], **item} for item in data["fallbacks"]]
    return data


def _wrapped(paragraph: str) -> list[str]:
    return wrap(
        _one_line(paragraph),
        _WIDTH,
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    ) or [""]


def _paragraphs(shrunk: Shrunk, mark: FailureMark, origin: Origin) -> Iterator[str]:
    finding = mark.finding
    level = f"{finding.level} " if finding.level else ""
    yield (
        f"{mark.fingerprint}: the exception that was searched for."
        if origin.raises
        else f"{mark.fingerprint}: {finding.check} fails."
    )
    if finding.sentence:
        where = f" ({finding.place})" if finding.place else ""
        yield f"{level}{finding.requirement}{where}: {finding.sentence}"
    yield f"Expected: {finding.expected}"
    yield f"Observed: {finding.observed}"
    yield ""
    variant = f" ({origin.variant})" if origin.variant else ""
    yield (
        f"Found by exploring {origin.scenario}{variant}: run {origin.run} was the first of"
        f" {origin.runs} that failed so."
    )
    yield f"Making it smaller took {shrunk.runs} runs: {_sizes(shrunk.before, shrunk.after)}."
    if shrunk.is_minimum:
        yield (
            "It is a local minimum: nothing in it can be left out or made simpler by itself"
            " without losing the failure, or making the run much longer. A smaller one may exist"
            " that takes several such steps at once."
        )
    else:
        yield f"It may not be the smallest near here: {shrunk.stopped}."


def _sizes(before: Size, after: Size) -> str:
    """Return what became smaller, in words."""
    counted = (
        ("fault", before.faults, after.faults),
        ("task", before.tasks, after.tasks),
        ("tool", before.tools, after.tools),
        ("actor", before.actors, after.actors),
        ("choice", before.choices, after.choices),
        ("event", before.events, after.events),
    )
    changed = [
        f"{was} {what}{'' if was == 1 else 's'} became {now}"
        for what, was, now in counted
        if was != now
    ]
    return ", ".join(changed) or "there are as many parts as before"


def _explained(text: str, scenario: Scenario) -> str:
    """Return the file with what each entry of its tape does beside it."""
    head, mark, tape = text.partition("\ntape:\n")
    if not mark:
        return text
    entries = iter(
        (number, value, choice_words(stream, number, value))
        for stream, chosen in scenario.tape.choices.items()
        for number, value in chosen
    )
    lines = []
    for line in tape.split("\n"):
        found = _ENTRY.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        number, value, words = next(entries)
        assert (int(found[2]), int(found[3])) == (number, value)
        lines.append(f"{found[1]}# {_one_line(words)}")
        lines.append(line)
    return head + mark + "\n".join(lines)


def _one_line(text: str) -> str:
    """Return text of anybody's without what ends a line, and without where it was written."""
    shown = _CONTROL.sub(" ", text)
    shown = shown.replace(f"{Path.cwd()}{os.sep}", "").replace(str(Path.home()), "~")
    return shown if len(shown) <= _SHOWN_MAX else shown[:_SHOWN_MAX] + "…"


def _without_machine(spec: str) -> str:
    """Return `FILE:NAME` as it is written from the working folder; what is no path stays."""
    file, colon, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    return f"{os.path.relpath(file)}{colon}{name}" if Path(file).is_absolute() else spec
