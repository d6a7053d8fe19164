#!/usr/bin/env bash
# On a machine with a GPU and without network: build with plain Meson, compile the collector for
# the torch that is there, record real programs with torch's profiler and ours, and measure.
#     OUT=folder tests/device/check_recording.sh
set -eu -o pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-out/device}
mkdir -p "$out"
python3 -c "import torch; print('torch', torch.__version__, torch.cuda.get_device_name(0))"
build=$(mktemp -d)
meson setup "$build" --buildtype=release >"$out/setup.log" 2>&1 || { tail -30 "$out/setup.log"; exit 1; }
ninja -C "$build" >"$out/build.log" 2>&1 || { tail -30 "$out/build.log"; exit 1; }
export PYTHONPATH="$build/python"
time "$build/cli/marey" doctor --build
gcc -shared -fPIC -O2 -Iinclude tests/collector/fake_sink.c -o "$build/fake_sink.so" -lpthread
failed=0
MAREY_FAKE_SINK="$build/fake_sink.so" python3 -m pytest -q -p no:cacheprovider tests/collector \
    2>&1 | tee "$out/collector.log" | tail -15 || failed=1
KINETO_LOG_LEVEL=5 python3 -m pytest -q -p no:cacheprovider tests/live/test_drop_in.py \
    2>&1 | grep -v -e USDT -e W1 | tee "$out/drop_in.log" | tail -40 || failed=1
python3 tests/device/record_gpu.py "$out" || failed=1
(cd "$out" && "$build/cli/marey" run --limit 12 -o run.json.gz --force -- \
    python3 "$OLDPWD/tests/device/record_gpu.py" --only-train 2>&1 | tail -25) || failed=1
exit "$failed"
