"""Wrong adapters that only exploration finds."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from msgspec import Struct

from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import StudTalk
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError
from faultclock.subjects.stud import AttemptError, Policy, StudCall

wrong = ByHand("adapters")


#: How long an access token is good for, how long it takes to get another one, and how long before
#: the next attempt that is begun, in seconds.
_LIFETIME_S = 20.0


_RENEWAL_S = 0.2


_AHEAD_S = 1.0


class _Tokens(Struct, frozen=True):
    """A pair of tokens. The refresh token is good for one use: the next pair brings another."""

    refresh: int
    until_s: float


class _Issuer:
    """Who gives out tokens: a service of its own, which knows each refresh token it gave."""

    def __init__(self) -> None:
        self.given = 0

    async def renew(self, refresh: int) -> _Tokens:
        """Return the next pair.

        Raises:
            PermissionError: the refresh token was used before. It may have been stolen.
        """
        if refresh != self.given:
            raise PermissionError("the refresh token was used already: sign in again")
        self.given += 1
        await asyncio.sleep(_RENEWAL_S)
        return _Tokens(self.given, asyncio.get_running_loop().time() + _LIFETIME_S)


class _Session:
    """What the calls of a process share: the tokens, and the renewal that is under way."""

    def __init__(self) -> None:
        self.issuer = _Issuer()
        self.tokens = _Tokens(0, asyncio.get_running_loop().time() + _LIFETIME_S)
        self.renewal: asyncio.Task[_Tokens] | None = None

    async def make_good(self, for_s: float) -> None:
        """Renew the tokens unless they are good for so long; one renewal serves all who wait."""
        if self.tokens.until_s >= asyncio.get_running_loop().time() + for_s:
            return
        if self.renewal is None:
            self.renewal = asyncio.ensure_future(self.issuer.renew(self.tokens.refresh))
            # Wrong: from here on nobody waits for it, and its tokens are not in place yet.
            self.renewal.add_done_callback(self._over)
        self.tokens = await asyncio.shield(self.renewal)

    def _over(self, _: asyncio.Task[_Tokens]) -> None:
        self.renewal = None


_SESSIONS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Session] = WeakKeyDictionary()


@wrong.race(
    "token-is-renewed-twice",
    "Uses a refresh token twice when a renewal ends as another call wakes up",
    fails="classification.disposition",
    origin="anthropics/claude-code#27933; HQBase/hqbase#41",
)
class _TokenIsRenewedTwice(StudTalk):
    """Waits as the reference does, and uses the last second of a wait to renew the token."""

    async def talk(self) -> Reply:
        self.session = _SESSIONS.setdefault(asyncio.get_running_loop(), _Session())
        return await super().talk()

    async def wait(self, wait_s: float, failure: AttemptError) -> None:
        loop = asyncio.get_running_loop()
        wakes_s = loop.time() + wait_s
        if wait_s > _AHEAD_S:
            await asyncio.sleep(wait_s - _AHEAD_S)
            try:
                await self.session.make_good(_AHEAD_S)
            except PermissionError as error:
                raise _signed_out(self, failure) from error
        await asyncio.sleep(max(0.0, wakes_s - loop.time()))


def _signed_out(call: StudCall, failure: AttemptError) -> TypedError:
    """Tell everyone of the end, and return the error of the call: what it failed with last."""
    found = call.classify(failure)
    assert found is not None, "nothing else is waited for"
    error_class, code = found
    call.tell_everyone(error_class, code, failure)
    message = "the call cannot go on: sign in again"
    return TypedError(error_class, code, message, failure.context())


#: How often the outer layer asks the inner one.
_ROUNDS = 2


@wrong.race(
    "retries-multiply-after-a-limit",
    "Begins its retries anew when they are used up after a limit",
    fails="backoff.attempts",
    origin="HKUDS/nanobot#2760",
)
class _TwoLayers(StudTalk):
    """The inner layer has the attempts of each policy; the outer one asks again after a limit.

    Wrong: it looks for a limit among all failures of the call, and not at the one that ended it.
    """

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(request)
        self.limited = False
        self.begun_anew = 1

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        policy = super().policy(failure, kind)
        if policy is None:
            return None
        used_up = self._failures.get(policy.name, 0) + 1 >= policy.attempts_max
        if failure.status == 429:
            self.limited = True
        elif used_up and self.limited and self.begun_anew < _ROUNDS:
            self.begun_anew += 1
            self._failures.clear()
        return policy
