"""What the model gets of its tool calls, as the provider observed it in the next request.

tools.told          each result says what became of the call: its value, the items that failed, or a
                    typed error, and nothing of the runtime's insides
tools.failure-told  the result of a call that failed, or never ran, does not look like a success
tools.result-kept   the result of a call that went well holds what the tool returned
tools.secrets       no result of a call, failed or good, holds a secret

The last three ask for no shape: a text is as good as JSON. A result is a finding only where it
cannot be read as a failure: it is empty, or it is what a success says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from faultclock.model.canonical import digest_of
from faultclock.model.error_model.error_model import AudienceRule, ErrorModel
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.secrets import SECRET
from faultclock.oracle.check import Verdicts, Violation, also, broken, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.tool_fates import FAILED, Fate, values_of
from faultclock.oracle.facts.tool_messages import Result, results_of
from faultclock.oracle.leaks import leaks
from faultclock.oracle.words import excerpt

#: Which rule of `tools.told` is about a fate; the others are another check's business.
_FACETS = {
    "good": "value",
    **{name: name for name in ("partial", "denied", "unanswered")},
    **dict.fromkeys(("failed", "raised", "timed_out", "cancelled", "unknown", "unfit"), "failure"),
}
_SHAPE = 'Send `{"value": …}` or `{"error": {"class", "code", "message"}}`.'
#: Members under which runtimes put the value of a result.
_VALUES = frozenset(("value", "result", "output", "content", "data"))
#: What says nothing, and what says that all is well; in lower case, without quotes.
_NOTHING = frozenset(("", "null", "none", "undefined", "{}", "[]", "()"))
_GOOD_WORDS = frozenset(("ok", "done", "success", "successful", "true", "completed"))
#: What a framework sets before a result, on a line of its own.
_LABEL = re.compile(r"^\w+:\n")


# ---------------------------------------------------------------------- tools.told


@check(
    "tools.told",
    title="What the model gets from a tool",
    says="The model gets the value, the items that failed, or a typed error, and no internals.",
    unjudged="no request held the result of a finished tool call",
    role="runtime",
)
def told(history: History, model: ErrorModel) -> Verdicts:
    """Judge each result by what became of its call."""
    if model.tool_calls is None and not also(model, "tools.told.value"):
        yield otherwise("the error model says nothing of tool calls")
        return
    for result in results_of(history, model):
        facet = _FACETS.get(result.fate.kind)
        if model.tool_calls is None and (result.sealed or facet not in ("value", "partial")):
            # The model's own rules of telling say how a failure looks to it.
            continue
        if not result.sealed and _is_made_up(result):
            values = also(model, "tools.told.value")
            yield held(*values)
            ran = "had not replied" if result.call.executions else "was never executed"
            observed = f"the tool {ran}: {excerpt(result.content)}"
            yield _untrue(result, values, "a value when the tool has returned one", observed)
        elif facet is not None or result.sealed:
            yield from _judge(history, model, result, facet or "failure")


def _judge(history: History, model: ErrorModel, result: Result, facet: str) -> Verdicts:
    exercised = _exercised(history, model, result, facet)
    yield held(*exercised)
    fault = _fault(model, result)
    if fault is not None:
        yield _untrue(result, exercised, *fault)
        return
    if facet == "value":
        return
    hidden = also(model, "tools.told.internals")
    yield held(*hidden)
    rule = next((rule for rule in model.audiences if rule.id == "model"), None)
    found = () if rule is None else leaks(rule, _worded(result))
    if found:
        expected = "a typed error for the model, without internals of the runtime"
        observed = f"it holds {' and '.join(found)}: {excerpt(result.content)}"
        yield _untrue(result, hidden, expected, observed)


def _is_made_up(result: Result) -> bool:
    """Return whether the model gets a success that no execution had come to."""
    if not result.is_whole or result.error is not None:
        return False
    own = result.call.own
    if not own:
        return not isinstance(result.value, Mapping) or "value" in result.value
    return not any(item.end is not None and item.end.seq < result.request.seq for item in own)


def _exercised(history: History, model: ErrorModel, result: Result, facet: str) -> tuple[str, ...]:
    """Return the requirements that a right result shows to hold; the closest one is first."""
    found = also(model, f"tools.told.{facet}")
    if facet == "failure" and result.fate.pair is not None:
        class_name = result.fate.pair.partition("/")[0]
        found = (*also(model, f"tools.told.class.{class_name}"), *found)
    if any(visit.call == result.call.call for visit in history.stage_visits):
        found = (*found, *also(model, "tools.told.staged"))
    return tuple(dict.fromkeys(found))


def _untrue(
    result: Result, requirements: tuple[str, ...], expected: str, observed: str
) -> Violation:
    told = f"the result of {result.call} for the model: {expected}"
    return _broken(result, requirements, told, observed, hint=_SHAPE)


def _broken(
    result: Result, requirements: tuple[str, ...], expected: str, observed: str, *, hint: str
) -> Violation:
    return broken(
        requirements,
        call=result.call.call,
        expected=expected,
        observed=observed,
        events=result.events,
        hint=hint,
    )


def _fault(model: ErrorModel, result: Result) -> tuple[str, str] | None:
    """Return what was expected and what was observed, None where all is well."""
    fate, error = result.fate, result.error
    if not result.is_whole:
        return None
    if result.sealed and (error is not None or fate.kind not in ("good", "partial")):
        # It must not look like a success.
        return None if error is not None else ("a typed error", excerpt(result.content))
    if fate.kind == "good":
        return _wrong_value(result)
    if fate.kind == "partial":
        return _wrong_items(result)
    wanted = fate.pair or "a class and a code"
    if error is None:
        return wanted, f"the result has no class and code: {excerpt(result.content)}"
    if fate.pair not in (None, result.pair):
        return wanted, f"the result says {result.pair}"
    due = None if model.interactions is None else model.interactions.timeout_reason
    reason = error.get("reason")
    if fate.kind == "unanswered" and model.interactions is not None and reason != due:
        return f"{wanted}, with the reason {due!r}", f"the result gives the reason {reason!r}"
    return None


def _wrong_value(result: Result) -> tuple[str, str] | None:
    expected = "the value that the tool returned"
    if result.error is not None:
        return expected, f"the result is an error: {excerpt(result.content)}"
    wanted = result.fate.value_sha256
    if wanted is None or SECRET in result.content:
        return None
    candidates = [result.content, result.value]
    if isinstance(result.value, Mapping) and "value" in result.value:
        candidates.append(result.value["value"])
    if not any(digest_of(item) == wanted for item in candidates):
        return expected, f"the result holds another value: {excerpt(result.content)}"
    return None


def _wrong_items(result: Result) -> tuple[str, str] | None:
    failed = result.fate.errors
    expected = f"the value beside errors[] with all {len(failed)} items that failed"
    if not isinstance(result.value, Mapping) or "value" not in result.value:
        return expected, f"there is no value: {excerpt(result.content)}"
    said = result.value.get("errors")
    if not isinstance(said, list) or not said:
        return expected, f"it looks like a whole success: {excerpt(result.content)}"
    if _known(said) != _known(failed):
        return expected, f"errors[] has {len(said)}: {excerpt(json.dumps(said))}"
    return None


def _known(items: Sequence[object]) -> list[str]:
    """Return what items that failed are known by, in one order."""
    found = [item for item in items if isinstance(item, Mapping)]
    return sorted(
        str((str(item.get("item")), item.get("class"), item.get("code"))) for item in found
    )


def _worded(result: Result) -> str:
    """Return the part of a result that the runtime words; a value is the tool's own."""
    if result.fate.kind == "partial" and isinstance(result.value, Mapping):
        return json.dumps(result.value.get("errors"), ensure_ascii=False)
    # A text is searched as it reads, not as JSON escapes it.
    if result.error is None:
        return result.content
    return "\n".join(leaf for leaf in _leaves(result.error) if isinstance(leaf, str))


