# Two commands: `make run` does the main job, `make test` passes every check. Each does all of its own set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PYTHONS ?=

# Hundreds of processes are started here: what Python makes of a source is kept for the next, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run paper core test wheel release image monitoring swarm faults corruptions messages benchmark live-benchmark api mutants fuzz site reproduction-page format lock clean

run: $(READY)
	$(BIN)/cobandit reproduce --quick --out reproduction

# Every table and figure of the paper, 30 trials each.
paper: $(READY)
	$(BIN)/cobandit reproduce --out reproduction

# The protocol alone, in well under a minute: values, core, policies, agent, codec, and the paper's sentences.
core: $(READY)
	$(BIN)/ruff check src/cobandit/values src/cobandit/core src/cobandit/policies src/cobandit/codec
	$(BIN)/pytest -n 2 -q tests/values tests/core tests/policies tests/paper tests/codec tests/golden_codec tests/stories \
		tests/test_agent.py tests/test_batches.py --ignore tests/paper/test_message_counts.py -k "not fuzz"

# Everything, the documentation site too. Many tests wait for processes more than they work, so there are six at a time.
# While one core looks at types, the other reads all tests once, so that the six need not rewrite each assertion again.
# About the site: tests/site builds it once, with warnings as errors, in a temporary folder. A test with real processes that
# failed is run once more, alone (tools/run_tests.py), and named.
test: $(READY)
	tools/install-programs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pytest --collect-only -qq > /dev/null & $(BIN)/mypy && wait
	$(BIN)/lint-imports
	$(BIN)/yamllint --strict deploy .github .pre-commit-config.yaml mkdocs.yml docs/nav.yml
	$(BIN)/python tools/run_tests.py

# The wheel, built and installed into empty environments: the core, each extra, and all of them, on the oldest and newest
# Python on the PATH, or on PYTHONS="python3.11 python3.12". It downloads; half an hour for each Python.
wheel: $(READY)
	$(BIN)/python tools/check_wheel.py $(PYTHONS:%=--python %)

# What a release publishes, in dist/, after the same trials on every Python on the PATH (docs/releasing.md).
release: $(READY)
	$(BIN)/python tools/check_wheel.py --every-python --out dist

# The image, built with buildah from a base of Debian's packages, and tried. It downloads; a few minutes.
image: $(READY)
	tools/install-programs buildah mmdebstrap
	$(BIN)/python tools/check_image.py --debian

# The dashboard and the alert rules of deploy/, after a change of the table of metrics.
monitoring: $(READY)
	$(BIN)/python tools/monitoring.py

# Ten thousand worlds of the protocol, five thousand of whole live members and as many of relays with pods, in which
# everything goes wrong; a failing seed prints the command that shows it again.
swarm: $(READY)
	$(BIN)/python -m lab swarm --seeds 0:10000
	$(BIN)/python -m lab swarm --live --seeds 0:5000
	$(BIN)/python -m lab swarm --live --worlds bandits --seeds 0:5000
	$(BIN)/python -m lab swarm --pens --seeds 0:5000

# Live fleets of real processes under real faults: about twenty minutes, and all of it only as root. `--quick` is small.
faults: $(READY)
	$(BIN)/python -m lab faults

# Three hundred damaged state files: each is refused, or recovered with what is missing said.
corruptions: $(READY)
	$(BIN)/python -m lab corruptions

# The paper's message counts beside the readable engine's: about eight minutes on two cores.
messages: $(READY)
	$(BIN)/cobandit messages

# The compiled engine against a literal Algorithm 1 in C, and up to ten thousand agents; what a dead peer costs.
benchmark: live-benchmark
	$(BIN)/python benchmarks/kernel_against_c.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/silence.py

# What a decision costs at a live member, with counters in Redis and through the sidecar; a fleet of two hundred; how soon
# the page shows fifty. Needs redis-server, nats-server and chromium; about nine minutes.
live-benchmark: $(READY)
	PYTHONPATH=. $(BIN)/python benchmarks/live_against_redis.py
	PYTHONPATH=. $(BIN)/python benchmarks/live_scale.py
	PYTHONPATH=. $(BIN)/python benchmarks/decide.py
	PYTHONPATH=. $(BIN)/python benchmarks/conversions.py
	$(BIN)/python benchmarks/sidecar.py
	PYTHONPATH=. $(BIN)/python benchmarks/page_paint.py

# A stranger with the OpenAPI document tries everything it can think of. `make test` lets it try a little.
api: $(READY)
	COBANDIT_API_EXAMPLES=500 $(BIN)/pytest -q tests/live/sidecar/test_openapi.py

# The proof that the engines are equal can fail: the kernel is broken in every place of a list, one after the other, and
# each time a small world notices. About a minute. `make test` breaks one place in three.
mutants: $(READY)
	COBANDIT_ALL_MUTANTS=1 $(BIN)/pytest -q tests/parity/test_mutants.py

# A million broken messages for agents that have state: a minute or two. `make test` tries twenty thousand.
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz_codec.py --mutations 1000000

# The documentation site in site/: open site/index.html, no server is needed. The variable silences a notice of the theme's makers.
# tools/site_tree.py writes the plain pages that any generator can read, in build/site.
site: $(READY)
	$(BIN)/python tools/site_tree.py build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --config-file build/site/mkdocs.yml --site-dir "$(CURDIR)/site"

# The table of docs/reproduction.md, measured anew: minutes.
reproduction-page: paper
	$(BIN)/python tools/write_reproduction_page.py reproduction

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Pin what `make test` uses. Run it after a change of dependencies in pyproject.toml, and commit the result.
lock: $(READY)
	$(BIN)/python -m pip install --quiet --upgrade uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --upgrade \
		--no-emit-index-url --no-annotate --all-extras --group dev pyproject.toml --output-file requirements-dev.txt

$(READY): requirements-dev.txt pyproject.toml tools/make-environment
	tools/make-environment "$(PYTHON)" "$(VENV)"
	@touch $@

clean:
	rm -rf $(VENV) build reproduction site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
