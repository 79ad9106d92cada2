"""Harnesses by name: ours, third parties', and names that are nobody's."""

import sys
import types
from importlib.metadata import EntryPoint

import pytest

from harnesses.registry import BUILT_IN, GROUP, HARNESSES, Registration, Registry
from stamina.config.model import AgentConfig, HarnessInfo
from stamina.errors import InputError
from tests.actors.fakes import ToyHarness


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    module = types.ModuleType("third_party_adapter")
    module.ENTRY = Registration(HarnessInfo("toy", uses_model=False), lambda agent: ToyHarness(agent.name or "toy"))
    module.WRONG = object()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    named = {"toy": "ENTRY", "wrong": "WRONG", "missing": "NOT_THERE"}
    entries = tuple(EntryPoint(name, f"third_party_adapter:{value}", GROUP) for name, value in named.items())
    return Registry(lambda: (*entries, EntryPoint("toy", "nowhere:AT_ALL", GROUP), EntryPoint("absent", "no_such_module:X", GROUP)))


def test_the_adapter_is_made_for_the_agent(registry: Registry) -> None:
    """Name to registration to adapter; of two with one name the first counts."""
    assert registry.make(AgentConfig("toy", name="mine")) == ToyHarness("mine")
    assert registry["toy"].uses_model is False


def test_names_are_known_without_loading_anything(registry: Registry) -> None:
    """A broken adapter harms only those who name it."""
    assert list(registry) == ["absent", "missing", "toy", "wrong"]
    assert "missing" in registry
    assert "other" not in registry
    assert registry.get("other") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tooy", 'there is no harness "tooy"; did you mean "toy"?'),
        ("zzz", "there are absent, missing, toy, wrong"),
        ("wrong", "is no harnesses.registry.Registration"),
        ("missing", "cannot be loaded from third_party_adapter:NOT_THERE"),
        ("absent", "cannot be loaded from no_such_module:X"),
    ],
)
def test_what_is_wrong_is_said(registry: Registry, name: str, message: str) -> None:
    """One sentence with the nearest name, or why it cannot be loaded."""
    with pytest.raises(InputError) as caught:
        registry.make(AgentConfig(name))
    assert message in str(caught.value)


def test_ours_are_listed() -> None:
    """The two that need no model, and every CLI: each says by itself that it has the name under which it is listed."""
    names = [entry.name for entry in BUILT_IN]
    assert {"reference", "mock", "opencode", "claude-code", "codex"} <= set(names)
    assert [HARNESSES[name].name for name in names] == names
