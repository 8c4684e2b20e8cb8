"""SARIF: rules, results, fingerprints, the order of events as code flows, and GitHub's limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from faultclock.model.report.finding import EventMark, Report, Verdict
from faultclock.render import sarif_text
from faultclock.render.sarif_text import sarif_report
from tests.render import sample_report as sample
from tests.render.ci_formats import sarif_errors
from tests.render.sample_gate import SOURCE, gated_report, ordered


def run_of(report: Report) -> dict[str, Any]:
    """Return the one run of the log."""
    text = sarif_report(report)
    assert sarif_errors(text) == []
    (run,) = json.loads(text)["runs"]
    return dict(run)


def results(report: Report) -> list[dict[str, Any]]:
    """Return the results of the log."""
    return list(run_of(report)["results"])


def test_each_check_of_the_model_is_a_rule_with_its_sentences() -> None:
    """Also one that found nothing: rules stay the same from run to run."""
    rules = {rule["id"]: rule for rule in run_of(gated_report())["tool"]["driver"]["rules"]}
    wait = rules["backoff.wait"]
    assert wait["shortDescription"]["text"] == "Each wait lies in its legal interval"
    assert wait["fullDescription"]["text"].startswith("A retry starts within the interval")
    assert "MUST STUD-RL-02, Error Model" in wait["help"]["text"]
    assert wait["defaultConfiguration"]["level"] == "error"
    assert "baseline.overdue" in rules


def test_a_result_points_to_its_rule() -> None:
    """By id and by index, as readers go by either."""
    run = run_of(gated_report())
    rules = run["tool"]["driver"]["rules"]
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_levels_follow_the_verdicts_and_inconclusive_is_never_absent() -> None:
    """FAIL and INCONCLUSIVE are errors, WARN is a warning, what is known is a note."""
    levels = {
        (result["ruleId"], result["level"]): result["properties"]["verdicts"]
        for result in results(gated_report())
        if result["properties"].get("verdicts")
    }
    assert levels == {
        ("classification.disposition", "error"): ["FAIL"],
        ("evidence.faults-met", "error"): ["INCONCLUSIVE"],
        ("backoff.retry-after", "warning"): ["WARN"],
        ("backoff.wait", "note"): ["FAIL"],
        ("backoff.attempts", "note"): ["FAIL"],
    }


def test_a_known_deviation_is_suppressed_with_its_reason() -> None:
    """Readers that know suppressions hide it, and all can tell why."""
    known = [item for item in results(gated_report()) if "suppressions" in item]
    assert [item["baselineState"] for item in known] == ["unchanged", "unchanged"]
    (suppression,) = known[0]["suppressions"]
    assert suppression["kind"] == "external"
    assert "platform team" in suppression["justification"]
    new = [item for item in results(gated_report()) if item.get("baselineState") == "new"]
    assert [item["ruleId"] for item in new] == ["classification.disposition"]
    assert not any("baselineState" in item for item in results(sample.sdk_report()))


def test_the_place_is_relative_and_the_subjects_own() -> None:
    """A finding is shown where its author can mend it; no absolute path is in the file."""
    text = sarif_report(gated_report())
    place = results(gated_report())[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "adapters/my%20adapter.py",
        "uriBaseId": "%SRCROOT%",
    }
    assert place["region"] == {"startLine": SOURCE.line}
    assert "file://" not in text


def test_a_finding_without_a_file_has_a_logical_place() -> None:
    """That is valid SARIF, and says which subject and which scenario."""
    (location,) = results(sample.sdk_report())[0]["locations"]
    assert "physicalLocation" not in location
    assert [item["name"] for item in location["logicalLocations"]] == [
        "openai-async",
        "rate-limits/no-header",
    ]


def test_fingerprints_are_told_for_us_and_for_github() -> None:
    """GitHub tells alerts of one rule and line apart by `primaryLocationLineHash` alone."""
    prints = [item["partialFingerprints"] for item in results(gated_report())]
    for item in prints:
        assert item["primaryLocationLineHash"] == f"{item['faultclock/v1']}:1"
    assert len({item["faultclock/v1"] for item in prints}) == len(prints)


def test_the_events_that_prove_a_finding_are_a_code_flow_in_virtual_time() -> None:
    """In their order, those between them too, and the cited ones marked."""
    result = results(sample.report([sample.sdk_schedule()], source=SOURCE))[1]
    (flow,) = result["codeFlows"]
    (thread,) = flow["threadFlows"]
    places = thread["locations"]
    assert [place["executionOrder"] for place in places] == list(range(1, len(places) + 1))
    times = [place["properties"]["atNs"] for place in places]
    assert times == sorted(times)
    cited = [place for place in places if place["importance"] == "essential"]
    assert [place["properties"]["event"] for place in cited] == [2, 7, 12, 17]
    assert cited[1]["location"]["message"]["text"] == (
        "583.219 ms network: c1 sends 412 bytes for x2"
    )
    assert cited[1]["location"]["physicalLocation"]["region"] == {"startLine": SOURCE.line}


def test_a_violated_order_is_two_threads_beside_each_other() -> None:
    """What was expected, and what was observed, step by step."""
    run = sample.sdk_schedule()
    finding = ordered(run.findings[0].model_copy(update={"events": ()}))
    changed = run.model_copy(update={"findings": (finding,)})
    ((flow,),) = (item["codeFlows"] for item in results(sample.report([changed])))
    expected, observed = flow["threadFlows"]
    assert [thread["id"] for thread in (expected, observed)] == ["expected", "observed"]
    told = [place["location"]["message"]["text"] for place in observed["locations"]]
    assert told == ["1 µs audit record", "nothing", "583.219 ms c1 sends"]
    assert [place["importance"] for place in expected["locations"]] == [
        "important",
        "essential",
        "essential",
    ]


def test_braces_and_links_stay_text() -> None:
    """SARIF reads `{0}` as a placeholder and `[text](1)` as a link."""
    run = sample.quota_retried()
    said = run.findings[0].model_copy(update={"observed": "{0} said [here](1)", "expected": ""})
    text = results(sample.report([run.model_copy(update={"findings": (said,)})]))[0]["message"]
    assert text["text"].startswith("{{0}} said [here] (1)")


def test_more_results_than_github_takes_are_cut_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file with one too many is rejected as a whole."""
    monkeypatch.setattr(sarif_text, "RESULTS_MAX", 3)
    found = results(sample.sdk_report())
    assert len(found) == 3
    assert found[-1]["ruleId"] == "report.cut"
    assert found[-1]["message"]["text"] == "5 more findings: they are in the other reports"


