"""The badge of a certificate: a drawing, and the JSON from which shields.io makes one.

Both name the model, the level, the revision of the requirement set and the first digits of its
digest, so that a badge of an older set can be told from one of today's.
"""

from __future__ import annotations

import json

from faultclock.model.report.conformance import Appraisal
from faultclock.model.report.finding import Verdict
from faultclock.render.page import environment

_DIGITS = 8
#: Dark enough for white letters: a ratio of 4.5 or more.
_COLOURS = {Verdict.PASS: "#17653a", Verdict.WARN: "#7d4e00"}
_LETTER_WIDTH = 6.6
_MARGIN = 7
#: Room for the symbol before the message.
_SYMBOL = 16


def badge_json(appraisal: Appraisal) -> str:
    """Return what an endpoint of shields.io answers (schema version 1)."""
    value = {
        "schemaVersion": 1,
        "label": _label(appraisal),
        "message": _message(appraisal),
        "color": _COLOURS[appraisal.verdict].removeprefix("#"),
    }
    return json.dumps(value, ensure_ascii=False) + "\n"


def badge_svg(appraisal: Appraisal) -> str:
    """Return the badge as a drawing that asks for nothing from anywhere."""
    label, message = _label(appraisal), _message(appraisal)
    label_width = round(len(label) * _LETTER_WIDTH)
    message_width = round(len(message) * _LETTER_WIDTH)
    left = label_width + 2 * _MARGIN
    return (
        environment()
        .get_template("badge.svg.j2")
        .render(
            label=label,
            message=message,
            colour=_COLOURS[appraisal.verdict],
            is_warned=appraisal.verdict is Verdict.WARN,
            margin=_MARGIN,
            symbol=_SYMBOL,
            left=left,
            label_width=label_width,
            message_width=message_width,
            width=left + _SYMBOL + message_width + 2 * _MARGIN,
        )
    )


def _label(appraisal: Appraisal) -> str:
    return f"conforms to {appraisal.model}"


def _message(appraisal: Appraisal) -> str:
    said = f"{appraisal.level}, set {appraisal.set_revision} ({appraisal.set_digest[:_DIGITS]})"
    return f"{said}, with warnings" if appraisal.verdict is Verdict.WARN else said
