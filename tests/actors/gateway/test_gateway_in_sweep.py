"""A scenario that plays through the gateway: its calls' requests, its money, and what the gateway knows of how a call ended."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import attrs
import httpx
import pytest
import trio

from actors.agent import ModelSeen, judge
from actors.gateway.desk import USUAL_OUTPUT
from actors.gateway.gateway import Options, gateway
from actors.gateway.joining import restore_spending, seating, writing
from actors.sandbox import CallLimits, Health
from actors.scenario import open_end
from harnesses.harness import CallContext, CallEnd, CallReport
from scenario_store.usage import ASKED, NAME, append_begun, append_request, lost_requests, mend, read_requests, settle
from stamina.config.model import AgentConfig, Budget, Cell, ModelConfig, Provider, Settings, Work
from stamina.errors import InputError
from stamina.outcome import Cause
from stamina.turns import CallCompleted, CallExpired, CallFailed
from stamina.usage import Begun, How, ModelRequest, Usage
from tests.actors.fakes import folder_of
from tests.actors.gateway.stub import ENVIRONMENT, PRICE, Stub, whole

FINE = Health(None, 1 << 40, 1 << 20, 0)
REQUEST = ModelRequest(1, 0, 2, 3, "chat", "m", How.ANSWERED, 200, Usage(10, 5, 4, 0, 1, {"x": [1]}), 1.5, 2.5, detail="täst\ud800")


async def test_a_scenarios_requests_land_in_its_folder_and_count_on(tmp_path: Path) -> None:
    """A new run of it goes on with the numbers; the access that its agent gets works."""
    stub = Stub(lambda request, n: whole({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}))
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, stub.serve, 0, host="127.0.0.1"))
        base = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        model = ModelConfig("m", Provider.OPENAI, "real", 9000, base, price=PRICE)
        work = Work(Cell("toy", AgentConfig("toy", model="m"), model, Settings()), 1, 0)
        folder = folder_of(work, tmp_path)
        options = Options({"m": model}, Budget(sweep_usd=1), write=writing(lambda caller: folder.path), environment=ENVIRONMENT)
        async with gateway(options) as gate, httpx.AsyncClient(timeout=None) as client:
            seats = seating(gate, gate.bind())
            for turn in (0, 1):
                with seats(work, folder) as seated:
                    assert seated is not None
                    seated.seat.begin(turn, 0, 0)
                    headers = {"x-api-key": seated.access.token}
                    body = {"model": seated.access.model, "messages": []}
                    await client.post(f"{seated.access.base_url}/v1/chat/completions", json=body, headers=headers)
                    assert seated.seen() == ModelSeen(1, None, silent=False)
            spent = gate.money.ledger.spent()
        nursery.cancel_scope.cancel()
    kept = list(read_requests(folder.path))
    assert [(request.number, request.turn, request.usage) for request in kept] == [(0, 0, Usage(7, 3)), (1, 1, Usage(7, 3))]
    assert spent == 2 * (7 * 1_000_000 + 3 * 2_000_000)

    class OneRun:
        def scenarios(self) -> tuple[object, ...]:
            return (folder,)

    async with gateway(options) as later:
        restore_spending(later, OneRun(), [model])  # type: ignore[arg-type]
        assert later.money.ledger.spent() == spent


def test_records_survive_a_torn_end(tmp_path: Path) -> None:
    """What is whole is read; what is torn is cut off before more is written; a damaged middle is told."""
    append_request(tmp_path, REQUEST)
    whole_size = (tmp_path / NAME).stat().st_size
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"turn":')
    (kept,) = read_requests(tmp_path)
    assert attrs.evolve(kept, detail="") == attrs.evolve(REQUEST, detail="")
    assert kept.usage is not None
    assert kept.usage.raw == {"x": [1]}
    mend(tmp_path)
    assert (tmp_path / NAME).stat().st_size == whole_size
    (tmp_path / NAME).write_bytes(b"nonsense\n" + json.dumps({}).encode() + b"\n")
    with pytest.raises(InputError, match="line 1"):
        list(read_requests(tmp_path))


def test_what_was_under_way_at_a_kill_is_settled_once(tmp_path: Path) -> None:
    """With unknown usage, behind what ended; twice is once; a run without such a file is as it was."""
    begun = [Begun(1, 0, 0, number, "chat", "m", 5.0, 400) for number in range(3)]
    for each in begun:
        append_begun(tmp_path, each)
    append_request(tmp_path, begun[1].ended(How.ANSWERED, 200, Usage(10, 5), 1.0))
    with (tmp_path / ASKED).open("ab") as file:
        file.write(b'{"turn":')
    assert [request.number for request in lost_requests(tmp_path)] == [0, 2]
    for _ in range(2):
        settle(tmp_path)
        assert [(request.number, request.usage) for request in read_requests(tmp_path)] == [(1, Usage(10, 5)), (0, None), (2, None)]
        assert not (tmp_path / ASKED).exists()


async def test_what_may_have_been_spent_at_a_kill_is_not_given_out_again(tmp_path: Path) -> None:
    """The request's bytes, and an answer of the usual length."""
    model = ModelConfig("m", Provider.OPENAI, "real", 9000, "http://127.0.0.1:9/v1", price=PRICE)
    work = Work(Cell("toy", AgentConfig("toy", model="m"), model, Settings()), 1, 0)
    folder = folder_of(work, tmp_path)
    append_begun(folder.path, Begun(0, 0, 0, 0, "chat", "m", 5.0, 400))

    class OneRun:
        def scenarios(self) -> tuple[object, ...]:
            return (folder,)

    async with gateway(Options({"m": model}, Budget(sweep_usd=1), environment=ENVIRONMENT)) as gate:
        restore_spending(gate, OneRun(), [model])  # type: ignore[arg-type]
        assert gate.money.ledger.spent() == 100 * 1_000_000 + USUAL_OUTPUT * 2_000_000


