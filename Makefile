# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

QUICK = tests/core/pool $(patsubst %,tests/core/measures/test_%.py,best families moments named parsing) \
	$(patsubst %,tests/core/design/test_%.py,beliefs item_readings label_values levels methods planned_variance \
	priority rates readings schemes) tests/core/test_interval_ends.py \
	$(patsubst %,tests/core/estimation/test_%.py,clustered estimators further_looks) \
	$(patsubst %,tests/core/campaign/test_%.py,campaign labels rounds) tests/sampling/test_six_queries.py \
	tests/core/test_names.py tests/test_architecture.py tests/test_assertions.py tests/test_words.py
# how many examples a law is tried on: few (30) or full (100)
EXAMPLES ?= few

.PHONY: demo quick test slow test-all lint types nojit notebooks experiments pages page readme docs site wheel bench figures clean

demo: $(VENV)/installed
	$(BIN)/activeeval demo

# the laws of measures, pools, designs, estimates, campaigns and the house, and each task on six queries
quick: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto -m "not slow and not statistical" --hypothesis-profile $(EXAMPLES) $(QUICK)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto -m "not slow" --hypothesis-profile $(EXAMPLES)

# whole systems: the page in a browser, engines, object stores, memory; looks at many samples
slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto -m slow tests/web tests/scale tests/core/kernels tests/core/estimation tests/sampling tests/scoring \
		tests/test_argument_kinds.py --ignore tests/web/test_killed_server.py

test-all: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto tests benchmarks/tests

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

nojit: $(VENV)/installed-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto tests -m "kernel and not slow and not statistical" \
		--hypothesis-profile few

notebooks: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto tests/test_notebooks.py

experiments: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto benchmarks/tests

pages: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto tests/test_pages.py

# README as a new user: a fresh clone and environment
readme: $(VENV)/installed-dev
	$(BIN)/python tests/follow_readme.py

# the site, into docs/_build/site; says where to look
VERSION ?= dev
docs: $(VENV)/installed-dev
	$(BIN)/python docs/build.py --version $(VERSION)

# the built site in Chromium: links, weight, wide and narrow, light and dark, axe
site: $(VENV)/installed-dev
	$(BIN)/python -m pytest tests/site

# what would be published: built and checked
wheel: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*

# the judging page of a generated campaign, to look at: open the links that it prints
page: $(VENV)/installed-web
	rm -rf page-out && mkdir page-out && cp docs/week.py docs/page.py page-out
	cd page-out && $(abspath $(BIN))/python page.py files && $(abspath $(BIN))/activeeval campaign create kitchen \
		--run new.run --versus-run old.run --max-grade 4 --measure DCG@10 --budget 120 --seed 5 \
		--judges-per-item 2 --policy median --queries queries.csv --documents documents.jsonl
	cd page-out && $(abspath $(BIN))/activeeval serve kitchen --judge ann --judge bob \
		--guidelines guide.md --grades grades.toml

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.kernels

figures: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.all

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/installed

$(VENV)/installed-web: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[web]"
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) demo-out page-out build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
