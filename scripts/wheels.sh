#!/usr/bin/env bash
# Builds the wheels of the Python package for Linux on x86-64 and on AArch64: manylinux_2_17, which every glibc since 2012 runs, one wheel
# for all Pythons from 3.10 on. They come into the folder that is the first word, else dist/. Zig, which maturin's package `zig` brings,
# links them against the old glibc. Words behind the folder are architectures: x86_64, aarch64; without one it is both. What maturin,
# zig and cargo need comes from their own caches once it is there: with PIP_NO_INDEX=1 and CARGO_NET_OFFLINE=true nothing is fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
out=$(realpath -m "${1:-dist}")
shift || true
environment=${PAIRFORGE_WHEELS:-${XDG_CACHE_HOME:-$HOME/.cache}/pairforge/wheels}

if ! [ -x "$environment/bin/maturin" ]; then
    python3 -c 'import ensurepip' 2>/dev/null || { echo "Please install Python 3 with venv (Debian: apt-get install python3-venv)" >&2; exit 1; }
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2' >&2
fi
export PATH="$environment/bin:$PATH"

architectures=("$@")
[ $# -gt 0 ] || architectures=(x86_64 aarch64)
for architecture in "${architectures[@]}"; do
    case $architecture in
    x86_64 | aarch64) ;;
    *)
        echo "$architecture is no architecture; there are x86_64 and aarch64" >&2
        exit 2
        ;;
    esac
done
for architecture in "${architectures[@]}"; do
    target=$architecture-unknown-linux-gnu
    cargo_for "$target" maturin build --release --locked --zig --target "$target" --compatibility manylinux_2_17 \
        -m python/Cargo.toml --out "$out"
done
ls -l "$out"/*.whl
