"""Findings of many runs as what a person mends."""

from __future__ import annotations

import shlex

import pytest

from faultclock.model.error_model.error_model import Requirement
from faultclock.model.error_model.harm import Harm
from faultclock.model.report.finding import AttemptMark, RunReport, SourcePlace, Verdict
from faultclock.model.report.problems import problems_in, problems_of
from faultclock.model.report.unproved import unproved_in
from faultclock.model.trace.notes import Frame, RunNotes
from tests.check.samples import FRAME, finding, model, noted, raised, report, run, slept_at


def _notes(message: str, **more: object) -> RunNotes:
    return RunNotes(raised=(raised(message, **more),))


def _crashed(name: str, message: str, **more: object) -> RunReport:
    return run(name, finding("T-CRASH-01", message), notes=_notes(message, **more))


def test_one_exception_at_one_line_is_one_problem_whatever_it_says() -> None:
    """A header that is a word and one that is a date are two situations, and one line of code."""
    (problem,) = problems_of(
        (_crashed("word", "not a number: 'soon'"), _crashed("date", "not a number: 'Wed'")),
        (),
        model().requirements,
    )
    assert problem.title == "ValueError: not a number: 'soon'"
    assert problem.error == problem.title
    assert problem.source == SourcePlace(file="client.py", line=14)
    assert problem.code == FRAME.code
    assert problem.runs == 2
    assert problem.situations == ("Situation word", "Situation date")
    assert problem.harm is Harm.CRASH
    assert problem.serious


def test_the_same_exception_at_another_line_is_another_problem() -> None:
    """Each line is mended by itself."""
    other = FRAME.model_copy(update={"line": 40, "code": "int(body)"})
    problems = problems_of(
        (_crashed("one", "no number"), _crashed("two", "no number", frames=(other,))),
        (),
        model().requirements,
    )
    assert {problem.source.line for problem in problems if problem.source} == {14, 40}


def test_the_line_is_the_innermost_of_the_users_own() -> None:
    """A library's line below it is not theirs to mend."""
    library = Frame(file="json/decoder.py", line=355, function="raw_decode", own=False)
    (problem,) = problems_of(
        (_crashed("one", "no", frames=(FRAME, library)),), (), model().requirements
    )
    assert problem.source == SourcePlace(file="client.py", line=14)


def _of_agent(*runs: RunReport, **more: str) -> list[str]:
    """Return the libraries of the problems of a user's agent, which names one."""
    subject = {"source_digest": "0" * 64, "distributions": {"langgraph": "1.2.22", **more}}
    of_user = report().subject.model_copy(update=subject)
    found = report(*runs).model_copy(update={"subject": of_user})
    return [problem.library for problem in problems_in(found)]


def test_what_no_line_of_the_user_has_a_part_in_is_the_librarys() -> None:
    """One line of theirs that waits or raises in a run that shows it is enough."""
    library = FRAME.model_copy(update={"file": "openai/_base_client.py", "own": False})
    beyond = _crashed("beyond", "no", frames=(library,))
    assert _of_agent(beyond) == ["langgraph 1.2.22"]
    assert _of_agent(beyond, node="22.23.3") == ["langgraph 1.2.22"], "Node only hosts it"
    assert _of_agent(_crashed("own", "no", frames=(FRAME, library))) == [""]
    assert [item.library for item in problems_in(report(beyond))] == [""]


def test_what_a_line_of_a_package_raises_is_caught_around_the_call() -> None:
    """A person cannot mend that line, and wants to know which of many packages has it."""
    library = FRAME.model_copy(update={"file": "openai/_base_client.py", "own": False})
    known = {"library": "langgraph 1.2.22"}
    beyond = _crashed("beyond", "no", frames=(library,))
    (problem,) = problems_of((beyond,), (), model().requirements, **known)
    assert problem.beyond == "no line of yours was seen: it is in the package openai"
    assert problem.change.startswith("Catch ValueError around your call")
    python = library.model_copy(update={"file": "json/decoder.py"})
    beyond = _crashed("beyond", "no", frames=(python,))
    (problem,) = problems_of((beyond,), (), model().requirements, **known)
    assert problem.beyond.startswith("no line of yours was seen: it is in langgraph 1.2.22, in")


