#!/usr/bin/env bash
# update_golden.sh - takes the present output of the golden tests and the present instruction
# counts as expected. Read the diff and say in the commit why each one changed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

tools/setup.sh build test
configure build/test -Dtests=enabled -Dwerror=true -Dbuildtype=debugoptimized
build build/test
MAREY_UPDATE_GOLDEN=1 meson test -C build/test --suite golden --suite command > build/golden.log ||
    { cat build/golden.log >&2; die "cannot update all golden files"; }
configure build/cost -Dtests=enabled -Dbuildtype=release -Ddebug=true -Dpython=disabled
build build/cost tests/cost/spine-cost tests/cost/record-cost
python tools/check_budget.py --update build/cost/tests/cost/spine-cost build/cost/tests/cost/record-cost
git status --short tests benchmarks/budgets.toml
