"""The list of runs: the worst verdict first, and what it can be filtered by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from faultclock.model.report.finding import Verdict
from faultclock.render.sections import Section


class RunGroup(Struct, frozen=True, kw_only=True):
    """Scenarios with the same verdict."""

    verdict: Verdict
    sections: tuple[Section, ...]
    is_open: bool


class RunList(Struct, frozen=True, kw_only=True):
    """All scenarios, and the names that the filter offers.

    A section carries the numbers of its checks and exceptions in these lists, from 1 on: names
    that stand in a hundred sections would be most of the page.
    """

    groups: tuple[RunGroup, ...]
    checks: tuple[str, ...]
    exceptions: tuple[str, ...]

    def check_numbers(self, section: Section) -> str:
        """Return the numbers of the checks that judged something in `section`."""
        return _numbers(self.checks, _judged(section))

    def exception_numbers(self, section: Section) -> str:
        """Return the numbers of the exceptions that left a call in `section`."""
        return _numbers(self.exceptions, section.exceptions)


def make_run_list(sections: Sequence[Section]) -> RunList:
    """Return the list of `sections`, which must already be ordered by verdict."""
    by_verdict = [
        (verdict, tuple(members))
        for verdict, members in groupby(sections, key=lambda section: section.verdict)
    ]
    return RunList(
        groups=tuple(
            RunGroup(
                verdict=verdict,
                sections=members,
                is_open=index == 0 or verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE),
            )
            for index, (verdict, members) in enumerate(by_verdict)
        ),
        checks=_names(sections, _judged),
        exceptions=_names(sections, lambda section: section.exceptions),
    )


def _judged(section: Section) -> list[str]:
    return [line.check for line in section.judged]


def _names(sections: Iterable[Section], of: Callable[[Section], Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for section in sections for name in of(section)}))


def _numbers(names: Sequence[str], own: Iterable[str]) -> str:
    return " ".join(str(names.index(name) + 1) for name in own)