def test_what_leaks_is_never_said_to_be_a_librarys_alone() -> None:
    """No stack shows what a tool of the user's has returned."""
    assert _of_agent(run("leak", finding("T-SECRET-01", "a key"))) == [""]


def test_what_shows_no_line_is_the_librarys_where_no_run_shows_one_of_the_user() -> None:
    """Else a line of theirs may stand between the model and what was seen."""
    silent = run("silent", finding("T-EFFECT-01", "paid twice"))
    own = run("slow", notes=slept_at(14)[0])
    assert _of_agent(silent) == ["langgraph 1.2.22"]
    assert _of_agent(silent, own) == [""]


def test_what_follows_from_a_crash_is_no_problem_of_its_own() -> None:
    """A handler that crashed has not retried either, and only the crash is there to mend."""
    both = (finding("T-CRASH-01", "boom"), finding("T-RETRY-02", "gave up"))
    (problem,) = problems_of((run("one", *both, notes=_notes("boom")),), (), model().requirements)
    assert problem.requirement == "T-CRASH-01"
    assert set(problem.findings) == {"F-T-CRASH-01-boom", "F-T-RETRY-02-gave up"}


@pytest.mark.parametrize("harm", [Harm.HANG, Harm.LOOP])
def test_a_call_that_does_not_end_and_so_does_not_settle_is_one_problem(harm: Harm) -> None:
    """What the scenario asks for in its own words follows from a hang or a loop, in its call."""
    own = {"requirement": None, "check": "liveness.settles", "id": "F-late"}
    late = finding("T-END-01", "it never ended").model_copy(update=own)
    hang = finding("T-END-01", "it had not ended")
    requirements = [
        item.model_copy(update={"harm": harm}) if item.id == "T-END-01" else item
        for item in model().requirements
    ]
    (problem,) = problems_of((run("one", late, hang),), (), requirements)
    assert problem.requirement == "T-END-01"
    assert problem.findings == ("F-T-END-01-it had not ended", "F-late")
    other = hang.model_copy(update={"call": "ask/2"})
    assert len(problems_of((run("one", late, other),), (), requirements)) == 2
    ruled = finding("T-RETRY-02", "gave up")
    assert len(problems_of((run("one", ruled, hang),), (), requirements)) == 2


def test_a_crash_hides_neither_what_is_worse_nor_another_call() -> None:
    """An effect that happened twice did not happen because of the crash after it."""
    found = (
        finding("T-CRASH-01", "boom"),
        finding("T-EFFECT-01", "paid twice"),
        finding("T-RETRY-02", "gave up", call="ask/2"),
    )
    problems = problems_of((run("one", *found, notes=_notes("boom")),), (), model().requirements)
    assert [problem.requirement for problem in problems] == [
        "T-CRASH-01",
        "T-EFFECT-01",
        "T-RETRY-02",
    ]


def test_what_a_check_names_as_the_cause_is_one_problem_with_the_line_of_any_run() -> None:
    """One `except` that returns its own words does so for every failure, seen in other words."""
    place = SourcePlace(file="client.py", line=7)
    same = {"cause": "a failed call returned 'Sorry'"}
    runs = (
        run("one", finding("T-ANSWER-01", "every attempt failed: 429").model_copy(update=same)),
        run(
            "two",
            finding("T-ANSWER-01", "every attempt failed: 500").model_copy(
                update={**same, "source": place}
            ),
        ),
    )
    (problem,) = problems_of(runs, (), model().requirements)
    assert (problem.runs, problem.source) == (2, place)
    assert problem.title == "Every attempt failed: 429"


