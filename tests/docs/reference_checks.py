"""The reference of the checks: what each says, and a subject that fails it, with its finding.

The findings are those of the kill matrix: one miniature for each check, in the scenario that shows
it. `tests/run/test_kill_matrix.py` runs them all, and compares what it sees with these pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.oracle.judge import CheckInfo, check_infos
from faultclock.subjects.registry import SubjectEntry, catalog
from tests.architecture.source_tree import PROJECT
from tests.docs.reference_text import GENERATED, anchor, prose

REFERENCE = PROJECT / "docs" / "reference"
#: A check that judges by rules of one model alone begins so.
_OF_ONE_MODEL = ("ordering.", "audience.")
#: Checks that no miniature fails, and where it is shown that they can fail.
_ELSEWHERE = {
    "evidence.whole": "A subject that ends its own process fails it: it is no miniature that a "
    "person should start, so `tests/run/test_suite.py` has it.",
    "backoff.declared": "It judges logs of other systems, which no subject of ours writes: "
    "`fixtures/foreign-logs` has those that fail it.",
}
#: Checks of one model alone that a subject of another model fails by this one as well.
BORROWED = {
    ("audience.model", "common"): "mini-afk-exception-in-the-shape",
    ("audience.user", "common"): "mini-leaks-secret-to-user",
    ("ordering.nothing-after-the-end", "common"): "mini-retries-after-the-end",
}
#: Where a finding names a line of our own code: after a module, or in a traceback.
_LINES = re.compile(r"(?<=[a-z_]):\d+\b(?!:)|(?<=, line )\d+(?=, in )")
Finding = Callable[[SubjectEntry], tuple[str, str]]


@dataclass(slots=True)
class _Check:
    """One check, over all models that use it."""

    info: CheckInfo
    requirements: dict[str, tuple[str, ...]] = field(default_factory=dict)


def checks_pages() -> dict[str, str | None]:
    """Return the pages' names, each with the model that it is of."""
    return {"checks.md": None, **{f"checks-{id_}.md": id_ for id_ in model_ids()}}


def checks_page(model: str | None, finding: Finding) -> str:
    """Return the page of the checks that all models share, or of those of one model."""
    if model is None:
        head = [
            "# Checks",
            "",
            GENERATED,
            "",
            *prose(
                "The checks that ask any error model's data. Rules about the order of events and "
                "about what each audience is told are the model's own: "
                + ", ".join(f"[{id_}](checks-{id_}.md)" for id_ in model_ids())
                + ". Below each check stands a subject that is wrong in just one way, a "
                "*miniature*, and what the check says about it. "
                "`faultclock run SCENARIO --subject MINIATURE --model MODEL` shows it."
            ),
            "",
        ]
    else:
        head = [
            f"# Checks of {model}",
            "",
            GENERATED,
            "",
            *prose(
                f"The rules of the error model `{model}` about the order of events and about what "
                "each audience is told. The checks that it shares with other models stand "
                "[here](checks.md), its sentences [here](model-" + model + ".md)."
            ),
            "",
        ]
    lines = head
    for check in _checks(model):
        lines += _section(check, model, finding)
    return "\n".join(lines).rstrip() + "\n"


@cache
def examples() -> dict[tuple[str, str | None], SubjectEntry]:
    """Return the miniature that each page shows: by check, and by model where it is of one."""
    found: dict[tuple[str, str | None], SubjectEntry] = {}
    for entry in _miniatures():
        assert entry.fails is not None
        of_one = entry.fails.startswith(_OF_ONE_MODEL)
        found.setdefault((entry.fails, entry.model if of_one else None), entry)
    return found


def example_of(entry: SubjectEntry) -> str | None:
    """Return the page that shows a miniature's finding, or None."""
    assert entry.fails is not None
    for model in (None, entry.model):
        if examples().get((entry.fails, model)) == entry:
            return "checks.md" if model is None else f"checks-{model}.md"
    return None


def without_lines(text: str) -> str:
    """Return a finding on one line, without our line numbers: code moves, what it does stays."""
    return _LINES.sub(lambda match: "" if match[0][0] == ":" else "…", " ".join(text.split()))


def stored_finding(entry: SubjectEntry) -> tuple[str, str]:
    """Return what the page says today that was expected and observed; empty if it has nothing."""
    name = example_of(entry)
    assert name is not None
    return _stored(name).get(entry.id, ("", ""))


@cache
def _stored(name: str) -> dict[str, tuple[str, str]]:
    path = REFERENCE / name
    if not path.exists():
        return {}
    pattern = re.compile(
        r"^`([\w-]+)` in `[^`]+`:\n\n```text\nexpected(.*?)\nobserved(.*?)\n```$",
        re.MULTILINE | re.DOTALL,
    )
    return {
        match[1]: (without_lines(match[2]), without_lines(match[3]))
        for match in pattern.finditer(path.read_text("utf-8"))
    }


@cache
def _miniatures() -> tuple[SubjectEntry, ...]:
    """Return those that a run shows; what only exploration finds has no one run to be shown."""
    return tuple(
        entry for entry in catalog() if entry.kind == "miniature" and entry.found_by == "run"
    )


@cache
def _infos(model: str) -> tuple[CheckInfo, ...]:
    return check_infos(load_error_model(model))


def _checks(model: str | None) -> list[_Check]:
    found: dict[str, _Check] = {}
    for id_ in model_ids() if model is None else (model,):
        for info in _infos(id_):
            if info.id.startswith(_OF_ONE_MODEL) is (model is not None):
                check = found.setdefault(info.id, _Check(info=info))
                check.requirements[id_] = info.requirements
    return [found[name] for name in sorted(found)]


def _section(check: _Check, model: str | None, finding: Finding) -> list[str]:
    id_ = check.info.id
    lines = [f"## {id_}", "", *prose(check.info.says), ""]
    for of_model, requirements in check.requirements.items():
        names = ", ".join(f"`{name}`" for name in requirements) or "no sentence: it guards the run"
        where = f"[{of_model}](model-{of_model}.md#requirements)"
        lines += prose(f"{where}: {names}", first="- ", rest="  ")
    lines.append("")
    entry = examples().get((id_, model))
    if model is not None and (id_, model) in BORROWED:
        # It is wrong by this model, too, and its finding stands on the page of its own.
        other = next(item for item in _miniatures() if item.id == BORROWED[id_, model])
        page = f"checks-{other.model}.md"
        words = (
            f"{other.title}: `{other.id}` in `{shown_by(other)}` fails it, as it does by "
            f"[{other.model}]({page}#{anchor(id_)})."
        )
        return [*lines, *prose(words), ""]
    if entry is None:
        return [*lines, *prose(_ELSEWHERE[id_]), ""]
    expected, observed = finding(entry)
    others = [item for item in _failing(id_, model) if item != entry]
    lines += [
        *prose(f"{entry.title}: `{entry.id}` fails it."),
        "",
        f"`{entry.id}` in `{shown_by(entry)}`:",
        "",
        "```text",
        *prose(expected, first="expected   ", rest="           "),
        *prose(observed, first="observed   ", rest="           "),
        "```",
        "",
    ]
    if others:
        words = ", ".join(f"`{item.id}` in `{shown_by(item)}`" for item in others)
        lines += [*prose(f"So do: {words}."), ""]
    return lines


def shown_by(entry: SubjectEntry) -> str:
    """Return the scenario that shows a miniature."""
    assert entry.shown_by is not None
    return entry.shown_by


def _failing(check: str, model: str | None) -> list[SubjectEntry]:
    return [
        entry for entry in _miniatures() if entry.fails == check and model in (None, entry.model)
    ]
