# Everything starts here. On a machine with Python 3.11, make and git: `make demo` or `make test`, nothing before it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip

.PHONY: setup demo test lint format run-config published cards docs dist clean

setup: $(VENV)/.ready

# torch first and alone: a CPU wheel of exactly this version may be all that a machine has, and torchvision must not pull another.
$(VENV)/.ready: pyproject.toml requirements.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet $(shell grep '^torch==' constraints.txt) --constraint constraints.txt
	$(PIP) install --quiet --no-deps $(shell grep '^torchvision==' constraints.txt)
	$(PIP) install --quiet $(shell grep '^setuptools==' constraints.txt) --constraint constraints.txt
	$(PIP) install --quiet --no-build-isolation --editable '.[dev]' --constraint constraints.txt
	touch $@

# Falls back to the bundled digits where Fashion-MNIST cannot be had.
demo: setup
	@data=fashion-mnist; $(BIN)/fedloom data fetch $$data || data=digits; \
	$(BIN)/fedloom sweep --strategies fedavg,feddisco,asd --seeds 1 --dataset $$data --partition biased:5:1 --clients 6 \
	    --rounds 5 --epochs 1 --batch-size 64 --lr 0.02 --momentum 0.9 --out runs/demo-$$(date +%Y%m%d-%H%M%S) --open

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

run-config: setup
	$(BIN)/python -m fl_runs.run_config pyproject.toml

published: setup  # the table of experiments/README.md, from the results that are kept
	$(BIN)/fedloom reproduce --table experiments/README.md

cards: setup  # the small runs whose curves the pages of the methods show, as far as they are missing
	$(BIN)/python -m docs.making.learning_curves

docs: setup  # into docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html -c docs/making docs docs/_build/html

dist: setup  # a wheel and a source distribution, into dist/
	$(BIN)/python -m build --no-isolation

test: lint
	$(BIN)/fedloom data fetch fashion-mnist digits
	$(BIN)/pytest

clean:
	rm -rf $(VENV) build dist docs/_build docs/reference *.egg-info .pytest_cache .mypy_cache .ruff_cache
