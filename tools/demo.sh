#!/usr/bin/env bash
# demo.sh - trains a small network, records it and prints its table.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

tools/setup.sh build torch
say "building"
configure build/release -Dtests=disabled -Dpython=enabled
build build/release

say "training a small network and recording it with torch.profiler"
# Kineto would print its own log lines; torch warns that there is no NumPy, which is not used.
KINETO_LOG_LEVEL=5 python -W "ignore:Failed to initialize NumPy:UserWarning" examples/python/train_mlp.py out 2> >(grep -v "^USDT:" >&2)
trace=out/train_mlp.pt.trace.json

say "marey report $trace --limit 15"
echo
build/release/cli/marey report "$trace" --limit 15 | tee out/train_mlp.txt
build/release/cli/marey report "$trace" --format csv > out/train_mlp.csv
echo
say "written: $trace, out/train_mlp.txt (this table), out/train_mlp.csv (all rows, in ns)"
say "try:     build/release/cli/marey report $trace --group-by name,shape"
say "         build/release/cli/marey info $trace"