CONTEXT = CallContext(0, 0, 0, "p", None, *(Path("/w"), Path("/h")))  # type: ignore[arg-type]
DONE = CallReport(True, None, "done", "s")
BROKEN = CallReport(False, None, "exit code 1", None)


@pytest.mark.parametrize(
    ("report", "expired", "seen", "kind", "cause"),
    [
        (DONE, None, ModelSeen(3), CallCompleted, None),
        (DONE, None, ModelSeen(0), CallFailed, Cause.HARNESS),
        (DONE, None, ModelSeen(0, "status 500"), CallFailed, Cause.PROVIDER),
        (DONE, None, None, CallCompleted, None),
        (BROKEN, None, ModelSeen(3, "status 500"), CallFailed, Cause.PROVIDER),
        (BROKEN, None, ModelSeen(3), CallFailed, Cause.HARNESS),
        (BROKEN, "wall", ModelSeen(3, silent=True), CallExpired, Cause.PROVIDER),
        (BROKEN, "wall", ModelSeen(3), CallExpired, Cause.AGENT),
    ],
)
def test_the_gateway_knows_whose_fault_a_calls_end_is(
    report: CallReport, expired: str | None, seen: ModelSeen | None, kind: type[object], cause: Cause | None, tmp_path: Path
) -> None:
    """A call that completed without one answer of its model is none (contract T4)."""
    event = judge(CONTEXT, CallEnd(0, None, 1.0, expired, tmp_path, tmp_path), report, FINE, seen)
    assert type(event) is kind
    assert getattr(event, "cause", None) is cause


def test_held_time_is_given_back() -> None:
    """A call's clock stands still while the gateway keeps it waiting."""
    held = [0.0]
    limits = CallLimits(10.0, held=lambda: held[0])
    assert (limits.left(4.0), CallLimits(10.0).left(4.0)) == (6.0, 6.0)
    held[0] = 5.0
    assert limits.left(12.0) == 3.0
    assert open_end() is None
