# What a person or a machine does with this checkout, one word each: `make help` lists them.
#
# Set-up happens by itself, into $(VENV), and again only when the Python or a pinned file changes.
# Nothing is installed outside of $(VENV), and nothing needs another user's rights.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
SOAK ?= 10000

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# For the tests of clients that demand openai<3, which no other environment has.
VENV2 := $(VENV)/openai2
FAULTCLOCK := $(BIN)/faultclock
# What the demo runs: adapters of a provider, then whole agents. Of the last one the table is shown,
# of the others the totals. Those that are known not to conform may end with exit code 1.
ADAPTERS := reference openai-stud openai-sync openai-async
AGENTS := reference-runtime openai-agent
KNOWN_TO_FAIL := openai-sync openai-async openai-agent
# The same agent, judged by the other four error models in the situations that all of them know.
MODELS := relavium afk kode-sdk error-matrix

# Clients that are set side by side; more of them when more is installed.
CENSUS := openai-async azure-openai httpx2-tenacity
# What is explored: an agent that repeats an effect, but only after a crash at one certain moment.
PLANTED := resume-finishes-the-batch
# What is certified, by which error model, and at which level (make certify LEVEL=hardened).
LEVEL ?= full
REFERENCES := reference:stud-cli reference-runtime:stud-cli reference-tool:stud-cli \
  reference-extension:stud-cli reference-store:stud-cli reference-relavium:relavium \
  reference-afk:afk reference-kode-sdk:kode-sdk reference-error-matrix:error-matrix
# Real SDKs as they ship, and an agent on top of one: a refusal with its findings is a right result.
REFUSED := openai-sync openai-async openai-agent
CERTIFICATES := reports/certificates

.DEFAULT_GOAL := help
.PHONY: help demo certify test check format lint types tests soak bench lock clean FORCE
.DELETE_ON_ERROR:

help: ## say what there is
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 14

demo: $(VENV)/.demo ## run the headline scenarios against real clients and agents, write the reports
	@mkdir -p reports
	@$(foreach subject,$(ADAPTERS),$(call judged,$(subject),rate-limits provider-transient) &&) true
	@$(foreach subject,$(AGENTS),$(call judged,$(subject),rate-limits approvals resume-drift) &&) true
	@$(foreach model,$(MODELS),$(call judged_by,$(model)) &&) true
	@echo "==> faultclock census $(CENSUS)"
	@$(FAULTCLOCK) census $(CENSUS) --jobs $(JOBS) --quiet -o reports
	@$(call explored,$(PLANTED))
	@echo
	@echo "The SDK as it ships does not follow the stud-cli document, and a small agent on top of it"
	@echo "asks nobody and remembers nothing. The reports say where, sentence by sentence; the"
	@echo "references conform. Open one of these in a browser, the last one first:"
	@for model in $(MODELS); do echo "  reports/openai-agent-by-$$model.html"; done
	@for subject in $(ADAPTERS) $(AGENTS); do echo "  reports/$$subject.html"; done
	@echo "What three clients do about each of 107 failures, side by side, is in"
	@echo "  reports/census.html"
	@echo "A failure that comes and goes, the smallest run of it, and where it parts from one that"
	@echo "passes, is in"
	@echo "  reports/exploration.html"

certify: $(VENV)/.demo ## certify the shipped references, try the real SDKs, verify in a clean process
	@rm -rf $(CERTIFICATES) $(VENV)/certify.key $(VENV)/certify.key.pub
	@mkdir -p $(CERTIFICATES)
	@$(FAULTCLOCK) keygen -o $(VENV)/certify.key
	@$(foreach pair,$(REFERENCES),$(call certified,$(pair)) &&) true
	@$(foreach subject,$(REFUSED),$(call refused,$(subject)) &&) true
	@echo "The certificates, and why the others got none, are in $(CERTIFICATES)"

test: $(VENV)/.dev ## everything that must hold: ruff, mypy, pytest
	@# The second environment is installed while mypy thinks.
	@$(MAKE) --no-print-directory -j2 lint types $(VENV)/.openai2
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

tests: $(VENV)/.dev $(VENV)/.openai2
	$(BIN)/python -m pytest -n $(JOBS) -q
	$(VENV2)/bin/python -m pytest -o 'addopts=-ra --import-mode=importlib' -q tests/clients_openai2

