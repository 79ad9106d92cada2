# The verbs of this repo; CI calls the same ones. `make` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PACKAGES := stamina actors harnesses scenario_store
OUT ?= runs/quickstart
FINDINGS ?= runs/harnesses

.PHONY: help
help:  ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

$(VENV)/.ready: requirements/base.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'stamina needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ...' >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'installing pinned requirements into $(VENV) (once) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/base.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/.ready-dev: requirements/dev.txt $(VENV)/.ready
	@echo 'installing what tests and checks need into $(VENV) (once) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

.PHONY: setup
setup: $(VENV)/.ready  ## make the virtual environment

.PHONY: run
run: $(VENV)/.ready  ## play the quickstart sweep (no Docker, no model) and print its table
	@$(BIN)/python -m stamina run sweeps/quickstart.toml --out $(OUT)

.PHONY: test
test: $(VENV)/.ready-dev  ## run the tests (make test-docker runs those that need an engine)
	@$(BIN)/python -m pytest -q -n 2 -m 'not docker and not slow and not servers' $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: $(VENV)/.ready-dev  ## run the tests that take minutes
	@$(BIN)/python -m pytest -q -m 'slow and not servers' $(PYTEST_ARGS)

# npm and node come from PyPI with it; what they install stays beside the package.json.
$(VENV)/.ready-servers: requirements/servers.txt tests/servers/express/package-lock.json $(VENV)/.ready-dev
	@echo 'installing node, its packages and go (once) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/servers.txt
	@PATH="$(abspath $(BIN)):$$PATH" npm ci --prefix tests/servers/express --silent --no-audit --no-fund --ignore-scripts
	@command -v go >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends golang-go >/dev/null; } || \
	  { echo 'test-servers needs go (1.19 or newer) on the PATH; Debian has it as golang-go' >&2; exit 2; }
	@touch $@

.PHONY: test-servers
test-servers: $(VENV)/.ready-servers  ## play suites against right servers of four frameworks (ALL=1: 5 seeds x 5 turns each)
	@$(BIN)/python -m pytest -q -n 2 -m 'servers$(if $(ALL),, and not slow)' tests/servers $(PYTEST_ARGS)

.PHONY: test-docker
test-docker: $(VENV)/.ready-dev  ## run the tests that need a container engine; a missing engine is a failure
	@STAMINA_REQUIRE_DOCKER=1 $(BIN)/python -m pytest -q -m 'docker and not harnesses' $(PYTEST_ARGS)

.PHONY: test-harnesses
test-harnesses: $(VENV)/.ready-dev  ## play every harness in its image against the scripted model (HARNESSES="codex vibe": only these)
	@$(BIN)/python -m stamina images build $(IMAGE_ARGS) $(HARNESSES)
	@echo 'what is seen goes to $(FINDINGS), what each agent does to $(FINDINGS)/transcripts'
	@STAMINA_REQUIRE_DOCKER=1 STAMINA_HARNESSES='$(HARNESSES)' STAMINA_FINDINGS='$(FINDINGS)' \
	  $(BIN)/python -m pytest -q -m harnesses --dist loadgroup $(PYTEST_ARGS) tests/docker

.PHONY: drill
drill: $(VENV)/.ready-dev  ## play an outage of a minute in the middle of 20 scenarios, and print what each recorded
	@$(BIN)/python -m tests.drills.outage

.PHONY: drill-kill
drill-kill: $(VENV)/.ready-dev  ## kill -9 a sweep in containers, and print what the engine has before and after
	@$(BIN)/python -m tests.drills.killed

# The base image is built there, or borrowed from the engine at FROM, which is faster.
.PHONY: test-podman
test-podman: $(VENV)/.ready-dev  ## run the same tests with Podman; as root, on a private service of scripts/engine
	@export ENGINE=podman && scripts/engine install && eval "$$(scripts/engine start)" && \
	  $(if $(FROM),scripts/engine borrow $(FROM) $$($(BIN)/python -c 'from harnesses.recipes import BASE, recipe; print(recipe(BASE).digest)'),scripts/engine base && \
	  $(BIN)/python -m stamina images build base $(IMAGE_ARGS)) && \
	  STAMINA_TEST_ENGINE=podman STAMINA_REQUIRE_DOCKER=1 $(BIN)/python -m pytest -q -m 'docker and not harnesses' $(or $(PODMAN_TESTS),tests/docker tests/hostile) $(PYTEST_ARGS)

.PHONY: check
check: $(VENV)/.ready-dev  ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: fmt
fmt: $(VENV)/.ready-dev  ## format and apply safe fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: bench
bench: $(VENV)/.ready-dev  ## measure the figures that docs/benchmarks.md quotes
	@for script in scripts/bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

.PHONY: lock
lock: $(VENV)/.ready-servers  ## resolve requirements/*.in again, with hashes and without addresses
	@for name in base dev servers; do $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements/$$name.txt requirements/$$name.in || exit 1; done
	@cd tests/servers/express && PATH="$(abspath $(BIN)):$$PATH" npm update --package-lock-only --omit-lockfile-registry-resolved --silent --no-audit --no-fund
