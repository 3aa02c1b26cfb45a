# The checkout may have any name and place: one symlink in the virtual environment gives the tools
# the path ansible_collections/lockstep/kubernetes, and a staged copy gives it to ansible-test.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?= python3
ONLY ?=
RELEASES ?=
STORES ?=
SEED ?=
comma := ,
STAGED := .stage/ansible_collections/lockstep/kubernetes

OUTER_PATH := $(PATH)
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# A collection of the same name in the home directory would be used in place of the checkout.
export ANSIBLE_COLLECTIONS_PATH = $(CURDIR)/$(wildcard .venv/lib/python*/site-packages)

# Where a Python of a virtual environment keeps its packages.
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
LAB := PYTHONPATH="$(CURDIR)/tests" python -m lab
INSIDE := $(LAB) inside --
BENCH := PYTHONPATH="$(CURDIR)/tests" python -m bench

.PHONY: help
help: # List the targets
	@sed -nE 's/^([a-z0-9.-]+):[^#=]*# (.+)/\1\t\2/p' Makefile | expand -t 14

# -- Use it ------------------------------------------------------------------------------------

.PHONY: demo
demo: dev packages # See a rolling upgrade of real API servers (RELEASES=1.36.3,1.37.0 uses two builds)
	@$(LAB) build $(or $(subst $(comma), ,$(RELEASES)),1.37.0) --only etcd --only etcdutl --only kube-apiserver
	@RELEASES="$(RELEASES)" $(INSIDE) python tests/demo.py

.PHONY: lab
lab: dev # Start a control plane of your own on 127.0.0.1; Ctrl-C ends it
	@$(LAB) up

# -- Check it ----------------------------------------------------------------------------------

.PHONY: test
test: lint unit servers # Run all checks and tests: what has to pass
	@mkdir -p build; \
	echo "The molecule scenarios run beside the integration tests: build/molecule.log"; \
	setsid $(MAKE) molecule > build/molecule.log 2>&1 & \
	beside=$$!; trap 'kill -- -$$beside 2> /dev/null || true' EXIT; \
	$(MAKE) integration || { echo "The integration tests failed."; exit 1; }; \
	wait $$beside || { cat build/molecule.log; echo "The molecule scenarios failed."; exit 1; }; \
	grep -a 'actions=' build/molecule.log
	@echo "All checks and tests passed."

.PHONY: test-long
test-long: export LOCKSTEP_LONG := 1
test-long: test core-2.18 # The same with the full counts of the long tests, and on ansible-core 2.18

.PHONY: lint
lint: dev stage # Run the static checks (ONLY=mypy runs one)
	@python tests/lint.py $(ONLY)

.PHONY: unit
unit: dev # Run the unit tests
	@python -m pytest -q tests/unit

.PHONY: servers
servers: dev packages
	@$(LAB) build
	@# Inside the lab there is no network to fetch what only long tests need.
	@[ -z "$${LOCKSTEP_LONG:-}" ] || $(LAB) build 1.35.4 --only etcd --only kube-apiserver

.PHONY: integration
integration: servers # Run the tests against real control planes
	@$(INSIDE) python -m pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder --durations=15 tests/integration

.PHONY: molecule
molecule: servers # Run the molecule scenarios against real control planes
	@for scenario in default rolling_upgrade coordinated; do (cd extensions && $(INSIDE) molecule test -s $$scenario); done

.PHONY: truth
truth: dev packages # Hold the gate's verdicts against real servers (STORES=100; SEED=17 is one store)
	@$(LAB) build 1.34.4 1.35.4 1.36.3 1.37.0 --only etcd --only kube-apiserver
	@$(INSIDE) python -m truth $(if $(SEED),--seed $(SEED)) $(if $(STORES),--stores $(STORES))

.PHONY: bench
bench: servers # Measure, and compare with the aims (ONLY=name measures one)
	@$(BENCH).load
	@$(INSIDE) python -m bench $(ONLY)

.PHONY: bench-million
bench-million: servers # Measure with a million objects, which takes half an hour
	@$(BENCH).load
	@$(INSIDE) python -m bench million_peak_mb million_linearity

.PHONY: figures
figures: dev # Write docs/reference/figures.md and its plots from the last bench
	@$(BENCH).plots

.PHONY: core-2.18
core-2.18: .venv-2.18/made # Run the unit tests and a playbook on ansible-core 2.18
	@export PATH="$(CURDIR)/.venv-2.18/bin:$$PATH" ANSIBLE_COLLECTIONS_PATH="$$(.venv-2.18/bin/python $(PURELIB))"; \
	ansible --version | sed -n 1p; \
	python -m pytest -q tests/unit tests/integration/test_artifact.py

# -- Build it ----------------------------------------------------------------------------------

.PHONY: build
build: dev # Build the collection's artifact into build/
	@ansible-galaxy collection build --force --output-path build

