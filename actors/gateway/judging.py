"""What an answer's head means: for the agent, or a reason to ask again. Pure.

The agent's own retries are part of what is measured, but a provider's bad minute is not: so "too many requests" and failures before the first byte of an
answer are dealt with here as far as it is sensible, and what is passed on is what stays.
"""

from __future__ import annotations

import contextlib
import email.utils
import re
import time
from typing import Final

import attrs

from actors.gateway.interfaces import Headers
from actors.gateway.outage import Kind
from actors.gateway.readers import message_of, parsed

TRIES: Final = 3
"""How often a request is sent before a provider's failure is passed on."""

PAUSE: Final = 1.0
"""Seconds before the second try; twice as long before each one more."""

PATIENCE: Final = 900.0
"""Seconds that a request may be kept waiting by "too many requests" before that is passed on."""

FIRST_REFUSAL: Final = 2.0
LONGEST_REFUSAL: Final = 120.0
"""Seconds to wait after "too many requests" that does not say how long."""

TOO_MANY: Final = 429
CREDENTIALS: Final = frozenset({401, 402, 403})
_ACCOUNT: Final = re.compile(rb"insufficient_quota|credit balance is too low|ExpiredToken")
"""What providers say of an account that is spent or a token that is over, with statuses that mean other things too."""


class Verdict:
    """What to do with an answer."""


@attrs.frozen
class PassOn(Verdict):
    """It is for the agent. ``failure``: it is the provider's failure all the same."""

    failure: str | None = None


@attrs.frozen
class Refusal(Verdict):
    """The provider wants fewer requests: again after so many seconds."""

    seconds: float


@attrs.frozen
class Failed(Verdict):
    """The provider failed."""

    kind: Kind
    reason: str


def judge(status: int, headers: Headers, body: bytes, refusals: int) -> Verdict:
    """What an answer with this status means, the ``refusals``-th (from 0) in a row being a "too many". ``body`` is only looked at from status 400 on."""
    if status < 300:
        return PassOn()
    if status < 400:
        return Failed(
            Kind.STATUS, f"the provider is elsewhere (status {status}): {dict(headers).get('location', 'it does not say where')[:200]}; correct base_url"
        )
    if status in CREDENTIALS or (status in (TOO_MANY, 400) and _ACCOUNT.search(body)):
        said = message_of(parsed(body)) if parsed(body) is not None else ""
        return Failed(Kind.CREDENTIALS, f"the provider refuses the credentials or the account (status {status}){': ' if said else ''}{said}")
    if status == TOO_MANY:
        return Refusal(retry_after(headers, refusals))
    if status >= 500 or status == 408:
        return Failed(Kind.STATUS, f"the provider answered with status {status}")
    return PassOn()


def retry_after(headers: Headers, refusals: int) -> float:
    """Seconds to wait: what the provider says, within reason, else longer each time."""
    named = dict(headers)
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = named.get(name, "")
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return min(float(value) / unit, PATIENCE)
    with contextlib.suppress(ValueError, OverflowError):  # a date that is none
        date = email.utils.parsedate_tz(named.get("retry-after", ""))
        if date is not None:
            return min(max(0.0, email.utils.mktime_tz(date) - time.time()), PATIENCE)
    return min(FIRST_REFUSAL * 2.0 ** min(refusals, 16), LONGEST_REFUSAL)
