"""Whether an error model names checks that there are: a rule that no check judges never fails."""

from __future__ import annotations

from collections.abc import Collection

from faultclock.errors import SourceError
from faultclock.load.wording import did_you_mean
from faultclock.load.yaml_file import Document
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.judge import check_ids


def check_names_of_checks(document: Document, model: ErrorModel) -> None:
    """Check that there are the checks that the sentences name: one that is not judges nothing.

    Raises:
        SourceError: with each that there is not.
    """
    known = check_ids(model)
    problems = tuple(
        document.problem(
            ("requirements", index, "checks", number),
            f"{requirement.id}: there is no check {name!r}",
            did_you_mean(name, known),
        )
        for index, requirement in enumerate(model.requirements)
        for number, name in enumerate(requirement.checks)
        if name not in known
    )
    named = {name for requirement in model.requirements for name in requirement.checks}
    problems += tuple(
        document.problem(
            ("rules", rule),
            f"{rule}: no requirement names the check {check} among its `checks`, so nothing"
            " would be judged",
            f"add {check} to the `checks` of {requirement}",
        )
        for rule, requirement in model.rules.items()
        if (check := _check_of(rule, known)) is not None and check not in named
    )
    if problems:
        raise SourceError(problems)


def _check_of(rule: str, known: Collection[str]) -> str | None:
    """Return the check that a name of `rules` is one of: the longest that it begins with."""
    parts = rule.split(".")
    begins = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in begins if name in known), None)