.PHONY: catalogue
catalogue: dev # Read off real servers what releases encode and decode (RELEASES="1.38.0 1.38.0:1.37")
	@test -n "$(RELEASES)" || { echo 'Name them: make catalogue RELEASES="1.38.0 1.38.0:1.37"'; exit 2; }
	@$(LAB) build $(foreach one,$(RELEASES),$(firstword $(subst :, ,$(one)))) --only etcd --only kube-apiserver
	@$(LAB) catalogue $(RELEASES)

.PHONY: docs
docs: dev # Build the documentation site into build/docs
	@rm -rf build/docs build/docs-source && mkdir -p build && mkdir -m 700 build/docs-source
	@GIT_CEILING_DIRECTORIES="$(CURDIR)/.venv" antsibull-docs collection --use-current --squash-hierarchy --fail-on-error \
	  --dest-dir build/docs-source lockstep.kubernetes
	@sphinx-build -q -W --keep-going -c docs -d build/docs-source/.doctrees build/docs-source build/docs
	@echo "The site is at build/docs/index.html"

.PHONY: changelog
changelog: dev # Bring CHANGELOG up to date with changelogs/fragments
	@antsibull-changelog release --update-existing --reload-plugins --refresh

# -- Develop it --------------------------------------------------------------------------------

.PHONY: dev
dev: .venv/made # Make the virtual environment .venv with all tools

.PHONY: lock
lock: export PATH := $(OUTER_PATH)
lock: # Fix the newest versions of all tools in requirements-dev.txt and requirements-2.18.txt
	@lock() { \
	  rm -rf .venv-lock; \
	  $(PYTHON) -m venv .venv-lock; \
	  .venv-lock/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$${@:2}"; \
	  { echo "# Made by 'make lock'."; .venv-lock/bin/python -m pip freeze; } > "$$1"; \
	  rm -rf .venv-lock; \
	}; \
	lock requirements-dev.txt -r requirements-dev.in; \
	lock requirements-2.18.txt 'ansible-core==2.18.*' -r requirements.txt cryptography hypothesis prometheus_client pyroute2 pytest pytest-xdist

.PHONY: clean
clean: # Remove everything that make made in the checkout
	rm -rf .venv .venv-2.18 .stage .ansible build changelogs/.plugin-cache.yaml .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Scripts in a virtual environment hold its place: in a moved checkout it has to be made anew.
ifneq ($(shell cat .venv/made 2>/dev/null),$(CURDIR))
.PHONY: .venv/made
endif
ifneq ($(shell cat .venv-2.18/made 2>/dev/null),$(CURDIR))
.PHONY: .venv-2.18/made
endif

.venv/made: export PATH := $(OUTER_PATH)
.venv/made: requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@[ "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" ] || rm -rf .venv
	@echo "Installing $$(grep -c == $<) packages in .venv; the first time this takes some minutes and 900 MB."
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $<
	@collections="$$(.venv/bin/python $(PURELIB))/ansible_collections"; \
	mkdir -p "$$collections/lockstep"; \
	ln -sfn "$(CURDIR)" "$$collections/lockstep/kubernetes"
	@echo "$(CURDIR)" > $@

.venv-2.18/made: export PATH := $(OUTER_PATH)
.venv-2.18/made: requirements-2.18.txt .venv/made
	@[ "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" ] || rm -rf .venv-2.18
	@echo "Installing $$(grep -c == $<) packages in .venv-2.18."
	@$(PYTHON) -m venv .venv-2.18
	@.venv-2.18/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $<
	@collections="$$(.venv-2.18/bin/python $(PURELIB))/ansible_collections"; \
	mkdir -p "$$collections/lockstep" "$$collections/kubernetes"; \
	ln -sfn "$(CURDIR)" "$$collections/lockstep/kubernetes"; \
	ln -sfn "$$(.venv/bin/python $(PURELIB))/ansible_collections/kubernetes/core" "$$collections/kubernetes/core"
	@echo "$(CURDIR)" > $@

# ansible-test silently checks nothing in a git-ignored directory that is no repository itself.
.PHONY: stage
stage: dev
	@rm -rf .stage && mkdir -p $(STAGED) .stage/ansible_collections/kubernetes
	@git ls-files -coz --exclude-standard \
	  | while IFS= read -r -d '' file; do [ ! -e "$$file" ] || printf '%s\0' "$$file"; done \
	  | tar --null -T - -cf - | tar -xf - -C $(STAGED)
	@git -C $(STAGED) init -q
	@ln -s "$$(python $(PURELIB))/ansible_collections/kubernetes/core" .stage/ansible_collections/kubernetes/core

.PHONY: packages
packages:
	@command -v dpkg-query > /dev/null || exit 0; \
	missing=(); \
	for package in $$(sed 's/#.*//' tests/debian-packages.txt); do \
	  dpkg-query --show --showformat='$${db:Status-Status}\n' "$$package" 2>/dev/null | grep -qx installed || missing+=("$$package"); \
	done; \
	if [ $${#missing[@]} = 0 ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "Tests need these Debian packages, and only root can install them: $${missing[*]}"; exit 0; fi; \
	echo "Installing Debian packages: $${missing[*]}"; \
	apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$${missing[@]}" > /dev/null
