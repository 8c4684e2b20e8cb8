"""Cards: the findings of one scenario that are not green, those that say the same as one.

Fifty clients with one fault read as one fault. What a card leaves out it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.report.finding import Finding, RunReport, Verdict
from faultclock.render.notes_text import NOTHING_NOTED, Noted, shown_with
from faultclock.render.verdict_words import group_of, worst_first

_OTHERS_MAX = 4
#: Verdicts whose findings become cards; the others are lines of the table of checks.
_SHOWN = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN)
_CITED_MAX = 4


class Other(Struct, frozen=True, kw_only=True):
    """A further call or seed of which a card's finding holds too."""

    seed: int
    check: str
    call: str
    expected: str
    """Check and expected are empty when they are the card's own."""
    observed: str


class Card(Struct, frozen=True, kw_only=True):
    """One finding that is not a pass, in full."""

    finding: Finding
    seed: int
    replay: str
    cited: tuple[int, ...]
    """`seq` of the first events that prove it, in the trace of its own seed."""
    cited_left_out: int
    is_of_shown: bool
    """Whether it is about the run that is drawn, so that its events are on the page."""
    others: tuple[Other, ...]
    others_left_out: int
    unjudged: tuple[str, ...]
    """Further checks that are inconclusive for the same reason."""
    noted: Noted = NOTHING_NOTED
    """Where it was raised or waited; nothing where it is that of the card before."""
    problem: str = ""
    """Id of the problem that it is part of; then that says what to change."""

    @property
    def has_code(self) -> bool:
        """Whether lines of the user's own code are known."""
        return bool(self.noted.raised or self.noted.waited or self.noted.hangs)


def make_cards(
    runs: Sequence[RunReport], shown: RunReport, problems: Mapping[str, str]
) -> tuple[Card, ...]:
    """Return the cards of `runs`, the worst first, and of those the ones of the run that is drawn.

    Args:
        problems: id of a finding to that of its problem.
    """
    groups: dict[tuple[object, ...], _Group] = {}
    # The run that is drawn comes first, so that a card can cite events of the drawing.
    for run in chain((shown,), (run for run in runs if run is not shown)):
        if run.verdicts.isdisjoint(_SHOWN):
            continue
        for finding in run.findings:
            if finding.verdict in _SHOWN:
                groups.setdefault(_same(finding), _Group()).add(run, finding)
    cards = [_card(group, shown, problems) for group in groups.values()]
    cards.sort(key=lambda card: (worst_first(card.finding.verdict), not card.is_of_shown))
    noted = [NOTHING_NOTED, *(card.noted for card in cards)]
    return tuple(
        replace(card, noted=NOTHING_NOTED) if card.noted == before else card
        for before, card in zip(noted, cards, strict=False)
    )


class _Group(Struct):
    """The findings of one card: of each check as many as it shows, and how many there are."""

    checks: dict[str, list[tuple[int, RunReport, Finding]]] = field(default_factory=dict)
    silent: Counter[str] = field(default_factory=Counter)
    """How many of each check say neither what was observed nor, in a card, anything else."""
    members: int = 0

    def add(self, run: RunReport, finding: Finding) -> None:
        """Take one more finding."""
        self.members += 1
        if not finding.observed:
            self.silent[finding.check] += 1
        shown = self.checks.setdefault(finding.check, [])
        # One more than a card shows beside its own, of those that it may show and of the others.
        alike = sum(bool(item.observed) is bool(finding.observed) for _, _, item in shown)
        if alike <= _OTHERS_MAX:
            shown.append((self.members, run, finding))

    def in_order(self) -> list[tuple[RunReport, Finding]]:
        """Return those that may be shown: the evidence that is spoiled speaks first."""
        found = sorted(
            (item for members in self.checks.values() for item in members),
            key=lambda item: (group_of(item[2].check) != "evidence", item[0]),
        )
        return [(run, finding) for _, run, finding in found]


def _same(finding: Finding) -> tuple[object, ...]:
    """Return the key of the card that a finding belongs to."""
    if finding.verdict is not Verdict.INCONCLUSIVE:
        return finding.verdict, finding.check, finding.requirement
    # Spoiled evidence makes every other check inconclusive too, and each says so in its reason:
    # that is one thing to know, not a dozen.
    own = f"{finding.check}: " if group_of(finding.check) == "evidence" else ""
    return finding.verdict, own + finding.reason


def _card(group: _Group, shown: RunReport, problems: Mapping[str, str]) -> Card:
    (run, finding), *members = group.in_order()
    others = [
        Other(
            seed=other_run.seed,
            check=other.check if other.check != finding.check else "",
            call=other.call or "",
            expected=other.expected if other.expected != finding.expected else "",
            observed=other.observed or other.reason,
        )
        for other_run, other in members
        if other.observed or other.check == finding.check
    ]
    untold = sum(number for check, number in group.silent.items() if check != finding.check)
    return Card(
        finding=finding,
        seed=run.seed,
        replay=run.replay,
        cited=finding.events[:_CITED_MAX],
        cited_left_out=max(len(finding.events) - _CITED_MAX, 0),
        is_of_shown=run is shown,
        others=tuple(others[:_OTHERS_MAX]),
        others_left_out=max(group.members - 1 - untold - _OTHERS_MAX, 0),
        unjudged=tuple(
            dict.fromkeys(other.check for _, other in members if other.check != finding.check)
        ),
        noted=shown_with(finding, run.notes),
        problem=problems.get(finding.id, ""),
    )