def test_a_requirement_is_shown_with_the_one_that_it_names_where_both_are_broken() -> None:
    """A client that looks at no hint breaks a rule for each kind of them."""
    with_ = {"shown_with": "T-RETRY-01"}
    demands = [
        item.model_copy(update=with_ if item.id == "T-WAIT-01" else {})
        for item in model().requirements
    ]
    other, both = finding("T-WAIT-01", "early"), finding("T-RETRY-01", "often")
    (alone,) = problems_of((run("one", other),), (), demands)
    assert alone.requirement == "T-WAIT-01"
    (problem,) = problems_of((run("one", other), run("two", both)), (), demands)
    assert (problem.requirement, problem.runs) == ("T-RETRY-01", 2)
    assert problem.title == "Often"
    assert set(problem.findings) == {other.id, both.id}


def test_the_same_requirement_broken_in_the_same_way_is_one_problem() -> None:
    """Numbers and quoted values are of the run, and not of the cause."""
    runs = (
        run("one", finding("T-RETRY-01", "sent 3 times more after 1.5s, with 'a'")),
        run("two", finding("T-RETRY-01", "sent 12 times more after 1m30s, with 'b'")),
        run("three", finding("T-RETRY-01", "sent without a body")),
    )
    problems = problems_of(runs, (), model().requirements)
    assert [problem.runs for problem in problems] == [2, 1]


def test_the_id_of_a_call_is_no_part_of_the_cause() -> None:
    """A provider makes another one in each run."""
    texts = (
        "of call_63c18e67e4fe386c nothing is in it",
        "of call_9d1cc0bf3e6b5de0 nothing is in it",
    )
    problems = problems_of(
        tuple(run(f"run-{at}", finding("T-RETRY-02", text)) for at, text in enumerate(texts)),
        (),
        model().requirements,
    )
    assert [problem.runs for problem in problems] == [2]


def test_the_details_of_what_was_seen_are_no_part_of_the_cause() -> None:
    """One call that hangs and two that do are one wait without a deadline."""
    texts = ("it had not ended; thread 'a' waits", "it had not ended; thread 'a' and thread 'b'")
    problems = problems_of(
        tuple(run(f"run-{at}", finding("T-RETRY-02", text)) for at, text in enumerate(texts)),
        (),
        model().requirements,
    )
    assert [problem.runs for problem in problems] == [2]


def test_the_title_is_what_was_seen_without_its_details() -> None:
    """Which threads wait, and where, is no part of what happens to a person."""
    seen = "the call waits, and says 'a; b'; thread 'main' runs an event loop"
    (problem,) = problems_of((run("one", finding("T-WAIT-01", seen)),), (), model().requirements)
    assert problem.title == "The call waits, and says 'a; b'"
    assert problem.observed == seen


def test_one_cause_that_waits_in_two_places_of_a_library_is_one_problem() -> None:
    """A deadline mends both: none of the lines is the user's."""
    cause = {"cause": "the call waits for an answer"}
    runs = [
        run(name, finding("T-WAIT-01", f"it waits; at {name}").model_copy(update=cause))
        for name in ("read", "aread")
    ]
    assert [item.runs for item in problems_of(runs, (), model().requirements)] == [2]


def test_waits_at_two_lines_are_two_problems() -> None:
    """Two loops that sleep too long are mended in two places."""
    runs = []
    for name, line in (("one", 20), ("two", 30)):
        notes, source = slept_at(line)
        runs.append(run(name, finding("T-WAIT-01", "slept", source=source), notes=notes))
    problems = problems_of(runs, (), model().requirements)
    assert {problem.source.line for problem in problems if problem.source} == {20, 30}
    assert {problem.code for problem in problems} == {"time.sleep(wait)"}


