# divulge: `make help` lists the commands. Each one creates .venv itself and installs what it needs, once.

.DEFAULT_GOAL := help

VENV := .venv
PY   := $(VENV)/bin/python
PIP  := $(PY) -m pip --disable-pip-version-check --no-input

# Exact versions. `make test LOCK=` takes the newest allowed by pyproject.toml instead.
LOCK := requirements.lock
PINS := $(if $(LOCK),--constraint $(LOCK))

# What development needs on top of the core.
EXTRAS := dev,spark,linkage,postgres,delta,iceberg,cloud,excel,spss,model,pandera,studio

# Extra arguments for the tool behind a target: make test ARGS="-k leakage"
ARGS :=

# How many processes run tests side by side: two more than there are cores, for Spark and servers are waited for; tests that share a Spark or a server stay in one (tests/conftest.py). `make quick` waits for neither.
JOBS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
SIDE_BY_SIDE := --numprocesses=$(JOBS) --dist=loadgroup
quick: JOBS := $(shell getconf _NPROCESSORS_ONLN)

# Tests start many processes, and each would compile the sources anew where bytecode is not kept; `make clean` removes it.
test quick: export PYTHONDONTWRITEBYTECODE :=

# Which parts of the benchmark, such as measure,rank (`make bench ARGS=--help` lists them), or another file of benchmarks/, such as studio
BENCH := all

# The first Python that is new enough and can create virtual environments.
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$candidate && break; done)

.PHONY: help demo studio test quick lint format bench mutants papers docs pictures shots lock clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/core.stamp ## see what a table of invented patients gives away, and a release that tells less
	@$(VENV)/bin/divulge demo $(ARGS)

studio: $(VENV)/studio.stamp ## the whole work in a browser, on the patients of the demo
	@$(VENV)/bin/divulge demo --json > /dev/null
	@cd divulge-demo && ../$(VENV)/bin/divulge studio patients.csv --policy divulge.toml $(ARGS)

test: $(VENV)/dev.stamp ## run all tests
	@$(PY) -m pytest $(SIDE_BY_SIDE) $(ARGS)

quick: $(VENV)/dev.stamp ## run the tests that need no Spark, no server and no public data, with few examples
	@$(PY) -m pytest $(SIDE_BY_SIDE) -m 'not (spark or server or public_data or slow)' --hypothesis-profile=quick $(ARGS)

lint: $(VENV)/dev.stamp ## check style, formatting and types
	@echo "ruff check"  && $(PY) -m ruff check --quiet
	@echo "ruff format" && $(PY) -m ruff format --check --quiet
	@echo "mypy"        && $(PY) -m mypy

format: $(VENV)/dev.stamp ## rewrite the code in the house format
	@$(PY) -m ruff check --fix --quiet
	@$(PY) -m ruff format

bench: $(VENV)/dev.stamp ## measure speed, as ratios in one run, and tell what got worse (ARGS=--record keeps it)
	@$(PY) -m benchmarks $(BENCH) $(ARGS)

mutants: $(VENV)/dev.stamp ## change single decisions of the code, run the tests that reach them, list what no test notices
	@$(PY) -m benchmarks.mutants $(ARGS)

wheel: $(VENV)/dev.stamp ## build the wheel into dist/, look into it, and run it in an empty environment
	@$(PY) -m tests.wheel

papers: $(VENV)/dev.stamp ## recompute every number and figure of the papers behind divulge (ARGS=--help)
	@$(PY) -m reproduction $(ARGS)

docs: $(VENV)/dev.stamp ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "open site/index.html"

pictures: $(VENV)/dev.stamp ## draw the pictures of the documentation anew, by the commands that its pages show
	@$(PY) -m tests.docs.pictures

shots: $(VENV)/dev.stamp ## take pictures of reports and of the studio, at phone, desktop and print size, into build/shots
	@$(PY) -m tests.output.shots
	@$(PY) -m tests.studio.shots

lock: ## write requirements.lock anew, from the newest versions that fit
	@echo "Resolving into a fresh environment (a few minutes)"
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip install -qq --editable '.[$(EXTRAS)]'
	@{ sed '/^[^#]/,$$d' requirements.lock; \
	   build/lock/bin/python -m pip freeze --exclude divulge; } > build/requirements.lock
	@mv build/requirements.lock requirements.lock && rm -rf build/lock
	@git --no-pager diff --stat -- requirements.lock

clean: ## remove everything that make creates
	@rm -rf $(VENV) build dist site divulge-demo .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks reproduction -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a file newer than what it was made from means "installed"; nothing is asked of the network then.

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "divulge needs Python 3.11 or newer with venv (Debian: apt-get install python3-venv);" \
		"name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: $(VENV)/bin/python pyproject.toml requirements.lock
	@echo "Installing divulge"
	@$(PIP) install -qq $(PINS) --editable .
	@touch $@

$(VENV)/studio.stamp: $(VENV)/core.stamp
	@$(PIP) install -qq $(PINS) --editable '.[studio]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml requirements.lock requirements-oracle.txt
	@echo "Installing divulge with its development tools (a minute or two)"
	@$(PIP) install -qq $(PINS) --editable '.[$(EXTRAS)]'
	@$(PIP) install -qq --no-deps --requirement requirements-oracle.txt
	@touch $(VENV)/core.stamp $(VENV)/studio.stamp $@
