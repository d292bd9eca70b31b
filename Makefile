# Needs Python 3.11 or newer with venv. Everything is installed into .venv, nothing anywhere else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CKAI := $(abspath $(BIN))/ckai
DEMO ?= demo
WORKERS ?= -n logical --maxprocesses 4 --dist worksteal

.PHONY: demo test slow lint types check clean

# Sets up and runs the whole pipeline on the sample: rows, a small network, a generation of self-play, a game.
demo: $(VENV)/.installed
	mkdir -p $(DEMO)/games
	cd $(DEMO) && $(CKAI) parse $(CURDIR)/data/sample.pdn
	cd $(DEMO) && $(CKAI) stats data/sample.parquet
	cd $(DEMO) && $(CKAI) pretrain --epochs 4 --set hidden=256
	cd $(DEMO) && $(CKAI) selfplay --init pretrained.ckpt --run runs/demo --generations 1 --games 64 --sims 32 --gate-games 20
	cd $(DEMO) && $(CKAI) play --side none --sims 100 --seed 1 --pdn games/demo.pdn > game.txt
	@echo; tail -n 24 $(DEMO)/game.txt; echo; cat $(DEMO)/games/demo.pdn
	@echo "now play against it: cd $(DEMO) && $(CKAI) play"

# Sets up and runs the tests, on all cores; a worker takes about 1.5 GB of memory.
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(WORKERS)

# The tests that take long; see docs/testing.md.
slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(WORKERS) -m slow

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	mkdir -p build/typecheck/ckai
	for room in game pdn datasets models rl cli; do ln -sfn ../../../$$room build/typecheck/ckai/$$room; done
	$(BIN)/mypy -p ckai.game -p ckai.pdn -p ckai.datasets -p ckai.models -p ckai.rl -p ckai.cli

check: lint types test

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -c constraints.txt torch
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build ckai.egg-info $(DEMO)
