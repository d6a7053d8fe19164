#!/usr/bin/env bash
# demo.sh - trains a small network under marey.profile and prints where the time went.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

tools/setup.sh build torch
say "building"
configure build/release -Dtests=disabled -Dpython=enabled
build build/release

export PYTHONPATH="$PWD/build/release/python" MAREY_CACHE="${MAREY_CACHE:-$PWD/build/release/cache}"
# torch warns that there is no NumPy, which is not used.
export PYTHONWARNINGS="ignore:Failed to initialize NumPy:UserWarning"
say "building the collector for this torch, some seconds the first time"
build/release/cli/marey doctor --build --python "$(command -v python)" > build/doctor.txt || {
    cat build/doctor.txt >&2
    die "the collector cannot be built"
}

say "python examples/python/train_mlp.py out"
echo
mkdir -p out
python examples/python/train_mlp.py out | tee out/train_mlp.txt
trace=out/train_mlp.json.gz
build/release/cli/marey report "$trace" --format csv > out/train_mlp.csv
echo
say "written: $trace, out/train_mlp.txt (this table), out/train_mlp.csv (all rows, in ns)"
say "try:     build/release/cli/marey report $trace --group-by name,shape"
say "         PYTHONPATH=build/release/python build/release/cli/marey run -- $(command -v python) YOUR_SCRIPT.py"
say "         (the collector is built once more then, some seconds: the demo keeps its own in the build folder)"
