#!/usr/bin/env bash
# Installs what is missing for building and testing, or says what to install where it cannot; with ONLY_CHECK=1 the latter alone.
set -euo pipefail

if ! command -v cargo >/dev/null 2>&1; then
    echo "Please install Rust 1.89 or newer, for example with rustup (Debian's own may be older)" >&2
    exit 1
fi

# Command and the Debian package that has it; more of them may be arguments.
needed=(verilator:verilator clang++:clang g++:g++ iverilog:iverilog ghdl:ghdl tclsh:tcl python3:python3 mpirun:openmpi-bin gfortran:gfortran
    pkg-config:pkg-config gappa:gappa chromium:chromium "$@")
missing=()
for entry in "${needed[@]}"; do
    command -v "${entry%%:*}" >/dev/null 2>&1 || missing+=("${entry##*:}")
done
# The synthesis tools come by pip into a virtual environment (scripts/tools.sh), which Debian packages apart.
python3 -c 'import ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)
# The tests of the Python package take the first Python that has NumPy, or Debian's.
for python in python3 /usr/bin/python3 none; do
    [ "$python" != none ] || missing+=(python3-numpy)
    ! "$python" -c 'import numpy' >/dev/null 2>&1 || break
done
[ ${#missing[@]} -eq 0 ] && exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Please install: ${missing[*]}" >&2
    exit 1
elif [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=(sudo)
else
    echo "Please run: sudo ${install[*]}" >&2
    exit 1
fi
[ "${ONLY_CHECK:-}" != 1 ] || exit 0
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -q >/dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >/dev/null
