"""The mock agent: its options, that its choices can be repeated, its failures, and that each of its mistakes shows."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from actors.ports import Ports
from harnesses.harness import CallContext
from harnesses.mock import ALTERNATIVES, ExitNonzero, MockHarness, MockOptions, Scripted
from harnesses.reference_agent.mistakes import EDITS, Mistake, committed, flawed_files
from harnesses.reference_agent.orders import VARIABLE
from harnesses.registry import make_harness
from stamina.config.model import AgentConfig
from stamina.errors import InputError
from tests.harnesses.agent_lab import (
    FEEDBACK,
    NOTHING,
    OPENING,
    Agent,
    Client,
    dog_action,
    request,
    serving_files,
    session_after,
)
from tests.waiting import SECONDS


def orders(options: MockOptions, turn: int = 1, attempt: int = 0, call: int = 0, session: str | None = "abc") -> list[dict[str, Any]]:
    context = CallContext(turn, attempt, call, "prompt", session, PurePosixPath("/w"), PurePosixPath("/h"))
    alternatives: list[dict[str, Any]] = json.loads(MockHarness(options).command(context).env[VARIABLE])
    return alternatives


# ---------------------------------------------------------------- options


def test_options_come_from_the_sweep_file() -> None:
    """The keys of an [[agent]] become options; the mock runs no model."""
    keys = {"seed": 7, "mistake_chance": 0.5, "mistakes": ["null-accepted"], "exit_nonzero": {"turn": 2, "times": 3}, "quit_turn": 9}
    harness = make_harness(AgentConfig("mock", options=keys))
    assert isinstance(harness, MockHarness)
    assert harness.options == MockOptions(seed=7, mistake_chance=0.5, mistakes=(Mistake.NULL_ACCEPTED,), exit_nonzero=ExitNonzero(turn=2, times=3), quit_turn=9)
    assert (harness.name, harness.uses_model) == ("mock", False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mistake_chance": 1.5}, "mistake_chance"),
        ({"mistakes": ["null-acepted"]}, 'did you mean "null-accepted"'),
        ({"kill_itself": {"turn": -1}}, "kill_itself.turn"),
        ({"hang": {"times": 1}}, "missing"),
        ({"wrong": 1}, "unknown key"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    """The message names the key and what was expected."""
    with pytest.raises(InputError, match=message):
        make_harness(AgentConfig("mock", options=options))


# ---------------------------------------------------------------- choices


def test_choices_can_be_repeated() -> None:
    """The same options, session and turn give the same orders; another seed, session or turn gives others."""
    options = MockOptions(mistake_chance=1)
    assert orders(options) == orders(options)
    others = [orders(MockOptions(mistake_chance=1, seed=1)), orders(options, session="abd"), orders(options, turn=2)]
    assert all(other != orders(options) for other in others)


def test_a_repeated_call_makes_the_same_of_the_work() -> None:
    """An infra repetition may fail otherwise, but its mistakes are the same."""
    options = MockOptions(mistake_chance=1, crash_chance=0.5)
    calls = [orders(options, call=call)[0] for call in range(20)]
    assert len({call.pop("failure") for call in calls}) == 2
    assert calls.count(calls[0]) == len(calls)


def test_a_first_call_leaves_the_choice_to_the_session() -> None:
    """Scenarios do not all begin alike, although the adapter knows nothing of them yet."""
    alternatives = orders(MockOptions(mistake_chance=0.5), turn=0, session=None)
    assert len(alternatives) == ALTERNATIVES
    assert 10 < sum(bool(each["mistakes"]) for each in alternatives) < 54


def test_chances_of_0_and_1_are_certain() -> None:
    """Mistakes come at first attempts alone."""
    never, always = MockOptions(mistake_chance=0, fix_chance=0), MockOptions(mistake_chance=1, fix_chance=1, hang_chance=1)
    for turn in range(20):
        assert (orders(never, turn)[0]["mistakes"], orders(never, turn)[0]["fix"], orders(never, turn)[0]["failure"]) == ([], False, "")
        assert sorted(orders(always, turn)[0]["mistakes"]) == sorted(kind.value for kind in Mistake)
        assert (orders(always, turn, 1)[0]["mistakes"], orders(always, turn, 1)[0]["fix"], orders(always, turn)[0]["failure"]) == ([], True, "hang")


@pytest.mark.parametrize(
    ("option", "failure"),
    [("exit_nonzero", "exit"), ("kill_itself", "kill"), ("hang", "hang"), ("no_final_event", "silent")],
)
def test_scripted_failures_strike_the_first_calls_of_their_turn(option: str, failure: str) -> None:
    """And no others."""
    script = (ExitNonzero if option == "exit_nonzero" else Scripted)(turn=3, times=2)
    options = MockOptions(**{option: script})
    struck = [(turn, attempt, call) for turn in (2, 3, 4) for attempt in (0, 1) for call in range(4) if orders(options, turn, attempt, call)[0]["failure"]]
    assert struck == [(3, 0, 0), (3, 0, 1)]
    assert orders(options, 3)[0]["failure"] == failure


# ---------------------------------------------------------------- failures of the process


@pytest.mark.parametrize(
    ("failure", "code"),
    [({"failure": "crash"}, -signal.SIGSEGV), ({"failure": "kill"}, -signal.SIGKILL), ({"failure": "exit", "status": 7}, 7), ({"failure": "silent"}, 0)],
)
def test_a_failing_call_shows_no_final_event(tmp_path: Path, failure: dict[str, Any], code: int) -> None:
    """Each failure is one of the process, and none claims to be done."""
    done = Agent.at(tmp_path).call(OPENING, **failure)
    assert (done.returncode, "done" in done.stdout) == (code, False)


def test_a_hanging_call_hangs(tmp_path: Path) -> None:
    """It has begun to work, says so, and goes on until it is ended."""
    agent = Agent.at(tmp_path)
    (tmp_path / "prompt").write_text(OPENING)
    with (tmp_path / "prompt").open() as prompt:
        process = subprocess.Popen(
            [sys.executable, "-I", str(agent.home / "agent.pyz")],
            stdin=prompt,
            stdout=subprocess.PIPE,
            cwd=agent.workspace,
            env={"HOME": str(agent.home), VARIABLE: '[{"failure": "hang"}]'},
        )
    assert process.stdout is not None
    with process.stdout:
        assert b"session" in process.stdout.readline()
        assert b"Read 0" in process.stdout.readline()
        assert process.poll() is None
        process.kill()
        process.wait()


def test_an_idle_call_claims_to_be_done(tmp_path: Path) -> None:
    """It completes, and the server is what it was."""
    agent = Agent.at(tmp_path)
    agent.call(OPENING)
    before = agent.files()
    assert "done" in agent.call(request('Delete field "born" of entity "Dog"'), idle=True).stdout
    assert agent.files() == before


def test_a_mistake_stays_until_feedback_fixes_it(tmp_path: Path) -> None:
    """Through later turns, and through feedback that does not help; a repeated call does not make it twice."""
    agent = Agent.at(tmp_path)
    agent.call(OPENING)
    right = agent.files()
    for prompt, order in ((NOTHING, {"mistakes": ["analytics-rounded"]}), (NOTHING, {"mistakes": ["cascade-missed"]}), (FEEDBACK, {"fix": False})):
        assert agent.call(prompt, **order).returncode == 0
        assert "//" in agent.files()["server.py"]
        assert "incoming[1:]" not in agent.files()["server.py"]
    agent.call(FEEDBACK, fix=True)
    assert agent.files() == right


def test_a_mistake_without_its_target_is_gone() -> None:
    """What was forgotten is remembered once something later needs it; a mistake about a field goes with the field."""
    session = session_after(request('Add to entity "Dog" the field "score": integer, required, non-nullable'))
    flaws = [committed(session, [Mistake.CHANGE_FORGOTTEN], 0), committed(session, [Mistake.REQUIRED_IGNORED], 2)]
    session.flaws = [flaw for flaw in flaws if flaw is not None]
    assert [flaw.target for flaw in session.flaws] == [["1", "0"], ["Dog", "score"]]
    session.requests.append(request('Delete field "score" of entity "Dog"'))
    flawed_files(session)
    assert session.flaws == []


# ---------------------------------------------------------------- mistakes

Shows = Callable[[Client], bool]

RENAMES = (
    'Rename entity "UserProfile" to "Person":\n- /userprofile becomes /person\n'
    "- GET /analytics/userprofile/balance/max becomes GET /analytics/person/balance/max\n- All else stays.",
    'Rename field "legs" of entity "Dog" to "paws":\n- All else stays.',
)
ACT = dog_action(["this.age >= 2"], ["increment this.age by 1"])


def _dog(client: Client, **fields: Any) -> Any:
    client("POST", "/reset")
    client.dog("p")
    return client("POST", "/dog", {"id": "d", "name": "Rex", "parent": "p"} | fields)[1]


def _status(client: Client, **fields: Any) -> int:
    client("POST", "/reset")
    return client("POST", "/dog", {"id": "d", "name": "Rex"} | fields)[0]


def _cascade(client: Client) -> bool:
    client.make("/person", "u", email="a@b.c")
    _dog(client, owner=None)
    client.make("/person", "u2", email="a@b.c")
    client("PATCH", "/dog/d", {"owner": "u2"})
    client("DELETE", "/person/u2")
    return bool(client.get("/dog/d")["owner"] == "u2")


def _average(client: Client) -> bool:
    _dog(client, age=1)
    client("PATCH", "/dog/p", {"age": 2})
    return bool(client.get("/analytics/dog/age/avg") != {"result": 1.5})


def _patch(client: Client, **fields: Any) -> Any:
    _dog(client, age=9, good=False)
    client("PATCH", "/dog/d", fields)
    return client.get("/dog/d")


def _acted(client: Client, **fields: Any) -> tuple[int, Any]:
    _dog(client, **fields)
    return client("POST", "/dog/d/act")


SHOWS: dict[Mistake, tuple[int, Shows]] = {
    Mistake.NULL_ACCEPTED: (1, lambda client: _status(client, name=None) == 201),
    Mistake.BOUND_OFF_BY_ONE: (3, lambda client: _status(client, age=31) == 201),
    Mistake.DEFAULT_IGNORED: (0, lambda client: _dog(client)["nickname"] is None),
    Mistake.REQUIRED_IGNORED: (1, lambda client: client("POST", "/dog", {"id": "d"})[0] == 201),
    Mistake.ENUM_VALUE_MISSING: (0, lambda client: _status(client, phase="old") == 400),
    Mistake.CONDITION_DROPPED: (2, lambda client: _acted(client, age=0)[0] == 200),
    Mistake.EFFECT_DROPPED: (2, lambda client: _acted(client, age=5)[1]["age"] == 5),
    Mistake.ANALYTICS_MISSING: (1, lambda client: client("GET", "/analytics/dog/age/avg")[0] == 404),
    Mistake.OLD_PATH_KEPT: (0, lambda client: client("GET", "/userprofile")[0] == 200),
    Mistake.OLD_FIELD_KEPT: (0, lambda client: "legs" in client("POST", "/dog", {"id": "d", "name": "Rex"})[1]),
    Mistake.CHANGE_FORGOTTEN: (2, lambda client: client("POST", "/dog/d/act")[0] == 404 and _acted(client)[0] == 404),
    Mistake.CASCADE_MISSED: (0, _cascade),
    Mistake.ANALYTICS_ROUNDED: (0, _average),
    Mistake.BOOLEANS_ARE_NUMBERS: (0, lambda client: (_status(client, age=True), _status(client, weight=True)) == (201, 201)),
    Mistake.CALENDAR_IGNORED: (0, lambda client: _status(client, born="2023-02-29 00:00:00") == 201),
    Mistake.PATCH_HALF_DONE: (0, lambda client: _patch(client, age=8, good="no")["age"] == 8),
    Mistake.PATCH_FILLS_DEFAULTS: (0, lambda client: _patch(client, age=8)["good"] is True),
    Mistake.CONFLICT_IS_BAD_INPUT: (0, lambda client: _acted(client, age=0)[0] == 400),
}
"""The pick that leads to the target wanted, and how the mistake shows."""


@pytest.mark.parametrize("kind", SHOWS)
def test_each_mistake_shows(kind: Mistake) -> None:
    """It is not there in the server that is right, and can be seen over HTTP in the other."""
    pick, shows = SHOWS[kind]
    session = session_after(request(*RENAMES, ACT))
    with serving_files(flawed_files(session)) as client:
        assert not shows(client)
    flaw = committed(session, [kind], pick)
    assert flaw is not None
    session.flaws.append(flaw)
    with serving_files(flawed_files(session)) as client:
        assert shows(client)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[Mistake], tuple[subprocess.Popen[bytes], Client]]]:
    processes, stack, ports = [], ExitStack(), Ports()

    def start(kind: Mistake) -> tuple[subprocess.Popen[bytes], Client]:
        agent = Agent.at(tmp_path)
        agent.call(OPENING, mistakes=[kind.value])
        port = stack.enter_context(ports.one())
        processes.append(subprocess.Popen(["bash", "run_server.sh", str(port)], cwd=agent.workspace, stderr=subprocess.DEVNULL))
        return processes[-1], Client(port)

    with stack:
        yield start
        for process in processes:
            process.kill()
            process.wait()


def test_a_server_that_does_not_start(started: Callable[[Mistake], tuple[subprocess.Popen[bytes], Client]]) -> None:
    """Its script ends with an error."""
    process, _ = started(Mistake.SERVER_DOES_NOT_START)
    assert process.wait(timeout=SECONDS) != 0


def test_a_server_that_crashes(started: Callable[[Mistake], tuple[subprocess.Popen[bytes], Client]]) -> None:
    """It serves until it is sent what it cannot bear."""
    process, client = started(Mistake.SERVER_CRASHES)
    while True:
        try:
            client.dog()
            break
        except ConnectionRefusedError:
            assert process.poll() is None
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        client("POST", "/dog", [])
    assert process.wait(timeout=SECONDS) == 1


@pytest.mark.parametrize("edit", [edit for edits in EDITS.values() for edit in edits], ids=lambda edit: edit[1][:30])
def test_each_edit_finds_its_place(edit: tuple[str, str, str]) -> None:
    """The right text stands in the right program exactly once."""
    name, right, wrong = edit
    assert flawed_files(session_after())[name].count(right) == 1
    assert right != wrong


def test_all_kinds_are_tested() -> None:
    """No kind of mistake is without a test above."""
    assert {*SHOWS, Mistake.SERVER_CRASHES, Mistake.SERVER_DOES_NOT_START} == set(Mistake)


def test_mistakes_that_cannot_be_made_are_passed_over() -> None:
    """Without a rename, no old path can be kept: the next kind is made instead, or none."""
    session = session_after()
    assert committed(session, [Mistake.OLD_PATH_KEPT], 0) is None
    flaw = committed(session, [Mistake.OLD_PATH_KEPT, Mistake.CASCADE_MISSED], 0)
    assert flaw is not None
    assert flaw.kind == Mistake.CASCADE_MISSED