def test_a_line_where_a_call_waited_once_and_once_did_not_is_one_problem() -> None:
    """The same request that is sent too late, after a silence and after a refusal."""
    notes, source = slept_at(20)
    late = finding("T-WAIT-01", "a request was begun", source=source)
    other = late.model_copy(update={"source": SourcePlace(file="client.py", line=30)})
    silent, refused = run("silent", late, notes=notes), run("refused", late)
    (problem,) = problems_of((silent, refused), (), model().requirements)
    assert (problem.runs, problem.source) == (2, source)
    assert len(problems_of((silent, run("elsewhere", other)), (), model().requirements)) == 2


def test_the_serious_come_first_then_the_most_harmful_then_the_frequent() -> None:
    """A person mends from the top."""
    runs = (
        run("a", finding("T-RETRY-02", "x")),
        run("b", finding("T-WAIT-01", "y")),
        run("c", finding("T-WAIT-01", "y")),
        run("d", finding("T-RETRY-01", "z")),
        run("e", finding("T-ANSWER-01", "half")),
    )
    problems = problems_of(runs, (), model().requirements)
    assert [problem.requirement for problem in problems] == [
        "T-ANSWER-01",
        "T-RETRY-01",
        "T-WAIT-01",
        "T-RETRY-02",
    ]
    assert [problem.serious for problem in problems] == [True, True, False, False]


def test_the_plainest_situation_is_shown() -> None:
    """One call before a crowd, and a scenario that can be run before a question of inference."""
    observed = finding("T-RETRY-01", "again")
    crowd = run("crowd", observed, calls=20)
    asked = run("infer/status-400", observed)
    plain = run("plain", observed)
    (problem,) = problems_of((asked, crowd, plain), (), model().requirements)
    assert problem.situations == (
        "Situation plain",
        "Situation crowd",
        "Situation infer/status-400",
    )
    assert "tests/plain" in problem.reproduce


def test_an_id_is_the_same_whatever_runs_show_it() -> None:
    """Links and notes about a problem still fit when more is run."""
    few = problems_of((_crashed("one", "x"),), (), model().requirements)
    many = problems_of((_crashed("two", "y"), _crashed("one", "x")), (), model().requirements)
    assert few[0].id == many[0].id


def test_a_verdict_on_a_group_of_seeds_is_shown_with_all_of_them() -> None:
    """One seed alone would not show that the waits are alike."""
    runs = tuple(run("crowd", seed=seed) for seed in range(4))
    over = finding("T-WAIT-01", "no jitter", scenario="tests/crowd", call=None)
    (problem,) = problems_of(runs, (over,), model().requirements)
    words = shlex.split(problem.reproduce)
    assert words[words.index("--seeds") + 1] == "4"
    assert problem.runs == 1


def test_a_problem_is_known_when_all_of_its_failures_are() -> None:
    """One that the baseline does not list makes the problem a new one."""
    runs = (run("one", finding("T-RETRY-01", "x 1")), run("two", finding("T-RETRY-01", "x 2")))
    ids = ["F-T-RETRY-01-x 1", "F-T-RETRY-01-x 2"]
    assert [item.known for item in problems_of(runs, (), model().requirements, known=ids)] == [True]
    assert [item.known for item in problems_of(runs, (), model().requirements, known=ids[:1])] == [
        False
    ]


def test_what_passes_or_proves_nothing_is_no_problem() -> None:
    """Only a deviation is one."""
    found = (
        finding("T-RETRY-01", verdict=Verdict.PASS),
        finding("T-RETRY-02", verdict=Verdict.INCONCLUSIVE),
    )
    assert problems_of((run("one", *found),), (), model().requirements) == ()


def test_the_last_lines_of_output_are_shown() -> None:
    """The nearest to the end says the most."""
    notes = noted(*(f"line {number}" for number in range(12)))
    (problem,) = problems_of(
        (run("one", finding("T-CRASH-01"), notes=notes),), (), model().requirements
    )
    assert [line.text for line in problem.output][-1] == "line 11"
    assert len(problem.output) == 8


