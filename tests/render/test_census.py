"""The page, the JSON and the table of a census: whole, self-contained, equal, safe."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from faultclock.model.report.census import Census
from faultclock.render.census import census_page, client_pages
from faultclock.render.census_legend import LEGEND
from faultclock.render.census_text import census_table, not_run
from faultclock.render.census_view import file_names
from faultclock.render.json_text import canonical_json
from tests.render import sample_census as sample
from tests.render.test_html_text import HtmlExtension, Outline

CENSUSES = {
    "sample": sample.sample_census(),
    "empty": sample.empty_census(),
    "hostile": sample.hostile_census(),
}
PAGES = {name: census_page(census) for name, census in CENSUSES.items()}
#: The census as it lies in a folder, with the page of each client beside it.
FOLDER = {
    "census.html": census_page(CENSUSES["sample"], client_files=True),
    **client_pages(CENSUSES["sample"]),
}
EVERY_PAGE = {
    **PAGES,
    **FOLDER,
    **{f"hostile-{name}": page for name, page in client_pages(CENSUSES["hostile"]).items()},
}


@pytest.fixture(params=EVERY_PAGE)
def page(request: pytest.FixtureRequest) -> str:
    """Each sample page in turn."""
    return EVERY_PAGE[request.param]


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
    inner = {href[1:] for href in outline.attributes("href") if href.startswith("#")}
    assert {name for name in inner if not name.startswith("i-")} <= set(ids)


def test_nothing_is_fetched(page: str) -> None:
    """No address, no handler, no style attribute; links lead to pages beside it at most."""
    outline = Outline(page)
    names = {name for _, attrs in outline.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "srcset", "style", "action", "data"}
    beside = re.compile(r"census(-[a-z0-9][a-z0-9._-]*)?\.html")
    for href in outline.attributes("href"):
        assert href.startswith("#") or beside.fullmatch(href.partition("#")[0])


def test_the_policy_allows_exactly_this_style_and_this_script(page: str) -> None:
    """By the digests of the bytes between the tags."""
    (policy,) = [value for value in Outline(page).attributes("content") if "default-src" in value]
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    """Markup and control characters are text."""
    assert len([tag for tag, _ in Outline(PAGES["hostile"]).tags if tag == "script"]) == 1
    assert "<img src=x onerror=alert(1)> {{7*7}}" in words_of(PAGES["hostile"])
    assert "\\x1b[31m" in PAGES["hostile"]
    assert not set(PAGES["hostile"]) & {"\x1b", "\u202e"}


def test_equal_censuses_give_equal_bytes() -> None:
    """And JSON that reads back as the same census."""
    for name, census in CENSUSES.items():
        again = Census.model_validate_json(canonical_json(census))
        assert again == census
        assert canonical_json(again) == canonical_json(census)
        assert census_page(again) == PAGES[name]


def test_the_page_names_the_digest_of_the_json() -> None:
    """So that a page and a file can be held together."""
    text = canonical_json(CENSUSES["sample"]).encode("ascii")
    assert hashlib.sha256(text).hexdigest() in PAGES["sample"]


def test_every_client_and_every_reason_is_on_the_page() -> None:
    """What was not run is listed by name, with its reason."""
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
    assert "answered in full2 attemptswaits 7 s" in shown
    assert "2 raised, 1 answered in full1 to 5 attemptswaits 1 s to 3 s" in shown
    assert "silently truncated1 attempt" in shown
    assert "not run" in shown
    assert "no result" in shown


def test_clients_that_do_the_same_about_a_broken_stream_are_listed_together() -> None:
    """A silently truncated answer comes first."""
    shown = words_of(PAGES["sample"])
    first = shown.index("silently truncated the answerhasty")
    assert first < shown.index("retried, returned the whole answerpatient")


def test_every_wait_is_shown_with_what_was_asked_for() -> None:
    """In the summary the shortest, the longest and the median; for each client all of them."""
    shown = words_of(PAGES["sample"])
    assert "7 s (Retry-After: 7)" in shown
    assert "500 ms to 7 smedian 500 ms" in shown
    assert "never retries" in shown


def test_the_legend_explains_each_word_once() -> None:
    """One legend on each page, the same on all of them."""
    legends = [words_of(page).partition("How to read it A census")[2] for page in FOLDER.values()]
    assert len({legend.partition("SHA-256")[0] for legend in legends}) == 1
    assert "silently truncatedThe client returned a part of the answer" in legends[0]
    for term in LEGEND:
        assert legends[0].count(term.means) == 1


def test_each_client_has_a_page_that_links_both_ways() -> None:
    """From the census to the client, back to its row, and to the clients beside it."""
    assert [*FOLDER] == [
        "census.html",
        "census-patient.html",
        "census-hasty.html",
        "census-foreign.html",
    ]
    assert "census-hasty.html" in Outline(FOLDER["census.html"]).attributes("href")
    back = Outline(FOLDER["census-hasty.html"]).attributes("href")
    assert "census.html#client-hasty" in back
    assert {"census-patient.html", "census-foreign.html"} <= set(back)
    assert "client-hasty" in Outline(FOLDER["census.html"]).attributes("id")


def test_the_page_of_a_client_shows_how_it_differs_from_the_others() -> None:
    """What the others do, which of them, and how long they wait."""
    shown = words_of(FOLDER["census-hasty.html"])
    assert "1 answered in full, 1 silently truncated, 2 raised" in shown
    assert "The other client does something else." in shown
    assert "First wait of the others: 7 s." in shown
    assert "answered in full after 2 attempts: patient" in shown
    assert "something real leaked in" in words_of(FOLDER["census-foreign.html"])


def test_names_of_pages_are_safe_and_differ() -> None:
    """Whatever a user calls an adapter."""
    taken = sample.census(
        *(sample.client(id_) for id_ in ("../x:Y", "..\\x:y", "x-y", "   ", "Ä", "aiohttp"))
    )
    names = list(file_names(taken).values())
    assert names == ["x-y", "x-y-2", "x-y-3", "client", "client-2", "aiohttp"]
    assert len(client_pages(taken)) == 6


def test_a_census_without_clients_claims_nothing() -> None:
    """In words."""
    assert "No client was run." in words_of(PAGES["empty"])
    assert list(not_run(CENSUSES["empty"])) == []
    assert client_pages(CENSUSES["empty"]) == {}


def test_the_table_has_a_line_for_each_client() -> None:
    """First what it returns, then how it retries, then what it does with broken streams."""
    lines = [" ".join(line.split()) for line in census_table(CENSUSES["sample"])]
    assert "client in full truncated raised fail" in lines
    assert "patient 2 of 2 0 0 0 of 2" in lines
    assert "hasty 1 of 4 1 2 2 of 2" in lines
    assert "patient 2 500 ms to 7 s 500 ms 1 of 1" in lines
    assert "hasty 5 1 s to 3 s 2 s 0 of 8" in lines
    assert "silently truncated the answer: hasty" in lines
    assert "answered in full, 2 attempts, waits 7 s: patient" in lines


def test_the_table_fits_into_80_columns() -> None:
    """With every verdict and every number of a large census."""
    verdicts = {"FAIL": 12, "INCONCLUSIVE": 11, "WARN": 10, "PASS": 100, "NOT_APPLICABLE": 14}
    large = sample.client("anthropic-stream-sync")
    tally = large.tally.model_copy(
        update={
            "verdicts": verdicts,
            "runs": 147,
            "calls": 1_107,
            "answered": 1_000,
            "never_ended": 3,
            "attempts_max": 11,
            "wait_shortest_ns": 463_219_000,
            "wait_median_ns": 944_000_000,
            "wait_longest_ns": 64_500_000_000,
            "asked_to_wait": 20,
            "waited_as_asked": 10,
        }
    )
    lines = list(census_table(sample.census(large.model_copy(update={"tally": tally}))))
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("12 of 147") for line in lines)


def test_a_large_census_shows_single_scenarios_on_the_page_only() -> None:
    """The terminal says where they are."""
    many = sample.census(*(sample.client(f"client-{number}") for number in range(40)))
    lines = list(census_table(many))
    assert "What each client does, scenario by scenario" not in lines
    assert "What each client does in each of the 2 scenarios" in lines[-2]


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


def test_the_page_of_a_client_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of what people read is seen before it is shipped."""
    assert without_assets(FOLDER["census-hasty.html"]) == snapshot(extension_class=HtmlExtension)
