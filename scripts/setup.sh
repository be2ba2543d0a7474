# shellcheck shell=bash
# Sourced by scripts/heapwood and scripts/test: finds what is missing and installs it if it may.
# Sets $root, the repository. Everything it says goes to stderr.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
me=${0##*/}

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() {
    say "$@"
    exit 1
}

# CUDA's usual place, which is on few people's PATH.
if ! command -v nvcc >/dev/null && [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
fi
if [ -x "$root/.venv/bin/cmake" ]; then
    PATH=$root/.venv/bin:$PATH
fi

# at_least WANTED HAVE: whether the version HAVE is WANTED or newer.
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The version of nvcc; nothing if there is none. Distributions package ones that are too old.
nvcc_wanted=12.8
nvcc_version=
if command -v nvcc >/dev/null; then
    nvcc_version=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p' || true)
fi
has_nvcc() { [ -n "$nvcc_version" ] && at_least "$nvcc_wanted" "$nvcc_version"; }
has_gpu() { [ -e /dev/nvidia0 ] || [ -e /dev/dxg ]; }

# The build for this machine. Where there is no GPU, CUDA code would have to be built for all kinds
# and could not run: that takes long, and is for those who ask for it.
default_preset() { if has_nvcc && has_gpu; then echo gpu; else echo cpu; fi; }

# check_preset NAME WHERE: ends the script unless there is such a preset to build; WHERE asked for it.
check_preset() {
    local known
    known=$({ cat "$root"/CMakePresets.json "$root"/CMakeUserPresets.json 2>/dev/null || true; } |
        sed -n 's/.*"configurePreset": *"\([^"]*\)".*/\1/p' | sort -u | paste -sd ' ')
    case " $known " in
        *" $1 "*) ;;
        *) die "$2: there is no preset '$1'; there are ${known// /, }" ;;
    esac
}

# Says in one line why the CPU is used, if it is.
say_device() {
    if [ -n "$nvcc_version" ] && ! has_nvcc; then
        say "nvcc $nvcc_version is too old ($nvcc_wanted is needed): building for the CPU"
    elif ! has_nvcc; then
        say "no nvcc found: building for and running on the CPU"
    elif ! has_gpu; then
        say "no GPU found: running on the CPU"
    fi
}

# Debian packages; used by those who source this.
# shellcheck disable=SC2034
app_packages=(build-essential cmake ninja-build libtinyobjloader-dev libcli11-dev libspdlog-dev
    libfmt-dev libglm-dev nlohmann-json3-dev liblzma-dev zlib1g-dev libpng-dev libopenexr-dev)
# shellcheck disable=SC2034
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3 xz-utils
    python3-numpy python3-pandas python3-matplotlib python3-rich python3-typer
    python3-dev python3-venv)

# Those of the given Debian packages that are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        case $package in # a compiler or CMake of the user's own will do
            build-essential) command -v c++ >/dev/null && command -v make >/dev/null && continue ;;
            cmake) command -v cmake >/dev/null && continue ;;
            ninja-build) command -v ninja >/dev/null && continue ;;
            python3) command -v python3 >/dev/null && continue ;;
        esac
        case $(LC_ALL=C dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null) in
            *not-installed* | "") printf '%s\n' "$package" ;;
        esac
    done
}

# Whether we may run commands as root, on a terminal also by sudo's asking for a password; sets
# $as_root.
may_install() {
    if [ "$(id -u)" -eq 0 ]; then
        as_root=
    elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        as_root=sudo
    else
        return 1
    fi
}

# Whether the user agrees to $1: by HEAPWOOD_YES, CI, or being root; else asked on a terminal.
agreed() {
    [ "${HEAPWOOD_YES:-}" != 0 ] || return 1
    [ "${HEAPWOOD_YES:-}" = 1 ] && return 0
    [ "${CI:-}" = true ] && return 0
    [ "$(id -u)" -eq 0 ] && return 0
    [ -t 0 ] && [ -t 2 ] || return 1
    local answer
    printf '%s: %s? [Y/n] ' "$me" "$1" >&2
    read -r answer
    case $answer in n* | N*) return 1 ;; esac
}

