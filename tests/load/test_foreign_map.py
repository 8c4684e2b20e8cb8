"""Maps of foreign logs: the shipped ones are right, and the mistakes of others have places."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError, UnknownNameError
from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.foreign.map import (
    check_foreign_map,
    foreign_map_ids,
    foreign_map_of,
    is_foreign_map,
    load_foreign_map,
)
from faultclock.load.resources import foreign_maps_root
from faultclock.load.yaml_file import parse_document, read_document

HEAD = """\
id: own
title: Our own log
model: afk
source: a page of ours
name: type
"""
ENDS = "events:\n  over: {call: returned}\n"


def problems(text: str) -> str:
    """Return what is said of a map."""
    document = parse_document(text.encode(), "own.yaml")
    with pytest.raises(SourceError) as caught:
        check_foreign_map(document, foreign_map_of(document), load_error_model("afk"))
    return str(caught.value)


@pytest.mark.parametrize("id_", foreign_map_ids())
def test_a_shipped_map_speaks_of_what_its_model_knows(id_: str) -> None:
    """Each name, class and code of it is one of the model."""
    path = foreign_maps_root() / f"{id_}.yaml"
    document, found = read_document(path), load_foreign_map(id_)
    assert is_foreign_map(document)
    assert found.id == id_
    assert found.begins
    check_foreign_map(document, found, load_error_model(found.model))


def test_every_model_has_a_map() -> None:
    """Each of the five systems writes a log; the common demands are no system's."""
    mapped = {load_foreign_map(id_).model for id_ in foreign_map_ids()}
    assert mapped == set(model_ids()) - {"common"}


def test_a_name_alone_is_an_entry() -> None:
    """It says that the log may have such an event, and nothing more."""
    found = foreign_map_of(parse_document(f"{HEAD}{ENDS}  warning:\n".encode(), "own.yaml"))
    assert [name for name, _ in found.entries()] == ["over", "warning"]


def test_a_model_in_a_file_lies_beside_the_map(tmp_path: Path) -> None:
    """Wherever one works from."""
    text = f"{HEAD}{ENDS}".replace("model: afk", "model: ../models/acme.yaml")
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    found = load_foreign_map(str(tmp_path / "own.yaml"))
    assert Path(found.model) == tmp_path / "../models/acme.yaml"


def test_an_unknown_id_offers_a_near_one() -> None:
    """What was meant is often a letter away."""
    with pytest.raises(UnknownNameError, match="unknown map 'relavum'") as caught:
        load_foreign_map("relavum")
    assert "relavium" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "own.yaml:1:1: no event ends a run"),
        (f"{HEAD}events:\n  over: {{call: ends}}\n", "own.yaml:7:16: "),
        (f"{HEAD}{ENDS}  x: {{nam: y}}\n", "own.yaml:8:7: "),
        (f"{HEAD}{ENDS}  x: []\n", "x has no entry"),
        (f"{HEAD}{ENDS}  x: [{{}}, {{}}]\n", "x: an entry without `where` takes all: put it last"),
        (f"{HEAD}skip: [over]\n{ENDS}", "over is in `skip` and in `events`"),
        (f"{HEAD}repeats: true\n{ENDS}", "`repeats` needs an event that begins a run"),
        (f"{HEAD}run: a..b\n{ENDS}", "own.yaml:6:6: "),
        (f"{HEAD}time: {{field: at, unit: days}}\n{ENDS}", "own.yaml:6:25: "),
        (
            f"{HEAD}events:\n  over: {{call: raised, result: {{state: x}}}}\n",
            "own.yaml:7:9: `result` goes with `call: returned`",
        ),
        (
            f"{HEAD}{ENDS}  x: {{name: run_complete}}\n",
            "own.yaml:8:13: the error model afk knows no event 'run_complete'\n"
            "  did you mean 'run_completed'?",
        ),
        (
            f"{HEAD}{ENDS}  x: [{{error: {{class: =Retriable}}}}]\n",
            "own.yaml:8:23: the error model afk has no class 'Retriable'\n"
            "  did you mean 'Retryable'?",
        ),
        (
            f"{HEAD}{ENDS}  x: {{error: {{class: =Retryable, code: =RateLimits}}}}\n",
            "own.yaml:8:40: the class Retryable has no code 'RateLimits'\n"
            "  did you mean 'RateLimit'?",
        ),
        (
            f"{HEAD}{ENDS}  x: {{signs: [cancel.request]}}\n",
            "own.yaml:8:14: there are no facts of the kind 'cancel.request'\n"
            "  did you mean 'cancel.requested'?",
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(text: str, said: str) -> None:
    """All of them at once, as in every other file."""
    assert said in problems(text)
