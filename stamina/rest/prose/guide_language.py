"""Section of the instructions: the language of the server."""

from __future__ import annotations

from stamina.domain import Language
from stamina.rest.prose.sentences import Section, Sentence

_TITLE = "Language"

_LANGUAGES = {
    Language.PYTHON: (
        "Write the server in Python 3.",
        "Use the standard library or packages, as you like. If the server needs packages, `run_server.sh` must see to it that they are there: "
        "keep a virtual environment in this directory and start the server with the interpreter in it.",
    ),
    Language.JAVASCRIPT: (
        "Write the server in JavaScript and run it with Node.js.",
        "Use Node's own modules or packages, as you like. If the server needs packages, keep `package.json` and `node_modules` in this directory, "
        "and let `run_server.sh` install what is missing.",
        "Mind that JavaScript does not tell 5 from 5.0 and turns strings into numbers on its own: check types explicitly.",
    ),
    Language.RUST: (
        "Write the server in Rust and build it with Cargo.",
        "`run_server.sh` must build the server if it is not built yet or its sources have changed, then start the binary. "
        "Build before you finish: the `target` directory stays, and a build from nothing may take longer than the server has to start.",
        "Keep what the build needs at hand, for example with `cargo vendor`, so that it works offline.",
    ),
    Language.GO: (
        "Write the server in Go, as a module.",
        "`run_server.sh` must build the server if it is not built yet or its sources have changed, then start the binary. "
        "Build before you finish: the build cache under HOME stays, and a build from nothing may take longer than the server has to start.",
        "If the server needs other modules, keep them at hand, for example with `go mod vendor`, so that the build works offline.",
    ),
    Language.ANY: (
        "Write the server in the language of your choice, and stay with it.",
        "`run_server.sh` must build what has to be built and see to it that everything the server needs is there. "
        "Build before you finish: files stay, and a build from nothing may take longer than the server has to start.",
    ),
}

_COMMON = "`run_server.sh` itself is a Bash script; the server that it starts is what answers the requests."


def language_section(language: Language) -> Section:
    """What the agent is told about ``language``."""
    texts = (*_LANGUAGES[language], _COMMON)
    return Section(_TITLE, tuple(Sentence(text) for text in texts))