def test_a_model_that_says_no_harm_still_gives_problems() -> None:
    """Documents other than the neutral one have no scale of harm."""
    silent = model()
    requirements = tuple(
        item.model_copy(update={"harm": None, "does": "", "change": "", "sources": ()})
        for item in silent.requirements
    )
    silent = silent.model_copy(update={"requirements": requirements})
    (problem,) = problems_of(
        (run("one", finding("T-RETRY-01", hint="Wait.")),), (), silent.requirements
    )
    assert problem.does == "The sentence of T-RETRY-01."
    assert problem.change == "Wait."
    assert (problem.harm, problem.kind) == (None, "breaks a MUST")


def _silently(*ids: str) -> tuple[Requirement, ...]:
    rules = model().requirements
    return tuple(
        item.model_copy(update={"harm": None}) if item.id in ids else item for item in rules
    )


def test_without_a_harm_an_exception_that_a_line_caused_is_the_cause() -> None:
    """The check that notices it differs from run to run; the line does not."""
    error = raised("no", raised_by="operation")
    notes = RunNotes(raised=(error,))
    runs = (
        run("one", finding("T-RETRY-01", "gave up"), notes=notes),
        run("two", finding("T-WAIT-01", "no wait"), notes=notes),
    )
    (problem,) = problems_of(runs, (), _silently("T-RETRY-01", "T-WAIT-01"))
    assert (problem.runs, problem.error) == (2, "ValueError: no")


def test_what_has_a_harm_comes_before_what_has_none() -> None:
    """An unknown harm is never put above one that is known."""
    runs = (run("one", finding("T-RETRY-01", "x")), run("two", finding("T-ANSWER-01", "y")))
    for silent, first in (("T-RETRY-01", "T-ANSWER-01"), ("T-ANSWER-01", "T-RETRY-01")):
        problems = problems_of(runs, (), _silently(silent))
        assert [problem.requirement for problem in problems] == [first, silent]


def test_what_proves_nothing_is_said_without_its_details() -> None:
    """As a title is: what comes after a semicolon of ours is left to the report."""
    bare = {"requirement": None, "verdict": "INCONCLUSIVE", "reason": "no request met it; it slept"}
    item = finding("T-RETRY-01", "x").model_copy(update={**bare, "verdict": Verdict.INCONCLUSIVE})
    made = report(run("one", item).model_copy(update={"verdict": Verdict.INCONCLUSIVE}))
    (line,) = unproved_in(made)
    assert line.endswith(": no request met it")


def test_a_situation_that_a_problem_cites_is_not_said_to_have_never_come_about() -> None:
    """It went as far as the problem; any other reason why it proves nothing is still said."""
    warned = finding("T-RETRY-02", "it gave up").model_copy(update={"verdict": Verdict.WARN})
    unmet = finding("T-RETRY-01", "x", check="evidence.faults-met").model_copy(
        update={"verdict": Verdict.INCONCLUSIVE, "observed": "no request met it"}
    )
    other = unmet.model_copy(update={"check": "evidence.exercised", "observed": "not begun"})
    unproved = {"verdict": Verdict.INCONCLUSIVE}
    cited, alone, both = (
        run(name, *findings).model_copy(update=unproved)
        for name, findings in {
            "cited": (warned, unmet),
            "alone": (unmet,),
            "both": (warned, unmet, other),
        }.items()
    )
    assert unproved_in(report(cited, alone, both)) == (
        "Situation alone: no request met it",
        "Situation both: not begun",
    )


def test_a_requirement_that_the_report_does_not_list_is_read_from_the_finding() -> None:
    """A report whose coverage was cut off loses no problem."""
    cut = report(run("one", finding("T-RETRY-01", "x", sentence="Retry.")))
    (problem,) = problems_in(cut.model_copy(update={"coverage": ()}))
    assert (problem.requirement, problem.sentence, problem.harm) == ("T-RETRY-01", "Retry.", None)
    assert unproved_in(cut) == ()
    bare = cut.runs[0].findings[0].model_copy(update={"requirement": None, "sentence": None})
    (problem,) = problems_of((run("one", bare),), (), ())
    assert (problem.requirement, problem.sentence) == (bare.check, bare.expected)


