"""How Anthropic is shown who asks: the conventions of its SDK, played by the SDK itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from actors.gateway.credentials import AnthropicCredentials
from actors.gateway.interfaces import CredentialsFailed
from actors.gateway.redact import SHOWN, Redactor
from stamina.config.model import ModelConfig, Provider
from tests.local_server import QuietHandler, listening

SENT = (("content-type", "application/json"), ("anthropic-beta", "mine-1"))
MODEL = ModelConfig("m", Provider.ANTHROPIC, "claude", 9000)


@pytest.fixture(autouse=True)
def _nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, and no profile of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({"ANTHROPIC_API_KEY": "sk-ant-planted"}, ("authorization", "Bearer sk-ant-planted")),
        ({"ANTHROPIC_AUTH_TOKEN": "token-planted"}, ("authorization", "Bearer token-planted")),
        ({"ANTHROPIC_API_KEY": "sk-ant-planted", "ANTHROPIC_AUTH_TOKEN": "token-planted"}, ("authorization", "Bearer sk-ant-planted")),
    ],
)
async def test_keys_and_tokens_of_the_environment(variables: dict[str, str], header: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A key goes before a token; what the agent sent stays."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    added = await AnthropicCredentials(MODEL, {}).added(SENT)
    assert set(added) == {*SENT, header}


async def test_a_variable_of_ones_own_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """To an endpoint of one's own in the older header too; and says so when it is not set."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted")
    mine = ModelConfig("m", Provider.ANTHROPIC, "claude", 9000, "https://models.example", api_key_env="MINE")
    added = await AnthropicCredentials(mine, {"MINE": "mine-planted"}).added(SENT)
    assert set(added) == {*SENT, ("authorization", "Bearer mine-planted"), ("x-api-key", "mine-planted")}
    with pytest.raises(CredentialsFailed, match="set the variable MINE, and resume the run"):
        await AnthropicCredentials(mine, {}).added(SENT)


async def test_without_any_it_says_what_to_do() -> None:
    with pytest.raises(CredentialsFailed, match="set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or sign in to a profile"):
        await AnthropicCredentials(MODEL, {}).added(SENT)


@contextmanager
def issuer() -> Iterator[tuple[str, list[bytes]]]:
    """Exchanges identities for tokens, each time another one; its address, and what it was sent."""
    asked: list[bytes] = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])))
            token = {"access_token": f"fetched-token-{len(asked)}", "token_type": "Bearer", "expires_in": 3600}
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(token).encode())

    with listening(Handler) as port:
        yield f"http://127.0.0.1:{port}", asked


