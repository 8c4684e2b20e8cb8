"""The page, the JSON and the table of a census: whole, self-contained, equal, safe."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from harness.model.census import Census
from harness.render.census import census_json, census_page, census_table, not_run
from tests.render import sample_census as sample
from tests.render.test_html_text import HtmlExtension, Outline

CENSUSES = {
    "sample": sample.sample_census(),
    "empty": sample.empty_census(),
    "hostile": sample.hostile_census(),
}
PAGES = {name: census_page(census) for name, census in CENSUSES.items()}


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    """Each sample page in turn."""
    return PAGES[request.param]


def words_of(page: str) -> str:
    """Return the text of a page in one line."""
    return " ".join("".join(Outline(page).texts).split())


def without_assets(page: str) -> str:
    """Return a page without what is tested elsewhere: style, script and their digests."""
    for tag in ("style", "script"):
        page = re.sub(rf"(<{tag}>).*?(</{tag}>)", r"\1…\2", page, flags=re.DOTALL)
    return re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-…", page)


def test_every_element_is_closed_and_every_inner_link_has_its_target(page: str) -> None:
    """And no id is there twice."""
    outline = Outline(page)
    ids = outline.attributes("id")
    assert outline.open == []
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in outline.attributes("href") if href[1:2] != "i"} <= set(ids)


def test_nothing_is_fetched(page: str) -> None:
    """No address, no handler, no style attribute; links stay on the page."""
    outline = Outline(page)
    names = {name for _, attrs in outline.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "srcset", "style", "action", "data"}
    assert all(href.startswith("#") for href in outline.attributes("href"))


def test_the_policy_allows_exactly_this_style_and_this_script(page: str) -> None:
    """By the digests of the bytes between the tags."""
    (policy,) = [value for value in Outline(page).attributes("content") if "default-src" in value]
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    """On the page and on the terminal."""
    census = CENSUSES["hostile"]
    assert len([tag for tag, _ in Outline(PAGES["hostile"]).tags if tag == "script"]) == 1
    assert "<img src=x onerror=alert(1)> {{7*7}}" in words_of(PAGES["hostile"])
    for text in (PAGES["hostile"], "\n".join([*census_table(census), *not_run(census)])):
        assert "\\x1b[31m" in text
        assert not set(text) & {"\x1b", "\u202e"}


def test_equal_censuses_give_equal_bytes() -> None:
    """And JSON that reads back as the same census."""
    for name, census in CENSUSES.items():
        again = Census.model_validate_json(census_json(census))
        assert again == census
        assert census_json(again) == census_json(census)
        assert census_page(again) == PAGES[name]


def test_the_page_names_the_digest_of_the_json() -> None:
    """So that a page and a file can be held together."""
    text = census_json(CENSUSES["sample"]).encode("ascii")
    assert hashlib.sha256(text).hexdigest() in PAGES["sample"]


def test_every_client_and_every_reason_is_on_the_page() -> None:
    """What was not run is told by name, with its reason."""
    shown = words_of(PAGES["sample"])
    for client in CENSUSES["sample"].clients:
        assert client.id in shown
        assert client.title in shown
    for reason in (
        "missingThe client missing: not installed: it needs x",
        "something real leaked in: a real thread at lib.py:3",
        "Not in the simulation: it keeps a process of its own",
        "its dialect has no error 'x'",
    ):
        assert reason in shown


def test_a_cell_says_outcome_attempts_and_waits() -> None:
    """A range over several calls, the waits one by one for a single one."""
    shown = words_of(PAGES["sample"])
    assert "answered2 attempts7 s" in shown
    assert "2 raised, 1 answered1 to 5 attempts1 s to 3 s" in shown
    assert "a part as if whole1 attempt" in shown
    assert "cannot be said" in shown
    assert "proves nothing" in shown


def test_clients_that_did_the_same_about_a_broken_stream_stand_together() -> None:
    """What was handed on as if it were whole comes first."""
    shown = words_of(PAGES["sample"])
    first = shown.index("returned a part as if wholehasty")
    assert first < shown.index("asked again, returned the whole answerpatient")


def test_every_wait_is_told_with_what_was_asked_for() -> None:
    """In the part of the page that has all of it."""
    assert "7 s (Retry-After: 7)" in words_of(PAGES["sample"])


def test_a_census_of_nobody_claims_nothing() -> None:
    """In words."""
    assert "No client was run." in words_of(PAGES["empty"])
    assert next(census_table(CENSUSES["empty"])).startswith("client")
    assert list(not_run(CENSUSES["empty"])) == []


def test_the_table_has_a_line_for_each_client() -> None:
    """With what broken streams became below it."""
    lines = list(census_table(CENSUSES["sample"]))
    assert " ".join(lines[1].split()) == "patient 2 2 of 2 calls 0 0 0 2 1 of 1 2 pass"
    assert " ".join(lines[2].split()) == "hasty 2 1 of 4 calls 1 2 0 5 0 of 8 2 fail"
    assert "    returned a part as if whole: hasty" in lines


def test_what_was_not_run_is_listed_for_the_terminal() -> None:
    """One line each."""
    assert [line.split(":")[0] for line in not_run(CENSUSES["sample"])] == [
        "missing",
        "foreign, rate-limits/retry-after-integer",
        "foreign, in the simulation",
        "foreign, provider-transient/stream-cut-by-close",
    ]


def test_the_page_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of what people read is seen before it is shipped."""
    assert without_assets(PAGES["sample"]) == snapshot(extension_class=HtmlExtension)
