# The commands that people and CI type. `make help` lists them.
PYTHON ?= python3
PERFSCOPE_REFERENCE ?= $(abspath ../shared/reference)
export PERFSCOPE_REFERENCE
SHELL := /bin/bash
# The tests start a thousand Pythons: each would compile all modules of perfscope for itself.
unexport PYTHONDONTWRITEBYTECODE
BIN := .envs/mpich/bin
# A process that the command leaves behind does not hold the lock.
LOCKED := flock --close
# One at a time in that folder: tests of the recorder build it as well.
CMAKE := export PATH="$(CURDIR)/$(BIN):$$PATH"; mkdir -p build/sanitize; $(LOCKED) build/sanitize cmake
ENVIRONMENTS := openmpi intelmpi torch tensorflow daal4py horovod integrations

# $(call part,NAME,COMMANDS): runs the commands of one part and prints how long they took.
define part
@echo "== $(1)"; began=$$(date +%s.%N); ( unset MAKEFLAGS; set -e; $(2) ); code=$$?; \
 printf '== %s: %s, %.1f s\n' '$(1)' "$$([ $$code = 0 ] && echo fine || echo FAILED)" \
 "$$(echo "$$(date +%s.%N) $$began" | awk '{print $$1 - $$2}')"; exit $$code
endef

.PHONY: help demo test test-long pytest environments lint native-sanitize
.PHONY: bench-engine bench-gallery bench-recorder bench-replay bench-whatif golden reports schema studies format clean

help: ## these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## install into an environment of its own, record a two-rank training, report on it
	@PYTHON="$(PYTHON)" bash scripts/demo.sh

.PHONY: demo-sgan
demo-sgan: ## record the S-GAN in Keras on two ranks (with Horovod where it can be built), report on it
	@PYTHON="$(PYTHON)" bash scripts/demo_sgan.sh

test: coverage-hints ## all that CI runs
	@# Tests begin when the developer's environment is there; one that needs another waits until it is made.
	@$(MAKE) --no-print-directory --jobs=5 other-environments checks pytest

# Files of tests come in an order of their own (tests/support/turns.py). The third process fills pauses of the two
# others: where there are two CPUs it has a low priority and starts no jobs, which would go short of the CPU.
pytest: developer-environment
	@unset MAKEFLAGS; $(BIN)/python -m pytest -m "not long" --numprocesses 3 --dist loadfile --no-loadscope-reorder

# In the pauses of the tests; pytest ends after them (tests/conftest.py). mypy's own processes would wait for
# each other there, until it gives them up.
.PHONY: checks
checks: developer-environment
	@mkdir -p build && $(LOCKED) build nice -n 10 env MYPY_NUM_WORKERS=0 $(MAKE) --no-print-directory --old-file=developer-environment lint native-sanitize

test-long: environments ## what takes longer than CI may
	$(call part,environments of Extra-P and of the many trainers,$(PYTHON) scripts/environments.py extrap ecosystem)
	@$(BIN)/python -m pytest -m long --timeout 1800

environments: developer-environment other-environments ## the environments that the tests need, below .envs/

.PHONY: developer-environment other-environments
developer-environment:
	$(call part,developer environment (C and C++ with every warning an error),$(PYTHON) scripts/environments.py mpich)

# All wait for the developer's environment, and nobody for a while for Horovod's compiler: between the tests'
# priority and that of what fills their pauses.
other-environments:
	$(call part,other environments,nice -n 5 $(PYTHON) scripts/environments.py $(ENVIRONMENTS))

.PHONY: coverage-hints
coverage-hints:
	@for tool in chromium chromium-browser google-chrome; do command -v $$tool >/dev/null && exit 0; done; \
	 echo "no chromium here: the tests of the page in a browser will be skipped (in CI: fail)."; \
	 command -v apt-get >/dev/null && echo "For full coverage: apt-get install chromium" || true

lint: developer-environment ## ruff (rules and format) and mypy --strict
	$(call part,ruff,$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .)
	$(call part,mypy,$(BIN)/mypy --no-error-summary)

