"""An agenda says what is left to be asked, after a crash too."""

from __future__ import annotations

import pickle

from faultclock.model.scenario.scenario import scenario_of
from faultclock.run.agenda import Agenda

SCENARIO = scenario_of(
    {
        "id": "tests/agenda",
        "title": "Agenda",
        "why": "For a test.",
        "role": "runtime",
        "tasks": [
            {"id": "one", "copies": 2},
            {"id": "two"},
            {"id": "beside", "waits": False},
        ],
    }
)


def begun(agenda: Agenda, *names: str) -> list[str]:
    """Begin one call of each name, and return their ids."""
    calls = [agenda.call(name, "turn") for name in names]
    for call in calls:
        agenda.begin(call)
    return [call.id for call in calls]


def test_it_begins_with_all_tasks() -> None:
    """Those in turn, and those beside them."""
    agenda = Agenda.initial(SCENARIO)
    assert (agenda.todo, agenda.beside) == ({"one": 2, "two": 1}, {"beside": 1})


def test_a_call_is_off_the_agenda_when_it_begins() -> None:
    """Not earlier: what never began is asked in the next life."""
    agenda = Agenda.initial(SCENARIO)
    call = agenda.call("one", "turn")
    assert agenda.todo == {"one": 2, "two": 1}
    agenda.begin(call)
    assert agenda.todo == {"one": 1, "two": 1}
    assert begun(agenda, "one", "beside") == ["one/2", "beside/1"]
    assert (agenda.todo, agenda.beside) == ({"two": 1}, {})


def test_what_a_crash_cuts_off_is_forgotten_or_asked_again() -> None:
    """Again comes first in line, with a new number."""
    for again in (False, True):
        agenda = Agenda.initial(SCENARIO)
        begun(agenda, "start", "one", "one", "beside")
        agenda.end(agenda.call("start", "start"))
        cut = agenda.cut_off(SCENARIO, again=again)
        assert cut == ("start/1", "one/1", "one/2", "beside/1")
        assert agenda.open == {}
        if again:
            assert (list(agenda.todo.items()), agenda.beside) == (
                [("one", 2), ("two", 1)],
                {"beside": 1},
            )
            assert agenda.call("one", "turn").id == "one/3"
        else:
            assert (agenda.todo, agenda.beside) == ({"two": 1}, {})


def test_a_call_that_is_over_is_not_cut_off() -> None:
    """Only open ones are."""
    agenda = Agenda.initial(SCENARIO)
    call = agenda.call("two", "turn")
    agenda.begin(call)
    agenda.end(call)
    assert agenda.cut_off(SCENARIO, again=True) == ()
    assert agenda.todo == {"one": 2}


def test_it_is_plain_data() -> None:
    """It goes from process to process."""
    agenda = Agenda.initial(SCENARIO)
    begun(agenda, "one")
    assert pickle.loads(pickle.dumps(agenda)) == agenda
