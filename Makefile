# Each target sets up all it needs in .venv; a second call only checks two time stamps.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
EXTRAS := .[server,dask,hydra,mcp,mlflow,oidc,optuna,otel,plot,ray,sklearn,wandb]
SITE := site/adabkb_docs/pages/index.html
NATIVE := service/adabkb_service/engine/native
LOOPS := $(NATIVE)/inner-loops.so
PAGES := mkdocs.yml $(shell find docs deploy examples benchmarks/results client/adabkb_client -type f -not -path '*/__pycache__/*')
export NO_MKDOCS_2_WARNING := 1
SHELL_SCRIPTS := .ci/api .ci/build .ci/minimum .ci/run $(shell find deploy examples -name '*.sh' -o -name '*.sbatch')
PEERS := .venv/.peers
RESULTS := benchmarks/results
ADVISORIES := pypi
SERVERS := 2 4
FAST := tests/acceptance/docs tests/integration/study tests/integration/operations/test_suggest.py tests/integration/operations/test_observe.py tests/integration/operations/test_limits.py \
	tests/integration/operations/test_correct.py tests/unit/engine/test_policies.py tests/unit/engine/auto/test_policy.py tests/integration/storage/conformance \
	tests/integration/storage/test_migration.py tests/integration/client/test_words.py tests/integration/client/test_settings.py tests/integration/client/test_stop_rules.py tests/integration/client/test_table.py

.DELETE_ON_ERROR: # a site that is built, but with warnings, is none

# Otherwise each of the hundreds of processes that the tests start compiles all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install serve demo docs check unit test page generate pictures lint lint-code lint-deployment lint-scripts lint-types run-tests proof attack audit bench bench-ablation bench-paper bench-quality bench-scaling bench-outcomes bench-service chaos mutants constraints clean

install: $(LOOPS) $(SITE)  ## set up the environment and the documentation

help:  ## list the targets, with what each does
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

$(STAMP): pyproject.toml client/pyproject.toml site/pyproject.toml client/adabkb_client/_version.py constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "error: $(PYTHON) -m venv failed; Python 3.11 or newer with venv is needed (make PYTHON=python3.12 ...)"; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { rm -rf .venv; echo "error: Python 3.11 or newer is needed (make PYTHON=python3.12 ...)"; exit 1; }
	@echo "Installing into .venv (once; about three minutes and 3 GB) ..."
	@$(INSTALL) 'pip>=25.1' hatchling 'setuptools>=70.1' ziglang  # pip with --group, and what builds the packages, setuptools that of Hydra (with bdist_wheel): without them, pip would install other copies for the build alone
	@ADABKB_RELEASE=1 $(INSTALL) --no-build-isolation -e ./client -e ./site -e '$(EXTRAS)' --group dev --group bench
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || true  # on all cores, which pip does not; some files are for other Pythons
	@touch $@