def _leaves(value: object, *, names: bool = False) -> Iterator[str | float]:
    """Yield the texts and the numbers in a JSON value; with `names`, those of its members too."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if names:
                yield name
            yield from _leaves(item, names=names)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, names=names)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


# ---------------------------------------------------------------------- in any shape


@check(
    "tools.failure-told",
    title="A failure does not look like a success",
    says="The result of a tool call that failed says something, and not what a success says.",
    unjudged="no result of a failed tool call reached the model",
    role="runtime",
)
def failure_told(history: History, model: ErrorModel) -> Verdicts:
    """Judge whether the model can see each failure."""
    requirements = also(model, "tools.failure-told")
    for result in _failed(history, model):
        yield held(*requirements)
        fault = _reads_as_good(history, result)
        if fault:
            what = result.fate.kind.replace("_", " ")
            expected = f"the model can see that {result.call} did not work ({what})"
            hint = "Give the model the error as the result of the call, in words."
            yield _broken(result, requirements, expected, _with_excerpt(fault, result), hint=hint)


@check(
    "tools.result-kept",
    title="A result reaches the model",
    says="The result of a tool call that went well holds something of what the tool returned.",
    unjudged="no result of a successful tool call reached the model",
    role="runtime",
)
def result_kept(history: History, model: ErrorModel) -> Verdicts:
    """Judge whether each value that a tool returned is in its result."""
    requirements = also(model, "tools.result-kept")
    for result in results_of(history, model):
        script = history.tool_scripts.get(result.call.name)
        if result.fate.kind not in ("good", "partial") or script is None or not result.is_whole:
            continue
        if SECRET in result.content or result.answer.in_call.crashed is not None:
            continue
        returned = () if _is_a_draw(result.fate, script) else _returned(result.fate, script)
        if not returned:
            continue
        yield held(*requirements)
        if not any(text in result.content for text in returned):
            expected = f"the model gets what {result.call.name} returned for {result.call.id}"
            observed = _with_excerpt("nothing of it is in the result", result)
            hint = "Is the result of one call lost, or given to another one?"
            yield _broken(result, requirements, expected, observed, hint=hint)


@check(
    "tools.secrets",
    title="No secret in what the model reads",
    says="Neither the result of a tool call that failed nor that of any other holds a secret.",
    unjudged="no result of a tool call reached the model",
    role="runtime",
)
def secrets(history: History, model: ErrorModel) -> Verdicts:
    """Judge whether the runtime's words for a failure, or what a tool returned, hold a secret."""
    requirements, of_values = also(model, "tools.secrets"), also(model, "tools.secrets.value")
    rule = AudienceRule(id="model", never=("secret",), requirement="")
    for result in results_of(history, model) if of_values else ():
        if result.is_whole and result.fate.kind in ("good", "partial"):
            yield held(*of_values)
            if leaks(rule, result.content):
                expected = "a result for the model without an API key in it"
                observed = f"the result of {result.call.name}, a good one, holds an API key"
                hint = "Return what the model needs of it: no headers, settings or addresses."
                violation = _broken(result, of_values, expected, observed, hint=hint)
                yield replace(violation, cause=f"the result of {result.call.name} holds a key")
    for result in _failed(history, model):
        yield held(*requirements)
        if leaks(rule, result.content):
            expected = "an error for the model without a secret in it"
            observed = (
                f"a failure of {result.call.name} goes to the model in words that hold a secret"
            )
            hint = "Word the error yourself: the text of an exception is for your log."
            violation = _broken(result, requirements, expected, observed, hint=hint)
            yield replace(violation, cause="the text of an exception is the result")