soak: $(VENV)/.dev ## make 10,000 runs twice, in two interpreters, and compare every byte (SOAK=200 is a short one)
	$(BIN)/python -m tests.soak $(SOAK) -o reports/soak

bench: $(VENV)/.bench ## measure: loop, scenario runs, ordering rules, exploring
	@set -eu; for script in benchmarks/*.py; do \
	  case "$$script" in */_*) continue ;; esac; \
	  echo "==> $$script"; $(BIN)/python -m "benchmarks.$$(basename "$$script" .py)"; \
	done

lock: $(VENV)/.python ## pin again what pyproject.toml asks for (UPGRADE=1 takes newer versions)
	@echo "==> writing requirements/*.txt"
	@$(PIP) install 'uv>=0.13'
	@$(call pin,dev,--extra all --group build --group dev)
	@$(call pin,demo,--extra openai --extra certify --group build -c requirements/dev.txt)
	@$(call pin,bench,--extra openai --group build --group bench -c requirements/dev.txt)
	@$(call pin,openai2,--extra litellm --extra openai-agents --group build --group openai2)

clean: ## remove what was generated
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find reports -type f ! -name README.md -delete

# The small agent by another model: it does not conform to any of them.
define judged_by
{ echo "==> faultclock run shared --subject openai-agent --model $(1)"; code=0; \
  $(FAULTCLOCK) run shared --subject openai-agent --model "$(1)" --jobs $(JOBS) --quiet \
    --html "reports/openai-agent-by-$(1).html" || code=$$?; \
  test $$code -eq 1 || { echo "==> $(1): exit code $$code is a fault of ours" >&2; exit 1; }; }
endef

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
{ echo "==> faultclock certify $(1) --level $(LEVEL)"; code=0; \
  $(FAULTCLOCK) certify $(1) --level $(LEVEL) --key $(VENV)/certify.key \
    -o "$(CERTIFICATES)/$(1)" --html "$(CERTIFICATES)/$(1).html" --jobs $(JOBS) --quiet \
    > "$(CERTIFICATES)/$(1).txt" || code=$$?; \
  head -n 4 "$(CERTIFICATES)/$(1).txt"; \
  test $$code -eq 1 || { echo "==> exit code $$code is a fault of ours" >&2; exit 1; }; }
endef

# A miniature with a planted bug, which is found: that is exit code 1.
define explored
{ echo "==> faultclock explore exploration/$(1) --subject mini-race-$(1)"; code=0; \
  $(FAULTCLOCK) explore exploration/$(1) --subject "mini-race-$(1)" --runs 150 \
    --workers $(JOBS) --quiet -o reports || code=$$?; \
  test $$code -eq 1 || { echo "==> exit code $$code is a fault of ours" >&2; exit 1; }; }
endef

# One subject against some families: the reports, and no other exit code than its own.
define judged
{ echo "==> faultclock run $(2) --subject $(1)"; code=0; \
  $(FAULTCLOCK) run $(2) --subject "$(1)" --jobs $(JOBS) \
    $(if $(filter $(1),$(lastword $(AGENTS))),,--quiet) --html "reports/$(1).html" \
    --json "reports/$(1).json" --junit "reports/$(1).xml" || code=$$?; \
  test $$code -eq $(if $(filter $(1),$(KNOWN_TO_FAIL)),1,0) || \
    { echo "==> $(1) ended with exit code $$code: that is a fault of ours" >&2; exit 1; }; }
endef

# The pinned files name no registry: pip takes it from the user's own configuration.
define pin
echo "    requirements/$(1).txt"; \
$(BIN)/uv pip compile --quiet pyproject.toml $(2) --universal \
  --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) -o requirements/$(1).txt
endef

# The pinned file, and the environment that it goes into.
define set-up
@echo "==> installing requirements/$(1).txt into $(2); the first time takes a minute or two"
@$(2)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes \
  -r requirements/$(1).txt
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

$(VENV)/.openai2: requirements/openai2.txt pyproject.toml $(VENV)/.python
	@$(BIN)/python -m venv --clear $(VENV2)
	$(call set-up,openai2,$(VENV2))

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
