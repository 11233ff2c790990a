# One command for each thing that people, and the continuous build, do here. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The steps of a target run in the order they are written, also under -j.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# The Node.js of the lock file, which `npm run` puts first on PATH, whatever the machine has.
RUN := npm run --silent

.PHONY: help demo test e2e check bench simulate scale format setup-check setup-demo setup-test setup-e2e setup-bench
.PHONY: step-check step-unit step-cni step-netns step-runtime step-conformance step-simulation step-kubernetes

help: ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: setup-demo step-cni ## run the whole system in a simulated VPC and check every promise with a real packet
	@$(RUN) demo

test: setup-test step-check step-unit step-cni step-netns step-runtime step-conformance step-simulation ## everything: check, unit, namespaces with the demo, container runtimes, conformance with EC2, 500 fresh seeds of simulation
	@echo "== all green"

e2e: setup-e2e step-cni step-kubernetes ## a real Kubernetes, built once from its Go modules (a quarter of an hour, then kept)
	@echo "== all green"

check: setup-check step-check ## format, lint, types, house rules, dead code (seconds, no root)

bench: setup-bench step-cni ## every benchmark, each printing its figures
	@$(RUN) bench

simulate: setup-check ## search 10,000 seeds of small clusters for broken rules (SEEDS=..., FROM=...), on all cores
	@$(RUN) sim -- --from $(or $(FROM),1) --count $(or $(SEEDS),10000) --coverage

scale: setup-check ## the controller and 5,000 agents in virtual time: a join storm, 150,000 pods, replacements, a lost zone
	@$(RUN) scale

format: setup-check ## rewrite the sources in the house format
	@$(RUN) format

setup-check setup-demo setup-test setup-e2e setup-bench: setup-%:
	@scripts/setup.sh $*

step-check:
	@echo "== format"; $(RUN) check:format
	@echo "== lint"; $(RUN) check:lint
	@echo "== types"; $(RUN) check:types
	@echo "== house rules"; $(RUN) test:house
	@echo "== dead code"; $(RUN) check:dead

step-unit:
	@echo "== unit tests"; $(RUN) test:unit

# The script knows by itself whether the executable is up to date. Elsewhere than on Linux there is no use for it.
step-cni:
	@if [ "$$(uname -s)" = Linux ]; then echo "== the CNI plugin"; $(RUN) build:cni; fi

step-netns:
	@echo "== namespace tests, the demo among them"; $(RUN) test:netns

step-runtime:
	@echo "== container runtime tests"; $(RUN) test:runtime

step-conformance:
	@echo "== conformance with EC2"; $(RUN) test:conformance

step-simulation:
	@echo "== simulation"; $(RUN) test:simulation

step-kubernetes:
	@echo "== real Kubernetes"; $(RUN) test:kubernetes