$(LOOPS): $(STAMP) hatch_build.py $(wildcard $(NATIVE)/*.c $(NATIVE)/*.h)  # the installation has built them once
	@$(BIN)/python hatch_build.py

$(SITE): $(LOOPS) $(PAGES)  # strictly: a link that leads nowhere is an error
	@$(BIN)/mkdocs build  # not quietly, which would also ignore warnings

docs: $(LOOPS)  ## serve the documentation on http://127.0.0.1:8001, and rebuild it after each change
	@$(BIN)/mkdocs serve --dev-addr 127.0.0.1:8001 --watch client

serve: $(SITE)  ## the server on loopback, SQLite in adabkb.db
	@$(BIN)/adabkb serve

demo: $(SITE)  ## server, client and two workers tune a real model (under 3 minutes)
	@$(BIN)/python examples/demo.py

check: lint  ## linters and fast tests, before each commit
	@$(BIN)/python -m pytest -n 2 -q $(FAST)

unit: $(LOOPS)  ## the tests without a database or a server (a minute and a half)
	@$(BIN)/python -m pytest -n 2 -q tests/unit

test: $(SITE) lint-code lint-scripts lint-deployment  ## what CI runs: all linters, and all tests except the long ones, on SQLite, PostgreSQL and Chromium
	@$(MAKE) --no-print-directory -j 2 lint-types run-tests  # types take as long as all other linters together

run-tests: $(LOOPS)
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true  # compile the tests once: without it, each of the six processes would
	@$(BIN)/python -m pytest -n 6 --dist loadfile --no-loadscope-reorder  # six, as tests of real servers wait

lint: $(SITE)  ## ruff, mypy --strict, the import contracts, a strict build of the documentation, lint-scripts, lint-deployment
	@$(MAKE) --no-print-directory -j 2 lint-types lint-code lint-scripts lint-deployment

lint-types: $(STAMP)
	@$(BIN)/mypy

lint-code: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

lint-deployment: $(STAMP)  ## what runs only elsewhere: shell scripts (ShellCheck), the image (Hadolint), the workflows (zizmor)
	@$(BIN)/shellcheck --severity=warning --exclude=SC1083 $(SHELL_SCRIPTS)  # SC1083: {name} is the place of a parameter
	@$(BIN)/hadolint Dockerfile
	@$(BIN)/zizmor --offline --quiet --no-progress .github

lint-scripts: $(STAMP)  ## format, linter and types of the scripts of the page, with Biome and TypeScript (fetched once from npm)
	@$(BIN)/python -m tools.page_scripts

page: $(LOOPS)  ## all tests of the web interface, of which make test runs a third (a quarter of an hour)
	@$(BIN)/python -m pytest -n 4 --dist loadfile -m "long or not long" tests/acceptance/page

proof: $(LOOPS)  ## every test, including the long ones (hours)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "long or not long"

attack: $(LOOPS)  ## all attack tests, all requests generated from the OpenAPI schema, and a fault at each call; make test runs a sample (about 15 minutes)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "long or not long" tests/integration/attack tests/integration/access tests/integration/api/test_bounded_answers.py tests/integration/api/test_injection.py \
		tests/integration/inference/test_shortages.py tests/integration/api/test_openapi.py tests/integration/api/test_limits.py tests/integration/api/test_bad_input.py tests/integration/api/test_origin.py tests/acceptance/page/test_login.py

audit: $(STAMP)  ## the pinned dependencies, against the known vulnerabilities (fails if one cannot be looked up; ADVISORIES=osv asks OSV)
	@test -x .venv-audit/bin/pip-audit || { $(PYTHON) -m venv .venv-audit && .venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }
	@.venv-audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip --progress-spinner off \
		--vulnerability-service $(ADVISORIES) 2>.venv-audit/told; ended=$$?; cat .venv-audit/told >&2; \
		test $$ended -eq 0 || grep -q '^Found ' .venv-audit/told || echo "error: the pins were not compared, as nothing is known of them from here." \
		"pip-audit asks the JSON API of PyPI itself, whatever index pip has; a proxy that only lets packages through answers 'not found' there." \
		"make audit ADVISORIES=osv asks the API of OSV. Run it where one of the two can be reached." >&2; exit $$ended

bench: $(LOOPS)  ## speed of the engine; writes benchmarks/results/speed.json
	@$(BIN)/python -m benchmarks.speed

bench-scaling: $(PEERS)  ## cost of a suggestion as results accumulate, compared with Optuna; writes benchmarks/results/scaling.json
	@$(BIN)/python -m benchmarks.scaling

bench-outcomes: $(PEERS)  ## realistic studies, compared with other libraries (hours; resumes); writes benchmarks/results/outcomes-*.json
	@$(BIN)/python -m benchmarks.outcomes.conditions
	@$(BIN)/python -m benchmarks.outcomes.constraints
	@$(BIN)/python -m benchmarks.outcomes.constraints --methods ax --seeds 3 --budget 50 --out $(RESULTS)/outcomes-constraints-peers.json
	@$(BIN)/python -m benchmarks.outcomes.metrics
	@$(BIN)/python -m benchmarks.outcomes.metrics --methods ax --seeds 3 --budget 25 --out $(RESULTS)/outcomes-metrics-peers.json
	@$(BIN)/python -m benchmarks.outcomes.priors
	@$(BIN)/python -m benchmarks.outcomes.transfer
	@$(BIN)/python -m benchmarks.outcomes.costs
	@$(BIN)/python -m benchmarks.outcomes.objectives
	@$(BIN)/python -m benchmarks.outcomes.objectives --methods ax --seeds 3 --budget 50 --out $(RESULTS)/outcomes-objectives-peers.json
	@$(BIN)/python -m benchmarks.outcomes.periodic
	@$(BIN)/python -m benchmarks.outcomes.mixtures
	@$(BIN)/python -m benchmarks.outcomes.mixtures --methods 'ax;baybe' --seeds 3 --budget 30 --problems 'blend of 7;blend of 15;target of 7;target of 15;octane of 7;octane of 15'
	@$(BIN)/python -m benchmarks.outcomes.rows
	@$(BIN)/python -m benchmarks.outcomes.exclusions
	@$(BIN)/python -m benchmarks.outcomes.contexts
	@$(BIN)/python -m benchmarks.outcomes.plates
	@$(BIN)/python -m benchmarks.outcomes.plates --methods 'learned;baybe' --seeds 5 --problems 'shared, offsets of 10;apart, offsets of 10' --out $(RESULTS)/outcomes-plates-peers.json
	@$(BIN)/python -m benchmarks.outcomes.drift
	@$(BIN)/python -m benchmarks.outcomes.partial
	@$(BIN)/python -m benchmarks.outcomes.failures
	@$(BIN)/python -m benchmarks.outcomes.failures --methods learned,tpe,random --seeds 5 --budget 30 --out $(RESULTS)/outcomes-failures-peers.json
	@$(BIN)/python -m benchmarks.outcomes.outliers
	@$(BIN)/python -m benchmarks.outcomes.replicates
	@$(BIN)/python -m benchmarks.outcomes.reports
	@$(BIN)/python -m benchmarks.outcomes.reports_speed
	@$(BIN)/python -m benchmarks.outcomes.report

bench-service: $(PEERS)  ## requests per second, compared with a minimal server and Optuna; effects of studies, deletions and slow reads on each other; sizing; the page of a large study; writes benchmarks/results/{service,neighbours,sizing,fleet,lost,pages,reads,removal}.json
	@$(BIN)/python -m benchmarks.service --servers $(SERVERS)
	@$(BIN)/python -m benchmarks.service.fleet
	@$(BIN)/python -m benchmarks.service.lost --servers $(SERVERS)
	@$(BIN)/python -m benchmarks.service.neighbours
	@$(BIN)/python -m benchmarks.service.pages
	@$(BIN)/python -m benchmarks.service.reads
	@$(BIN)/python -m benchmarks.service.removal
	@$(BIN)/python -m benchmarks.service.sizing

chaos: $(LOOPS)  ## servers killed at every point and under the load of 64 clients, and 2,000 random histories of a study (hours); writes benchmarks/results/chaos.json
	@$(BIN)/python -m pytest -n 2 -m "long or not long" tests/acceptance/crash tests/acceptance/chaos tests/integration/study/test_exactly_once.py
	@$(BIN)/python -m tests.acceptance.chaos --out $(RESULTS)/chaos.json

mutants: $(LOOPS)  ## changes of the code that no test detects (hours; resumes); writes benchmarks/results/mutants.json
	@$(BIN)/python -m tests.mutants

bench-paper: $(LOOPS)  ## the paper's experiments (hours; resumes); writes benchmarks/results/paper.json and its figures
	@$(BIN)/python -m benchmarks.paper run
	@$(BIN)/python -m benchmarks.paper growth
	@$(BIN)/python -m benchmarks.paper.explain
	@$(BIN)/python -m benchmarks.paper figures

$(PEERS): $(LOOPS)
	@echo "Installing the peers into .venv (once; a few minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group peers
	@touch $@

bench-quality: $(PEERS)  ## ours and the peers (hours; resumes); writes benchmarks/results/quality.json and the numbers in docs
	@$(BIN)/python -m benchmarks.quality run
	@$(BIN)/python -m benchmarks.quality run --problems functions,development,final --budget 200 --out $(RESULTS)/quality-workers.json \
		--method eight_workers=benchmarks.quality.methods.policy:eight_workers
	@$(BIN)/python -m benchmarks.quality run --problems development --methods random,auto,cma,tpe --budget 200 --out $(RESULTS)/quality-development.json
	@$(BIN)/python -m benchmarks.quality run --problems final --methods random,directl,cma,ipop,turbo,tpe,gpsampler,auto --budget 1000 --out $(RESULTS)/quality-final.json
	@$(BIN)/python -m benchmarks.quality run --problems tables --methods random,cma,ipop,turbo,tpe,auto --out $(RESULTS)/quality-final.json
	@$(BIN)/python -m benchmarks.quality run --problems bbob --methods random,directl,cma,ipop,tpe,auto --out $(RESULTS)/quality-bbob.json
	@$(BIN)/python -m benchmarks.quality run --problems many --methods random,cma,ipop,turbo,tpe,auto --out $(RESULTS)/quality-many.json
	@$(BIN)/python -m benchmarks.quality run --problems nature,nature-further,nature-final --methods random,tpe,auto --out $(RESULTS)/quality-nature.json
	@$(BIN)/python -m benchmarks.quality run --problems nature,nature-further,nature-final --methods gpsampler --budget 50 --out $(RESULTS)/quality-nature.json
	@$(BIN)/python -m benchmarks.quality run --problems nature,nature-further,nature-final --methods textbook --seeds 5 --budget 50 --out $(RESULTS)/quality-nature.json
	@rm -f tmp/traces.json
	@$(BIN)/python -m benchmarks.quality.gaps
	@$(BIN)/python -m benchmarks.quality.intervals
	@$(BIN)/python -m benchmarks.quality.stopping --traces tmp/traces.json
	@$(BIN)/python -m benchmarks.quality table --write
	@$(BIN)/python -m tools.docs
	@$(BIN)/python -m benchmarks.quality plot

bench-ablation: $(LOOPS)  ## what each mechanism of auto gains (about an hour; resumes); writes benchmarks/results/ablation.json
	@$(BIN)/python -m benchmarks.quality.ablation

generate: $(LOOPS)  ## write what comes from the code, and name the files that change: settings of a study, methods of both clients, examples of the HTTP API, documentation, numbers in sentences; format the scripts of the page
	@echo "Writing what comes from the code (about 20 seconds) ..."
	@$(BIN)/python -m tools.study_settings
	@$(BIN)/python -m tools.copies
	@$(BIN)/python -m tools.client_methods
	@$(BIN)/python -m tools.http_examples
	@$(BIN)/python -m tools.mistakes
	@$(BIN)/python -m tools.docs
	@$(BIN)/python -m tools.page_scripts --write
	@echo "All other generated files were up to date."

pictures: $(LOOPS)  ## draw the pictures of the documentation, with real studies in Chromium (minutes)
	@$(BIN)/python -m tools.pictures.concepts
	@$(BIN)/python -m tools.pictures.page
	@$(BIN)/python -m tools.pictures.stories
	@$(BIN)/python -m tools.pictures.palettes

constraints:  ## pin the newest versions the ranges allow
	@rm -rf .venv-pin && $(PYTHON) -m venv .venv-pin
	@.venv-pin/bin/python -m pip install --quiet 'pip>=25.1'
	@ADABKB_RELEASE=1 .venv-pin/bin/python -m pip install --quiet -e ./client -e ./site -e '$(EXTRAS)' --group dev --group bench
	@.venv-pin/bin/python -m pip freeze --exclude-editable > constraints.txt
	@rm -rf .venv-pin

clean:  ## remove the environment, and what was built
	@rm -rf site/adabkb_docs/pages $(NATIVE)/*.so dist sbom.cdx.json .venv .venv-audit .venv-minimum .venv-pin .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