async def test_a_workloads_identity_is_exchanged_kept_and_exchanged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token serves until it is refused; whoever writes learns it."""
    monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN", "identity-planted")
    monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "rule")
    monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "organization")
    redactor = Redactor()
    with issuer() as (url, asked):
        credentials = AnthropicCredentials(ModelConfig("m", Provider.ANTHROPIC, "claude", 9000, url), {}, redactor.learn)
        tokens = [dict(await credentials.added(SENT)) for _ in range(2)]
        credentials.forget()
        tokens.append(dict(await credentials.added(SENT)))
    assert [token["authorization"] for token in tokens] == [f"Bearer fetched-token-{number}" for number in (1, 1, 2)]
    assert tokens[0]["anthropic-beta"].startswith("mine-1,")
    assert json.loads(asked[0])["assertion"] == "identity-planted"
    assert redactor.text("fetched-token-1, fetched-token-2") == f"{SHOWN}, {SHOWN}"


class Profile:
    """A profile on disk, as signing in leaves it."""

    def __init__(self, home: Path, name: str = "default") -> None:
        self.root = home / ".config/anthropic"
        self.name = name

    def write(self, token: str, *, seconds: float | None = None, refresh: str | None = None, mode: int = 0o600, **config: str) -> None:
        auth = {"type": "user_oauth", **({} if refresh is None else {"client_id": "client"})}
        kept = {"access_token": token, **({} if refresh is None else {"refresh_token": refresh})}
        kept |= {} if seconds is None else {"expires_at": int(time.time() + seconds)}
        self._file("configs", {"authentication": auth, **config}, 0o644)
        self._file("credentials", kept, mode)

    def read(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.root / "credentials" / f"{self.name}.json").read_text())
        return found

    def _file(self, folder: str, content: object, mode: int) -> None:
        path = self.root / folder / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        path.chmod(mode)


async def bearer(credentials: AnthropicCredentials) -> str:
    return dict(await credentials.added(SENT))["authorization"]


async def test_a_profile_that_somebody_else_rotates_is_read_again(tmp_path: Path) -> None:
    """On this host, when the provider does not take the token any more."""
    profile, redactor = Profile(tmp_path), Redactor()
    profile.write("profile-token-1", workspace_id="wrkspc_1")
    credentials = AnthropicCredentials(MODEL, {}, redactor.learn)
    added = dict(await credentials.added(SENT))
    assert (added["authorization"], added["anthropic-workspace-id"]) == ("Bearer profile-token-1", "wrkspc_1")
    profile.write("profile-token-2")
    credentials.forget()
    assert await bearer(credentials) == "Bearer profile-token-2"
    assert redactor.text("profile-token-1 profile-token-2 wrkspc_1") == f"{SHOWN} {SHOWN} wrkspc_1"


async def test_a_profile_that_passes_in_the_middle_is_read_again_by_itself(tmp_path: Path) -> None:
    """A minute or so before its time is over."""
    profile = Profile(tmp_path)
    profile.write("profile-token-1", seconds=5)
    credentials = AnthropicCredentials(MODEL, {})
    assert await bearer(credentials) == "Bearer profile-token-1"
    profile.write("profile-token-2", seconds=3600)
    assert await bearer(credentials) == "Bearer profile-token-2"


async def test_a_profile_is_refreshed_once_for_all_that_ask_at_a_time(tmp_path: Path) -> None:
    """A token for refreshing serves once; the new ones are written back, and a token that is refused is not served again."""
    profile = Profile(tmp_path)
    with issuer() as (url, asked):
        profile.write("profile-token-0", seconds=-5, refresh="refresh-1", base_url=url)
        credentials = AnthropicCredentials(MODEL, {})
        seen: list[str] = []

        async def ask() -> None:
            seen.append(await bearer(credentials))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert (seen, len(asked)) == (["Bearer fetched-token-1"] * 20, 1)
        assert json.loads(asked[0])["refresh_token"] == "refresh-1"
        assert profile.read()["access_token"] == "fetched-token-1"
        credentials.forget()
        assert await bearer(credentials) == "Bearer fetched-token-2"
        assert await credentials.base_url() == url


async def test_the_profile_that_a_variable_names_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that another one names; headers of one's own are sent too, and are secrets."""
    home = tmp_path / "elsewhere"
    work = Profile(home, "work")
    work.write("work-token-planted", base_url="https://models.example")
    Profile(tmp_path).write("default-token")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(work.root))
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Proxy-Key: proxy-key-planted")
    redactor = Redactor()
    credentials = AnthropicCredentials(MODEL, {}, redactor.learn)
    added = dict(await credentials.added(SENT))
    assert (added["authorization"], added["x-proxy-key"]) == ("Bearer work-token-planted", "proxy-key-planted")
    assert await credentials.base_url() == "https://models.example"
    assert await AnthropicCredentials(ModelConfig("m", Provider.ANTHROPIC, "claude", 9000, "https://mine.example"), {}).base_url() == "https://mine.example"
    assert redactor.text("work-token-planted proxy-key-planted") == f"{SHOWN} {SHOWN}"


async def test_a_profile_that_cannot_be_used_says_why_and_not_what_is_in_it(tmp_path: Path) -> None:
    """Until it can: then the run goes on by itself."""
    profile = Profile(tmp_path)
    profile.write("profile-token-planted", mode=0o644)
    credentials = AnthropicCredentials(MODEL, {})
    with pytest.raises(CredentialsFailed, match=r"accessible by group or others.*chmod 600") as failed:
        await credentials.added(SENT)
    assert "planted" not in str(failed.value)
    profile.write("profile-token-planted")
    assert await bearer(credentials) == "Bearer profile-token-planted"
