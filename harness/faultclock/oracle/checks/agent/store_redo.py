"""The session store: what it could not do is tried again by the model's policy, then reported.

An operation is tried again when the same one (what is read or written, for the same owner) is
asked for after it failed, within the same call. Several entries may be on their way to the journal
at once: there the digest of what is written separates them.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.turn_rules import split
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, also, check, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.port_facts import StoreOperation
from faultclock.oracle.retries.redo import (
    ATTEMPTS,
    DISPOSITION,
    Series,
    Try,
    citing,
    judge_series,
    series_check,
)
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of


def store_series(history: History, model: ErrorModel) -> Iterator[Series]:
    """Yield the operations that failed, each with its further tries."""
    for chain in _chains(history.store_operations):
        first = chain[0]
        if first.answered is None or first.ok:
            continue
        call = history.call(first.call)
        policy = model.policy_for(*split(first.pair or "/"))
        own = None if policy is None else policy.requirements
        last = chain[-1]
        yield Series(
            what=_words(first),
            call=first.call,
            tries=tuple(_try(model, item) for item in chain),
            policy=policy,
            source="the error model" if policy is not None else "the error model, which has none",
            given_up=None if call is None else _given_up(call, last),
            slack_ns=history.timing.slack_ns,
            requirements=() if own is None else (own.wait,),
        )


def _words(operation: StoreOperation) -> str:
    owner = "" if operation.owner is None else f" of {operation.owner}"
    return f"the store's {operation.name.replace('_', ' ')}{owner} ({operation.id})"


def _chains(operations: tuple[StoreOperation, ...]) -> list[list[StoreOperation]]:
    chains: list[list[StoreOperation]] = []
    # By what is asked for, the latest chain whose last operation has failed.
    open_: dict[tuple[object, ...], list[StoreOperation]] = {}
    for operation in operations:
        key: tuple[object, ...] = (
            operation.life,
            operation.call,
            operation.name,
            operation.owner,
            operation.revision if operation.name == "append" else None,
        )
        chain = open_.get(key)
        last = chain[-1].answered if chain else None
        if chain and last is not None and not chain[-1].ok and last.seq < operation.asked.seq:
            chain.append(operation)
            continue
        open_[key] = [operation]
        chains.append(open_[key])
    return chains


def _try(model: ErrorModel, operation: StoreOperation) -> Try:
    begun, answered = operation.asked, operation.answered
    if answered is None or operation.ok:
        return Try(begun=begun, ended=answered, outcome="good" if operation.ok else "open")
    pair = operation.pair or "a failure"
    is_retryable = model.policy_for(*split(pair)) is not None
    return Try(begun=begun, ended=answered, outcome="failed", failure=pair, retryable=is_retryable)


def _given_up(call: Call, last: StoreOperation) -> TraceEvent | None:
    """Return the end of the call, unless something from outside kept it from trying on."""
    end, answered = call.end, last.answered
    if end is None or answered is None or end.seq < answered.seq:
        return None
    return None if call.stop is not None and call.stop.seq <= end.seq else end


@check(
    "store.disposition",
    title="The store: tried again, then an error",
    says="An operation of an unavailable store is tried again, and then ends with a typed error.",
    unjudged="the session store never failed",
    role="runtime",
)
def disposition(history: History, model: ErrorModel) -> Verdicts:
    """Judge which operations were tried again, and how their call ended."""
    requirements = also(model, "store.disposition")
    for series in citing(store_series(history, model), requirements):
        yield from judge_series(series, DISPOSITION)
        # A call whose last try at the store failed ends with that error.
        last, call = series.tries[-1], history.call(series.call)
        if last.outcome != "failed" or call is None or series.given_up is None or not call.end:
            continue
        if not last.retryable or len(series.tries) < series.attempts_max:
            # What cannot be read is judged where sessions resume; giving up too soon, above.
            continue
        named = error_of(call.end)
        observed = "it returned as if nothing had failed"
        if call.raised:
            said = f"it ended with {named or 'an untyped error'}"
            observed = "" if named == last.failure else said
        yield verdict(
            requirements,
            observed,
            call=call.id,
            expected=f"the call ends with {last.failure}: {series.what} failed for good",
            events=(*last.events, call.end.seq),
            hint="Raise the error: the caller must learn that nothing was stored.",
        )


attempts = series_check(
    "store.attempts",
    store_series,
    ATTEMPTS,
    title="The store: number of tries",
    says="An operation of the store is tried as often as its policy gives.",
    unjudged="the session store never failed",
)
waits = series_check(
    "store.wait",
    store_series,
    None,
    title="The store: waits between tries",
    says="Each wait before a further try at the store lies within the policy's interval.",
    unjudged="the session store never failed",
)
