"""The page and the JSON of an exploration: whole, self-contained, equal, safe."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from faultclock.errors import InputError
from faultclock.load.report import load_report
from faultclock.model.report.finding import Verdict
from faultclock.render.exploration import exploration_html, exploration_json
from faultclock.render.exploration_text import exploration_lines
from faultclock.render.wording import visible
from tests.render import sample_exploration as sample
from tests.render.sample_report import HOSTILE
from tests.render.test_census import without_assets, words_of
from tests.render.test_html_text import HtmlExtension, Outline

EXPLORATIONS = {
    "sample": sample.sample_exploration(),
    "passing": sample.passing_exploration(),
    "empty": sample.empty_exploration(),
    "hostile": sample.hostile_exploration(),
}
PAGES = {name: exploration_html(value) for name, value in EXPLORATIONS.items()}


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    """Each sample page in turn."""
    return PAGES[request.param]


def test_every_element_is_closed_and_every_inner_link_has_its_target(page: str) -> None:
    """And no id is there twice."""
    outline = Outline(page)
    ids = outline.attributes("id")
    assert outline.open == []
    assert len(ids) == len(set(ids))
    inner = {href[1:] for href in outline.attributes("href") if href.startswith("#")}
    assert inner <= set(ids)


def test_nothing_is_fetched(page: str) -> None:
    """No address, no handler, no style attribute; links stay on the page or beside it."""
    outline = Outline(page)
    names = {name for _, attrs in outline.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "srcset", "style", "action", "data"}
    assert all(href.startswith(("#", "found/")) for href in outline.attributes("href"))


def test_the_policy_allows_exactly_this_style_and_this_script(page: str) -> None:
    """By the digests of the bytes between the tags."""
    (policy,) = [value for value in Outline(page).attributes("content") if "default-src" in value]
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    """Markup of a subject is text, and its control characters are visible."""
    assert len([tag for tag, _ in Outline(PAGES["hostile"]).tags if tag == "script"]) == 1
    assert "<img src=x onerror=alert(1)>" in words_of(PAGES["hostile"])
    assert "\\x1b[31m" in PAGES["hostile"]
    assert not set(PAGES["hostile"]) & {"\x00", "\x1b", "\u202e"}


_ANY = st.text(max_size=12) | st.sampled_from(
    [
        HOSTILE,
        "</script>",
        "<!--",
        "]]>",
        "{% raw %}",
        "{{ x }}",
        "' onx='",
        '" onx="',
        "javascript:x",
    ]
)


@given(st.fixed_dictionaries(dict.fromkeys(sample.NAMES, _ANY)))
def test_no_text_whatever_changes_what_the_page_is_made_of(texts: dict[str, str]) -> None:
    """The same elements with the same attributes, whatever stands in the texts."""
    plain = sample.strange_exploration(**{name: f"plain-{name}" for name in texts})
    assert _skeleton(sample.strange_exploration(**texts)) == _skeleton(plain)


def _skeleton(value: object) -> list[tuple[str, tuple[str, ...]]]:
    """Return the elements of a page and the names of their attributes.

    Left out are links, which are made only for plain paths, and what is left out when it is empty.
    """
    page = exploration_html(value)  # type: ignore[arg-type]
    kept = []
    for tag, attrs in Outline(page).tags:
        if tag in {
            "html",
            "head",
            "body",
            "main",
            "section",
            "article",
            "script",
            "style",
            "table",
        }:
            kept.append((tag, tuple(sorted(attrs))))
        assert not {name for name in attrs if name.startswith("on")}
        assert tag not in {"img", "iframe", "object", "base", "link"}
        assert not re.match(r"[a-z][a-z0-9+.-]*:|//", attrs.get("href") or "", re.IGNORECASE)
    return kept


def test_equal_explorations_give_equal_bytes(tmp_path: Path) -> None:
    """And the JSON is read back as the same exploration."""
    for name, value in EXPLORATIONS.items():
        file = tmp_path / f"{name}.json"
        file.write_text(exploration_json(value), "utf-8")
        again = load_report(file)
        assert again == value
        assert exploration_json(again) == exploration_json(value)
        assert exploration_html(again) == PAGES[name]


def test_the_page_names_the_digest_of_the_json() -> None:
    """So that a page and a file can be held together."""
    text = exploration_json(EXPLORATIONS["sample"]).encode("ascii")
    assert hashlib.sha256(text).hexdigest() in PAGES["sample"]


def test_what_is_no_exploration_is_refused_by_name(tmp_path: Path) -> None:
    """A broken file, a newer format, another shape."""
    file = tmp_path / "given.json"
    for text, said in (
        ("{", "not JSON"),
        ('{"format": 99}', "newer than 1"),
        ('{"scenarios": []}', "exploration: faultclock"),
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(InputError, match=said):
            load_report(file)


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        ("sample", Verdict.FAIL, "token-racer: 3 failures found in 365 runs"),
        ("passing", Verdict.PASS, "token-racer: no failure in 200 runs"),
        ("empty", Verdict.INCONCLUSIVE, "token-racer: 0 runs prove nothing"),
    ],
)
def test_the_headline_is_that_of_the_verdict(name: str, verdict: Verdict, words: str) -> None:
    """The renderer says what the value came to, and decides nothing."""
    assert EXPLORATIONS[name].verdict is verdict
    shown = words_of(PAGES[name])
    assert shown.count(words) == 2, "in the title and on the page"


def test_runs_that_were_not_the_same_twice_prove_nothing() -> None:
    """An exploration without failures is no success because of that."""
    value = sample.exploration(unsteady=EXPLORATIONS["sample"].unsteady[:1])
    assert value.verdict is Verdict.INCONCLUSIVE
    assert "200 runs prove nothing, because some were not the same twice" in words_of(
        exploration_html(value)
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"totals": {}}, "it ended before its first run"),
        ({"as_written": None}, "it ended before run 1, the scenario as it is written"),
        ({"no_results": (sample.no_result(spoils=True),)}, "3 runs came to no result"),
        ({"totals": {"INCONCLUSIVE": 5}}, "none of its runs passed"),
        ({"as_written": Verdict.INCONCLUSIVE}, "run 1, the scenario as it is written, is incon"),
    ],
)
def test_a_scenario_that_is_not_proved_is_named_with_the_reason(
    changes: dict[str, Any], words: str
) -> None:
    """What passed beside it is no reason to call all of it passed."""
    (good,) = sample.passing_exploration().scenarios
    open_ = good.model_copy(update={"scenario": "exploration/quiet", **changes})
    value = sample.exploration(scenarios=(good, open_))
    assert value.verdict is Verdict.INCONCLUSIVE
    assert "1 of 2 scenarios not proved" in words_of(exploration_html(value))
    for told in (words_of(exploration_html(value)), "\n".join(exploration_lines(value))):
        assert f"exploration/quiet: {words}" in told


def test_a_failure_is_told_with_all_that_belongs_to_it() -> None:
    """How often, where, what runs it again, what was taken away, and the file itself."""
    shown = words_of(PAGES["sample"])
    group = EXPLORATIONS["sample"].groups[0]
    for text in (
        "12 of 200 runs, first in run 17",
        group.fingerprint,
        f"faultclock replay {group.token} --model stud-cli --reading unspecified-jitter=twenty",
        group.command,
        "A local minimum, found in 143 runs",
        "faults and other rules41",
        "virtual time9 s250 ms",
        "the fault slow-start",
        " ".join(group.script.split()),
        *group.files,
    ):
        assert text in shown
    assert "Stopped after 143 runs: the time of 10 s is over." in shown
    assert "It was not reduced." in shown


def test_the_first_difference_is_marked_by_a_word_and_a_sign() -> None:
    """Whoever sees no colours finds it, and whoever sees nothing hears it."""
    parting = EXPLORATIONS["sample"].groups[0].divergence
    assert parting is not None
    page = exploration_html(sample.exploration(groups=(EXPLORATIONS["sample"].groups[0],), seed=1))
    rows = re.findall(r"<tr[^>]*>\s*<th scope=\"row\">(.*?)</th>(.*?)</tr>", page, re.DOTALL)
    marks = [mark for mark, rest in rows if "what" in rest or "none" in rest]
    assert ["first difference" in mark for mark in marks] == [False, True, False, False, False]
    assert [">differs<" in mark for mark in marks] == [False, False, True, True, True]
    assert [">agrees<" in mark for mark in marks] == [True, False, False, False, False]
    shown = words_of(page)
    assert "The first 4 events agree, with other times from event 3 on." in shown
    assert "12 more rows are not shown." in shown


def test_runs_that_were_not_the_same_twice_have_a_section() -> None:
    """In a section of their own, with what got in, and never among the failures."""
    page = PAGES["sample"]
    start = page.index('<section id="unsteady"')
    section = page[start : page.index("</section>", start)]
    shown = " ".join("".join(Outline(section).texts).split())
    assert shown.startswith("Not the same twice")
    assert "Line 23 of the trace is the first that differs." in shown
    assert "a real thread at racer.py:12" in shown
    assert "One of the two runs did not end." in shown
    assert "Not the same twice" not in PAGES["passing"].partition("Not the same twice</th>")[0]


def test_a_search_names_its_exception_and_what_a_verdict_means() -> None:
    """The error model decides nothing there, so no word may say that it does."""
    none = sample.exploration(sought="KeyError at client.py:16")
    shown = words_of(exploration_html(none))
    assert shown.count("token-racer: no KeyError at client.py:16 in 200 runs") == 2
    assert "No run raises KeyError at client.py:16." in shown
    assert "A run fails if it raises the exception" in shown
    assert "breaks the error model" not in shown
    found = sample.exploration(
        sought="KeyError",
        groups=(sample.group(),),
        scenarios=(sample.explored(sample.REFRESH, PASS=188, FAIL=12),),
    )
    shown = words_of(exploration_html(found))
    assert "KeyError found in 12 of 200 runs, at 1 place" in shown
    assert "Where it is raised" in shown


def test_what_no_run_reached_is_listed_by_name() -> None:
    """A check that never had anything to judge has tested nothing."""
    shown = words_of(PAGES["sample"])
    assert "Checks: 2 reached, 1 not reached" in shown
    for name in ("breaker.opens", "STUD-RL-11", "fault.fired > http.request"):
        assert name in shown
    # What few runs reached comes first.
    assert shown.index("http.request > fault.fired170") < shown.index(
        "net.sent > http.request1,300"
    )


def test_a_subject_from_a_file_is_asked_for_when_its_run_is_made_again() -> None:
    """No token holds a path."""
    own = sample.exploration(
        groups=(EXPLORATIONS["sample"].groups[0],),
        subject=EXPLORATIONS["sample"].subject.model_copy(update={"source_digest": "e" * 64}),
    )
    assert "--subject FILE.py:token-racer" in words_of(exploration_html(own))
    searched = own.model_copy(update={"sought": "KeyError"})
    assert "--raises KeyError" in words_of(exploration_html(searched))


def test_a_file_elsewhere_is_no_link() -> None:
    """Only a plain path below the report is."""
    for name in ("../x.yaml", "/etc/passwd", "javascript:alert(1)", "a b.yaml"):
        page = exploration_html(sample.exploration(groups=(sample.group(files=(name,)),)))
        assert not [href for href in Outline(page).attributes("href") if href[0] != "#"]
        assert visible(name) in words_of(page)


def test_the_page_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of what people read is seen before it is shipped."""
    assert without_assets(PAGES["sample"]) == snapshot(extension_class=HtmlExtension)
