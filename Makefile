# Needs Python 3.11 or newer with venv. Everything is installed into .venv, nothing anywhere else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CKAI := $(abspath $(BIN))/ckai
DEMO ?= demo
ROOMS := game pdn datasets models rl cli
# Where it is set, each of the programs that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
WORKERS ?= -n $(shell $(PYTHON) -c "import os; print(min(4, os.cpu_count()))") --dist worksteal

.PHONY: help demo test slow lint types check docs wheel links clean

help:  ## List the targets.
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.compiled  ## Set up and run the pipeline on the sample: rows, a small network, self-play, a game.
	mkdir -p $(DEMO)/games
	cd $(DEMO) && $(CKAI) parse $(CURDIR)/data/sample.pdn --force
	cd $(DEMO) && $(CKAI) games data/sample.parquet --stats
	cd $(DEMO) && $(CKAI) pretrain --epochs 4 --set hidden=256
	cd $(DEMO) && $(CKAI) selfplay --init pretrained.ckpt --run runs/demo --generations 1 --games 64 --sims 32 --gate-games 20
	cd $(DEMO) && $(CKAI) play --side none --engine runs/demo@100 --seed 1 > game.txt
	@echo; tail -n 24 $(DEMO)/game.txt; echo; cat $$(ls -t $(DEMO)/games/*.pdn | head -n 1)
	@echo "now play against it: cd $(DEMO) && $(CKAI) play"

test: $(VENV)/.installed-dev  ## Set up and run the tests, in up to four processes of about 1.5 GB each.
	$(BIN)/python -m pytest $(WORKERS) $(TESTS)

slow: $(VENV)/.installed-dev  ## Run the long tests, see CONTRIBUTING.md.
	$(BIN)/python -m pytest $(WORKERS) -m slow $(TESTS)

lint: $(VENV)/.installed-dev  ## Run the linter and the formatter's check.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev links  ## Run the type checker, for this system and for Windows.
	$(BIN)/mypy $(ROOMS:%=-p ckai.%)
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/windows $(ROOMS:%=-p ckai.%)

check: lint types test  ## lint, types and test.

docs: $(VENV)/.installed-docs links  ## Build the documentation and the board into build/site; a warning is an error.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean
	$(CKAI) board --export build/site/board

wheel: $(VENV)/.installed-dev  ## Build the source distribution and the wheel into build/dist.
	rm -rf build/dist
	PIP_CONSTRAINT=$(abspath constraints.txt) $(BIN)/python -m build --outdir build/dist

# Tools that read sources do not follow package-dir: folders of links show them the packages under their names.
links:
	mkdir -p build/typecheck/ckai
	for room in $(ROOMS); do ln -sfn ../../../$$room build/typecheck/ckai/$$room; done

# With each editable installation setuptools warns, in ten lines, of folders called ckai.
$(VENV)/.installed $(VENV)/.installed-dev $(VENV)/.installed-docs: export PYTHONWARNINGS := ignore:Editable installation

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -c constraints.txt torch
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[openvino]"
	touch $@

$(VENV)/.compiled: $(VENV)/.installed
	$(CKAI) warmup
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[docs,web]"
	touch $@

clean:  ## Remove what the targets made: .venv, build, demo.
	rm -rf $(VENV) build ckai.egg-info $(DEMO)