# Installs those of the given Debian packages that are missing. HEAPWOOD_YES=0 goes on without:
# CMake fetches the libraries then.
ensure_packages() {
    local missing wanted package
    if ! command -v apt-get >/dev/null; then
        for package in cmake ninja c++; do
            command -v "$package" >/dev/null ||
                die "$package is missing; install it with your system's package manager"
        done
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    if [ ${#missing[@]} -eq 0 ] || [ "${HEAPWOOD_YES:-}" = 0 ]; then
        return 0
    fi
    if ! may_install || ! agreed "install ${missing[*]} by apt-get"; then
        say "these packages are missing; install them and call again:"
        say "    sudo apt-get install ${missing[*]}"
        die "(HEAPWOOD_YES=1 installs by itself, HEAPWOOD_YES=0 lets CMake fetch libraries)"
    fi
    say "installing ${missing[*]}"
    local log=$root/build/install.log
    mkdir -p "$root/build"
    $as_root apt-get update -qq >"$log" 2>&1 || say "apt-get update failed; using the old lists"
    wanted=()
    for package in "${missing[@]}"; do
        if [[ $(LC_ALL=C apt-cache policy "$package") == *"Candidate: "[!\(]* ]]; then
            wanted+=("$package")
        elif [[ $package == lib* || $package == nlohmann* ]]; then
            say "there is no package $package here: CMake will fetch what it can"
            wanted+=(git ca-certificates)
        else
            die "there is no package $package here; see $log"
        fi
    done
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
        --no-install-recommends "${wanted[@]}" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "apt-get could not install ${wanted[*]}; see $log"
    fi
}

# CMake 3.24 or newer; Ubuntu 22.04's is older, PyPI's will do.
ensure_cmake() {
    local have
    command -v cmake >/dev/null || die "cmake is missing; install it, 3.24 or newer"
    have=$(cmake --version | sed -n '1s/.* //p')
    if at_least 3.24 "$have"; then
        return 0
    fi
    say "CMake $have is too old (3.24 is needed)"
    if ! agreed "install a newer CMake into $root/.venv"; then
        die "call: python3 -m venv .venv && .venv/bin/pip install cmake"
    fi
    ensure_packages python3 python3-venv
    if ! python3 -m venv "$root/.venv" >&2 || ! "$root/.venv/bin/pip" install -q cmake >&2; then
        die "could not install CMake into $root/.venv"
    fi
    PATH=$root/.venv/bin:$PATH
}

# Whether the Python $1 has what the Python package is built and tested with, its headers included.
has_python_packages() {
    "$1" - 2>/dev/null <<'PYTHON'
import os, sysconfig
import distributed, jsonschema, manifold3d, nanobind, numpy, pandas, pytest, rich, rtree, trimesh
os.stat(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
PYTHON
}

# Puts the source archive of the trimesh that $1 has beside the environment: it has tests that ours
# run. Where it cannot be had, they skip.
fetch_trimesh() {
    local version folder
    version=$("$1" -c 'import importlib.metadata as m; print(m.version("trimesh"))')
    folder=$root/.venv/share
    [ -e "$folder/trimesh-$version.tar.gz" ] || [ "${HEAPWOOD_YES:-}" = 0 ] ||
        "$1" -m pip download -q --no-deps --no-binary :all: -d "$folder" "trimesh==$version" >&2 ||
        say "there is no source archive of trimesh $version: its own tests are left out"
}

# Prints a Python for the Python package, of an environment that is made here if it may be. Where it
# cannot be had, this prints nothing and says what will be missing.
ensure_python() {
    local python=$root/.venv/bin/python
    local packages=("nanobind>=2.4" distributed jsonschema manifold3d mypy numpy pandas pytest rich rtree trimesh)
    if ! has_python_packages "$python" &&
        agreed "install ${packages[*]} into $root/.venv for the Python package"; then
        python3 -m venv "$root/.venv" >&2 && "$root/.venv/bin/pip" install -q "${packages[@]}" >&2 ||
            say "could not install ${packages[*]} into $root/.venv"
    fi
    if has_python_packages "$python"; then
        fetch_trimesh "$python"
        printf '%s\n' "$python"
    else
        say "the Python package is left out: it needs ${packages[*]} and Python.h (python3-dev)"
    fi
}

# One call at a time for a build folder, until unlock_build.
lock_build() {
    mkdir -p "$1"
    if command -v flock >/dev/null; then
        exec 9>"$1/.heapwood-lock"
        flock -n 9 || {
            say "waiting for another build in $1"
            flock 9
        }
    fi
}
unlock_build() { exec 9>&-; }