def test_a_flow_has_no_more_places_than_github_takes() -> None:
    """Of a crowd, the events that prove it are kept."""
    run = sample.sdk_schedule()
    mark = run.timeline[0]
    marks = tuple(
        EventMark(**{**mark.model_dump(), "seq": number, "at_ns": number})
        for number in range(1, 1_500)
    )
    far = run.findings[0].model_copy(update={"events": (1, 1_499)})
    crowd = run.model_copy(update={"timeline": marks, "findings": (far,)})
    ((flow,),) = (item["codeFlows"] for item in results(sample.report([crowd])))
    ((places,),) = ([thread["locations"]] for thread in flow["threadFlows"])
    assert [place["properties"]["event"] for place in places] == [1, 1_499]


def test_a_green_report_has_no_result_and_says_so() -> None:
    """Code scanning then closes the alerts of earlier builds."""
    run = run_of(sample.reference_report())
    assert run["results"] == []
    assert run["properties"]["verdict"] == Verdict.PASS
    assert run["automationDetails"]["id"] == "faultclock/stud-cli/reference/"


def test_the_text_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of the format is seen before it is shipped."""
    report = gated_report()
    few = report.model_copy(update={"runs": (report.runs[1], report.runs[3])})
    assert sarif_report(few) == snapshot
