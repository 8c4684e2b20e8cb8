"""Which check is failed by which miniature: the proof that every check can fail."""

from __future__ import annotations

from harness.model.error_model import ErrorModel, Level
from harness.model.finding import CheckEntry
from harness.oracle.judge import check_infos
from harness.subjects.registry import catalog

__all__ = ["check_entries"]

#: The strictest first: a check has the level of the strictest sentence that it judges.
_LEVELS: tuple[Level, ...] = ("MUST", "SHOULD", "MAY")


def check_entries(model: ErrorModel) -> tuple[CheckEntry, ...]:
    """Return every check that judges by `model`, with the shipped miniatures that fail it.

    A miniature fails its check by one model: by another, it may be right. By a model of
    somebody's own, those of all models are named. One that only exploration finds is named by
    none: whoever runs it sees it pass. The level is None for a check that no sentence asks
    for: of the evidence itself, and of what a scenario wants settled.
    """
    # Whoever makes a report of each scenario asks again for the same model.
    if not _last or _last[0][0] is not model:
        _last[:] = [(model, _entries(model))]
    return _last[0][1]


#: The model that was asked for last, and its entries.
_last: list[tuple[ErrorModel, tuple[CheckEntry, ...]]] = []


def _entries(model: ErrorModel) -> tuple[CheckEntry, ...]:
    fails: dict[str, list[str]] = {}
    entries = [entry for entry in catalog() if entry.fails and entry.found_by == "run"]
    own = [entry for entry in entries if entry.model == model.id] or entries
    for entry in own:
        fails.setdefault(str(entry.fails), []).append(entry.id)
    levels = {requirement.id: requirement.level for requirement in model.requirements}
    return tuple(
        CheckEntry(
            id=info.id,
            title=info.title,
            says=info.says,
            level=min(
                (levels[name] for name in info.requirements), key=_LEVELS.index, default=None
            ),
            requirements=info.requirements,
            miniatures=tuple(fails.get(info.id, ())),
        )
        for info in check_infos(model)
    )
