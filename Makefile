# What a person or a machine does with this checkout, one word each: `make help` lists them.
#
# Set-up happens by itself, into $(VENV), and again only when the Python or a pinned file changes.
# Nothing is installed outside of $(VENV), and nothing needs another user's rights.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
# Processes of pytest. Some tests wait for real time or for a process: another one fills the cores.
TESTERS ?= $(shell expr $(JOBS) + 1)
SOAK ?= 10000
HOSTILE ?= 10000
# Other Pythons than $(PYTHON), and what of the ledger is played on each.
PYTHONS ?= $(shell for it in python3.12 python3.13 python3.14; do \
  $$it -c '' 2>/dev/null && echo $$it; done)
PLAYED ?= reference/* client/openai-*
# AFK needs Python 3.13, and comes from a checkout of its repository: it is on no package index.
PYTHON313 ?= python3.13
AFK ?= ../afk
# KODE SDK and stud-cli come from checkouts of their repositories: they are on no package index.
KODE ?= ../Kode-sdk
STUD ?= ../stud-cli
# Which benchmarks are run (none named: all), and what they are compared with, how often.
ONLY ?=
BASE ?= HEAD
ROUNDS ?= 5
# Which files of the oracle are mutated, and how: see `python -m tests.mutation --help`.
MUTATE ?= '*' --limit 500

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# For the tests of clients and frameworks that demand openai<3, which no other environment has.
VENV2 := $(VENV)/openai2
FAULTCLOCK := $(BIN)/faultclock
# Frameworks that .venv cannot have, after the environment that they share: what a resolver gives
# one of them alone, it gives it there. CrewAI demands an older pydantic, and stands alone.
FRAMEWORKS ?= agents/agno agents/autogen agents/google-adk agents/smolagents \
  openai2/llama-index openai2/strands crewai/crewai crewai/langchain-mcp
# What the demo checks: a client of 25 lines, and a small agent on the OpenAI SDK. Both have problems.
CHECKED := client=fixtures/clients/ordinary.py:ask agent=openai-agent
# What the demo runs after that: references, which pass. The last scenario is a crossing: a crash in
# each write to the store, which keeps all of the write or nothing.
PASSING := reference-common=rate-limits,provider-transient \
  reference-runtime=approvals,resume-drift/crash-in-each-write

# What is certified, by which error model, and at which level (make certify LEVEL=hardened).
LEVEL ?= full
REFERENCES := reference:stud-cli reference-runtime:stud-cli reference-tool:stud-cli \
  reference-extension:stud-cli reference-store:stud-cli reference-relavium:relavium \
  reference-afk:afk reference-kode-sdk:kode-sdk reference-error-matrix:error-matrix
# Real SDKs as they ship, and an agent on top of one: a refusal with its findings is a right result.
REFUSED := openai-sync openai-async openai-agent
CERTIFICATES := reports/certificates

.DEFAULT_GOAL := help
.PHONY: help demo certify test check format lint types tests pythons afk soak ledger ledger-diff mutate field-report real-systems frameworks hostile bench bench-compare lock clean FORCE
.DELETE_ON_ERROR:

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 19

demo: $(VENV)/.demo ## check a client and an agent, run the references, write the reports
	@mkdir -p reports
	@$(foreach pair,$(CHECKED),$(call checked,$(pair)) &&) true
	@$(foreach pair,$(PASSING),$(call passed,$(pair)) &&) true
	@echo
	@echo "The client and the agent have problems; the references pass. What to mend first, with the"
	@echo "timelines, is in these pages. Open the first one in a browser:"
	@echo "  reports/check-client.html"
	@echo "  reports/check-agent.html"

certify: $(VENV)/.demo ## certify the shipped references, try the real SDKs, verify in a clean process
	@rm -rf $(CERTIFICATES) $(VENV)/certify.key $(VENV)/certify.key.pub
	@mkdir -p $(CERTIFICATES)
	@$(FAULTCLOCK) keygen -o $(VENV)/certify.key
	@$(foreach pair,$(REFERENCES),$(call certified,$(pair)) &&) true
	@$(foreach subject,$(REFUSED),$(call refused,$(subject)) &&) true
	@echo "The certificates, and why the others got none, are in $(CERTIFICATES)"

test: ## everything that must hold: ruff, mypy, pytest
	@# The environments are installed beside each other, and the second one while mypy thinks.
	@$(MAKE) --no-print-directory -j2 lint types $(VENV)/.openai2 $(VENV)/.node
	@$(MAKE) --no-print-directory tests

check: test ## the same

format: $(VENV)/.dev ## let ruff write the layout
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev $(VENV)/.openai2 $(VENV)/.node
	@# Hundreds of tests start an interpreter; where nothing may be written, each would compile it all.
	$(BIN)/python -m compileall -q harness/faultclock
	$(BIN)/python -m tests --jobs $(TESTERS)

soak: $(VENV)/.dev ## make 10,000 runs twice, in two interpreters, and compare every byte (SOAK=200 is a short one)
	$(BIN)/python -m tests.soak $(SOAK) -o reports/soak

pythons: ## run the references and real clients on other Pythons, for the same findings (PYTHONS=python3.13)
	@test -n "$(strip $(PYTHONS))" || \
	  { echo "There is no other Python here: make pythons PYTHONS=/path/to/python3.13" >&2; exit 1; }
	@$(foreach python,$(PYTHONS),$(call on-python,$(python)) &&) true

afk: $(VENV)/.afk ## install AFK (PYTHON313=python3.13 AFK=a/checkout/of/it) and Faultclock beside it
	@echo "==> installed: faultclock check --python $(VENV)/afk/bin/python path/to/agent.py:agent"

ledger: $(VENV)/.dev ## play all that we have, and keep what it comes to in reports/ledger
	PYTHONHASHSEED=0 $(BIN)/python -m tests.ledger make --jobs $(JOBS)

ledger-diff: $(VENV)/.dev ## judge those runs again, and name what differs (PLAY=1 makes them again)
	PYTHONHASHSEED=0 $(BIN)/python -m tests.ledger diff --jobs $(JOBS) $(if $(PLAY),--play)

mutate: $(VENV)/.dev ## change the oracle's code a little at a time, and show what nothing sees (MUTATE='retries.py --limit 50')
	PYTHONHASHSEED=0 $(BIN)/python -m tests.mutation $(MUTATE) --jobs $(JOBS)

field-report: $(VENV)/.dev $(VENV)/.openai2 $(VENV)/.agents $(VENV)/.crewai ## run agents of real frameworks, and write docs/field-report.md
	$(BIN)/python -m tests.field
	$(VENV2)/bin/python -m tests.field
	$(VENV)/agents/bin/python -m tests.field
	$(VENV)/crewai/bin/python -m tests.field crewai

real-systems: $(VENV)/.dev ## run KODE SDK and stud-cli, and write docs/real-systems.md (KODE=a/checkout STUD=a/checkout)
	PYTHONHASHSEED=0 $(BIN)/python -m tests.field.systems --kode "$(KODE)" --stud "$(STUD)" --jobs $(JOBS)

# Each by its environment, which is made first.
frameworks: $(patsubst %/,$(VENV)/.%,$(sort $(dir $(FRAMEWORKS)))) ## try agents of the frameworks that stand apart (FRAMEWORKS=crewai/crewai: one)
	@$(foreach it,$(FRAMEWORKS),$(call framework,$(VENV)/$(dir $(it)),$(notdir $(it))) &&) true

hostile: $(VENV)/.dev ## give 10,000 broken inputs to the commands that read them (HOSTILE=500 is a short one)
	PYTHONHASHSEED=0 $(BIN)/python -m tests.hostile $(HOSTILE) --jobs $(JOBS)

bench: $(VENV)/.dev $(VENV)/.bench ## measure: tables, and figures in reports/bench.json (ONLY='loop order')
	$(BIN)/python -m benchmarks run $(ONLY) --json reports/bench.json

bench-compare: $(VENV)/.dev $(VENV)/.bench ## measure this checkout and a commit in turns: BASE=main ONLY=loop ROUNDS=5
	$(BIN)/python -m benchmarks compare $(BASE) $(ONLY) --rounds $(ROUNDS)

lock: $(VENV)/.python ## pin again what pyproject.toml asks for (UPGRADE=1 takes newer versions)
	@echo "==> writing requirements/*.txt"
	@$(PIP) install 'uv>=0.13'
	@$(call pin,dev,--extra all --group build --group dev)
	@$(call pin,demo,--extra openai --extra certify --group build -c requirements/dev.txt)
	@$(call pin,bench,--extra openai --group build --group bench -c requirements/dev.txt)
	@$(call pin,openai2,--extra litellm --extra openai-agents --extra llama-index --extra strands \
	  --group build --group apart)
	@$(call pin,agents,--extra agno --extra autogen --extra google-adk --extra smolagents \
	  --group build --group apart)
	@$(call pin,crewai,--extra crewai --extra langchain-mcp --group build --group apart)

clean: ## remove what was generated
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find harness tests -name __pycache__ -type d -prune -exec rm -rf {} +
	find reports -type f ! -name README.md -delete

# A reference by its model; then what was written is verified by a process that knows nothing else.
define certified
{ subject=$(firstword $(subst :, ,$(1))); model=$(lastword $(subst :, ,$(1))); \
  echo "==> faultclock certify $$subject --model $$model --level $(LEVEL)"; \
  $(FAULTCLOCK) certify $$subject --model $$model --level $(LEVEL) --key $(VENV)/certify.key \
    -o "$(CERTIFICATES)/$$subject" --jobs $(JOBS) --quiet && \
  env -i PATH="$$PATH" $(FAULTCLOCK) verify "$(CERTIFICATES)/$$subject" \
    --key $(VENV)/certify.key.pub; }
endef

define refused
{ echo "==> faultclock certify $(1) --model stud-cli --level $(LEVEL)"; code=0; \
  $(FAULTCLOCK) certify $(1) --model stud-cli --level $(LEVEL) --key $(VENV)/certify.key \
    -o "$(CERTIFICATES)/$(1)" --html "$(CERTIFICATES)/$(1).html" --jobs $(JOBS) --quiet \
    > "$(CERTIFICATES)/$(1).txt" || code=$$?; \
  head -n 4 "$(CERTIFICATES)/$(1).txt"; \
  test $$code -eq 1 || { echo "==> exit code $$code is a fault of ours" >&2; exit 1; }; }
endef

# ENVIRONMENT, NAME: what is installed of a framework, what its agent is taken for, and its tests.
define framework
{ name=$(subst -,_,$(2)); echo "==> $(2), in $(1)"; \
  { test ! -e fixtures/agents/$${name}_agent.py || \
    $(1)bin/faultclock doctor fixtures/agents/$${name}_agent.py:agent | \
      sed -n '/a whole agent/p; /^. uses/p'; } && \
  PYTHONHASHSEED=0 $(1)bin/python -m pytest -o 'addopts=-ra --import-mode=importlib' -q \
    -k $$name tests/subjects/frameworks/test_other_agents.py \
    tests/subjects/frameworks/test_langchain_mcp.py; }
endef

# NAME=TARGET: the worst problem of a target, and its page. The exit code 1 says that there is one.
define checked
{ target=$(lastword $(subst =, ,$(1))); page="reports/check-$(firstword $(subst =, ,$(1))).html"; \
  echo "==> faultclock check $$target"; code=0; \
  $(FAULTCLOCK) check "$$target" --brief --quiet --jobs $(JOBS) --html "$$page" || code=$$?; \
  test $$code -eq 1 || { echo "==> exit code $$code is a fault of ours" >&2; exit 1; }; echo; }
endef

# SUBJECT=SCENARIOS: the totals of what passes, and its page.
comma := ,
define passed
{ subject=$(firstword $(subst =, ,$(1))); \
  set -- $(subst $(comma), ,$(lastword $(subst =, ,$(1)))); \
  echo "==> faultclock run $$* --subject $$subject"; \
  $(FAULTCLOCK) run "$$@" --subject "$$subject" --quiet --jobs $(JOBS) \
    --html "reports/$$subject-$$(basename "$$1").html"; }
endef

# The pinned files name no registry: pip takes it from the user's own configuration. A pin keeps its
# extras: pip before 23.3 takes `a==1` for no pin of `a[b]`, once a newer version of it is published.
define pin
echo "    requirements/$(1).txt"; \
$(BIN)/uv pip compile --quiet pyproject.toml $(2) --universal \
  --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) -o requirements/$(1).txt
endef

# The environment has what the demo has. Findings and their words are compared with those of 3.11.
define on-python
{ version=$$($(1) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])') && \
  folder="$(VENV)/on-$$version" && stamp="$(VENV)/.on-$$version" && \
  if [ ! "$$stamp" -nt requirements/demo.txt ] || [ ! -x "$$folder/bin/python" ]; then \
    echo "==> installing requirements/demo.txt into $$folder" && \
    $(1) -m venv --clear "$$folder" && \
    "$$folder/bin/python" -m pip --disable-pip-version-check --quiet install --require-hashes \
      --no-deps -r requirements/demo.txt && \
    "$$folder/bin/python" -m pip --disable-pip-version-check --quiet install --no-deps \
      --no-build-isolation -e . && touch "$$stamp"; \
  fi && \
  echo "==> Python $$version: $(PLAYED)" && \
  set -f && for only in $(PLAYED); do \
    PYTHONHASHSEED=0 "$$folder/bin/python" -m tests.ledger known --only "$$only" --jobs $(JOBS) || \
      exit 1; \
  done; set +f; }
endef

# The pinned file, and the environment that it goes into. The file is whole, so nothing is resolved:
# an older pip takes `a==1` for no pin of `a[b]`, once a newer version of it is published.
define set-up
@echo "==> installing requirements/$(1).txt into $(2); the first time takes a minute or two"
@$(2)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes \
  --no-deps -r requirements/$(1).txt
@$(2)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps \
  --no-build-isolation -e .
@touch $@
endef

$(VENV)/.demo: requirements/demo.txt pyproject.toml $(VENV)/.python
	$(call set-up,demo,$(VENV))

$(VENV)/.dev: requirements/dev.txt pyproject.toml $(VENV)/.python
	$(call set-up,dev,$(VENV))

$(VENV)/.bench: requirements/bench.txt pyproject.toml $(VENV)/.python
	$(call set-up,bench,$(VENV))

# Environments beside it, each with what cannot stand beside the rest.
$(VENV)/.openai2 $(VENV)/.agents $(VENV)/.crewai: \
$(VENV)/.%: requirements/%.txt pyproject.toml $(VENV)/.python
	@$(BIN)/python -m venv --clear $(VENV)/$*
	$(call set-up,$*,$(VENV)/$*)

# The npm packages of tests/node. Where there is no Node, the tests of it say so, and are skipped.
$(VENV)/.node: tests/node/package.json tests/node/package-lock.json $(VENV)/.python
	@if command -v npm >/dev/null; then mkdir -p $(VENV)/node && cp $(filter %.json,$^) $(VENV)/node && \
	  echo "==> installing the npm packages of tests/node into $(VENV)/node" && \
	  npm ci --prefix $(VENV)/node --ignore-scripts --no-audit --no-fund --loglevel error; \
	else echo "==> npm is missing: the tests of Node will be skipped" >&2; fi
	@touch $@

$(VENV)/.afk: pyproject.toml $(wildcard $(AFK)/pyproject.toml)
	@$(PYTHON313) -c 'import sys; sys.exit(sys.version_info < (3, 13))' 2>/dev/null || \
	  { echo "AFK needs Python 3.13: make afk PYTHON313=/path/to/python3.13" >&2; exit 1; }
	@grep -qs '^name = "afk-py"' "$(AFK)/pyproject.toml" || \
	  { echo "$(AFK) is no checkout of AFK (github: arpan404/afk): make afk AFK=path/to/it" >&2; \
	    exit 1; }
	@echo "==> installing $(AFK) and Faultclock into $(VENV)/afk; this takes a minute or two"
	@mkdir -p $(VENV)
	@$(PYTHON313) -m venv --clear $(VENV)/afk
	@$(VENV)/afk/bin/python -m pip --disable-pip-version-check --quiet install "$(AFK)" .
	@touch $@

# Names the Python that $(VENV) was made with; the file's time changes only when that Python does.
$(VENV)/.python: FORCE
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Faultclock needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; }
	@now="$$($(PYTHON) -c 'import sys; print(sys.base_prefix, sys.version)')"; \
	was="$$(cat $@ 2>/dev/null || true)"; \
	if [ "$$now" != "$$was" ]; then \
	  echo "==> making $(VENV) with $$($(PYTHON) --version)"; \
	  $(PYTHON) -m venv $${was:+--clear} $(VENV) && printf '%s\n' "$$now" > $@; \
	fi
