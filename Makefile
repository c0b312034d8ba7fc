# The two commands of the README are `make demo` and `make test`; `make` alone lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := tests_integration/peers/requirements
export PYTHONDONTWRITEBYTECODE ?= 1

# Tests of one file share servers, so a file stays together; they wait for others more than they compute.
SIDE_BY_SIDE := -n 3 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test check unit endtoend integration bench docs lock setup clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## run the service on the embedded rig, the relay against it, and an agent's session through both
	@$(BIN)/python -m demo

test: check unit endtoend ## format, lint, types, layers, unit tests, integration tests against the SDK of our own lock

check: $(READY) ## format, lint, types, layers, dependencies, documentation and shape of the tree
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry relay service
	$(BIN)/python -m pytest -q tests/repository

unit: $(READY) ## unit tests
	$(BIN)/python -m pytest -q tests --ignore tests/repository

endtoend: $(READY) ## the real processes, end to end, against our service and the SDK of our own lock
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "not matrix" tests_integration

integration: $(READY) ## the same against every peer: other SDKs, other releases, the conformance suite (needs npm)
	$(BIN)/python -m tests_integration.harness.environments
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) tests_integration

bench: $(READY) ## benchmarks: ratios against a peer or a limit in the same run; BENCH=--quick for a look
	@$(BIN)/python -m bench.relays $(BENCH)
	@$(BIN)/python -m bench.http_client
	@$(BIN)/python -m bench.candump_reader

docs: $(READY) ## write the generated pages: docs/tools.md, docs/errors.md and docs/conformance.md
	$(BIN)/python -m scripts.generate_docs

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
    --no-emit-index-url --no-header --upgrade

lock: $(READY) ## resolve requirements.lock and the peers' locks anew (no index host is written into them)
	$(COMPILE) --all-extras --group dev -o requirements.lock pyproject.toml
	for name in mcp-2.0 mcp-1; do $(COMPILE) -o $(PEERS)/$$name.txt $(PEERS)/$$name.in || exit 1; done
	cd $(PEERS) && rm -f package-lock.json && npm install --package-lock-only --ignore-scripts \
	    --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error

setup: $(READY) ## make the virtual environment from the lock

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# uv is fast and honours the lock's hashes; where it cannot reach the index that pip is set up for, pip does it.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "canferry needs Python 3.11 or newer; point to one: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) from requirements.lock ..."
	@$(PYTHON) -m venv $(VENV) \
	    || { echo "python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13,<0.14'
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock \
	    || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
