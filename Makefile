# The two commands of the README are `make run` and `make test`; each makes its own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TORCHREC := $(VENV)/.torchrec
# Tests that compile with the C++ compiler are heavy: one worker a core, at most eight.
PYTEST_WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n $(PYTEST_WORKERS) --maxprocesses 8 --dist worksteal --timeout 600
CUDA_FILES := $(shell find dlrmc -name '*.cuh' -o -name '*.cu' -o -name '*.h' -o -name '*.cpp')

.PHONY: help run test lint golden gpu zoo coverage docs format clean

help:  ## List the targets.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dlrmc needs Python 3.11 or newer, found " + sys.version.split()[0] + "; name another with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --progress-bar off --disable-pip-version-check -c constraints.txt -e '.[dev,zoo,cuda13]'
	touch $@

run: $(INSTALLED)  ## Export the example model, compile it, print the IR, the kernels and the scores.
	$(BIN)/python examples/plain_dlrm.py

test: lint  ## Lint, types and every test that needs no GPU.
	$(PYTEST) $(PARALLEL) -q

lint: $(INSTALLED)  ## ruff, pyright and clang-format, changing nothing.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(if $(CUDA_FILES),$(BIN)/clang-format --dry-run -Werror $(CUDA_FILES))

golden: $(INSTALLED)  ## Rewrite the golden files; look at the diff before you commit it.
	$(PYTEST) $(PARALLEL) -q --update-golden
	git --no-pager diff --stat -- tests/golden

gpu: $(INSTALLED)  ## The tests that need an NVIDIA GPU.
	$(PYTEST) -q -m gpu

# torchrec asks for fbgemm-gpu, which asks for CUDA; the CPU build of this version fits the torch in constraints.txt.
$(TORCHREC): $(INSTALLED) tests/zoo/torchrec.txt
	$(BIN)/python -m pip install --progress-bar off --disable-pip-version-check --no-deps -r tests/zoo/torchrec.txt
	touch $@

zoo: $(TORCHREC)  ## The whole zoo of public models, torchrec too, on the emulator; takes half an hour.
	$(PYTEST) $(PARALLEL) -q -m 'not gpu' tests/zoo

coverage: $(TORCHREC)  ## Rewrite docs/coverage.md: what becomes of each public model.
	$(BIN)/python -m tests.zoo.census --batch 5 --target emulate --jobs 2 --out docs/coverage.md

docs: $(INSTALLED)  ## Rewrite the parts of the documents that are made from the code and from recorded runs.
	$(BIN)/python docs/make_docs.py
	$(BIN)/dlrmc bench summarize docs/performance/seed.csv --plot docs/images/seed-heat.svg --output /dev/null

format: $(INSTALLED)  ## Format Python and CUDA in place.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(CUDA_FILES),$(BIN)/clang-format -i $(CUDA_FILES))

clean:  ## Remove the environment and every cache in the tree.
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
