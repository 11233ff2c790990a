# One command for each thing that people, and the continuous build, do here. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The steps of a target run in the order they are written, also under -j.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# The Node.js of the lock file, which `npm run` puts first on PATH, whatever the machine has.
RUN := npm run --silent

CNI_PLUGIN := build/eniwhere-cni
CNI_SOURCES := $(shell find src/cni src/protocol src/bin/cni* -name '*.ts' -not -name '*.test.ts' 2>/dev/null) scripts/build-cni.ts package-lock.json

.PHONY: help demo test check bench format setup-check setup-demo setup-test setup-bench
.PHONY: step-check step-unit step-netns step-simulation step-demo

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: setup-demo $(CNI_PLUGIN) ## run the whole system in a simulated VPC and check every promise with a real packet
	@$(RUN) demo

test: setup-test step-check step-unit $(CNI_PLUGIN) step-netns step-simulation step-demo ## everything: check, unit, namespaces, 200 seeds of simulation, the demo
	@echo "== all green"

check: setup-check step-check ## format, lint, types, house rules, dead code (seconds, no root)

bench: setup-bench $(CNI_PLUGIN) ## every benchmark, each printing its figures
	@$(RUN) bench

format: setup-check ## rewrite the sources in the house format
	@$(RUN) format

setup-check setup-demo setup-test setup-bench: setup-%:
	@scripts/setup.sh $*

step-check:
	@echo "== format"; $(RUN) check:format
	@echo "== lint"; $(RUN) check:lint
	@echo "== types"; $(RUN) check:types
	@echo "== house rules"; $(RUN) test:house
	@echo "== dead code"; $(RUN) check:dead

step-unit:
	@echo "== unit tests"; $(RUN) test:unit

step-netns:
	@echo "== namespace tests"; $(RUN) test:netns

step-simulation:
	@echo "== simulation"; $(RUN) test:simulation

step-demo:
	@echo "== demo"; $(RUN) demo

$(CNI_PLUGIN): $(CNI_SOURCES)
	@echo "== build $@"; $(RUN) build:cni
