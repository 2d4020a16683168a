# Each target does its own set-up in .venv; nothing needs to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# Three for two cores: at any time a test is waiting for a server, a browser or Ray.
WORKERS ?= 3
TORCH ?= torch
# Podman or Docker, and the name of the image without its tag.
ENGINE ?= $(or $(shell command -v podman),docker)
IMAGE ?= semtropy
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/semtropy/__init__.py)
# What an installation depends on. The compiled kernel is rebuilt when its source changes.
INPUTS := pyproject.toml setup.py $(wildcard src/semtropy/entropy/_native/*.c src/semtropy/entropy/_native/*.h)

# The tests start hundreds of processes, each of which would compile every module it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test retest lowest extras check bench fuzz docs site notebooks integrations picture wheel wheels image push release clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# pip is asked for, not just python: an interrupted set-up leaves one without the other.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "semtropy needs Python 3.11 or later: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(1)]'
	@$(BIN)/python -m tools.kernel
endef

$(VENV)/.demo: $(INPUTS)
	$(call install,local)
	@touch $@

$(VENV)/.dev: $(INPUTS)
	$(call install,dev)
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## a fact, a made-up name and a paragraph, checked on the built-in model
	$(BIN)/semtropy demo

test: $(VENV)/.dev  ## every test
	$(BIN)/python -m pytest -n $(WORKERS)

retest: $(VENV)/.dev  ## the tests that failed last, if they are at most three, one after the other
	$(BIN)/python -m tools.retest

# GROUPS="base all" takes some of them.
lowest: $(VENV)/.dev  ## the tests with the lowest versions allowed of what the package needs
	$(BIN)/python -m tools.lowest $(GROUPS)

# Never part of the set-up: they are large, and nothing but the models `hf:` and the engine `ray` needs them.
extras: $(VENV)/.dev  ## torch, transformers and Ray, for the tests that skip without them
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH) --editable '.[transformers,ray]'

check: $(VENV)/.dev  ## style, types, docs in step with the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.docs --check

bench: $(VENV)/.dev  ## accuracy, speed and efficiency, as ratios within one run
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.dev  ## random, extreme and invalid inputs, the kernels under sanitizers (gcc)
	$(BIN)/python -m tools.fuzz

docs: $(VENV)/.dev  ## rebuild the generated parts of docs/, figures included
	$(BIN)/python -m tools.docs --figures

site: $(VENV)/.dev  ## the documentation site in site/, with links and search checked
	$(BIN)/python -m tools.site

notebooks: $(VENV)/.dev  ## run the notebooks and store what they print
	$(BIN)/python -m tools.notebooks

# QUICK=1 takes those that install fast, all into one environment on top of .venv, in at most four minutes.
integrations: $(VENV)/.dev  ## each adapter with its package, in an environment made for it
	$(BIN)/python -m tools.integrations $(if $(QUICK),--quick --within 240) $(ADAPTERS)

# A paragraph needs a model that can write one: MODEL=gguf:FILE, a file in this folder. Without it the built-in one answers.
picture: $(VENV)/.dev  ## the pictures of the docs: the terminal and, in Chromium, the page
	$(BIN)/python -m tools.picture docs/images/check.svg -- \
		semtropy check "In three short sentences: in which country is Timisoara, which river runs through it, and who was its mayor in 1911?" \
		$(if $(MODEL),--model $(MODEL)) --max-tokens 80 --seed 1
	$(BIN)/python -m tools.page_pictures $(if $(MODEL),--model $(MODEL))

wheel: $(VENV)/.dev  ## source distribution and wheels in dist/, each tried in a bare environment
	$(BIN)/python -m tools.wheel

wheels: $(VENV)/.dev  ## the wheels of this system for a release, by cibuildwheel (Linux: with Docker)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'cibuildwheel>=3.2'
	$(BIN)/python -m cibuildwheel --output-dir dist

# The weights are inside, so that the image works without a network, which the last line shows.
image:  ## the container image with the weights inside, tried without a network
	$(ENGINE) build $(if $(findstring podman,$(ENGINE)),--format docker) --build-arg WEIGHTS=inside \
		--file Containerfile --tag $(IMAGE):$(VERSION) --tag $(IMAGE):latest .
	$(ENGINE) run --rm --network none --entrypoint semtropy $(IMAGE):$(VERSION) \
		check "What is the capital of France?" --seed 1

push:  ## the image to its registry, as REGISTRY_USER with REGISTRY_TOKEN
	@printenv REGISTRY_TOKEN | $(ENGINE) login $(firstword $(subst /, ,$(IMAGE))) --username "$$REGISTRY_USER" --password-stdin
	$(ENGINE) push $(IMAGE):$(VERSION)
	$(ENGINE) push $(IMAGE):latest

release: $(VENV)/.dev  ## whether TAG=v0.2.0 fits the version, the changelog and the docs
	$(BIN)/python -m tools.release $(TAG)

clean:  ## remove what the other targets made
	rm -rf $(VENV) build dist site src/*.egg-info src/semtropy/entropy/*.so src/semtropy/entropy/_native/*.so
