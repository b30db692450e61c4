# What CI runs is what people run. Every target sets up what it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PEERS ?= bench-light
CORE := setup.py pyproject.toml distfreeuq/_version.py $(wildcard src_c/*)

# An environment that could not be finished is not there: the next call begins anew.
.DELETE_ON_ERROR:

.PHONY: demo test test-quick sanitize debug-test compilers reliability verify verify-thorough fuzz fuzz-guided lint type docs figures replicate bench bench-guard matrix dist wheels same-python clean

demo: $(VENV)/installed
	$(BIN)/python -m distfreeuq demo

test: $(VENV)/installed
	$(BIN)/python -m pytest -n auto --dist worksteal -q

# What is not marked slow: less than two minutes on two cores.
test-quick: $(VENV)/installed
	$(BIN)/python -m pytest -n auto --dist worksteal -q -m "not slow"

# The core with address and undefined-behaviour sanitizers (GCC), with bounds checks, and
# by other compilers: each is built and tested in a folder of its own, build/NAME.
sanitize: $(VENV)/installed
	$(BIN)/python -m tests.builds sanitize

debug-test: $(VENV)/installed
	$(BIN)/python -m tests.builds debug -n auto

compilers: $(VENV)/installed
	$(BIN)/python -m tests.builds no-openmp -n auto
	$(BIN)/python -m tests.builds clang -n auto

# Every declared Python with the newest releases, and the oldest declared set. A part of it:
# make matrix ONLY="3.13 oldest" QUICK=1
matrix: $(VENV)/installed
	$(BIN)/python -m tests.matrix $(foreach set,$(ONLY),--only $(set)) $(if $(QUICK),--quick)

# Every byte of a file of every kind, every forgery, a hundred kills of each writer.
reliability: $(VENV)/installed
	$(BIN)/python -m tests.reliability

verify: $(VENV)/installed
	$(BIN)/python -m distfreeuq verify --fast --jobs -1

# A third of the tolerances, nine times the draws: minutes, for a nightly run.
verify-thorough: $(VENV)/installed
	$(BIN)/python -m distfreeuq verify --thorough --jobs -1

# Random calls of everything public. A run that was ended is continued: the journal has
# what was done. What it finds comes with a command that makes the same call again.
CALLS ?= 100000
SEED ?= 0
JOBS ?= 2
FUZZ_JOURNAL ?= build/fuzz-$(SEED).jsonl
fuzz: $(VENV)/installed
	mkdir -p build
	$(BIN)/python -m tests.fuzz run --calls $(CALLS) --seed $(SEED) --jobs $(JOBS) --journal $(FUZZ_JOURNAL)

# Coverage-guided, of the argument checks. Needs atheris (pip install atheris).
SECONDS ?= 600
fuzz-guided: $(VENV)/installed
	$(BIN)/python -m tests.fuzz.guided -max_total_time=$(SECONDS)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/installed
	$(BIN)/mypy

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py
	@echo "open docs/_build/html/index.html"

figures: $(VENV)/installed
	$(BIN)/python docs/contact_sheet.py

replicate: $(VENV)/installed
	$(BIN)/python -m vignettes.replication figures

# All peers but netcal, which brings torch: with it, make bench PEERS=bench. Missing ones are skipped.
bench: $(VENV)/installed-$(PEERS)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.pages

# Needs valgrind (Debian: apt-get install valgrind). The second run must catch a tenth more rows.
bench-guard: $(VENV)/installed
	$(BIN)/python -m benchmarks.guard
	$(BIN)/python -m benchmarks.guard --plant 0.1

dist: $(VENV)/installed
	$(BIN)/python -m build

# A repaired wheel for each Python and the sources' archive, each tried in an empty environment.
wheels: $(VENV)/installed-wheels
	$(BIN)/python -m tests.wheels $(foreach set,$(ONLY),--only $(set))

clean:
	rm -rf $(VENV) build dist figures docs/_build docs/generated docs/growth docs/vignettes *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name '__pycache__' -prune -exec rm -rf {} +
	rm -f distfreeuq/_kernels/*.so

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 10) and 'distfreeuq needs Python 3.10 or newer')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade pip

# An environment that is there already, of another version, is not what PYTHON= asks for.
ifeq ($(origin PYTHON),command line)
$(VENV)/installed: | same-python
endif

same-python: $(BIN)/python
	@$(PYTHON) -c "import sys; print(*sys.version_info[:2])" | $(BIN)/python -c "import sys; sys.exit(sys.stdin.read().split() != [*map(str, sys.version_info[:2])] and '$(VENV) has another Python: make clean first, or give VENV=.venv-other too')"

# The editable install builds the compiled core in place; it is done again when the core changes.
$(VENV)/installed: $(BIN)/python $(CORE)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[docs]"
	touch $@

$(VENV)/installed-wheels: $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[wheels]"
	touch $@

$(VENV)/installed-$(PEERS): $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[$(PEERS)]"
	touch $@
