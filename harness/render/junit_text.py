"""JUnit XML: the verdicts in the form that build servers read.

One testcase per run, one per finding about a group of seeds. FAIL is a failure, INCONCLUSIVE an
error, NOT_APPLICABLE is skipped with its reason; WARN passes, because a SHOULD is no MUST, and
says so on its standard output. A report without runs holds one error: a build that ran nothing
is not green. JUnit's `time` means wall time, which a report must not hold: it is 0, and the
virtual time is a property.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
from junitparser.xunit2 import TestCase

from harness.model.duration import SECOND_NS
from harness.model.finding import Finding, Report, RunReport, Verdict
from harness.render.wording import visible

__all__ = ["junit_report"]

#: XML 1.0 knows no escape for these, so they must never reach the writer.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DECIMALS = len(str(SECOND_NS)) - 1


def junit_report(report: Report) -> str:
    """Return `report` as JUnit XML with one suite per family."""
    suites: dict[str, list[TestCase]] = {}
    for run in report.runs:
        family = run.scenario.split("/", 1)[0]
        suites.setdefault(family, []).append(_run_case(run, family))
    for finding in report.seeds_findings:
        suites.setdefault("seeds", []).append(_seeds_case(finding))
    if not report.runs:
        suites.setdefault("faultclock", []).append(_empty_case())
    document = JUnitXml(_clean(f"faultclock {report.subject.id} against {report.model}"))
    for name, cases in suites.items():
        suite = TestSuite(_clean(name))
        suite.add_property("faultclock", _clean(report.faultclock))
        suite.add_property("model", _clean(f"{report.model} {report.model_revision}"))
        suite.add_property("subject", _clean(report.subject.id))
        for case in cases:
            suite.add_testcase(case)
        document.add_testsuite(suite)
    text = document.tostring()  # type: ignore[no-untyped-call]
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + _decoded(text) + "\n"


def _decoded(text: str | bytes) -> str:
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _run_case(run: RunReport, family: str) -> TestCase:
    case = _case(f"{run.scenario} seed {run.seed}", family)
    for name, value in (
        ("verdict", run.verdict.value),
        ("seed", str(run.seed)),
        ("ending", run.ending),
        ("virtual_seconds", _seconds(run.virtual_ns)),
        ("trace_digest", run.trace_digest),
    ):
        case.add_property(name, _clean(value))
    telling = [item for item in run.findings if item.verdict is run.verdict]
    _judge(case, run.verdict, telling, run.replay, _ending_words(run))
    notes = [_note(item) for item in run.findings if _is_noted(item, run.verdict)]
    if notes:
        case.system_out = _clean("\n".join(notes))
    return case


def _seeds_case(finding: Finding) -> TestCase:
    case = _case(f"{finding.check} {finding.requirement or ''}".strip(), "seeds")
    case.add_property("verdict", finding.verdict.value)
    _judge(case, finding.verdict, [finding], "", "")
    if finding.verdict is Verdict.WARN:
        case.system_out = _clean(_note(finding))
    return case


def _empty_case() -> TestCase:
    case = _case("nothing was run", "faultclock")
    case.result = [Error("nothing was run, so nothing is proved", "INCONCLUSIVE")]
    return case


def _case(name: str, classname: str) -> TestCase:
    case = TestCase(_clean(name), _clean(classname))
    case.time = 0
    return case


def _judge(
    case: TestCase, verdict: Verdict, findings: list[Finding], replay: str, ending: str
) -> None:
    kinds = {
        Verdict.FAIL: Failure,
        Verdict.INCONCLUSIVE: Error,
        Verdict.NOT_APPLICABLE: Skipped,
    }
    kind = kinds.get(verdict)
    if kind is None:
        return
    result = kind(_clean(_message(findings, ending, verdict)), verdict.value)
    blocks = [*([ending] if ending else []), *(_details(item) for item in findings)]
    if replay:
        blocks.append(f"replay: {replay}")
    result.text = _clean("\n\n".join(blocks))
    case.result = [result]


def _message(findings: list[Finding], ending: str, verdict: Verdict) -> str:
    if not findings:
        return ending or f"the run is {verdict.value}"
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    said = first.observed or first.reason
    wanted = f", expected {first.expected}" if first.expected else ""
    return f"{first.check}: {said}{wanted}{more}"


def _details(finding: Finding) -> str:
    lines = [finding.check + (f" [{finding.call}]" if finding.call else "")]
    for name, value in (
        ("expected", finding.expected),
        ("observed", finding.observed),
        ("reason", finding.reason),
        ("requirement", " ".join(filter(None, (finding.requirement, finding.level)))),
        ("place", finding.place or ""),
        ("sentence", finding.sentence or ""),
        ("hint", finding.hint),
        ("trace events", ", ".join(map(str, finding.events))),
    ):
        if value:
            lines.append(f"  {name}: {value}")
    return "\n".join(lines)


def _note(finding: Finding) -> str:
    return f"{finding.verdict.value} {finding.check}: {finding.reason or finding.observed}"


def _is_noted(finding: Finding, verdict: Verdict) -> bool:
    """Return whether the finding is told on standard output: it is no pass, and no result."""
    return finding.verdict is not Verdict.PASS and (
        finding.verdict is not verdict or verdict is Verdict.WARN
    )


def _ending_words(run: RunReport) -> str:
    if run.ending == "completed":
        return ""
    return "\n".join((f"the run ended by {run.ending}", *_indented(run.ending_detail)))


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _seconds(time_ns: int) -> str:
    whole, rest = divmod(time_ns, SECOND_NS)
    return f"{whole}.{str(rest).rjust(_DECIMALS, '0')}"


def _clean(text: str) -> str:
    """Return `text` with every character that XML 1.0 cannot hold made visible or replaced."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", visible(text))
