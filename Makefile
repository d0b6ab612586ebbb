# Each command does all the set-up on a machine that has Python 3.11 or newer:
#   make demo     makes a virtual environment, installs crestline, runs the guided tour (its files stay in demo/)
#   make test     the same with the development tools, then every gate of scripts/check
#   make bench    every table of docs/results/performance.md, measured here (about a quarter of an hour)

PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev
BIN := $(VENV)/bin

.PHONY: demo test check bench clean

demo: $(VENV)/.installed
	$(BIN)/crestline demo --keep demo

test: $(VENV)/.developer
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

check: test

bench: $(VENV)/.developer
	$(BIN)/python -m benchmarks

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[plot]"
	touch $@

$(VENV)/.developer: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf demo $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
