# Each target does its own set-up in .venv; nothing needs to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test check bench docs clean

$(VENV)/.demo: pyproject.toml setup.py src/semtropy/entropy/_kernel.c
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[local]'
	touch $@

$(VENV)/.dev: pyproject.toml setup.py src/semtropy/entropy/_kernel.c
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## one known and one obscure question, checked on the built-in model
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev  ## every test
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.dev  ## style, types, docs and exports in step
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.docs --check

bench: $(VENV)/.dev  ## accuracy, speed and efficiency, as ratios within one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.dev  ## rebuild the generated parts of docs/
	$(BIN)/python -m tools.docs

clean:
	rm -rf $(VENV) build dist src/*.egg-info
