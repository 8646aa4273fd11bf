# Doors for people. `make test` needs nothing but Python 3.11 or newer: outside of a virtual
# environment it makes .venv and installs what the tests need.
PYTHON ?= python3
VENV := $(or $(VIRTUAL_ENV),.venv)
BIN := $(VENV)/bin
READY := $(VENV)/.toolog-dev
# Three workers by default on two cores: half of the time a test waits for a server, a pause or a process.
JOBS ?= 3

.PHONY: test lint bench gate performance services faults frameworks fidelity docs clean

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/serialization.py
	$(BIN)/python benchmarks/spool.py
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/shipping.py
	$(BIN)/python benchmarks/masking.py
	$(BIN)/python benchmarks/store.py

# Whether recording still costs no more than benchmarks/goals.toml says; CI runs the short form.
gate: $(READY)
	$(BIN)/python benchmarks/gate.py $(ARGS)

# docs/performance.md and its charts, from new figures: more than half an hour and 12 GB of disk.
performance: $(READY)
	mkdir -p build
	$(BIN)/python benchmarks/gate.py --json >build/gate.json || test -s build/gate.json
	$(BIN)/python benchmarks/growth.py --json >build/growth.json
	$(BIN)/python benchmarks/page.py build/gate.json build/growth.json

# The tests' own OpenSearch and S3 server, for people; Ctrl-C ends them.
services: $(READY)
	exec $(BIN)/python -m tests.services

# The whole fault matrix, more than an hour; the suite has a short tier of it.
faults: $(READY)
	$(BIN)/python -m tests.faults $(ARGS)

# The adapters for agent frameworks, each with the real packages in an environment of its own (a cache keeps
# them): `make frameworks ENVIRONMENTS=current`.
ENVIRONMENTS ?= $(shell ls tests/frameworks/environments | sed 's/\.txt$$//')
frameworks:
	set -e; for name in $(ENVIRONMENTS); do $(PYTHON) -m tests.frameworks.environment $$name; done

# The own test suites of third-party packages, instrumented and not; downloads them, takes about an hour.
fidelity: $(READY)
	$(BIN)/python -m tests.fidelity $(ARGS)

docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python -m pytest -q tests/docs

# The environment is made again when what it installs has changed.
$(READY): pyproject.toml setup.cfg
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
