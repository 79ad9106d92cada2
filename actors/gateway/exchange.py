"""One request of an agent, from its bytes to the end of its answer: the heart of the gateway.

It is made the model's, money is set aside, it waits its turn, is asked (again, where the provider failed before its answer began), and what comes is handed
on as it comes, read on the side. However it ends, it is settled and written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import trio

from actors.gateway.bodies import Prepared, UnknownCoding, UnknownModel, plain, prepare
from actors.gateway.desk import Desk
from actors.gateway.dialects import Route, error_end
from actors.gateway.events import Whole
from actors.gateway.gate import Pass
from actors.gateway.http_client import NotConnected
from actors.gateway.interfaces import (
    CredentialsFailed,
    ExchangeEnd,
    Headers,
    Operation,
    Recording,
    ReplayMissed,
    UpstreamFailed,
    UpstreamRequest,
    UpstreamResponse,
)
from actors.gateway.judging import PATIENCE, PAUSE, TRIES, Failed, PassOn, Refusal, Verdict, judge
from actors.gateway.outage import Kind
from actors.gateway.readers import StreamReader, message_of, parsed, usage_in
from actors.gateway.replying import HungUp, Reply
from actors.gateway.requests import SIZES, HttpRequest
from actors.gateway.seats import Seat
from actors.gateway.targets import meaningful, target
from stamina.usage import Begun, How, Usage

WHOLE_BYTES: Final = 64 * 1024 * 1024
"""The largest answer that is taken whole."""

LONGEST_DETAIL: Final = 1000
"""Characters of what is written down of an end."""

CLOSING: Final = 5.0
"""Seconds in which an agent may take the end of a stream."""

OWN_OUTAGES: Final = 2
"""After so many outages that began with one request, and that the answer to another ended, a refusal is that request's own: some providers refuse what is in
it with a status that else speaks of keys, and it would stop everybody again and again."""

NOTHING: Final = Usage(0, 0)
"""What a request used that the provider did not work on."""


@attrs.define
class End:
    """How the exchange ends, as far as it is known; ``usage`` is None when the provider may have worked on it, and nobody knows how much."""

    how: How = How.ABANDONED
    detail: str = "the agent hung up, or was ended"
    usage: Usage | None = None


@attrs.define(eq=False)
class Exchange:
    """See the module.

    Attributes:
        tries: how often the request was sent.
        outages: how many outages began with it; others were answered in between.
        lost: how many answers that were not streamed were cut off, and asked for again: what they used is not known, and so neither is the whole.
        answering: the agent has been told a status.
    """

    desk: Desk
    seat: Seat
    route: Route
    request: HttpRequest
    reply: Reply
    begun: Begun = attrs.field(init=False)
    end: End = attrs.field(factory=lambda: End(usage=NOTHING))
    tries: int = 0
    refusals: int = 0
    outages: int = 0
    lost: int = 0
    held: float = 0.0
    started: float = attrs.field(factory=trio.current_time)
    first_byte: float | None = None
    recording: Recording | None = None

    def __attrs_post_init__(self) -> None:
        at, number = self.seat.caller, self.seat.take_number()
        protocol, model = self.route.protocol.value, self.desk.model.name
        self.begun = Begun(at.turn, at.attempt, at.call, number, protocol, model, self.desk.clock(), len(self.request.body))

    @property
    def number(self) -> int:
        """It counts the scenario's requests."""
        return self.begun.number

    async def run(self) -> None:
        """To its end. Raises HungUp when the agent is gone."""
        try:
            await self._run()
        finally:
            self._write_down()

    async def _run(self) -> None:
        try:
            body = plain(self.request.body, self.request.header("content-encoding"), SIZES.body)
            prepared = prepare(self.route, body, self.desk.model, names=self.seat.names)
        except UnknownModel as error:
            return await self._refuse(404, str(error))
        except UnknownCoding as error:
            return await self._refuse(415, str(error))
        except (ValueError, RecursionError) as error:
            return await self._refuse(400, f"the request's body cannot be used: {error}")
        caller = self.seat.caller
        amount = self.desk.worst_cost(prepared) if self.route.operation is Operation.GENERATE else 0
        with self._holding():
            reason = await self.desk.money.reserve(caller, amount)
        if reason is not None:
            self.seat.exhaust(reason)
            return await self._refuse(402, f"the budget is spent: {reason}")
        try:
            await self._ask(prepared)
        finally:
            usage = self.end.usage
            spent = amount if usage is None else self.desk.list_cost(usage)
            self.desk.money.settle(caller, amount, amount * self.lost + spent)

    async def _refuse(self, status: int, message: str) -> None:
        self.end = End(How.REFUSED, message, NOTHING)
        await self.reply.error(self.route.protocol, status, message)

    async def _ask(self, prepared: Prepared) -> None:
        """Ask until there is an answer for the agent."""
        asked = self._upstream_request(prepared)
        self.recording = self.desk.recorder.begin(asked) if self.desk.recorder is not None else None
        tokens = self.desk.tokens(prepared)
        while True:
            with self._holding():
                turn = await self.desk.gate.enter(self.seat.caller.scenario, tokens)
            try:
                pause = await self._try(asked, prepared, turn)
            finally:
                used = self.end.usage
                turn.close(None if used is None else used.input + used.output)
            if pause is None:
                return
            with self._holding():
                await trio.sleep(pause)

    async def _try(self, asked: UpstreamRequest, prepared: Prepared, turn: Pass) -> float | None:
        """Ask once. Seconds until it is to be asked again, None when the agent has its answer."""
        self.tries += 1
        self.end = End()
        self.seat.asked(self.number)
        if self.tries == 1 and self.route.operation is Operation.GENERATE and not self.desk.recorded:
            self.desk.begin(self.seat.caller, self.begun)
        idle = self.desk.idle(prepared)
        try:
            with trio.move_on_after(idle) as patience:
                async with self.desk.upstream.open(asked) as answer:
                    self.first_byte = trio.current_time() - self.started
                    return await self._answered(answer, prepared, turn, patience)
        except ReplayMissed as miss:
            self.seat.miss(str(miss))
            await self._give_up(How.PROVIDER, 502, str(miss))
            return None
        except UpstreamFailed as failure:
            return await self._failed(Failed(_kind(failure), self.desk.redactor.text(str(failure))), turn, None)
        reason = f"the provider sent nothing for {idle:g} s"
        if not self.desk.recorded:
            turn.failed(Kind.STATUS, reason)
        if self.reply.status is None:
            await self._give_up(How.SILENT, 504, reason)
        return None

    async def _answered(self, answer: UpstreamResponse, prepared: Prepared, turn: Pass, patience: trio.CancelScope) -> float | None:
        """An answer began: hand it on, or say when to ask again. Raises UpstreamFailed while the agent knows of nothing."""
        self.seat.heard(self.number)
        if answer.status < 300 and prepared.stream and _content_type(answer.headers) == "text/event-stream":
            turn.answered()
            self._note_head(answer)
            await self._relay(answer, prepared, patience)
            return None
        try:
            body = await self._read_whole(answer, patience)
        except UpstreamFailed:
            self.lost += answer.status < 300 and self.route.operation is Operation.GENERATE
            raise
        verdict = self._judged(answer, body)
        if isinstance(verdict, PassOn) and parsed(body) is None:
            kind = _content_type(answer.headers) or "nothing readable"
            verdict = Failed(Kind.STATUS, f"the provider answered with {kind} instead of JSON (status {answer.status})")
        if isinstance(verdict, PassOn):
            turn.answered()
            await self._pass_on(answer, body)
            return None
        return await self._failed(verdict, turn, (answer, body))

    def _judged(self, answer: UpstreamResponse, body: bytes) -> Verdict:
        """Without secrets that the provider repeated; they are taken out before what it said is cut."""
        if answer.status < 300:
            return judge(answer.status, answer.headers, body, self.refusals)
        headers = tuple((name, self.desk.redactor.text(value)) for name, value in answer.headers)
        return judge(answer.status, headers, self.desk.redactor.data(body), self.refusals)

    async def _failed(self, verdict: Verdict, turn: Pass, answer: tuple[UpstreamResponse, bytes] | None) -> float | None:
        """Ask again, or tell the agent."""
        if self.desk.recorded:
            reason = verdict.reason if isinstance(verdict, Failed) else "too many requests (status 429)"
            await self._tell_failure(reason, answer)
            return None
        if isinstance(verdict, Refusal):
            turn.refused(verdict.seconds)
            self.refusals += 1
            if self.held + verdict.seconds <= PATIENCE:
                return self._again(0.0)
            verdict = Failed(Kind.STATUS, "the provider refuses for too long: too many requests (status 429)")
        assert isinstance(verdict, Failed)
        if verdict.kind is Kind.CREDENTIALS and self.outages >= OWN_OUTAGES:
            await self._tell_failure(verdict.reason, answer)
            return None
        self.outages += turn.failed(verdict.kind, verdict.reason)
        if self.desk.gate.down is not None:
            return self._again(0.0)
        if self.tries < TRIES:
            return self._again(float(PAUSE * 2 ** (self.tries - 1)))
        await self._tell_failure(verdict.reason, answer)
        return None

    async def _tell_failure(self, reason: str, answer: tuple[UpstreamResponse, bytes] | None) -> None:
        """The provider's failure, in its own words where they are readable."""
        if answer is None or answer[0].status < 400 or parsed(answer[1]) is None:
            await self._give_up(How.PROVIDER, 502, reason)
        else:
            await self._pass_on(*answer, failure=reason)

    def _again(self, pause: float) -> float:
        """It is asked again: the provider did nothing for it yet."""
        self.end = End(usage=NOTHING)
        return pause

    async def _give_up(self, how: How, status: int, reason: str) -> None:
        """The provider's failure, in the agent's protocol."""
        self.end = End(how, reason, None if how is How.SILENT else NOTHING)
        await self.reply.error(self.route.protocol, status, reason)

    async def _read_whole(self, answer: UpstreamResponse, patience: trio.CancelScope) -> bytes:
        pieces, size = [], 0
        while piece := await answer.receive():
            self._heard(patience)
            pieces.append(piece)
            size += len(piece)
            if size > WHOLE_BYTES:
                raise UpstreamFailed(f"the provider's answer is larger than {WHOLE_BYTES >> 20} MiB")
        return b"".join(pieces)

    async def _pass_on(self, answer: UpstreamResponse, body: bytes, failure: str | None = None) -> None:
        """A whole answer, for the agent."""
        self._note_head(answer)
        if self.recording is not None:
            self.recording.received(body)
        body = self.desk.redactor.data(body)
        if answer.status >= 400:
            detail = failure or f"status {answer.status}: {message_of(parsed(body))}"
            self.end = End(How.REJECTED if failure is None else How.PROVIDER, detail, NOTHING)
        else:
            counted = self.route.operation is Operation.COUNT_TOKENS
            self.end = End(How.ANSWERED, "", NOTHING if counted else usage_in(self.route.protocol, body))
        await self.reply.whole(answer.status, self._for_agent(answer.headers), body)

    async def _relay(self, answer: UpstreamResponse, prepared: Prepared, patience: trio.CancelScope) -> None:
        """A stream, for the agent: whole events, and always a proper end."""
        reader = StreamReader(self.route.protocol, strip=prepared.strip)
        self.end = End()
        try:
            await self.reply.begin(answer.status, self._for_agent(answer.headers))
            await self._relay_events(answer, reader, patience)
        except UpstreamFailed as failure:
            self.end = End(How.PROVIDER, self.desk.redactor.text(str(failure)))
        except HungUp:
            self._note_finished(reader)
            raise
        except trio.Cancelled:
            if patience.cancel_called:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSING):
                    reason = f"the provider sent nothing for {self.desk.idle(prepared):g} s"
                    await self._end_stream(reader, _end_of(reader) if reader.finished else End(How.SILENT, reason))
            else:
                self._note_finished(reader)
            raise
        else:
            self.end = _end_of(reader)
        await self._end_stream(reader, self.end)

    def _note_finished(self, reader: StreamReader) -> None:
        """The agent is gone. Many clients go as soon as the last event is there, and do not wait for the end of the body: they have their answer."""
        if reader.finished:
            self.end = _end_of(reader)

    async def _relay_events(self, answer: UpstreamResponse, reader: StreamReader, patience: trio.CancelScope) -> None:
        whole, recording = Whole(), self.recording
        while piece := await answer.receive():
            self._heard(patience)
            if recording is not None:
                recording.received(piece)
            events = whole.feed(piece)
            # Before it is read: what is said of it later is cut, and half a secret is not found.
            shown = reader.feed(self.desk.redactor.data(events)) if events else b""
            if shown and (rest := self.reply.piece_now(shown)):
                # What the agent does not take is no silence of the provider.
                patience.deadline = float("inf")
                await self.reply.rest(rest)
                patience.deadline = trio.current_time() + self.desk.model.model_idle_seconds
        if whole.rest.strip() and (shown := reader.feed(self.desk.redactor.data(whole.rest + b"\n\n"))) and reader.finished:
            await self.reply.piece(shown)

    async def _end_stream(self, reader: StreamReader, end: End) -> None:
        self.end = end
        if end.how in (How.PROVIDER, How.SILENT) and not reader.finished:
            await self.reply.piece(error_end(self.route.protocol, 504 if end.how is How.SILENT else 502, end.detail))
        await self.reply.end()

    def _heard(self, patience: trio.CancelScope) -> None:
        """The provider sent something: its time starts anew. Moving a deadline costs, so it is moved in steps of a quarter."""
        self.seat.heard(self.number)
        idle, now = self.desk.model.model_idle_seconds, trio.current_time()
        if patience.deadline - now < idle * 0.75:
            patience.deadline = now + idle

    def _for_agent(self, headers: Headers) -> Headers:
        """Headers that mean something to a client; cookies and a provider's own limits are not the agent's business."""
        return tuple((name, self.desk.redactor.text(value)) for name, value in headers if name in _SHOWN)

    def _note_head(self, answer: UpstreamResponse) -> None:
        if self.recording is not None:
            self.recording.answered(answer.status, answer.headers)

    def _upstream_request(self, prepared: Prepared) -> UpstreamRequest:
        assert self.route.operation is not None, "lists of models are not asked for upstream"
        path = target(self.route, self.request.target, self.desk.model)
        headers = meaningful(self.request.headers)
        return UpstreamRequest(
            self.seat.caller, self.number, self.desk.model, self.route.protocol, self.route.operation, path, headers, prepared.body, prepared.stream
        )

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """The gateway keeps the request waiting."""
        since = trio.current_time()
        try:
            with self.seat.holding():
                yield
        finally:
            self.held += trio.current_time() - since

    def _write_down(self) -> None:
        end, seconds = attrs.evolve(self.end, detail=self.desk.redactor.text(self.end.detail)[:LONGEST_DETAIL]), trio.current_time() - self.started
        self.seat.ended(self.number, end.how, end.detail)
        if self.recording is not None:
            self.recording.ended(ExchangeEnd(end.how, end.usage, end.detail, seconds, self.first_byte))
        usage = None if self.lost else end.usage
        ended = attrs.evolve(
            self.begun.ended(end.how, self.reply.status, usage, seconds),
            held=self.held,
            first_byte=self.first_byte,
            tries=self.tries,
            bytes_out=self.reply.sent,
            detail=end.detail,
        )
        self.desk.write(self.seat.caller, ended)


def _end_of(reader: StreamReader) -> End:
    """What a stream that came to its end without a break was."""
    if reader.error is not None:
        return End(How.PROVIDER, f"the provider ended the stream with an error: {reader.error}", reader.usage)
    if not reader.finished:
        return End(How.PROVIDER, "the provider ended the stream before the answer was whole", reader.usage)
    return End(How.ANSWERED, "", reader.usage)


def _kind(failure: UpstreamFailed) -> Kind:
    if isinstance(failure, CredentialsFailed):
        return Kind.CREDENTIALS
    return Kind.CONNECTION if isinstance(failure, NotConnected) else Kind.STATUS


def _content_type(headers: Headers) -> str:
    return dict(headers).get("content-type", "").partition(";")[0].strip().lower()


_SHOWN: Final = ("content-type", "request-id", "x-request-id", "retry-after", "retry-after-ms", "cache-control")
