#!/usr/bin/env bash
# setup.sh PART… - installs what the named parts need and is not there, and says what.
#
#     build   compiler, libraries, .venv with Meson
#     torch   a PyTorch for demo and tests, that of the active environment, else the CPU one;
#             and a compiler for its collector
#     test    unit test library, Valgrind, pytest       lint    Clang, clang-tidy, clang-format
#     bench   the peers to compare with                 hta     HolisticTraceAnalysis, TensorBoard's plug-in, Lightning
#
# System packages are those of packages.txt, by apt-get. Python packages go into .venv, never
# anywhere else. What was done leaves a stamp there, so that the next run takes no time.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

torch_version=2.13.0
oldest_torch=2.4
oldest_python=3.11

mkdir -p .cache
exec 9> .cache/setup.lock
flock 9

# ---- system packages ---------------------------------------------------------------------

# packages PART - the packages of a part that are not installed, optional ones in brackets.
packages_missing() {
    local name part rest
    while read -r name part rest; do
        case "$name" in ''|'#'*) continue ;; esac
        [ "$part" = "$1" ] || [ "$part" = "($1)" ] || continue
        dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -q '^installed' && continue
        [ "$part" = "$1" ] && printf '%s\n' "$name" || printf '(%s)\n' "$name"
    done < tools/packages.txt
}

apt() {
    local sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" > .cache/apt.log 2>&1 9>&-
}

is_refreshed=
install_packages() {
    local missing names name
    missing="$(packages_missing "$1")"
    [ -n "$missing" ] || return 0
    names="$(tr -d '()' <<< "$missing" | tr '\n' ' ')"
    if [ -z "$is_refreshed" ]; then
        apt update || say "cannot refresh the list of packages, see .cache/apt.log"
        is_refreshed=1
    fi
    say "installing Debian packages: $names"
    # shellcheck disable=SC2086 # one word a package
    apt install -y --no-install-recommends $names && return
    for name in $missing; do
        case "$name" in
            '('*) apt install -y --no-install-recommends "$(tr -d '()' <<< "$name")" ||
                  say "cannot install $name, see .cache/apt.log; what needs it will be skipped" ;;
            *)    apt install -y --no-install-recommends "$name" ||
                  { cat .cache/apt.log >&2; die "cannot install '$name', install it and run this again"; } ;;
        esac
    done
}

system_part() {
    if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
        local stamp=".cache/told-$1"
        [ -e "$stamp" ] && return
        say "this system has no apt-get; please install what Debian calls:" \
            "$(awk -v part="$1" '$2 == part || $2 == "(" part ")" {printf "%s ", $1}' tools/packages.txt)"
        touch "$stamp"
        return
    fi
    install_packages "$1"
}

# ---- Python ------------------------------------------------------------------------------

# The Python of the active environment, even if .venv/bin comes first on PATH.
active_python() {
    PATH="${PATH#"$PWD/.venv/bin:"}" command -v python3 || die "cannot find 'python3', install Python $oldest_python or newer"
}

make_venv() {
    local python
    [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null && return
    python="$(active_python)"
    "$python" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$oldest_python'.split('.'))))" ||
        die "cannot use '$python', Marey needs Python $oldest_python or newer"
    "$python" -c 'import ensurepip, os, sysconfig
assert os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))' 2>/dev/null || system_part python
    say "making .venv with $("$python" --version) of $python"
    rm -rf .venv
    "$python" -m venv .venv
}

# A stamp is valid while nothing that it depends on is newer.
is_done() {
    [ -e ".venv/.stamp-$1" ] && [ ! "$2" -nt ".venv/.stamp-$1" ] && [ ! tools/setup.sh -nt ".venv/.stamp-$1" ]
}

pip_part() {
    local list="tools/requirements/$1.txt"
    is_done "$1" "$list" && return
    say "installing into .venv: $(tr '\n' ' ' < "$list")"
    .venv/bin/python -m pip install -qq --disable-pip-version-check -r "$list" 9>&- || return 1
    touch ".venv/.stamp-$1"
}

# The folder that holds torch, if this Python can import one that is new enough.
folder_of_torch() {
    "$1" - "$oldest_torch" 2>/dev/null << 'PYTHON'
import os, sys
import torch
have = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
want = tuple(int(part) for part in sys.argv[1].split("."))
if have < want:
    sys.exit(1)
print(os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__))))
PYTHON
}

install_torch() {
    local pip=".venv/bin/python -m pip install -qq --disable-pip-version-check"
    say "installing into .venv: torch $torch_version for the CPU (a few hundred MB)"
    case "$(uname -m)" in
        # There the plain name would be a build for CUDA, of several GB.
        x86_64) $pip "torch==$torch_version+cpu" 9>&- 2> .cache/torch.log ||
                $pip --extra-index-url https://download.pytorch.org/whl/cpu "torch==$torch_version+cpu" 9>&- ;;
        *)      $pip "torch==$torch_version" 9>&- ;;
    esac
}

torch_part() {
    local python folder here
    is_done torch tools/setup.sh && return
    python="$(active_python)"
    here="$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
    if folder="$(folder_of_torch .venv/bin/python)"; then
        say "using the torch that .venv has"
    elif folder="$(folder_of_torch "$python")" && cmp -s <("$python" -V) <(.venv/bin/python -V); then
        say "using the torch of the active environment, $folder"
        printf '%s\n' "$folder" > "$here/active-environment.pth"
    else
        install_torch || die "cannot install torch $torch_version," \
            "activate an environment that has torch $oldest_torch or newer and run this again"
    fi
    touch .venv/.stamp-torch
}

# ---- parts -------------------------------------------------------------------------------

for part in "$@"; do
    case "$part" in
        build)      system_part build; make_venv; pip_part build || die "cannot install Meson" ;;
        torch)      system_part torch; torch_part ;;
        test|bench) system_part "$part"; pip_part "$part" || die "cannot install what '$part' needs" ;;
        lint)       system_part lint ;;
        hta)        pip_part hta || say "cannot install HolisticTraceAnalysis, TensorBoard's plug-in and Lightning, what needs them will be skipped" ;;
        *)          die "unknown part '$part', see the head of tools/setup.sh" ;;
    esac
done
