"""A drift says of each cell whether it is worse, better, or only different, and misses none."""

from __future__ import annotations

import pytest

from faultclock.errors import InputError
from faultclock.model.report.census import Census, ScenarioConduct
from faultclock.profile.census_drift import drift, of_environment
from faultclock.profile.census_merge import merged, taken_in
from tests.render.sample_census import CUT, LIMITED, call, census, client, run

WHOLE = run(LIMITED, call("ok"))
RAISED = run(LIMITED, call("ok", outcome="raised", error="a.Error"))
EMPTY = run(LIMITED, call("ok", answer="empty"))
HUNG = run(LIMITED, call("open", outcome="never_ended"))
FAILS = run(LIMITED, call("ok"), verdict="FAIL", failed=("retries.floor",))
FAILS_RAISED = run(
    LIMITED,
    call("ok", outcome="raised", error="a.Error"),
    verdict="FAIL",
    failed=("retries.floor",),
)
UNMET = run(LIMITED, call("ok"), verdict="INCONCLUSIVE")
UNMET_RAISED = run(LIMITED, call("ok", outcome="raised", error="a.Error"), verdict="INCONCLUSIVE")
VOID = run(LIMITED, leaks=("a real thread",), verdict="INCONCLUSIVE")


def taken(*runs: ScenarioConduct) -> Census:
    """Return a census of one client."""
    return census(client("mine", *runs))


@pytest.mark.parametrize(
    ("before", "after", "kind", "verdict"),
    [
        (WHOLE, FAILS, "worse", "worse"),
        (FAILS, WHOLE, "better", "not worse"),
        (WHOLE, RAISED, "worse", "worse"),
        (RAISED, WHOLE, "better", "not worse"),
        (RAISED, EMPTY, "worse", "worse"),
        (RAISED, HUNG, "worse", "worse"),
        (EMPTY, RAISED, "better", "not worse"),
        (FAILS, FAILS_RAISED, "worse", "worse"),
        (FAILS_RAISED, WHOLE, "better", "not worse"),
        # The error model decides before what the caller gets does.
        (FAILS, RAISED, "better", "not worse"),
        (WHOLE, VOID, "lost", "unclear"),
        (VOID, WHOLE, "gained", "unclear"),
        # A client that gives up early leaves a fault unmet: what its caller gets is known.
        (WHOLE, UNMET_RAISED, "worse", "worse"),
        (WHOLE, UNMET, "lost", "unclear"),
        (FAILS, UNMET, "lost", "unclear"),
        (UNMET, UNMET_RAISED, "worse", "worse"),
        (UNMET_RAISED, UNMET, "better", "not worse"),
        (UNMET, WHOLE, "gained", "not worse"),
        (WHOLE, run(LIMITED, call("ok", "ok", waits_s=(2,))), "different", "not worse"),
        (
            run(LIMITED, call("ok", "ok", waits_s=(1,))),
            run(LIMITED, call("ok", "ok", waits_s=(2,))),
            "different",
            "not worse",
        ),
    ],
)
def test_a_cell_is_judged_by_checks_and_then_by_what_the_caller_gets(
    before: ScenarioConduct, after: ScenarioConduct, kind: str, verdict: str
) -> None:
    """`unclear` where a result is lost, or nothing could be compared."""
    found = drift(taken(before), taken(after))
    assert [change.kind for change in found.clients[0].changes] == [kind]
    assert found.verdict == verdict


def test_what_did_not_change_is_not_shown() -> None:
    """Neither what an exception says, nor noise below a microsecond."""
    before = run(LIMITED, call("ok", "ok", waits_s=(1,), message="request 1"))
    after = run(LIMITED, call("ok", "ok", waits_s=(1.0000001,), message="request 2"))
    found = drift(taken(before), taken(after))
    assert found.compared == 1
    assert found.clients[0].changes == ()
    assert found.verdict == "not worse"


def test_a_scenario_that_only_one_has_is_lost_or_gained() -> None:
    """What is not run any more is no pass."""
    both, more = taken(WHOLE), taken(WHOLE, run(CUT, call("ok")))
    assert drift(more, both).verdict == "unclear"
    assert drift(more, both).count("lost") == 1
    assert drift(both, more).verdict == "not worse"
    assert drift(both, more).count("gained") == 1


def test_a_client_that_is_gone_is_no_pass_and_none_in_common_is_none_either() -> None:
    """They are named."""
    mine, two = census(client("a", WHOLE)), census(client("a", WHOLE), client("b", WHOLE))
    assert (drift(two, mine).verdict, drift(two, mine).gone) == ("unclear", ("b",))
    assert (drift(mine, two).verdict, drift(mine, two).new) == ("not worse", ("b",))
    other = drift(mine, census(client("c", WHOLE)))
    assert (other.verdict, other.compared) == ("unclear", 0)


@pytest.mark.parametrize("name", ["model", "model_revision", "faultclock"])
def test_verdicts_of_another_model_or_version_are_not_compared(name: str) -> None:
    """The change could be ours."""
    with pytest.raises(InputError, match=name.replace("_", " ")):
        drift(taken(WHOLE), taken(WHOLE).model_copy(update={name: "another"}))


def test_the_environments_of_one_census_are_compared_with_each_other() -> None:
    """A client has its own id in its environment."""
    both = merged(taken_in(taken(WHOLE), "old"), taken_in(taken(FAILS), "new"))
    assert [item.id for item in both.clients] == ["mine@old", "mine@new"]
    found = drift(of_environment(both, "old"), of_environment(both, "new"))
    assert [item.client for item in found.clients] == ["mine"]
    assert found.verdict == "worse"
    # A census of one environment is that environment's.
    alone = of_environment(taken_in(taken(WHOLE), "old"), None)
    assert drift(alone, taken(WHOLE)).compared == 1
    assert of_environment(both, None) is both
    with pytest.raises(InputError, match="no environment 'mid'"):
        of_environment(both, "mid")
