"""Each failure is followed up by itself: made smaller, and set beside a run that passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from faultclock.errors import InternalError
from faultclock.explore import followup
from faultclock.explore.engine import ExploreRequest, explore
from faultclock.explore.followup import Followed, FollowUp, follow_up
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.exploration import Exploration
from faultclock.subjects.binding import Binding
from tests.explore.worlds import varying


@pytest.fixture(scope="module")
def plan(model: ErrorModel, bound: Callable[[str], Binding]) -> FollowUp:
    """Return what is to be made of the failures of an impatient subject."""
    request = ExploreRequest(
        scenarios=(varying(),),
        binding=bound("mini-ignores-retry-after"),
        subject_spec="mini-ignores-retry-after",
        model=model,
        runs=3,
    )
    return FollowUp(request=request, model_spec="stud-cli", folder="found", runs_max=60)


@pytest.fixture(scope="module")
def found(plan: FollowUp) -> Exploration:
    """Return what was found of it."""
    return explore(plan.request)


def test_a_failure_gets_a_smaller_run_its_files_and_where_it_parts(
    plan: FollowUp, found: Exploration
) -> None:
    """The command names the file where it will lie."""
    (followed,) = follow_up(plan, found)
    group = followed.group
    assert group.fingerprint == found.groups[0].fingerprint
    assert group.shrunk is not None
    assert group.shrunk.after.tasks < group.shrunk.before.tasks
    assert group.divergence is not None
    assert group.script in followed.files.values()
    (file,) = (name for name in followed.files if name.endswith(".yaml"))
    assert f"found/{file}" in group.command
    assert followed.trace is not None
    assert not followed.problem


def test_several_workers_make_the_same_of_it(plan: FollowUp, found: Exploration) -> None:
    """Whoever does it, and whoever ends first."""
    twice = found.model_copy(update={"groups": found.groups * 2})
    two = replace(plan, request=replace(plan.request, workers=2))
    assert follow_up(two, twice) == follow_up(plan, found) * 2


def test_without_shrinking_the_first_run_itself_is_set_beside_one_that_passes(
    plan: FollowUp, found: Exploration
) -> None:
    """It is made again, since nobody keeps the traces of all runs."""
    (followed,) = follow_up(replace(plan, smaller=False), found)
    assert followed.group.shrunk is None
    assert followed.files == {}
    assert followed.trace is not None
    assert followed.trace.header.seed == found.groups[0].coordinates.seed


def test_what_cannot_be_made_smaller_stays_as_it_was_found_and_says_why(
    plan: FollowUp, found: Exploration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is never lost because the search for a smaller one went wrong."""

    def wrong(*_: object, **__: object) -> None:
        raise InternalError("it does not fail again")

    monkeypatch.setattr(followup, "shrink", wrong)
    (followed,) = follow_up(plan, found)
    assert "does not fail again" in followed.problem
    assert followed.trace is not None


def test_an_interruption_leaves_the_others_as_they_were_found(
    plan: FollowUp, found: Exploration
) -> None:
    """What was done until then is kept."""
    twice = found.model_copy(update={"groups": found.groups * 2})

    def stop(_: Followed) -> None:
        raise KeyboardInterrupt

    first, second = follow_up(replace(plan, smaller=False), twice, on_done=stop)
    assert not first.problem
    assert second.problem == "it was interrupted"
    assert second.group == found.groups[0]