def test_a_crash_of_a_library_is_one_problem_with_the_line_that_called_it() -> None:
    """Some runs come to its line by way of the user's code, and others do not."""
    library = Frame(file="sdk/models.py", line=9, function="usage", code="answer.usage", own=False)
    elsewhere = library.model_copy(update={"line": 40, "code": "answer.id"})
    inside = _crashed("inside", "no 'usage'", frames=(library,))
    called = _crashed("called", "no 'usage'", frames=(FRAME, library))
    another = _crashed("another", "no 'id'", frames=(elsewhere,))
    (problem,) = problems_of((inside, called), (), model().requirements)
    assert (problem.runs, problem.source) == (2, SourcePlace(file="client.py", line=14))
    assert len(problems_of((another, called), (), model().requirements)) == 2


def test_how_often_it_was_seen_and_what_stands_in_parentheses_is_no_cause() -> None:
    """One status is one, whether the error names a code beside it or not."""
    texts = ("sent again, once, after 429", "sent again, 2 times, after 429 (rate_limit_exceeded)")
    problems = problems_of(
        tuple(run(f"run-{at}", finding("T-RETRY-02", text)) for at, text in enumerate(texts)),
        (),
        model().requirements,
    )
    assert [problem.runs for problem in problems] == [2]


def test_the_same_finding_with_and_without_a_line_is_one_problem() -> None:
    """A quick failure waits nowhere, so that its run shows no line."""
    notes, source = slept_at(20)
    late = finding("T-ANSWER-01", "it returned 'Sorry'", source=source)
    silent, refused = (
        run("silent", late, notes=notes, calls=2),
        run("refused", late.model_copy(update={"source": None})),
    )
    (problem,) = problems_of((silent, refused), (), model().requirements)
    assert (problem.runs, problem.source) == (2, source)
    assert problem.situations == ("Situation refused", "Situation silent")
    assert "tests/refused" in problem.reproduce


def test_what_is_seen_only_in_a_stream_says_so_and_stands_below_its_equals() -> None:
    """Most people first mend what happens to every answer."""
    streamed = [
        run(f"s{at}", finding("T-RETRY-01", "in streams"), streamed=True) for at in range(2)
    ]

    def asked_once(name: str, ended: str) -> RunReport:
        attempt = AttemptMark(call="ask/1", number=1, started_ns=0, known_ns=1, ended=ended)
        made = run(name, finding("T-RETRY-01", "always"))
        call = made.calls[0].model_copy(update={"attempts": (attempt,)})
        return made.model_copy(update={"calls": (call,)})

    plain = asked_once("plain", "ok")
    problems = problems_of((*streamed, plain), (), model().requirements)
    assert [item.seen_in for item in problems] == ["1 run", "2 runs, only in a stream"]
    (alone,) = problems_of(streamed, (), model().requirements)
    assert alone.seen_in == "2 runs", "where all is streamed, that says nothing"
    problems = problems_of((*streamed, asked_once("no", "refused")), (), model().requirements)
    assert not any(item.only_in_streams for item in problems), "that one asked for nothing"


def test_a_failure_with_a_status_is_shown_before_an_exotic_one() -> None:
    """Of one cause, everyone has met a 401, and few a body that is no answer."""
    runs = []
    for name, ended, events in (
        ("odd", "a body that is no whole answer", ()),
        ("usual", "401", (1,)),
    ):
        attempt = AttemptMark(call="ask/1", number=1, started_ns=0, known_ns=1, ended=ended)
        made = run(name, finding("T-ANSWER-01", f"failed ({name})"), timeline_cut=len(events))
        call = made.calls[0].model_copy(update={"attempts": (attempt,)})
        runs.append(made.model_copy(update={"calls": (call,)}))
    (problem,) = problems_of(runs, (), model().requirements)
    assert problem.title == "Failed (usual)"
