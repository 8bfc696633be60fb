# make run    start the workbench on http://127.0.0.1:8000 (PORT=8001 for another port)
# make setup  only install what it needs, into .venv
# make test   everything that CI runs        make check  all of it but the tests
# make canvas build the canvas of the topology editor again
# make lock   resolve the dependencies anew (UPGRADE=1 takes the newest)
#
# Needs Python 3.11 or newer, and git. What is installed is pinned by hash in requirements/.

.DELETE_ON_ERROR:
.PHONY: run setup dev canvas test check lock
.DEFAULT_GOAL := run

# Every start of a process would compile all that it loads: most of a second for the web server, more for a worker.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PORT ?= 8000
HOST ?= 127.0.0.1

# An environment that has the tools of development keeps them.
SET := $(if $(wildcard .venv/dev.stamp),dev,$(if $(DATABASE_URL),postgres,embedded))

# Settings of the user's own pip and Python that would lead the installation astray.
CLEAN := env -u PYTHONPATH -u PYTHONHOME -u PIP_USER -u PIP_TARGET -u PIP_PREFIX -u PIP_REQUIRE_HASHES -u PIP_CONSTRAINT \
	-u PIP_NO_DEPS -u UV_CONSTRAINT -u UV_OVERRIDE -u UV_SYSTEM_PYTHON -u UV_REQUIRE_HASHES -u UV_NO_BINARY -u UV_EXCLUDE_NEWER

# uv does not read pip's configuration: a mirror and a certificate known to pip are handed on.
HAND_ON := if [ -z "$$UV_DEFAULT_INDEX$$UV_INDEX_URL" ]; then \
	  index=$$($(CLEAN) .venv/bin/python -m pip config get global.index-url 2>/dev/null || echo "$$PIP_INDEX_URL"); \
	  if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; fi; \
	if [ -z "$$SSL_CERT_FILE" ]; then \
	  cert=$$($(CLEAN) .venv/bin/python -m pip config get global.cert 2>/dev/null || echo "$$PIP_CERT"); \
	  if [ -n "$$cert" ]; then export SSL_CERT_FILE="$$cert"; fi; fi

CANVAS := workbench/topologies/static/topologies/built/canvas.js

# Without its canvas the editor still has list and text: a machine where npm fails is told so, and goes on.
run: setup
	@$(MAKE) --no-print-directory canvas || echo "The canvas of the topology editor could not be built (above is why). List and text do everything; try again with: make canvas" >&2
	@if [ -f .env ]; then set -a; . ./.env; set +a; fi; exec .venv/bin/workbench up --host $(HOST) --port $(PORT)

setup: .venv/$(SET).stamp

dev: .venv/dev.stamp

canvas: $(CANVAS)

# What neither a database nor a queue can change is tested once.
ONCE := engine evaluators test_bench.py test_compose.py test_first_light.py test_home.py test_layout.py

test: check
	.venv/bin/pytest $(ARGS)
	.venv/bin/python -m tests.servers .venv/bin/pytest $(ONCE:%=--ignore=tests/%) $(ARGS)

check: dev canvas
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	WORKBENCH_HOME=$$(mktemp -d) .venv/bin/python manage.py makemigrations --check --dry-run

.venv/%.stamp: requirements/%.txt requirements/bootstrap.txt requirements/build.txt pyproject.toml | .venv/bin/uv
	@$(HAND_ON); \
	$(CLEAN) .venv/bin/uv pip sync --quiet --python .venv/bin/python --require-hashes \
	  requirements/bootstrap.txt requirements/build.txt $< && \
	$(CLEAN) .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --offline -e .
	@rm -f .venv/*.stamp && touch $@

.venv/bin/uv: requirements/bootstrap.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found. Install it, or run: make PYTHON=/path/to/python3" >&2; exit 2; }
	@test -x .venv/bin/python || $(CLEAN) $(PYTHON) -m venv .venv || { rm -rf .venv; \
	  echo "No virtual environment could be made. On Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	@$(CLEAN) PIP_USER=0 .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

$(CANVAS): package.json package-lock.json .npmrc requirements/node.txt $(shell find frontend -type f) | .venv/bin/uv
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null && npm --version >/dev/null 2>&1 || { $(HAND_ON); \
	  $(CLEAN) .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --require-hashes -r requirements/node.txt; }
	@PYTHON=.venv/bin/python frontend/build.sh
	@touch $@

# Locks name no index: neither ours nor the reader's. An extra index in force would change versions in silence.
COMPILE = env -u UV_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS -u UV_CONSTRAINT -u UV_OVERRIDE \
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

lock: .venv/bin/uv
	$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.txt
	$(COMPILE) requirements/build.in -o requirements/build.txt
	$(COMPILE) requirements/node.in -o requirements/node.txt
	$(COMPILE) pyproject.toml --extra embedded --extra postgres --extra dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/base.txt
	$(COMPILE) pyproject.toml --extra embedded -c requirements/dev.txt -o requirements/embedded.txt
	$(COMPILE) pyproject.toml --extra embedded --extra postgres -c requirements/dev.txt -o requirements/postgres.txt
	$(COMPILE) pyproject.toml --extra swebench -c requirements/dev.txt -o requirements/swebench.txt
