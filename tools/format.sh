#!/usr/bin/env bash
# format.sh - lays out all C by .clang-format; `make test` checks it.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

tools/setup.sh build lint
exec python tests/lint/check_format.py --fix
