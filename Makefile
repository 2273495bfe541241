# make help lists the targets
PYTHON ?= python3
SPARK ?= 4.1.1
VENV ?= .venv
BIN = $(VENV)/bin
WORKERS ?= 2
STAMP = $(VENV)/installed-$(SPARK)
export PYSPARK_PYTHON = $(abspath $(BIN)/python)
# without compiled modules, each process compiles the package and the assertions of its tests anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo lake test test-thorough lint types docs docs-outputs java java-format hooks check bench test-spark clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## the environment of all other targets

demo: $(STAMP) need-java  ## index a year of real flights as Avro and Parquet, and run six queries with and without
	$(BIN)/python -m xskip demo --directory build/demo

lake: $(STAMP) need-java  ## write a small Quix Lake, and discover, read, index, compact and replay it
	$(BIN)/python -m xskip demo --lake --directory build/lake

test: $(STAMP) need-java  ## every test, in WORKERS processes (2) of one Spark session each
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST)

test-thorough:  ## as test, with all combinations of parameters and three times as many random cases
	XSKIP_TESTS=thorough $(MAKE) test

lint: $(STAMP)  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## types
	$(BIN)/mypy

docs: $(STAMP)  ## the site in build/docs; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -E -q -b html docs build/docs
	@echo "build/docs/index.html"

docs-outputs: $(STAMP) need-java  ## write into README and docs what their code blocks print now
	XSKIP_WRITE_OUTPUTS=1 $(BIN)/python -m pytest -q tests/docs/test_pages.py

java:  ## the hook's Java: javac with all warnings against each Spark, format (needs a JDK and Maven)
	bash .ci/java

java-format:  ## lay out the hook's Java
	bash .ci/java --format

hooks: $(STAMP)  ## run the quick checks at each commit, see .pre-commit-config.yaml
	$(BIN)/pre-commit install

check: lint types docs java test  ## everything that CI runs

bench: $(STAMP) need-java  ## every benchmark
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

test-spark: need-java  ## every test on another Spark: make test-spark VERSION=3.5.7
	@test -n "$(VERSION)" || { echo "which Spark? make test-spark VERSION=3.5.7"; exit 2; }
	$(if $(filter 4.2.% 4.3.%,$(VERSION)),XSKIP_TEST_AVRO=4.1.1) $(MAKE) test SPARK=$(VERSION) VENV=.venv-$(VERSION)

clean:  ## remove what make made
	rm -rf .venv .venv-* build .mypy_cache .ruff_cache .pytest_cache .hypothesis

.PHONY: need-java
need-java:
	@sh .ci/need-java

$(STAMP): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "xskip needs Python 3.10 or newer; set PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24" "setuptools>=77"
	@# Python compiles the modules that are imported: to compile all of them would take half of the time
	$(BIN)/python -m pip install -qq --no-compile "pyspark==$(SPARK)" -e ".[demo,test,docs,lint]"
	@touch $@
