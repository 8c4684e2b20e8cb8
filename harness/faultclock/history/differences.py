"""What differs between the settings of two sessions, in words."""

from __future__ import annotations

from collections.abc import Mapping

from faultclock.model.report.session import SessionSettings

_NO = "none"
_DIGITS = 12


def differences(old: SessionSettings, new: SessionSettings) -> tuple[str, ...]:
    """Return all that differs, its scenarios too, one thing an item; empty for equal settings."""
    return (
        *state_differences(old, new),
        *run_differences(old, new),
        *_of_scenarios(old, new),
    )


def state_differences(old: SessionSettings, new: SessionSettings) -> tuple[str, ...]:
    """Return what differs in subject, model and Faultclock: what a verdict may follow."""
    return (
        *_of_subject(old, new),
        *_of_model(old, new),
        *_of_faultclock(old, new),
    )


def run_differences(old: SessionSettings, new: SessionSettings) -> tuple[str, ...]:
    """Return what differs in which runs are made of a scenario."""
    words = _change("seed", old.seed, new.seed) + _change("runs", old.runs, new.runs)
    return tuple(words + _changes(old.options, new.options))


def _of_scenarios(old: SessionSettings, new: SessionSettings) -> tuple[str, ...]:
    before = {(item.scenario, item.variant): item.digest for item in old.scenarios}
    after = {(item.scenario, item.variant): item.digest for item in new.scenarios}
    edited = [key for key in after if key in before and after[key] != before[key]]
    added = [key for key in after if key not in before]
    gone = [key for key in before if key not in after]
    said = (("edited:", edited), ("new:", added), ("left out:", gone))
    words = [_named(what, keys) for what, keys in said if keys]
    if not words and [*before] != [*after]:
        words = ["the order of the scenarios"]
    return tuple(words)


def _named(what: str, keys: list[tuple[str, str | None]]) -> str:
    name, variant = keys[0]
    first = name if variant is None else f"{name} ({variant})"
    more = f", and {len(keys) - 1} more" if len(keys) > 1 else ""
    return f"{what} {first}{more}"


def _of_subject(old: SessionSettings, new: SessionSettings) -> list[str]:
    words = _change("command", old.command, new.command)
    words += _change("subject", old.subject.id, new.subject.id)
    if old.subject.id != new.subject.id:
        return words
    if old.subject.source_digest != new.subject.source_digest:
        words.append(
            f"the source of {new.subject.id}"
            f" ({_short(old.subject.source_digest)} -> {_short(new.subject.source_digest)})"
        )
    words += _changes(old.subject.distributions, new.subject.distributions)
    parts = {"source_digest", "distributions"}
    if old.subject.model_dump(exclude=parts) != new.subject.model_dump(exclude=parts):
        words.append(f"what {new.subject.id} declares")
    return words


def _of_model(old: SessionSettings, new: SessionSettings) -> list[str]:
    words = _change("model", old.model, new.model)
    if words:
        return words
    words = _change(f"revision of {new.model}", old.model_revision, new.model_revision)
    if not words and old.model_digest != new.model_digest:
        words.append(f"the text of model {new.model}, in the same revision")
    return words + _changes(old.readings, new.readings, "reading ")


def _of_faultclock(old: SessionSettings, new: SessionSettings) -> list[str]:
    words = _changes(old.versions, new.versions)
    if old.build != new.build:
        words.append(f"the source of Faultclock ({_short(old.build)} -> {_short(new.build)})")
    return words


def _changes(old: Mapping[str, str], new: Mapping[str, str], kind: str = "") -> list[str]:
    return [
        word
        for name in sorted({*old, *new})
        for word in _change(kind + name, old.get(name), new.get(name))
    ]


def _change(name: str, old: object, new: object) -> list[str]:
    if old == new:
        return []
    return [f"{name} {_NO if old is None else old} -> {_NO if new is None else new}"]


def _short(digest: str | None) -> str:
    return digest[:_DIGITS] if digest else _NO
