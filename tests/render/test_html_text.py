"""HTML: whole, balanced, self-contained, deterministic, and safe against what it shows."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from html.parser import HTMLParser

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from faultclock.model.report.finding import Report
from faultclock.render.html_text import html_report
from tests.render import sample_report as sample

REPORTS = {
    "sdk": sample.sdk_report(),
    "reference": sample.reference_report(),
    "empty": sample.empty_report(),
    "hostile": sample.hostile_report(),
}
PAGES = {name: html_report(report) for name, report in REPORTS.items()}
VOID = {"meta", "br", "col", "input", "link", "img", "hr"}


class Outline(HTMLParser):
    """Collects tags, attributes and texts, and refuses what is not balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and expect its end."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that ends itself."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Refuse an end that is not the one expected."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)

    def attributes(self, name: str) -> list[str]:
        """Return the values of one attribute, in order."""
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    """Each sample page in turn."""
    return PAGES[request.param]


def test_every_element_is_closed_in_order(page: str) -> None:
    """The page is balanced, whatever the report holds."""
    assert Outline(page).open == []


def test_ids_are_unique_and_every_inner_link_has_its_target(page: str) -> None:
    """No link of the page leads nowhere; ids of requirements come from the report itself."""
    outline = Outline(page)
    ids = outline.attributes("id")
    assert len(ids) == len(set(ids))
    links = {href[1:] for href in outline.attributes("href") if href.startswith("#")}
    assert {link for link in links if not link.startswith("q-")} <= set(ids)


