#!/usr/bin/env bash
# bench.sh [JSON] - rates of Marey beside those of its peers; JSON is a file to write them to.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

tools/setup.sh build torch test bench hta
if [ -n "${1:-}" ]; then
    exec python benchmarks/run.py --json "$1"
fi
exec python benchmarks/run.py
