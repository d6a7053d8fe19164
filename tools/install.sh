#!/usr/bin/env bash
# install.sh - command, libmarey, headers, pkg-config file and manuals to PREFIX (/usr/local;
# DESTDIR is honoured); the Python package into the active environment, else into .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

prefix="${PREFIX:-/usr/local}"
tools/setup.sh build
configure build/install "--prefix=$prefix" -Dtests=disabled -Dpython=disabled -Dexamples=false
build build/install
meson install -C build/install --no-rebuild > build/install.log || { cat build/install.log >&2; exit 1; }
say "installed into ${DESTDIR:-}$prefix: bin/marey, libmarey, include/marey, pkg-config, manuals"
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" = 0 ] && [ -x /sbin/ldconfig ]; then
    /sbin/ldconfig
fi
[ -z "${DESTDIR:-}" ] || exit 0

target="$PWD/.venv/bin/python"
[ -z "${VIRTUAL_ENV:-}${CONDA_PREFIX:-}" ] || target="$(PATH="${PATH#"$PWD/.venv/bin:"}" command -v python3)"
rm -rf build/wheel
if cmp -s <("$target" -V) <(.venv/bin/python -V); then
    .venv/bin/python -m pip wheel -qq --no-build-isolation --no-deps -w build/wheel .
    "$target" -m pip install -qq --disable-pip-version-check --no-deps --force-reinstall build/wheel/marey-*.whl
else # another minor version needs an extension of its own
    "$target" -m pip install -qq --disable-pip-version-check --no-deps --force-reinstall .
fi
say "installed the Python package for $target"
