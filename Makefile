# Two commands are enough: `make demo` and `make test`. Each sets up what it needs by itself.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The installer: the one on the path, else a private one. docker/Dockerfile installs the same.
UV_VERSION := ~=0.13.7
OWN_UV := .venv-uv/bin/uv
UV := $(or $(shell uv --version >/dev/null 2>&1 && command -v uv),$(OWN_UV))
# A Python is taken from the system or not at all.
export UV_PYTHON_DOWNLOADS := never
# Without compiled modules every start of Python takes seconds longer.
unexport PYTHONDONTWRITEBYTECODE
JAVA_VERSION := 17

SYNCED := .venv/.stamp-synced
JAVA_FOUND := .venv/.stamp-java
SPARK_CLASSES := .venv/spark-classes.jsa

# Processes: three for everything, also on two cores, as each waits much for servers and Spark.
IN_PARALLEL := --dist loadgroup --numprocesses

# The types are checked on one core while Spark starts on the other.
PREPARE = $(MAKE) --no-print-directory --jobs 2 --output-sync lint $(SPARK_CLASSES)

# Shell functions of the set-up recipes.
define FUNCTIONS
give_up() { printf 'make: %s\n' "$$*" >&2; exit 1; }
can_install() { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
apt_install() {
  can_install || return 1
  echo "Installing $$* with apt-get."
  export DEBIAN_FRONTEND=noninteractive
  mkdir -p /usr/share/man/man1 # Java's package fails where a slim system lacks it
  apt-get update -qq </dev/null &&
    apt-get install -qq -y --no-install-recommends "$$@" </dev/null >/dev/null
}
java_version() {
  { "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 || true; } |
    sed -nE '1,/version/s/.*version "(1\.)?([0-9]+).*/\2/p'
}
has_java() { [ "$$(java_version)" -ge $(JAVA_VERSION) ] 2>/dev/null; }
endef

.PHONY: help setup demo test test-fast test-all fuzz conformance evolution differential chaos bench-decode bench-apply lint format lock docker clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

setup: $(SYNCED) $(JAVA_FOUND) ## Install everything that the other targets need.

demo: setup ## Mirror a real database here; ARGS="--keep" and others go to `database-mirror demo`.
	@.venv/bin/database-mirror demo $(ARGS)

# What both leave out, and why, is in tests/left_out.py.
test: setup ## Check all promises: style, types and tests; ARGS go to pytest.
	@$(PREPARE)
	.venv/bin/pytest $(IN_PARALLEL) 3 -m 'not full' --durations 25 $(ARGS)

test-fast: $(SYNCED) ## Check the style and run the unit tests that take no time.
	@.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pytest $(IN_PARALLEL) 2 -m 'not slow' tests/unit $(ARGS)

test-all: setup ## Run all tests: also long ones and those of other people's programs.
	@$(PREPARE)
	.venv/bin/pytest $(IN_PARALLEL) 3 --durations 25 $(ARGS)

fuzz: setup ## Decode a hundred thousand damaged messages; `make test` has two thousand.
	@FUZZ_ALL=1 .venv/bin/pytest tests/fuzz $(ARGS)

conformance: setup $(SPARK_CLASSES) ## Play every case of tests/conformance in every way, and print the matrix.
	@CONFORMANCE_ALL=1 .venv/bin/pytest tests/conformance -q --tb=no $(ARGS)

evolution: setup $(SPARK_CLASSES) ## Every change of columns, policy and format on real databases, live and down.
	@EVOLUTION_ALL=1 .venv/bin/pytest tests/integration/test_evolution.py $(ARGS)

differential: setup $(SPARK_CLASSES) ## Compare mirrors after 200,000 random statements on real databases; SEED=n DDL=30.
	@.venv/bin/python -m tests.chaos.differential --seed $(or $(SEED),1) --ddl $(or $(DDL),0) \
	  --statements $(or $(STATEMENTS),200000) $(addprefix --database ,$(DATABASE)) $(ARGS)

chaos: setup $(SPARK_CLASSES) ## The same while the mirror, Kafka and Connect die; SEED=n KILLS=50 STATEMENTS=200000.
	@.venv/bin/python -m tests.chaos.chaos --seed $(or $(SEED),1) --kills $(or $(KILLS),50) \
	  --statements $(or $(STATEMENTS),200000) --database $(or $(DATABASE),postgres) $(ARGS)

bench-decode: setup ## Measure the decoder next to Spark's own readers and fastavro.
	@.venv/bin/python -m tests.bench.decode

bench-apply: setup ## Measure position deletes next to equality deletes and MERGE INTO.
	@.venv/bin/python -m tests.bench.apply $(ARGS)

lint: $(SYNCED) ## Check the style and the types.
	@.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

format: $(SYNCED) ## Bring the code into its form.
	@.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

lock: | $(UV) ## Fit uv.lock to pyproject.toml; ARGS="--upgrade" chooses new versions.
	@$(UV) lock $(ARGS)

docker: ## Build the image `database-mirror`.
	@docker build --file docker/Dockerfile --tag database-mirror .

clean: ## Remove what was installed and cached here; mirrored tables stay.
	@rm -rf .venv .venv-uv .mypy_cache .pytest_cache .ruff_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(OWN_UV):
	@$(FUNCTIONS)
	python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv ||
	  give_up "uv is missing, and python3 cannot install it. Install uv, or on Debian" \
	    "python3-venv (sudo apt-get install python3-venv), and run make again."
	echo "Installing uv into .venv-uv."
	python3 -m venv --clear .venv-uv
	echo '*' >.venv-uv/.gitignore
	.venv-uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv$(UV_VERSION)'

$(SYNCED): pyproject.toml uv.lock | $(UV)
	@$(FUNCTIONS)
	$(UV) python find >/dev/null 2>&1 ||
	  give_up "Python 3.11 or newer is needed, and none is installed here. python3 is:" \
	    "$$(python3 --version 2>&1 || true). Install a newer one and run make again."
	$(UV) sync --locked --extra sandbox
	# What the command imports is compiled now and not at every start.
	.venv/bin/python -c 'import cdc.cli, cdc.config.load, cdc.runtime.stream.mirror, cdc.demo'
	.venv/bin/database-mirror check pyproject.toml >/dev/null 2>&1 || true
	touch $@

$(JAVA_FOUND): | $(SYNCED)
	@$(FUNCTIONS)
	has_java || [ -n "$${JAVA_HOME:-}" ] || apt_install openjdk-17-jre-headless ||
	  apt_install default-jre-headless || true
	has_java ||
	  give_up "Java $(JAVA_VERSION) or newer is needed. Install it, on Debian with" \
	    "sudo apt-get install openjdk-17-jre-headless, or let JAVA_HOME name one; run make again."
	touch $@

# Every start of Spark in the tests takes half the processor time with it.
$(SPARK_CLASSES): $(SYNCED) $(JAVA_FOUND) tests/java_classes.py
	@echo "Keeping Spark's classes for the tests."
	.venv/bin/python -m tests.java_classes $@
