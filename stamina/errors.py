"""The error tree, and who reacts to what.

::

    StaminaError
    ├── InputError            somebody wrote something wrong: one message, exit 2, nothing created
    ├── InvalidChange         a change does not fit the state it was applied to (the sampler draws another)
    ├── InvalidState          a state breaks a rule of the contract
    ├── BenchmarkFault        our own suite, text or ground truth is wrong: never the agent's fault
    └── InfraError            machinery failed; what was going on may be repeated and fails nobody
        ├── SandboxFault      the container or the process sandbox
        ├── ProviderFault     the model or its provider
        ├── HarnessFault      the agent's CLI
        └── HostFault         this machine: disk, memory, a port

What an agent or its server does wrong is never an exception: it is a value (a verdict, a call's ending).
Anything that is not a :class:`StaminaError` is a bug: it is confined to its scenario, recorded and shown, never retried.
"""

from __future__ import annotations


class StaminaError(Exception):
    """Base of every error that stamina raises on purpose."""


class InputError(StaminaError):
    """A file, flag or folder given by the user cannot be used; the message says where, what was expected, and what to do."""


class InvalidChange(StaminaError):
    """A change does not fit the state it was applied to.

    Attributes:
        rule: the contract's rule that stands against it, such as ``"D5"``.
        reason: one sentence.
    """

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"{reason} (rule {rule})")
        self.rule = rule
        self.reason = reason


class InvalidState(StaminaError):
    """A state breaks a rule of the contract; same attributes as :class:`InvalidChange`."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"{reason} (rule {rule})")
        self.rule = rule
        self.reason = reason


class BenchmarkFault(StaminaError):
    """The benchmark contradicts itself, such as a case that fails against the ground truth. The agent is not to blame."""


class InfraError(StaminaError):
    """Machinery failed. Only this is retried; see the subclass for the culprit."""

    cause = "host"


class SandboxFault(InfraError):
    """The container, its engine or the process sandbox failed."""

    cause = "sandbox"


class ProviderFault(InfraError):
    """The model or its provider failed."""

    cause = "provider"


class HarnessFault(InfraError):
    """The agent's CLI failed: did not start, exited non-zero, showed no sign of having completed."""

    cause = "harness"


class HostFault(InfraError):
    """This machine failed: disk full, no memory, no free port."""

    cause = "host"
