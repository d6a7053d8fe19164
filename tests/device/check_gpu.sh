#!/usr/bin/env bash
# On a machine with a GPU and without network: build with plain Meson, then record real GPU
# programs with torch's profiler and compare our tables with torch's, byte for byte.
#     OUT=folder tests/device/check_gpu.sh
set -eu -o pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-out/device}
mkdir -p "$out"
python3 -c "import torch; print('torch', torch.__version__, torch.cuda.get_device_name(0))"
build=$(mktemp -d)
meson setup "$build" --buildtype=release >"$out/setup.log" 2>&1 || { tail -30 "$out/setup.log"; exit 1; }
ninja -C "$build" >"$out/build.log" 2>&1 || { tail -30 "$out/build.log"; exit 1; }
tail -1 "$out/build.log"
export PYTHONPATH="$build/python"
python3 -c "import marey; print('marey', marey.__version__, marey.__file__)"
python3 -m pytest -q -x --maxfail=200 -p no:cacheprovider tests/torch 2>&1 | tee "$out/compat.log" | tail -40
