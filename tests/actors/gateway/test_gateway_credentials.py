"""How Anthropic is shown who asks: the conventions of its SDK, played by the SDK itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CONFIG_DIR"):
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
