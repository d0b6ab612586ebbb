# Each command does all the set-up on a machine that has Python 3.11 or newer:
#   make demo       makes a virtual environment, installs crestline, runs the guided tour (its files stay in demo/)
#   make test       the same with the development tools, then the gate for every change: scripts/check
#   make test-all   the same with every test: scripts/check --all (half an hour of two processors)
#   make bench      every table of docs/results/performance.md, measured here (about a quarter of an hour)

PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev
BIN := $(VENV)/bin
CHECK = PATH="$(abspath $(BIN)):$$PATH" scripts/check

.PHONY: demo test test-all check bench clean

demo: $(VENV)/.installed
	$(BIN)/crestline demo --keep demo

test: $(VENV)/.developer
	$(CHECK)

test-all: $(VENV)/.developer
	$(CHECK) --all

check: test

bench: $(VENV)/.developer
	$(BIN)/python -m benchmarks

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[plot]"
	touch $@

# uv installs in a third of the time; where it cannot be had, pip does the same.
$(VENV)/.developer: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@echo "installing crestline with its tools of development into $(VENV)"
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check uv && \
	  $(BIN)/python -m uv pip install --quiet --python $(BIN)/python --editable ".[$(EXTRAS)]"; then :; else \
	  $(BIN)/python -m pip install --quiet --upgrade pip && \
	  $(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"; fi
	touch $@ $(VENV)/.installed

clean:
	rm -rf demo $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
