# The few verbs of this repository. Each makes what it needs; a fresh clone needs only
# Python 3.11 or newer, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := pyproject.toml constraints.txt

.PHONY: play test lint soak bench manifest clean

# Try it: a Slack of your own on this machine. Options: make play ARGS="--no-open".
play: $(VENV)/play
	@exec $(BIN)/countersign playground $(ARGS)

# Everything, browser tests included (they skip with a reason where no Chromium is).
test: $(VENV)/test
	$(BIN)/python -m pytest $(ARGS)

# What must be clean before a commit.
lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The large counts: races, kills, random interleavings. Takes a while.
soak: $(VENV)/test
	COUNTERSIGN_SOAK=1 $(BIN)/python -m pytest -m soak $(ARGS)

# The figures we hold ourselves to, as ratios measured in one run.
bench: $(VENV)/test
	cd tests && ../$(BIN)/python -m bench.run

# Print the app manifest for default settings anew.
manifest: $(VENV)/play
	cd /tmp && $(CURDIR)/$(BIN)/countersign manifest > $(CURDIR)/manifest.yml

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/play: $(BIN)/python $(SOURCES)
	@printf 'Preparing ... only the first time\n'
	$(PIP) -c constraints.txt -e .
	@touch $@

$(VENV)/test: $(VENV)/play $(SOURCES)
	$(PIP) -c constraints.txt -e '.[test]'
	@touch $@

$(VENV)/lint: $(VENV)/play $(SOURCES)
	$(PIP) -c constraints.txt -e '.[lint]'
	@touch $@
