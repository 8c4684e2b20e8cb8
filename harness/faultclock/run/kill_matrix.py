"""Which check is failed by which miniature: the proof that every check can fail."""

from __future__ import annotations

from faultclock.model.error_model.error_model import ErrorModel, Level
from faultclock.model.report.finding import CheckEntry
from faultclock.oracle.judge import check_infos
from faultclock.subjects.registry import SubjectEntry, catalog

#: The strictest first: a check has the level of the strictest sentence that it judges.
_LEVELS: tuple[Level, ...] = ("MUST", "SHOULD", "MAY")


def check_entries(model: ErrorModel, *, proved: bool = True) -> tuple[CheckEntry, ...]:
    """Return every check that judges by `model`, with the shipped miniatures that fail it.

    Miniatures of the model itself stand for a check; where there is none, those that fail it by
    another model. One that only exploration finds stands for none: a plain run of it passes. The
    level is None for a check that no sentence asks for: of the evidence itself, and of what a
    scenario wants settled.

    Args:
        proved: name the miniatures: that makes all of them, which takes longer than a run.
    """
    if not proved:
        return _entries(model, ())
    # A caller that makes a report of each scenario asks again for the same model.
    if not _last or _last[0][0] is not model:
        _last[:] = [(model, _entries(model, catalog()))]
    return _last[0][1]


#: The model that was asked for last, and its entries.
_last: list[tuple[ErrorModel, tuple[CheckEntry, ...]]] = []


def _entries(model: ErrorModel, subjects: tuple[SubjectEntry, ...]) -> tuple[CheckEntry, ...]:
    own: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for entry in subjects:
        if entry.fails and entry.found_by == "run":
            fails = own if entry.model == model.id else others
            fails.setdefault(entry.fails, []).append(entry.id)
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
            miniatures=tuple(own.get(info.id) or (info.requirements and others.get(info.id)) or ()),
        )
        for info in check_infos(model)
    )
