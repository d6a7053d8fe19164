# lib.sh - what the scripts of this folder share; sourced, from the root of the tree.

export PYTHONDONTWRITEBYTECODE=1
# Once, though scripts that source this call others that do.
[[ "$PATH" == "$PWD/.venv/bin:"* ]] || export PATH="$PWD/.venv/bin:$PATH"

say() { printf '%s\n' "marey: $*"; }

die() { printf '%s\n' "marey: $*" >&2; exit 1; }

# configure FOLDER OPTION… - makes or changes a build folder so that it has these options.
# Does nothing if it has them already.
configure() {
    local folder="$1" wanted
    shift
    wanted="CC=${CC:-} $*"
    [ -f "$folder/build.ninja" ] && [ "$(cat "$folder/.options" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    meson setup "$folder" "$@" > "$folder.log" 2>&1 || { cat "$folder.log" >&2; die "cannot configure '$folder'"; }
    printf '%s\n' "$wanted" > "$folder/.options"
}

# build FOLDER [TARGET…] - runs ninja; prints only what went wrong.
build() {
    local folder="$1"
    shift
    ninja --quiet -C "$folder" "$@"
}
