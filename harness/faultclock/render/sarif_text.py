"""SARIF 2.1.0: what is not green, for code scanning, editors and whoever else reads SARIF.

A rule for each check, a result for each notice (see `notices`), and the order of events as a code
flow whose places carry virtual times. A deviation that the baseline knows is a suppressed result
with the level `note`. INCONCLUSIVE is an error like a failure: the result kind `open` would say
it better, but demands the level `none`, which readers hide.

Limits are GitHub's, of its page "SARIF support for code scanning" (read 2026-11-22): a file with
more is rejected as a whole, so what is cut is counted in a result of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from faultclock.model.report.finding import CheckEntry, Finding, Report, RequirementCoverage
from faultclock.render.notes_text import shown_with
from faultclock.render.notices import Gravity, Notice, notices
from faultclock.render.sarif_flows import DESCRIPTION_MAX, flows, message, physical
from faultclock.render.wording import clipped, count, visible

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
#: Per run; the last one says how many more there are.
RESULTS_MAX = 25_000
#: A deviation in fifty seeds is one result, and few read the second of its flows.
FLOWS_MAX = 3


_LEVEL = {
    Gravity.FAILS: "error",
    # The check of code scanning fails on errors alone, and what proves nothing is not green.
    Gravity.OPEN: "error",
    Gravity.WARNS: "warning",
    Gravity.KNOWN: "note",
}
#: Rules that are no checks of the error model.
_OWN_RULES = {
    "baseline.passing": "An entry of the baseline whose check does not fail any more",
    "baseline.missing": "An entry of the baseline that names what does not exist",
    "baseline.overdue": "An entry of the baseline whose last day is over",
    "report.run": "A run that proves nothing",
    "report.empty": "A report that proves nothing",
    "report.cut": "More findings than a file may hold",
}


def sarif_report(report: Report) -> str:
    """Return what is not green in `report` as SARIF 2.1.0, newline at the end."""
    # Imported here: its models cost a tenth of a second, and few runs write this.
    from sarif_pydantic.sarif import Sarif

    found = notices(report)
    rules = _rules(report, found)
    positions = {rule["id"]: index for index, rule in enumerate(rules)}
    results = [_result(report, notice, positions) for notice in found[:RESULTS_MAX]]
    if len(found) > RESULTS_MAX:
        results[-1] = _rest(len(found) - RESULTS_MAX + 1, report, positions)
    log = Sarif.model_validate(
        {
            "$schema": _SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "Faultclock",
                            "version": visible(report.faultclock),
                            "rules": rules,
                        }
                    },
                    # The category under which GitHub replaces what an earlier build said.
                    "automationDetails": {"id": _category(report)},
                    "columnKind": "unicodeCodePoints",
                    "results": results,
                    "properties": {
                        "model": visible(f"{report.model} {report.model_revision}"),
                        "subject": visible(report.subject.id),
                        "verdict": report.verdict.value,
                        "runs": len(report.runs),
                        "totals": dict(sorted(report.totals.items())),
                    },
                }
            ],
        }
    )
    value = log.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _category(report: Report) -> str:
    return visible(f"faultclock/{report.model}/{report.subject.id}/")


def _rules(report: Report, found: Iterable[Notice]) -> list[dict[str, Any]]:
    """Return a rule for each check of the model, and for whatever else was found."""
    entries = {entry.id: entry for entry in report.checks}
    sentences = {item.id: item for item in report.coverage}
    named = dict.fromkeys([*entries, *sorted({notice.rule for notice in found})])
    rules = [_rule(id_, entries.get(id_), sentences) for id_ in named]
    return [*rules, _rule("report.cut", None, sentences)]


def _rule(
    id_: str, entry: CheckEntry | None, sentences: dict[str, RequirementCoverage]
) -> dict[str, Any]:
    title = entry.title if entry is not None else _OWN_RULES.get(id_, id_)
    says = (entry.says if entry is not None else "") or title
    judged = [sentences[item] for item in entry.requirements if item in sentences] if entry else []
    told = "\n".join(f"{item.level} {item.id}, {item.place}: “{item.sentence}”" for item in judged)
    level = "warning" if entry is not None and entry.level == "SHOULD" else "error"
    return {
        "id": visible(id_),
        "shortDescription": message(clipped(title, DESCRIPTION_MAX)),
        "fullDescription": message(clipped(says, DESCRIPTION_MAX)),
        "help": message(f"{says}\n\n{told}" if told else says),
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["error-handling", *([visible(entry.level)] if entry and entry.level else [])],
            "requirements": [visible(item.id) for item in judged],
        },
    }


def _result(report: Report, notice: Notice, positions: dict[str, int]) -> dict[str, Any]:
    print_ = visible(notice.fingerprint)
    result: dict[str, Any] = {
        "ruleId": visible(notice.rule),
        "ruleIndex": positions[visible(notice.rule)],
        "level": _LEVEL[notice.gravity],
        "message": message(_told(notice)),
        "locations": [_location(report, notice)],
        # GitHub goes by the second: without it, all deviations of one rule would be one alert,
        # because they stand at one line.
        "partialFingerprints": {
            "faultclock/v1": print_,
            "primaryLocationLineHash": f"{print_}:1",
        },
        "properties": _properties(notice),
    }
    if len(notice.showings) > 1:
        result["occurrenceCount"] = len(notice.showings)
    if notice.known is not None:
        result["baselineState"] = "unchanged"
        result["suppressions"] = [_suppression(notice)]
    elif notice.is_new:
        result["baselineState"] = "new"
    shown = [flow for item in notice.showings[:FLOWS_MAX] for flow in flows(notice, item)]
    if shown:
        result["codeFlows"] = shown
    return result


def _told(notice: Notice) -> str:
    """Return the message: what was seen, where, by which sentence, and how to see it again."""
    lines = [notice.summary]
    if notice.scenario is not None:
        lines.append(f"Scenario: {notice.subject}")
    finding = notice.finding
    if finding is not None:
        if finding.sentence:
            where = ", ".join(filter(None, (finding.requirement, finding.place)))
            lines.append(f"{where}: “{finding.sentence}”")
        if finding.hint:
            lines.append(finding.hint)
        lines += _noted(notice, finding)
    if notice.known is not None:
        lines.append(_known(notice))
    if notice.run is not None and notice.run.replay:
        lines.append(f"Replay: {notice.run.replay}")
    return "\n".join(lines)


def _noted(notice: Notice, finding: Finding) -> Iterator[str]:
    """Yield what was noted of the call: where it raised or waited, and what it wrote last."""
    run = notice.showings[0].run
    noted = shown_with(finding, None if run is None else run.notes)
    for label, lines in noted.blocks:
        yield "\n  ".join((f"{label}:", *lines))


def _known(notice: Notice) -> str:
    known = notice.known
    assert known is not None
    until = known.expires.isoformat()
    return f"Known until {until}: {known.reason} (owner: {known.owner})"


def _suppression(notice: Notice) -> dict[str, str]:
    return {"kind": "external", "status": "accepted", "justification": visible(_known(notice))}


def _properties(notice: Notice) -> dict[str, Any]:
    runs = {id(item.run): item.run for item in notice.showings if item.run is not None}
    values: dict[str, Any] = {
        "scenario": notice.scenario,
        "variant": notice.variant,
        "verdicts": sorted({item.finding.verdict.value for item in notice.showings}),
        "findings": [item.finding.id for item in notice.showings if item.finding.id],
        "seeds": sorted({run.seed for run in runs.values()}),
        "traceDigests": sorted({run.trace_digest for run in runs.values()})[:FLOWS_MAX],
    }
    if notice.finding is not None:
        values["requirement"] = notice.finding.requirement
        values["requirementLevel"] = notice.finding.level
    kept = {name: value for name, value in values.items() if value not in (None, [])}
    return {name: _shown(value) for name, value in kept.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return visible(value) if isinstance(value, str) else value


def _rest(number: int, report: Report, positions: dict[str, int]) -> dict[str, Any]:
    location = physical(report.source)
    return {
        "ruleId": "report.cut",
        "ruleIndex": positions["report.cut"],
        "level": "error",
        "message": message(f"{count(number, 'more finding')}: they are in the other reports"),
        **({"locations": [location]} if location else {}),
        "partialFingerprints": {"faultclock/v1": "cut", "primaryLocationLineHash": "cut:1"},
    }


def _location(report: Report, notice: Notice) -> dict[str, Any]:
    logical = [{"name": visible(report.subject.id), "kind": "function"}]
    if notice.scenario is not None:
        name = visible(notice.subject)
        logical.append({"name": name, "fullyQualifiedName": name, "kind": "member"})
    return {**physical(notice.place), "logicalLocations": logical}
