#!/usr/bin/env bash
# test.sh quick|all [STEP…] - sets up what the tests need, then runs them (tools/test.py).
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

tools/setup.sh build test lint
tools/setup.sh torch || say "no torch, tests that need it are skipped"
[ "$1" = quick ] || tools/setup.sh hta
exec python tools/test.py "$@"
