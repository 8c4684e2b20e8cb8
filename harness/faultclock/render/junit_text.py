"""JUnit XML: the verdicts in the form that build servers read.

One testcase per run, one per finding about a group of seeds. FAIL is a failure, INCONCLUSIVE an
error, NOT_APPLICABLE is skipped with its reason; WARN passes, because a SHOULD is no MUST, and
says so on its standard output. What fails and is known to the baseline is skipped with the reason
that stands there; what stands there and is not so is a failure of its own. A report in which
nothing was run or judged holds one error: a build that shows nothing is not green.

The schema is that of the Jenkins xUnit plugin (`junit-10.xsd`), which gives a testcase no
properties: what identifies a run stands on its standard output. JUnit's `time` means wall time,
which a report must not hold: it is 0.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import IO

from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
from junitparser.xunit2 import TestCase
from msgspec import Struct, field

from faultclock.model.cells import named
from faultclock.model.duration import SECOND_NS
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict
from faultclock.model.report.gate import Deviation, GateReport
from faultclock.model.trace.notes import RunNotes
from faultclock.render.notes_text import place_text, said_lines, shown_with
from faultclock.render.notices import NOTHING, Notice, known_entry, notices
from faultclock.render.wording import time_word, visible

#: XML 1.0 knows no escape for these, so they must never reach the writer.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Characters that are copied at once.
_PIECE = 1 << 20
_DECIMALS = len(str(SECOND_NS)) - 1
#: What makes a testcase fail, worst first.
_SERIOUS = (Verdict.FAIL, Verdict.INCONCLUSIVE)


def junit_report(report: Report) -> str:
    """Return `report` as JUnit XML with one suite per family."""
    return "".join(junit_pieces(report))


def junit_pieces(report: Report) -> Iterator[str]:
    """Yield `report` as JUnit XML, one piece after the other: it may be more than memory holds."""
    suites: defaultdict[str, _Suite] = defaultdict(_Suite)
    gate = report.gate
    for run in report.runs:
        family = run.scenario.split("/", 1)[0]
        suites[family].add(_run_case(run, family, gate))
    for finding in report.seeds_findings:
        suites["seeds"].add(_seeds_case(finding, gate))
    for notice in notices(report):
        if notice.rule.startswith("baseline."):
            suites["baseline"].add(_entry_case(notice))
        elif notice.rule == NOTHING:
            # Otherwise there are skipped cases only, or none, which servers show as green.
            suites["faultclock"].add(_empty_case(notice))
    document = JUnitXml(_clean(f"faultclock {report.subject.id} against {report.model}"))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield from _around(document, (piece for item in suites.items() for piece in _of(report, *item)))
    yield "\n"


def _nameless() -> IO[str]:
    # Closed when it was read.
    return tempfile.TemporaryFile("w+", encoding="utf-8", newline="")


class _Suite(Struct):
    """The cases of one suite, as text in a file without a name, and how many there are."""

    cases: IO[str] = field(default_factory=_nameless)
    counted: Counter[type] = field(default_factory=Counter)

    def add(self, case: TestCase) -> None:
        """Take one more case."""
        self.cases.write(_text(case))
        self.counted[TestCase] += 1
        self.counted.update(type(item) for item in case.result)


def _of(report: Report, name: str, cases: _Suite) -> Iterator[str]:
    suite = TestSuite(_clean(name))
    suite.add_property("faultclock", _clean(report.faultclock))
    suite.add_property("model", _clean(f"{report.model} {report.model_revision}"))
    suite.add_property("subject", _clean(report.subject.id))
    suite.tests, suite.errors = cases.counted[TestCase], cases.counted[Error]
    suite.failures, suite.skipped = cases.counted[Failure], cases.counted[Skipped]
    suite.time = 0.0
    with cases.cases as file:
        file.seek(0)
        yield from _around(suite, iter(lambda: file.read(_PIECE), ""))


def _around(element: JUnitXml | TestSuite, inner: Iterable[str]) -> Iterator[str]:
    """Yield an element with more at its end than it has by itself."""
    end = f"</{element._tag}>"
    text = _text(element)
    start = text.removesuffix(end) if text.endswith(end) else text.removesuffix("/>").rstrip() + ">"
    pieces = iter(inner)
    first = next(pieces, None)
    if first is None:
        yield text
        return
    yield start
    yield first
    yield from pieces
    yield end


def _text(element: JUnitXml | TestSuite | TestCase) -> str:
    text: str | bytes = element.tostring()  # type: ignore[no-untyped-call]
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _run_case(run: RunReport, family: str, gate: GateReport | None) -> TestCase:
    case = _case(f"{named(run.scenario, run.variant)} seed {run.seed}", family)
    entries = [(item, known_entry(gate, item, run)) for item in run.findings]
    covered = [(item, entry) for item, entry in entries if entry is not None]
    others = [item for item, entry in entries if entry is None]
    verdict = run.verdict
    if covered and verdict is Verdict.FAIL:
        left = {item.verdict for item in others}
        verdict = next((item for item in _SERIOUS if item in left), Verdict.PASS)
    facts = [
        f"verdict: {run.verdict}",
        f"ending: {run.ending}",
        f"{time_word(run.time_base)} seconds: {_seconds(run.virtual_ns)}",
        f"trace digest: {run.trace_digest}",
    ]
    notes = [_note(item) for item in others if _is_noted(item, verdict)]
    notes += [f"{_note(item)} ({_reason(entry)})" for item, entry in covered]
    printed = said_lines(run.notes, "stdout") if run.notes is not None else ()
    case.system_out = _clean("\n".join([*facts, *notes, *printed]))
    logged = said_lines(run.notes, "log", "warning", "stderr") if run.notes is not None else ()
    if logged:
        case.system_err = _clean("\n".join(logged))
    if covered and verdict not in _SERIOUS:
        _skip(case, [entry for _, entry in covered])
    else:
        telling = [item for item in others if item.verdict is verdict]
        _judge(case, verdict, telling, run.replay, _ending_words(run), run.notes)
    return case


def _seeds_case(finding: Finding, gate: GateReport | None) -> TestCase:
    about = named(finding.scenario or "", finding.variant)
    case = _case(" ".join(filter(None, (finding.check, finding.requirement, about))), "seeds")
    notes = [f"verdict: {finding.verdict}"]
    if finding.verdict is Verdict.WARN:
        notes.append(_note(finding))
    case.system_out = _clean("\n".join(notes))
    entry = known_entry(gate, finding, None)
    if entry is not None:
        _skip(case, [entry])
    else:
        _judge(case, finding.verdict, [finding], "", "")
    return case


def _entry_case(notice: Notice) -> TestCase:
    case = _case(f"{notice.rule} {notice.subject}", "baseline")
    case.result = [Failure(_clean(notice.summary), "FAIL")]
    return case


def _skip(case: TestCase, known: list[Deviation]) -> None:
    reasons = dict.fromkeys(_reason(item) for item in known)
    result = Skipped(_clean(f"a known deviation: {'; '.join(reasons)}"), "KNOWN")
    case.result = [result]


def _reason(known: Deviation) -> str:
    return f"known until {known.expires.isoformat()}: {known.reason} (owner: {known.owner})"


def _empty_case(notice: Notice) -> TestCase:
    case = _case(notice.summary.partition(",")[0], "faultclock")
    case.result = [Error(notice.summary, "INCONCLUSIVE")]
    return case


def _case(name: str, classname: str) -> TestCase:
    case = TestCase(_clean(name), _clean(classname))
    case.time = 0
    return case


def _judge(
    case: TestCase,
    verdict: Verdict,
    findings: list[Finding],
    replay: str,
    ending: str,
    noted: RunNotes | None = None,
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
    blocks = [*([ending] if ending else []), *(_details(item, noted) for item in findings)]
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


def _details(finding: Finding, notes: RunNotes | None) -> str:
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
    if finding.source is not None:
        lines.append(f"  line: {place_text(finding.source)}")
    for label, block in shown_with(finding, notes).blocks:
        # What was written stands beside the whole case.
        if label != "output":
            lines += [f"  {label}:", *(f"    {line}" for line in block)]
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