def test_nothing_is_fetched(page: str) -> None:
    """No address of the web, no import, no image, no style attribute, no event handler."""
    outline = Outline(page)
    names = {name for _, attrs in outline.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "srcset", "style", "action", "xlink:href", "data"}
    assert all(href.startswith(("#", "traces/")) for href in outline.attributes("href"))
    assert not {tag for tag, _ in outline.tags} & {"img", "iframe", "link", "object", "base"}
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_the_policy_allows_exactly_this_style_and_this_script(page: str) -> None:
    """The digests in the policy are those of the bytes between the tags."""
    (policy,) = [value for value in Outline(page).attributes("content") if "default-src" in value]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(bodies) == 1
        digest = base64.b64encode(hashlib.sha256(bodies[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    """Markup of a subject is text; its control characters are visible."""
    outline = Outline(PAGES["hostile"])
    assert len([tag for tag, _ in outline.tags if tag == "script"]) == 1
    shown = "".join(outline.texts)
    assert "<img src=x onerror=alert(1)>" in shown
    assert "{{7*7}}" in shown
    assert "\\x1b[31m" in shown
    assert not set(PAGES["hostile"]) & {"\x00", "\x1b", "\u202e"}


def test_equal_reports_give_equal_pages() -> None:
    """Nothing of the clock, the machine or the process is in the page."""
    for name, report in REPORTS.items():
        again = Report.model_validate_json(report.model_dump_json())
        assert html_report(again) == PAGES[name]


def test_the_page_names_the_step_of_the_hosts_timers() -> None:
    """It decides which waits are legal."""
    report = REPORTS["sdk"]
    said = "timers in steps of 1 ms: a wait may miss its ends by that"
    assert said not in PAGES["sdk"]
    stepping = report.subject.model_copy(update={"timer_granularity_ns": 1_000_000})
    assert said in html_report(report.model_copy(update={"subject": stepping}))


def test_every_scenario_and_every_check_is_on_the_page() -> None:
    """The server renders all of it; the script adds nothing."""
    report = REPORTS["sdk"]
    shown = "".join(Outline(PAGES["sdk"]).texts)
    for run in report.runs:
        assert run.scenario in shown
        assert run.title in shown
        assert run.why in shown
        assert run.trace_digest[:12] in shown
        for finding in run.findings:
            assert finding.check in shown
    for item in report.coverage:
        assert item.id in shown
        assert item.sentence in shown
    assert "needs a tool port, which this version has not" in shown
    assert "the binding declares no audit records" in shown


def test_the_page_opens_with_the_problems_and_all_else_is_folded() -> None:
    """Each problem leads to one timeline; no section is open before a click."""
    outline = Outline(PAGES["sdk"])
    kinds = {
        (attrs.get("class") or "").split(" ")[0] for _, attrs in outline.tags if "open" in attrs
    }
    assert kinds == {"card", "group"}
    problems = [attrs for _, attrs in outline.tags if "problem" in (attrs.get("class") or "")]
    links = PAGES["sdk"].count(">See it on the timeline</a>")
    assert len(problems) == links > 2
    assert PAGES["sdk"].index('id="problems"') < PAGES["sdk"].index('id="runs"')


def test_what_is_folded_is_one_text_until_it_is_opened() -> None:
    """Every drawing, table and list of events stands in a <noscript> of a folded part."""
    bare = re.sub(r"<noscript>.*?</noscript>", "", PAGES["sdk"], flags=re.DOTALL)
    assert "</noscript>" not in bare
    assert not re.findall(r'<figure|<table|<ol class="events"', bare)
    for inside in re.findall(r"<noscript>(.*?)</noscript>", PAGES["sdk"], re.DOTALL):
        assert "<noscript" not in inside


def test_links_to_events_survive_another_selection() -> None:
    """The id of an event comes from its scenario and its number, not from the report."""
    few = Outline(html_report(sample.report([sample.late_date()])))
    many = Outline(PAGES["sdk"])
    events = {id_ for id_ in few.attributes("id") if re.fullmatch(r"e[0-9a-f]{8}-\d+", id_)}
    assert len(events) > 5
    assert events <= set(many.attributes("id"))
    problems = {id_ for id_ in few.attributes("id") if id_.startswith("P-")}
    assert problems
    assert problems <= set(many.attributes("id"))


def test_every_drawing_has_words_or_is_decoration() -> None:
    """A drawing is an image with a title and a description, or hidden from readers."""
    for tag, attrs in Outline(PAGES["sdk"]).tags:
        if tag == "svg":
            named = attrs.get("aria-labelledby") or attrs.get("aria-label")
            assert attrs.get("aria-hidden") == "true" or (attrs.get("role") == "img" and named)


def test_every_header_cell_has_a_scope() -> None:
    """Tables are readable without eyes."""
    scopes = [attrs.get("scope") for tag, attrs in Outline(PAGES["sdk"]).tags if tag == "th"]
    assert set(scopes) == {"col", "row", "rowgroup"}


def test_an_empty_report_is_a_page_that_claims_nothing() -> None:
    """Zero runs are inconclusive in words and colour."""
    shown = " ".join("".join(Outline(PAGES["empty"]).texts).split())
    assert "Nothing was run, so nothing is proved." in shown
    assert "No scenario was run" in shown
    assert 'class="masthead v-open"' in PAGES["empty"]


def test_forty_scenarios_stay_below_a_quarter_of_a_megabyte_and_half_a_second() -> None:
    """A report that opens at once; the best of three, so that a busy machine is no fault."""
    report = sample.large_report(40)
    times = []
    for _ in range(3):
        started = time.process_time()
        page = html_report(report)
        times.append(time.process_time() - started)
    assert len(page.encode()) < 250_000
    assert min(times) < 0.5


class HtmlExtension(SingleFileSnapshotExtension):
    """A snapshot that a browser opens."""

    file_extension = "html"
    _write_mode = WriteMode.TEXT


def test_the_page_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of what people read is seen before it is shipped."""
    report = sample.report([sample.sdk_schedule(), sample.retry_after(), sample.hung()])
    page = html_report(report)
    for tag in ("style", "script"):
        page = re.sub(rf"(<{tag}>).*?(</{tag}>)", r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-…", page)
    assert page == snapshot(extension_class=HtmlExtension)
