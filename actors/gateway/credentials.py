"""How providers are shown who asks. Keys are looked up when they are used, kept in memory only, and never appear in an error."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast
from typing import Protocol as Interface

import attrs
import httpx
import trio

from actors.gateway.interfaces import CredentialsFailed, Headers
from stamina.config.model import ModelConfig

if TYPE_CHECKING:
    from anthropic import Anthropic

OPENAI_KEY: Final = "OPENAI_API_KEY"
GEMINI_KEYS: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

Environment: TypeAlias = Mapping[str, str]

Answered = TypeVar("Answered")

Learn: TypeAlias = Callable[[Iterable[str]], None]
"""Is told credentials that stand in no variable, so that they are kept out of all that is written. May be called in any thread."""


def untold(secrets: Iterable[str]) -> None:
    """Nobody needs to know."""


class Credentials(Interface):
    """Shows a provider who asks."""

    async def added(self, headers: Headers) -> Headers:
        """The headers of a request with what shows who asks. Raises CredentialsFailed, with what to do."""
        ...

    def forget(self) -> None:
        """They were refused: look them up afresh the next time."""
        ...


@attrs.frozen
class KeyHeader:
    """A key from the environment, in a header.

    Attributes:
        model: for messages.
        names: variables that may hold the key; with none, none is sent: an endpoint of one's own may need none.
        header, before: the header, and what stands in front of the key.
    """

    model: str
    names: tuple[str, ...]
    header: str
    before: str
    environment: Environment = attrs.field(repr=False)

    async def added(self, headers: Headers) -> Headers:
        """See :class:`Credentials`."""
        if not self.names:
            return headers
        key = next((self.environment[name] for name in self.names if self.environment.get(name)), None)
        if key is None:
            raise missing(self.model, f"set the variable {' or '.join(self.names)}")
        return (*headers, (self.header, self.before + key))

    def forget(self) -> None:
        """See :class:`Credentials`. The environment is read each time."""


def missing(model: str, remedy: str) -> CredentialsFailed:
    """The error for credentials that are not there."""
    return CredentialsFailed(f"model {model}: there are no credentials; {remedy}, and resume the run")


def openai_key(model: ModelConfig, environment: Environment) -> Credentials:
    """A bearer token: of ``api_key_env``; else OpenAI's own variable, for OpenAI's own address alone."""
    usual = (OPENAI_KEY,) if model.base_url is None else ()
    return KeyHeader(model.name, (model.api_key_env,) if model.api_key_env else usual, "authorization", "Bearer ", environment)


def gemini_key(model: ModelConfig, environment: Environment) -> Credentials:
    """Google's header: of ``api_key_env``, or of its own variables."""
    return KeyHeader(model.name, (model.api_key_env,) if model.api_key_env else GEMINI_KEYS, "x-goog-api-key", "", environment)


class AnthropicCredentials:
    """The conventions of Anthropic's SDK: a key, a token, a profile or a workload identity, refreshed by the SDK itself, in worker threads."""

    def __init__(self, model: ModelConfig, environment: Environment, learn: Learn = untold) -> None:
        self._model = model
        self._environment = environment
        self._learn = learn
        self._client: Anthropic | None = None
        self._making = threading.Lock()

    async def added(self, headers: Headers) -> Headers:
        """See :class:`Credentials`."""
        return await trio.to_thread.run_sync(self._asked, lambda client: self._signed(client, headers))

    async def base_url(self) -> str:
        """Where the provider is: as the sweep says, else a variable, else the profile. Raises CredentialsFailed."""
        return await trio.to_thread.run_sync(self._asked, lambda client: str(client.base_url).rstrip("/"))

    def forget(self) -> None:
        """See :class:`Credentials`. The SDK's client is kept where it holds a token that can be had anew: another client would ask for it a second time, and
        tokens for refreshing serve once.
        """
        cache = getattr(self._client, "_token_cache", None)
        if cache is None:
            self._client = None
        else:
            cache.invalidate()

    def _asked(self, ask: Callable[[Anthropic], Answered]) -> Answered:
        import anthropic  # seconds of start-up that only those pay who use it

        try:
            with self._making:
                client = self._client = self._client or self._made(anthropic.Anthropic)
            return ask(client)
        except CredentialsFailed:
            raise
        except anthropic.AnthropicError as error:
            said = " ".join(str(error).split())[:300]
            raise CredentialsFailed(f"model {self._model.name}: the credentials cannot be used: {said} ({_REMEDY})") from error
        except (OSError, ValueError, TypeError) as error:
            raise CredentialsFailed(f"model {self._model.name}: the credentials cannot be used ({type(error).__name__}); {_REMEDY}") from error

    def _made(self, make: type[Anthropic]) -> Anthropic:
        key = None
        if self._model.api_key_env:
            key = self._environment.get(self._model.api_key_env)
            if not key:
                raise missing(self._model.name, f"set the variable {self._model.api_key_env}")
        return make(api_key=key, base_url=self._model.base_url)

    def _signed(self, client: Anthropic, headers: Headers) -> Headers:
        request = httpx.Request("POST", "https://anthropic.invalid", headers=list(headers))
        own = {name: value for name, value in client.default_headers.items() if isinstance(value, str) and not _SDKS_OWN.match(name)}
        request.headers.update(own)
        request.headers.update(client.auth_headers)
        if client.api_key is not None and self._model.base_url is not None:
            # The SDK sends keys as bearer tokens now; compatible endpoints may know the older header alone.
            request.headers["x-api-key"] = client.api_key
        if client.custom_auth is not None:
            # The SDK's own client is another generation of httpx; the flow uses the headers alone, which both have.
            next(client.custom_auth.sync_auth_flow(cast(Any, request)))
        if "authorization" not in request.headers and "x-api-key" not in request.headers:
            raise missing(self._model.name, _REMEDY)
        self._learn(request.headers.get(name, "").removeprefix("Bearer ") for name in ("authorization", "x-api-key", *(own.keys() - {WORKSPACE})))
        framing = {"host", "content-length"}
        return tuple((name, value) for name, value in request.headers.items() if name not in framing)


WORKSPACE: Final = "anthropic-workspace-id"

_SDKS_OWN: Final = re.compile(
    r"(?:accept|content-type|user-agent|anthropic-version|anthropic-beta|authorization|x-api-key|idempotency-key|x-stainless-.*)$", re.I
)
"""Headers of the SDK that are the agent's business, or dealt with apart. What is left are a profile's workspace and ANTHROPIC_CUSTOM_HEADERS."""

_REMEDY: Final = "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or sign in to a profile"