def _failed(history: History, model: ErrorModel) -> Iterator[Result]:
    for result in results_of(history, model):
        if result.is_whole and result.fate.kind in (*FAILED, "cancelled"):
            yield result


def _with_excerpt(fault: str, result: Result) -> str:
    return f"{fault}: {excerpt(result.content)}" if result.content else fault


def _reads_as_good(history: History, result: Result) -> str:
    """Return in words why a result can only be read as a success; empty where it need not be."""
    words = _LABEL.sub("", result.content.strip()).strip("\"'").strip().casefold()
    value = result.value
    if words in _NOTHING or _is_empty(value):
        return "the result says nothing"
    script = history.tool_scripts.get(result.call.name)
    given = [result.content, value]
    if isinstance(value, Mapping):
        given += [value[name] for name in _VALUES & value.keys()]
    if script is not None and any(digest_of(item) == digest_of(script.value) for item in given):
        return "the result is the one of a success"
    return "the result says that all is well" if words in _GOOD_WORDS else ""


def _is_empty(value: object) -> bool:
    """Return whether a result is an object that holds an empty value and nothing else."""
    if not isinstance(value, Mapping) or value.keys() - _VALUES:
        return False
    return all(item in (None, "", {}, []) for item in value.values())


def _is_a_draw(fate: Fate, script: ToolScript) -> bool:
    """Return whether the reply came at the very instant at which its time was up."""
    ran = fate.execution
    return (
        ran is not None
        and ran.end is not None
        and ran.end.at_ns >= ran.called.at_ns + script.timeout
    )


def _returned(fate: Fate, script: ToolScript) -> tuple[str, ...]:
    """Return the names and values in what the tool returned, as they stand in any rendering."""
    found = (item for item in values_of(script) if digest_of(item) == fate.value_sha256)
    value = script.value if fate.value_sha256 is None else next(found, None)
    texts = (str(leaf).replace('"', "\n") for leaf in _leaves(value, names=True))
    # Line ends and quotes are written differently in JSON.
    return tuple(line for text in texts for line in text.splitlines()[:1] if line.strip())
