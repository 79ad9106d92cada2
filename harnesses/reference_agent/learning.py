"""What a prompt teaches: the session learns it, once."""

from __future__ import annotations

import re

from harnesses.reference_agent.mistakes import committed
from harnesses.reference_agent.orders import Orders
from harnesses.reference_agent.request_reader import is_request
from harnesses.reference_agent.session import Session, content_hash
from harnesses.reference_agent.specification_reader import FILE
from harnesses.reference_agent.text import Unreadable

FEEDBACK = "The automatic tests found "
"""How a report on failed tests begins."""

_FAILED = re.compile(r"\d+ of \d+ tests failed\..*")


def take_in(prompt: str, session: Session, orders: Orders) -> str:
    """Remember what the prompt says, once; what there is to say about it. Raises :class:`Unreadable`."""
    repeated = session.is_repeated(prompt)
    session.last_prompt = content_hash(prompt)
    if prompt.startswith(FEEDBACK):  # two reports in a row may be the same, and taking in one twice does no harm
        return _take_feedback(prompt, session, orders)
    if repeated:
        return "This prompt is known. Writing the server again."
    if is_request(prompt):
        session.requests.append(prompt)
    elif session.requests or f"`{FILE}`" not in prompt:
        raise Unreadable(f"prompt:1: expected a change request or a report on tests: {prompt.partition(chr(10))[0]!r}")
    session.api()  # what cannot be read must not be remembered
    flaw = committed(session, orders.mistakes, orders.pick)
    if flaw is not None:
        session.flaws.append(flaw)
    return f"Read {len(session.requests)} change requests."


def _take_feedback(prompt: str, session: Session, orders: Orders) -> str:
    """There is nothing to be learnt from a report for who has followed the text; whoever made mistakes may find them now."""
    summary = next(filter(None, map(_FAILED.fullmatch, prompt.split("\n"))), None)
    if orders.fix:
        session.flaws.clear()
    return f"Read a report: {summary[0] if summary else 'tests failed.'}"
