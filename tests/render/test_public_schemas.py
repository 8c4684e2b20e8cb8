"""Every format for build servers is valid by its public schema, whatever a report holds."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultclock.model.report.finding import Report
from faultclock.render.github_text import github_annotations, github_summary
from faultclock.render.gitlab_text import gitlab_report
from faultclock.render.json_text import json_report
from faultclock.render.junit_text import junit_report
from faultclock.render.sarif_text import sarif_report
from tests.render import sample_report as sample
from tests.render.ci_formats import (
    SCHEMAS,
    code_quality_errors,
    junit_errors,
    report_errors,
    sarif_errors,
)
from tests.render.sample_gate import gated_report, ordered

REPORTS = {
    "sdk": sample.sdk_report(),
    "reference": sample.reference_report(),
    "empty": sample.empty_report(),
    "hostile": sample.hostile_report(),
    "gated": gated_report(),
}
VALIDATED = (
    (sarif_report, sarif_errors),
    (gitlab_report, code_quality_errors),
    (junit_report, junit_errors),
    (json_report, report_errors),
)
#: What breaks formats: ends of lines, markup, quotes, controls, commands, and any other text.
_BREAKING = ("\n::error::", "\r\n", "</script>", "|", "`", "]]>", "\x1b", "\x00", "{0}", "](1)")
_TEXTS = st.one_of(st.sampled_from(_BREAKING), st.text(max_size=6)).map(str)
#: Texts that are formats, so that a hostile one could not be there.
_TYPED = {"verdict", "level", "style", "ending", "lane", "status", "expires", "today", "file"}


def poisoned(value: Any, poison: str, key: str = "") -> Any:
    """Return a JSON value with `poison` behind each of its texts that can hold any."""
    if isinstance(value, dict):
        return {name: poisoned(item, poison, name) for name, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, poison, key) for item in value]
    return value + poison if isinstance(value, str) and key not in _TYPED else value


@pytest.mark.parametrize("name", REPORTS)
def test_each_format_is_valid_by_its_schema(name: str) -> None:
    """Also of a report of nothing, and of one in which every text is hostile."""
    for render, errors in VALIDATED:
        assert errors(render(REPORTS[name])) == [], render.__name__


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_TEXTS, max_size=4).map("".join))
def test_no_text_of_a_subject_breaks_a_format(poison: str) -> None:
    """It stays text in each of them: no command starts, no row or element ends."""
    run = gated_report().runs[0]
    run = run.model_copy(update={"findings": (ordered(run.findings[0]), *run.findings[1:])})
    small = gated_report().model_copy(update={"runs": (run,)})
    report = Report.model_validate(poisoned(small.model_dump(mode="json"), poison))
    for render, errors in VALIDATED:
        assert errors(render(report)) == [], render.__name__
    lines = github_annotations(report).splitlines()
    assert len(lines) == len(github_annotations(small).splitlines())
    assert all(line.startswith(("::error ", "::warning ")) for line in lines)
    rows = [line for line in github_summary(report).splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {5}


@pytest.mark.parametrize("lone", ["\ud800", "\udfff tail"])
def test_a_lone_surrogate_is_shown_as_what_it_is(lone: str) -> None:
    """No encoder writes it, and a subject may still say it."""
    run = sample.sdk_schedule()
    finding = run.findings[0].model_copy(update={"observed": lone, "sentence": lone})
    report = sample.report([run.model_copy(update={"findings": (finding,)})])
    told = ascii(lone[0])[1:-1]
    texts = [render(report) for render in (sarif_report, gitlab_report, junit_report)]
    texts += [github_summary(report), github_annotations(report)]
    for text in texts:
        text.encode()
    assert told in junit_report(report)
    assert any(told in entry["description"] for entry in json.loads(gitlab_report(report)))


@pytest.mark.parametrize("render", [sarif_report, gitlab_report, junit_report])
def test_the_same_report_gives_the_same_bytes(render: Any) -> None:
    """Nothing of the machine, the day or the order of a set is in it."""
    assert render(REPORTS["gated"]) == render(gated_report())


def test_the_schemas_are_those_that_their_page_names() -> None:
    """They are other people's: a change of them is a change of their version."""
    page = (SCHEMAS / "README.md").read_text("utf-8")
    sums = dict(re.findall(r"^([0-9a-f]{64})  (\S+)$", page, re.MULTILINE))
    held = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path.name
        for path in SCHEMAS.iterdir()
        if path.suffix in (".json", ".xsd")
    }
    assert held == sums
    assert all(f"| `{name}` |" in page for name in held.values())
