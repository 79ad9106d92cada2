"""One turn: the prompt comes on stdin, events go to stdout, the exit code says how it ended."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import Final, NoReturn

EXIT: Final = {"submitted": 0, "runner_error": 1, "no_session": 2, "format_error": 3, "limits_exceeded": 4, "context_overflow": 5, "model_error": 6}
"""Exit codes by status; 2 is also any other bad usage."""

_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser("mini_swe_runner", description="One turn of a conversation with mini-swe-agent.")
    parser.add_argument("--version", action="version", version=f"mini-swe-agent {version('mini-swe-agent')}")
    parser.add_argument("--state", type=Path, required=True, help="folder of the conversations")
    parser.add_argument("--session", required=True, help="name of the conversation; begun when there is none")
    parser.add_argument("--resume", action="store_true", help="refuse to begin a new one")
    parser.add_argument("--model", required=True, help="as litellm names it, such as openai/NAME")
    parser.add_argument("--base-url", help="where the model is reached; its key is in the variable that litellm reads")
    parser.add_argument("--compact-at", type=int, default=0, help="tokens from which the old part is summarised (0: never)")
    parser.add_argument("--config", action="append", default=[], help="a file or key=value over mini.yaml, as with mini -c")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Play one turn; returns the exit code."""
    parser = arguments()
    options = parser.parse_args(argv)
    if not _ID.fullmatch(options.session):
        parser.error(f"--session {options.session!r}: letters, digits, dots, dashes and underscores only")
    os.environ.update(MSWEA_SILENT_STARTUP="1", MSWEA_CONFIGURED="true", LITELLM_LOCAL_MODEL_COST_MAP="True")

    import litellm
    import minisweagent
    from minisweagent.config import get_config_from_spec
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel
    from minisweagent.utils.serialize import recursive_merge

    from .agent import ConversationAgent, Outcome
    from .conversation import Conversation, ConversationError
    from .stream import RetryTeller, take_stdout

    stream = take_stdout()
    litellm.suppress_debug_info = True
    path = options.state / f"{options.session}.json"
    begun = path.exists()
    try:
        conversation = Conversation.load(path) if begun or options.resume else Conversation(path)
    except ConversationError as error:
        stream.tell("result", status="no_session", error=str(error), exit_code=EXIT["no_session"])
        return EXIT["no_session"]
    stream.tell("session", session=options.session, resumed=begun, version=minisweagent.__version__)
    logging.getLogger("litellm_model").addHandler(RetryTeller(stream))

    config = recursive_merge(*(get_config_from_spec(spec) for spec in ("mini.yaml", *options.config)))
    reach = {"api_base": options.base_url} if options.base_url else {}
    model_config = recursive_merge(config.get("model", {}), {"model_kwargs": reach, "cost_tracking": "ignore_errors", "model_name": options.model})
    agent = ConversationAgent(
        LitellmModel(**model_config),
        LocalEnvironment(**config.get("environment", {})),
        {**config.get("agent", {}), "cost_limit": 0.0},
        conversation=conversation,
        compact_at=options.compact_at,
        stream=stream,
    )
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        outcome = agent.play(prompt)
    except Exception as error:
        traceback.print_exc()
        outcome = Outcome("runner_error", error=f"{type(error).__name__}: {error}"[:500])
    code = EXIT[outcome.status]
    stream.tell("result", **outcome.__dict__, steps=agent.turn.steps, usage=agent.turn.usage.__dict__, exit_code=code)
    return code


def leave(code: int) -> NoReturn:
    """End at once: what litellm has in the background would keep the process for minutes."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main())