native-sanitize: developer-environment ## real ranks recorded under address and undefined-behavior sanitizers
	$(call part,C sanitizers,$(CMAKE) -G Ninja -S . -B build/sanitize -DPERFSCOPE_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON >/dev/null && $(LOCKED) build/sanitize cmake --build build/sanitize -- --quiet && scripts/sanitize.sh build/sanitize)

bench-gallery: environments ## planted faults and their cures: is each one named, and nothing else?
	@$(BIN)/python -m benchmarks.gallery

bench-recorder: environments ## what recording costs: per call, phase and sample, and on a whole run
	@$(BIN)/python -m benchmarks.recorder

.PHONY: bench-suites
bench-suites: environments ## test suites of MPI, recorded and unrecorded, an hour or more; writes docs/mpi-calls.md
	@$(BIN)/python -m benchmarks.mpi_suites --document docs/mpi-calls.md

.PHONY: bench-compare
bench-compare: environments ## how often compare and history are right on simulated runs, some minutes
	@$(BIN)/python -m benchmarks.compare --document

.PHONY: docs
docs: ## the documentation as a site in build/site, which asks the network for nothing
	$(call part,environment of the site,$(PYTHON) scripts/environments.py docs)
	@.envs/docs/bin/mkdocs build --strict --quiet && echo "build/site/index.html"

.PHONY: bench-page
bench-page: developer-environment ## how fast a timeline of a million pieces is drawn in Chromium; writes docs
	@$(BIN)/python -m benchmarks.page --document docs/reading-the-report.md

.PHONY: corpus
corpus: environments ## programs as people start them, each unrecorded and recorded, about 5 minutes; writes docs/corpus.md
	@$(BIN)/python -m benchmarks.corpus --document

bench-engine: environments ## what reading large traces costs, beside other tools (LARGE=--large: 10^8 OTF2 events); writes docs
	@$(BIN)/python -m benchmarks.engine.otf2 $(LARGE) --document docs/engine.md
	@$(BIN)/python -m benchmarks.engine.kineto --document docs/kineto.md
	@$(BIN)/python -m benchmarks.engine.messages --document docs/engine.md
	@$(BIN)/python -m benchmarks.engine.cluster --document docs/cluster.md
	@$(BIN)/python -m benchmarks.engine.recording $(LARGE) --document docs/engine.md
	@$(BIN)/python -m benchmarks.engine.many_ranks $(LARGE) --document docs/engine.md

bench-replay: environments ## how fast runs are replayed, and in how much memory; writes docs/replay.md
	@$(BIN)/python -m benchmarks.replay --document docs/replay.md

bench-whatif: environments ## predicted gains against those of the real fix, about 12 minutes
	@$(BIN)/python -m benchmarks.whatif --document

reports: environments ## the reports in reports/ from the recordings in sample_traces/
	@$(BIN)/python scripts/make_reports.py

schema: developer-environment ## what docs say of documents and formats, from the declarations
	@$(BIN)/python scripts/make_schema.py

golden: developer-environment ## keep what perfscope prints and writes today as what tests expect
	@$(BIN)/python -m tests.golden.cases

studies: environments ## the studies in reports/studies/, from real runs (half an hour)
	@$(PYTHON) scripts/make_studies.py

.PHONY: study-pages
study-pages: developer-environment ## tell the studies anew from what they measured, without running anything
	@$(BIN)/python scripts/make_study_pages.py

.PHONY: wheels
wheels: ## a wheel for this Python and glibc 2.17 or newer, checked, and a wheelhouse for machines offline, in dist/
	@$(PYTHON) scripts/make_wheels.py --wheelhouse

.PHONY: sbom
sbom: ## what an installation consists of, as CycloneDX, in dist/
	@$(PYTHON) scripts/make_wheels.py --sbom

format: environments ## let ruff format the Python code
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

clean: ## remove what the commands above made (environments, demo runs, caches)
	@rm -rf .envs build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
