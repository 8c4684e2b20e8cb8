"""Who is refused: a pure fold over a provider's accounts, `(state, arrival) -> (state, ruling)`.

It knows neither bytes nor sockets, and draws nothing. What each request meets, in this order:

1. the fault plan: a fault that shapes the attempt wins, and nothing here refuses it. It is counted
   all the same: an answer that the provider began as a good one, a failure as a failed request;
2. the quota of its account;
3. the buckets of its account. The one that needs the longest names the refusal;
4. overload.

One that passes takes from both buckets and from the quota at once, and is one of those that the
provider works on until the exchange is over. A refused one takes what there is of one
request, if refused ones count; so who keeps asking keeps the bucket empty.

What a bucket's refusal names is the first instant at which the same request would pass, if no other
caller asked: never too early, and no later than that. A call that comes before the time it was
given is *early*, and pushes that time back by the penalty of the script. An overload may
say when it is over. A quota says nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from faultclock.fakes.provider.accounts import (
    Account,
    Arrival,
    LimitsState,
    Refused,
    Rules,
    Ruling,
    Told,
)
from faultclock.fakes.provider.buckets import Bucket
from faultclock.fakes.wire.dialect import Meter, RateStanding
from faultclock.model.scenario.provider_limits import (
    Overload,
    ProviderLimits,
    Quota,
    RefusalRule,
    RequestLimit,
    TokenLimit,
)


def rule_on(rules: Rules, state: LimitsState, arrival: Arrival) -> tuple[LimitsState, Ruling]:
    """Return the state after `arrival`, and what becomes of it."""
    limits, now_ns = rules.limits, arrival.now_ns
    name = arrival.key if limits is not None and limits.per == "key" else ""
    known = state.accounts.get(name) or _opened(limits, len(state.accounts) + 1, now_ns)
    account = _now(known, now_ns)
    if arrival.planned is not None:
        account = _counted(account, rules, arrival, passed=arrival.planned == "answered")
        return _passed(state, name, account, arrival)
    promise = account.told.get(arrival.caller)
    early_ns = None if promise is None else max(0, promise.until_ns - now_ns) or None
    pushed_ns = 0
    if limits is not None and promise is not None and early_ns is not None:
        account, pushed_ns = _pushed_back(account, limits, arrival, promise)
    rule = _refusing(rules, state, account, arrival)
    if rule is None:
        return _passed(state, name, _counted(account, rules, arrival, passed=True), arrival)
    if not isinstance(rule, Quota):
        account = _counted(account, rules, arrival, passed=False)
    retry_ns = _told_ns(rules, account, arrival, rule)
    if retry_ns is not None:
        promise = Told(until_ns=now_ns + retry_ns, rule=rule.id)
        account = replace(account, told={**account.told, arrival.caller: promise})
    refused = Refused(
        rule=rule,
        asked=_cost(limits, arrival) if limits and isinstance(rule, TokenLimit) else 1,
        retry_after_ns=retry_ns,
        early_ns=early_ns,
        pushed_back_ns=pushed_ns,
    )
    standing = replace(standing_of(account, now_ns), retry_after_ns=retry_ns)
    ruling = Ruling(account=account.number, standing=standing, refused=refused)
    return replace(state, accounts={**state.accounts, name: account}), ruling


def _passed(
    state: LimitsState, name: str, account: Account, arrival: Arrival
) -> tuple[LimitsState, Ruling]:
    kept = {who: told for who, told in account.told.items() if who != arrival.caller}
    account = replace(account, told=kept)
    standing = standing_of(account, arrival.now_ns)
    return (
        LimitsState(
            accounts={**state.accounts, name: account}, open=state.open | {arrival.exchange}
        ),
        Ruling(account=account.number, standing=standing, refused=None),
    )


def ended(state: LimitsState, exchange: str) -> LimitsState:
    """Return the state in which the provider works on `exchange` no longer."""
    return replace(state, open=state.open - {exchange}) if exchange in state.open else state


def new_life(state: LimitsState) -> LimitsState:
    """Return the state that a fresh process of the subject finds: its connections are gone."""
    return replace(state, open=frozenset())


def standing_of(account: Account, now_ns: int) -> RateStanding:
    """Return how full the buckets of `account` are, which is up to date at `now_ns`."""
    blocked_ns = max(0, account.blocked_ns - now_ns)
    return RateStanding(
        requests=_meter(account.requests, blocked_ns), tokens=_meter(account.tokens, blocked_ns)
    )


def _meter(bucket: Bucket | None, blocked_ns: int) -> Meter | None:
    if bucket is None:
        return None
    return Meter(
        limit=bucket.per_minute,
        remaining=0 if blocked_ns else bucket.units,
        reset_ns=max(bucket.until_full_ns, blocked_ns),
    )


def _opened(limits: ProviderLimits | None, number: int, now_ns: int) -> Account:
    """Return an account from which nothing was taken."""
    requests = None if limits is None else limits.requests
    tokens = None if limits is None else limits.tokens
    return Account(
        number=number, requests=_bucket(requests, now_ns), tokens=_bucket(tokens, now_ns)
    )


def _bucket(limit: RequestLimit | TokenLimit | None, now_ns: int) -> Bucket | None:
    return None if limit is None else Bucket.full(limit.per_minute, limit.size, now_ns)


def _now(account: Account, now_ns: int) -> Account:
    """Return `account` as it is at `now_ns`: filled up, and with a quota that began anew."""
    if account.anew_ns is not None and now_ns >= account.anew_ns:
        account = replace(account, spent=0, anew_ns=None)
    return replace(
        account,
        requests=None if account.requests is None else account.requests.at(now_ns),
        tokens=None if account.tokens is None else account.tokens.at(now_ns),
    )


def _pushed_back(
    account: Account, limits: ProviderLimits, arrival: Arrival, promise: Told
) -> tuple[Account, int]:
    """Return what coming too early costs, and how much that is."""
    of_buckets = {limit.id for limit in (limits.requests, limits.tokens) if limit is not None}
    if promise.rule not in of_buckets or not limits.early_penalty:
        return account, 0
    now_ns = arrival.now_ns
    ready_ns = now_ns + _wait_ns(account, limits, arrival)[0]
    blocked_ns = max(account.blocked_ns, promise.until_ns, ready_ns) + limits.early_penalty
    return replace(account, blocked_ns=blocked_ns), limits.early_penalty


def _refusing(
    rules: Rules, state: LimitsState, account: Account, arrival: Arrival
) -> RefusalRule | None:
    limits, overload, now_ns = rules.limits, rules.overload, arrival.now_ns
    if limits is not None:
        if limits.quota is not None and account.spent >= _pays_for(limits.quota):
            return limits.quota
        wait_ns, rule = _wait_ns(account, limits, arrival)
        if wait_ns and rule is not None:
            return rule
    if overload is not None and _holds(overload, now_ns):
        full = overload.at_once is not None and len(state.open) >= overload.at_once
        unlucky = overload.percent is not None and arrival.percent < overload.percent
        if full or unlucky:
            return overload
    return None


def _holds(overload: Overload, now_ns: int) -> bool:
    return overload.from_time <= now_ns and (
        overload.until_time is None or now_ns < overload.until_time
    )


def _pays_for(quota: Quota) -> int:
    return quota.requests or quota.tokens or 0


def _cost(limits: ProviderLimits, arrival: Arrival) -> int:
    fixed = None if limits.tokens is None else limits.tokens.per_request
    return arrival.tokens if fixed is None else fixed


def _wait_ns(
    account: Account, limits: ProviderLimits, arrival: Arrival
) -> tuple[int, RefusalRule | None]:
    """Return how long until `arrival` would pass, and the limit that needs the longest."""
    longest: tuple[int, RefusalRule | None] = (0, None)
    if account.requests is not None and limits.requests is not None:
        longest = (account.requests.wait_ns(1), limits.requests)
    if account.tokens is not None and limits.tokens is not None:
        needed_ns = account.tokens.wait_ns(_cost(limits, arrival))
        if longest[1] is None or needed_ns > longest[0]:
            longest = (needed_ns, limits.tokens)
    return max(longest[0], account.blocked_ns - arrival.now_ns), longest[1]


def _told_ns(rules: Rules, account: Account, arrival: Arrival, rule: RefusalRule) -> int | None:
    if isinstance(rule, (RequestLimit, TokenLimit)) and rules.limits is not None:
        # Only now: the refused request may have taken from the bucket itself.
        return _wait_ns(account, rules.limits, arrival)[0]
    if isinstance(rule, Overload) and rule.tells_when and rule.until_time is not None:
        healed_ns = rule.until_time - arrival.now_ns
        if rules.limits is None:
            return healed_ns
        # What it took of the bucket may take longer to come back.
        return max(healed_ns, _wait_ns(account, rules.limits, arrival)[0])
    return None


def _counted(account: Account, rules: Rules, arrival: Arrival, *, passed: bool) -> Account:
    """Return what is left when `arrival` has taken its share."""
    limits = rules.limits
    if limits is None or (not passed and limits.refused == "free"):
        return account
    requests, tokens = account.requests, account.tokens
    if requests is not None:
        requests = requests.less(1)
    if not passed:
        return replace(account, requests=requests)
    if tokens is not None:
        tokens = tokens.less(_cost(limits, arrival))
    account = replace(account, requests=requests, tokens=tokens)
    quota = limits.quota
    if quota is None:
        return account
    begun = account.anew_ns is not None or quota.resets_after is None
    return replace(
        account,
        spent=account.spent + (1 if quota.tokens is None else arrival.tokens),
        anew_ns=account.anew_ns if begun else arrival.now_ns + (quota.resets_after or 0),
    )
